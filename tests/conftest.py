"""What every test runs under. Imports nothing of saccade: the shape-checking hook must come first."""

import os

from hypothesis import settings

# `make test` runs two processes on what may be two cores, so each, and each it starts, gets one thread. Set before
# torch is imported, and so without importing it for tests that do not need it.
os.environ["OMP_NUM_THREADS"] = "1"

# A busy machine is no failure, and a failure found once is found again.
settings.register_profile("saccade", deadline=None, derandomize=True)
settings.load_profile("saccade")
