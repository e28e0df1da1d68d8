"""Batches in the order of the sampler, made ready by a thread while the model is busy with those before."""

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TypeVar

from saccade.data.batch import Batch, collate
from saccade.data.sampler import Indices, Position, Sampler
from saccade.data.store import TokenStore

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A batch on its way to the model."""

    position: Position
    """Where to go on after it."""
    rows: Indices
    """The examples it holds, as rows of the store."""
    batch: Batch


def load(store: TokenStore, sampler: Sampler, start: Position) -> Iterator[Loaded]:
    """Without end, from a position on."""
    return ahead(Loaded(position, rows, collate(*store.batch(rows))) for position, rows in sampler.batches(start))


def ahead(items: Iterable[T], depth: int = 4) -> Iterator[T]:
    """The same items, up to `depth` of them made ahead by a thread, which ends when the caller stops asking."""
    ready: SimpleQueue[tuple[T | None, BaseException | None]] = SimpleQueue()
    room = threading.Semaphore(depth)
    stopped = threading.Event()

    def work() -> None:
        error: BaseException = StopIteration()
        try:
            iterator = iter(items)
            while room.acquire() and not stopped.is_set():
                ready.put((next(iterator), None))
        except BaseException as raised:  # the end of the items, too
            error = raised
        ready.put((None, error))

    thread = threading.Thread(target=work, name="saccade loader", daemon=True)
    thread.start()
    try:
        while True:
            item, error = ready.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            room.release()
            yield item  # type: ignore[misc]
    finally:
        stopped.set()
        room.release()
        thread.join()
