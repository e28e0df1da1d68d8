"""Turns between processes: one trains while the others wait for a line on their standard input, asleep.

A contestant says that it is ready, when it has warmed up. Each line it then reads is a number of seconds; it trains
for so long, to the end of the running update, and answers with a line of JSON. Standard library only, as peers use it.
"""

import json
import os
import resource
import sys
import time
from typing import Any, TextIO

WARM_UP = 4
"""Updates before the first turn."""


class Turns:
    """A contestant's side of it. Nothing else may reach its standard output, so what is printed goes to stderr."""

    def __init__(self, name: str | None = None, warm_up: int = WARM_UP) -> None:
        """`name`, if given, is how the table calls this contestant."""
        self._name = name
        self._answers: TextIO = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        self._warm_up = warm_up
        self._seconds, self._began = 0.0, 0.0
        self._tokens = self._updates = 0

    def updated(self, tokens: int) -> None:
        """Called after every update with the target tokens it learned from; waits where a turn is over."""
        if self._warm_up:
            self._warm_up -= 1
            if not self._warm_up:
                self.ready()
                self._start()
            return
        self._tokens += tokens
        self._updates += 1
        seconds = time.perf_counter() - self._began
        if seconds >= self._seconds:
            self.answer(tokens=self._tokens, updates=self._updates, seconds=seconds, peak=peak())
            self._start()

    def ready(self) -> None:
        """The first answer: there may be turns from now on."""
        self.answer(**{} if self._name is None else {"name": self._name})

    def wait(self) -> float:
        """The seconds of the next turn. When there is none, the process ends."""
        return float(self.line())

    def line(self) -> str:
        """What the next turn is to be. When there is none, the process ends."""
        line = sys.stdin.readline()
        if not line:
            raise SystemExit(0)
        return line

    def answer(self, **what: Any) -> None:
        """A line to whoever gives the turns."""
        print(json.dumps(what), file=self._answers, flush=True)

    def _start(self) -> None:
        self._tokens = self._updates = 0
        self._seconds, self._began = self.wait(), time.perf_counter()


def peak(who: int = resource.RUSAGE_SELF) -> float:
    """The most memory this process ever held, in MiB; or that of its children, RUSAGE_CHILDREN, which have ended."""
    # ru_maxrss counts kilobytes on Linux and bytes on macOS.
    return resource.getrusage(who).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
