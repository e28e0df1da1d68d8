"""Work on all cores, results in order; the processes end with the one that started them, however it ends."""

import os
import pickle
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, TypeVar

from saccade.errors import WorkerLost

_MOST = 16  # beyond this, one process cannot read as fast as the others work

Task = TypeVar("Task")
Result = TypeVar("Result")


def num_workers() -> int:
    """As many as this process may use cores."""
    return min(_MOST, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def in_order(function: Callable[[Task], Result], tasks: Iterable[Task], workers: int) -> Iterator[Result]:
    """`map` in so many processes, which take up tasks not far ahead of the results that are asked for; with none, here.

    `function` must be importable by name.
    """
    if not workers:
        yield from map(function, tasks)
        return
    crew = [_Worker() for _ in range(workers)]
    idle: SimpleQueue[_Worker] = SimpleQueue()
    for worker in crew:
        idle.put(worker)

    def call(task: Task) -> Result:
        worker = idle.get()
        try:
            result: Result = worker.call(function, task)
            return result
        finally:
            idle.put(worker)

    pending: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(workers)  # a thread waits for each process
    try:
        for task in tasks:
            pending.append(pool.submit(call, task))
            if len(pending) > 2 * workers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        for future in pending:
            future.cancel()
        for worker in crew:
            worker.end()
        pool.shutdown()


class _Worker:
    """A process that knows saccade, but nothing of the program that started it.

    multiprocessing would fork, with the locks of threads that the fork does not have, torch's among them; or import
    the user's program once more, which must then be written for it.
    """

    def __init__(self) -> None:
        code = f"import sys; sys.path[:] = {sys.path!r}; from saccade.data.workers import serve; serve()"
        self._process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=-1
        )

    def call(self, function: Callable[[Any], Any], task: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            pickle.dump((function, task), self._process.stdin)
            self._process.stdin.flush()
            result, error = pickle.load(self._process.stdout)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            raise WorkerLost(
                "A process that helped with the work ended before its time, most likely because memory ran out. "
                "What is done is kept: free some memory and give the same command again, and it continues."
            ) from None
        if error is not None:
            raise error
        return result

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


def serve() -> None:
    """The life of a worker: call what is asked for, until whoever asks is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes, but it is the first one that decides
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed must not stand between the answers
    while True:
        try:
            function, task = pickle.load(requests)
        except (EOFError, pickle.UnpicklingError):
            return
        try:
            answer: tuple[Any, Exception | None] = function(task), None
        except Exception as error:
            answer = None, error
        try:
            pickle.dump(answer, answers)
            answers.flush()
        except BrokenPipeError:
            return
