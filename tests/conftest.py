"""What every test runs under. Imports nothing of saccade: the shape-checking hook must come first."""

import os

from hypothesis import settings

# `make test` runs two processes on what may be two cores: each, and each it starts, gets one thread. Said to
# torch before it is imported, as importing it takes seconds that many tests do not need.
os.environ["OMP_NUM_THREADS"] = "1"

# A busy machine is no failure, and a failure found once is found again.
settings.register_profile("saccade", deadline=None, derandomize=True)
settings.load_profile("saccade")
