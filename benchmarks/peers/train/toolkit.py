"""A toolkit with a loop of its own as a contestant: every turn starts its command anew and reads the speed it tells.

What it needs to start and its first reports are not counted. Standard library only.
"""

import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "src"))

from saccade.benchmark.turns import Turns, peak

WARM_UP = 3
"""Reports that are not counted."""


def take_turns(name: str, command: Sequence[str | Path], told: str) -> None:
    """Race as `name`. The command reports after every update; the group of the pattern `told` is target tokens/s."""
    turns = Turns(name)
    turns.ready()
    while True:
        seconds = turns.wait()
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            tokens, updates, took = measured(reports(process, told), seconds)
            process.kill()
        turns.answer(tokens=tokens, updates=updates, seconds=took, peak=peak(resource.RUSAGE_CHILDREN))


def reports(process: "subprocess.Popen[str]", told: str) -> Iterator[float]:
    """The speeds as they come; all that the command says goes on to stderr, where a log is kept."""
    assert process.stdout is not None
    for line in process.stdout:
        sys.stderr.write(line)
        if found := re.search(told, line):
            yield float(found[1].replace(",", ""))
    raise SystemExit(f"The command ended with code {process.wait()}.")


def measured(rates: Iterator[float], seconds: float) -> tuple[float, int, float]:
    """Tokens, updates and length of a turn. What an update learned from is its speed times the time since the last."""
    for _ in range(WARM_UP):
        next(rates)
    began = last = time.perf_counter()
    tokens, updates = 0.0, 0
    while not updates or last - began < seconds:
        rate, now = next(rates), time.perf_counter()
        tokens, updates, last = tokens + rate * (now - last), updates + 1, now
    return tokens, updates, last - began
