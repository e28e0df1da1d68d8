"""A contestant's side of the race: it works only during its turns and sleeps on its standard input between them.

After warming up, a contestant says that it is ready. Each line it then reads asks for one turn, and one line of JSON
answers it. Standard library only: other toolkits import this from environments of their own.
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
    """The lines that a contestant reads and writes. What it prints itself goes to stderr, never among its answers."""

    def __init__(self, name: str | None = None, warm_up: int = WARM_UP) -> None:
        """`name`, if given, replaces the contestant's name in the tables."""
        self._name = name
        self._answers: TextIO = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        self._warm_up = warm_up
        self._wanted: dict[str, float] = {}
        self._start = 0.0
        self._tokens = self._updates = 0

    def count_update(self, tokens: int) -> None:
        """Call after every update with its number of target tokens; sleeps when a turn has ended."""
        if self._warm_up:
            self._warm_up -= 1
            if not self._warm_up:
                self.ready()
                self._begin()
            return
        self._tokens += tokens
        self._updates += 1
        seconds = time.perf_counter() - self._start
        if seconds >= self._wanted["seconds"] and self._tokens >= self._wanted["tokens"]:
            self.answer(tokens=self._tokens, updates=self._updates, seconds=seconds, peak=peak_memory())
            self._begin()

    def ready(self) -> None:
        """The first answer: turns may follow."""
        self.answer(**{} if self._name is None else {"name": self._name})

    def request(self) -> dict[str, Any]:
        """What the next turn is to do. When there are no more turns, the process ends."""
        line = sys.stdin.readline()
        if not line:
            raise SystemExit(0)
        request: dict[str, Any] = json.loads(line)
        return request

    def answer(self, **values: Any) -> None:
        """Write one line to the process that gives the turns."""
        print(json.dumps(values), file=self._answers, flush=True)

    def _begin(self) -> None:
        self._tokens = self._updates = 0
        self._wanted, self._start = self.request(), time.perf_counter()


def peak_memory(who: int = resource.RUSAGE_SELF) -> float:
    """Peak resident memory of this process in MiB; with RUSAGE_CHILDREN, of its children that have ended."""
    # ru_maxrss counts kilobytes on Linux and bytes on macOS.
    return resource.getrusage(who).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
