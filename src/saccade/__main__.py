"""`python -m saccade` is the `saccade` command."""

from saccade.cli.main import run

run()
