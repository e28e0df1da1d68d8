"""What a training will need, from a few updates on typical batches, on the largest ones, and one validation."""

import heapq
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, fields
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import Any

from torch import Tensor

from saccade.data.loader import Loaded
from saccade.data.sampler import Position
from saccade.nn.machine import release_freed_memory
from saccade.training.loop import Training

NUM_TYPICAL, NUM_LARGEST = 6, 4
NUM_SAMPLED, SAMPLING_SECONDS = 1000, 2.0
"""How many batches are searched for the largest ones, and for how long."""


@dataclass(frozen=True, slots=True)
class TrainingEstimate:
    """What a training will need on this machine."""

    num_parameters: int
    seconds_per_update: float
    seconds_per_validation: float
    """At most: a model that has learned nothing writes up to the length limit."""
    peak_bytes: int | None
    """Resident memory of this process; None where the system does not report it."""
    epochs: float | None
    """Passes over the data; None where it is generated and never repeats."""
    is_first: bool = True
    """Of several processes under torchrun, the first is the one that reports."""


def estimate(training: Training) -> TrainingEstimate:
    """Train a new model for a few updates and validate it. Nothing is saved or logged; the training is then used up."""
    _reset_peak()
    group, accumulate = training.processes, training.settings.accumulate
    stream = training.task.batches(Position(), group.rank, group.world)
    typical = list(islice(stream, NUM_TYPICAL * accumulate))
    end = time.perf_counter() + SAMPLING_SECONDS
    sampled = takewhile(lambda _: time.perf_counter() < end, islice(stream, NUM_SAMPLED))
    largest = heapq.nlargest(NUM_LARGEST * accumulate, chain(typical, sampled), key=_num_elements)
    training.trial(typical[:accumulate])  # warms up
    seconds = training.trial(typical[accumulate:])
    snapshot = training.snapshot()  # as while one is written
    training.trial(largest)
    del snapshot
    began = time.perf_counter()
    training.measure(training.parameters())
    batches = training.settings.updates * accumulate * group.world
    return TrainingEstimate(
        num_parameters=sum(parameter.numel() for parameter in training.model.parameters()),
        seconds_per_update=seconds,
        seconds_per_validation=time.perf_counter() - began,
        peak_bytes=peak_bytes(),
        epochs=None if (per_epoch := training.task.batches_per_epoch) is None else batches / per_epoch,
        is_first=group.is_first,
    )


def peak_bytes() -> int | None:
    """The most memory that this process has held, since `_reset_peak` on Linux, else since its start."""
    with suppress(OSError, IndexError):  # not Linux
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024
    try:
        import resource
    except ImportError:  # Windows
        return None
    # ru_maxrss counts bytes on macOS, kilobytes elsewhere.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _reset_peak() -> None:
    """Forget what preparing the data took."""
    release_freed_memory()
    with suppress(OSError):  # not Linux, or not allowed
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _num_elements(loaded: Loaded) -> int:
    """The size of a batch, padding included. Every batch is a dataclass of tensors."""
    batch: Any = loaded.batch
    values = (getattr(batch, field.name) for field in fields(batch))
    return sum(value.numel() for value in values if isinstance(value, Tensor))
