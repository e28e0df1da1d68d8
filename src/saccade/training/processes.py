"""The processes that train one model together, as torchrun starts them; a process alone is a group of one.

Nothing is pickled on the way: numbers go through torch.distributed, anything else through torchrun's store as JSON.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from typing import TypeVar

import torch
from torch import distributed, nn
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous
from torch.nn.parallel import DistributedDataParallel

T = TypeVar("T")
AS_LONG_AS_IT_TAKES = timedelta(days=365)


class Processes:
    """What a process knows of the group, and how it speaks with the others."""

    def __init__(self, rank: int = 0, world: int = 1, store: Store | None = None) -> None:
        self.rank, self.world = rank, world
        self._store = store
        self._asked = 0

    @property
    def is_first(self) -> bool:
        """The first process is the one that writes and speaks."""
        return self.rank == 0

    def first(self, work: Callable[[], T]) -> T:
        """What the first process finds out, in all of them; it must be something that JSON can carry."""
        # The others wait, however long it takes: a collective operation would give up after some minutes.
        self._asked += 1
        if self._store is None:
            return work()
        key = f"saccade/{self._asked}"
        if self.is_first:
            found = work()
            self._store.set(key, json.dumps(found))
            return found
        self._store.wait([key], AS_LONG_AS_IT_TAKES)
        told: T = json.loads(self._store.get(key))
        return told

    def sum(self, *numbers: int | float) -> list[float]:
        """Each of the numbers, added up over all processes."""
        if self.world == 1:
            return [float(number) for number in numbers]
        total = torch.tensor(numbers, dtype=torch.float64)
        distributed.all_reduce(total)
        return [float(number) for number in total]

    def any(self, holds: bool) -> bool:
        """Whether it holds in one of the processes at least."""
        return self.sum(holds)[0] > 0

    def gather(self, numbers: Sequence[int]) -> list[int]:
        """The numbers of all processes, one process after the other."""
        if self.world == 1:
            return list(numbers)
        counts = [torch.zeros(1, dtype=torch.int64) for _ in range(self.world)]
        distributed.all_gather(counts, torch.tensor([len(numbers)]))
        padded = torch.zeros(int(max(counts)), dtype=torch.int64)
        padded[: len(numbers)] = torch.tensor(numbers, dtype=torch.int64)
        found = [torch.empty_like(padded) for _ in range(self.world)]
        distributed.all_gather(found, padded)
        return [number for each, count in zip(found, counts, strict=True) for number in each[: int(count)].tolist()]

    def together(self, module: nn.Module, device: torch.device) -> nn.Module:
        """The module, whose gradients are from now on the mean over all processes."""
        if self.world == 1:
            return module
        buffers = [name for name, _ in module.named_buffers()]  # tables that are the same everywhere
        ignore = DistributedDataParallel._set_params_and_buffers_to_ignore_for_model
        ignore(module, buffers)  # type: ignore[no-untyped-call]
        # Without `find_unused_parameters`, DDP orders its buckets anew after the first update, and as a sum of three
        # or more floats depends on the order, a resumed run would differ in the last bit. With it, DDP complains, in
        # every process, where all parameters are used: so here is one that is not.
        module.register_parameter("never_used", nn.Parameter(torch.zeros(1, device=device)))
        return DistributedDataParallel(module, find_unused_parameters=True)


def apart(module: nn.Module) -> AbstractContextManager[None]:
    """Within this, gradients add up in each process by itself: more are to come before they are of use."""
    return module.no_sync() if isinstance(module, DistributedDataParallel) else nullcontext()


@contextmanager
def joined(device: torch.device) -> Iterator[Processes]:
    """The group that torchrun, or the environment variables that it sets, have put this process into."""
    if int(os.environ.get("WORLD_SIZE", 1)) == 1:
        yield Processes()
        return
    store, rank, world = next(rendezvous("env://"))
    # The store outlives a restart of the processes, and so do the addresses that they told each other there.
    store = PrefixStore(f"start {os.environ.get('TORCHELASTIC_RESTART_COUNT', 0)}", store)
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    distributed.init_process_group(backend, store=store, rank=rank, world_size=world)
    yield Processes(rank, world, store)
    distributed.destroy_process_group()  # not after an error, where the others may never come to it
