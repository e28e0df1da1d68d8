"""Work on all cores, results in order; the processes end with the one that started them, however it ends.

What goes from one to another is a line of JSON: numbers, text, paths, arrays, and the dataclasses that hold them.
"""

import base64
import json
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np

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
            self._process.stdin.write(_line({"call": _name(function), "task": task}))
            self._process.stdin.flush()
            answer = _read(self._process.stdout.readline())
        except (ValueError, BrokenPipeError):  # nothing, or half a line
            raise WorkerLost(
                "A process that helped with the work ended before its time, most likely because memory ran out. "
                "What is done is kept: free some memory and give the same command again, and it continues."
            ) from None
        if "error" in answer:
            raise _error(**answer["error"])
        return answer["result"]

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


def serve() -> None:
    """The life of a worker: call what is asked for, until whoever asks is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes, but it is the first one that decides
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed must not stand between the answers
    for line in requests:
        request = _read(line)
        try:
            answer = {"result": _named(request["call"])(request["task"])}
        except Exception as error:
            told = [error.errno, error.strerror, error.filename] if isinstance(error, OSError) else list(error.args)
            answer = {"error": {"kind": _name(type(error)), "told": told}}
        try:
            answers.write(_line(answer))
            answers.flush()
        except BrokenPipeError:
            return


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message, default=_described).encode() + b"\n"


def _described(value: Any) -> Any:
    """What JSON does not know by itself."""
    if isinstance(value, np.ndarray):
        return {"array": base64.b64encode(value.tobytes()).decode(), "of": value.dtype.str, "shape": value.shape}
    if is_dataclass(value):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
        return {"dataclass": _name(type(value)), **parts}
    return {"path": os.fspath(value)}


def _read(line: bytes) -> Any:
    return json.loads(line, object_hook=_restored)


def _restored(described: dict[str, Any]) -> Any:
    match described:
        case {"dataclass": name, **parts}:
            return _named(name)(**parts)
        case {"array": content, "of": dtype, "shape": shape}:
            return np.frombuffer(base64.b64decode(content), dtype).reshape(shape)
        case {"path": path}:
            return Path(path)
    return described


def _error(kind: str, told: list[Any]) -> Exception:
    """What went wrong in a worker, as it would have here."""
    try:
        error = _named(kind)(*told)
        assert isinstance(error, Exception)
    except Exception:  # one that is made in another way
        return RuntimeError(f"{kind}: {told}")
    return error


def _name(thing: Callable[..., Any]) -> str:
    return f"{thing.__module__}:{thing.__qualname__}"


def _named(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)
