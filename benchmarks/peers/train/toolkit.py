"""A toolkit with its own training command as a contestant: every turn restarts it and reads the speeds that it logs.

Its start and its first reports are not counted. Standard library only.
"""

import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.turns import Turns, peak_memory

WARM_UP = 3
"""Reports that are not counted."""


def take_turns(name: str, command: Sequence[str | Path], speed: str) -> None:
    """Race as `name`. The command logs every update; the group of the pattern `speed` is target tokens/s."""
    turns = Turns(name)
    turns.ready()
    while True:
        request = turns.request()
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            tokens, updates, seconds = measure(read_speeds(process, speed), **request)
            process.kill()
        turns.answer(tokens=tokens, updates=updates, seconds=seconds, peak=peak_memory(resource.RUSAGE_CHILDREN))


def read_speeds(process: "subprocess.Popen[str]", speed: str) -> Iterator[float]:
    """The speeds as they come; the command's whole output is copied to stderr, which is a log."""
    assert process.stdout is not None
    for line in process.stdout:
        sys.stderr.write(line)
        if match := re.search(speed, line):
            yield float(match[1].replace(",", ""))
    raise SystemExit(f"The command exited with code {process.wait()}.")


def measure(rates: Iterator[float], seconds: float, tokens: float) -> tuple[float, int, float]:
    """Tokens, updates and seconds of a turn. The tokens of an update are its speed times the time since the last."""
    for _ in range(WARM_UP):
        next(rates)
    start = last = time.perf_counter()
    learned, updates = 0.0, 0
    while not updates or last - start < seconds or learned < tokens:
        rate, now = next(rates), time.perf_counter()
        learned, updates, last = learned + rate * (now - last), updates + 1, now
    return learned, updates, last - start
