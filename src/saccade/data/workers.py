"""Work on all cores, results in order; the processes end with the one that started them, however it ends."""

import multiprocessing
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import SpawnContext, SpawnProcess
from threading import Thread
from types import ModuleType
from typing import Any, TypeVar

from saccade.errors import DataError

_MOST = 16  # beyond this, one process cannot read as fast as the others work

Task = TypeVar("Task")
Result = TypeVar("Result")


def num_cores() -> int:
    """As many as this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def num_workers() -> int:
    """As many as this process may use cores, up to a bound."""
    return min(_MOST, num_cores())


def map_in_processes(function: Callable[[Task], Result], tasks: Iterable[Task], workers: int) -> Iterator[Result]:
    """`map` in several processes, a few tasks ahead of the results that are asked for; with no workers, in this one.

    `function` must be importable by name.
    """
    if not workers:
        yield from map(function, tasks)
        return
    context = _Context()
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent)
    pending: deque[Future[Result]] = deque()
    try:
        for task in tasks:
            pending.append(pool.submit(function, task))
            if len(pending) > 2 * workers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    except BrokenProcessPool:
        raise DataError(
            "A worker process died, probably because the machine ran out of memory. Free some memory and run the same "
            "command again: finished work is kept."
        ) from None
    finally:
        for process in context.started:  # an interrupt must not wait for the tasks at hand
            if process.pid is not None:
                process.kill()
        pool.shutdown(cancel_futures=True)


class _Process(SpawnProcess):
    """A process that imports saccade but not the user's program, which may lack `if __name__ == "__main__"`."""

    # It never receives Ctrl-C, which reaches all processes of a terminal: the first one decides.

    def start(self) -> None:
        main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if hasattr(signal, "pthread_sigmask") else ()
        try:
            super().start()
        finally:
            sys.modules["__main__"] = main
            if hasattr(signal, "pthread_sigmask"):
                signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Context(SpawnContext):
    """Starts such processes, and knows them."""

    def __init__(self) -> None:
        self.started: list[_Process] = []

    def Process(self, **options: Any) -> _Process:  # type: ignore[override]
        self.started.append(_Process(**options))
        return self.started[-1]


def _end_with_parent() -> None:
    """Workers wait for tasks at a pipe that they hold both ends of, so they would outlive a parent that was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait, daemon=True).start()
