"""Episodes on which memories are tried: copy, repeat-copy, recall, sort, n-grams (Graves et al. 2014, §4).

Nothing is shown while answers are wanted. A bit is shown as -1 or 1, so that a vector of zeros is not the same as
nothing: with the paper's 0 and 1, a controller that keeps nothing is easily led astray. Each task is a pure function of
its generator.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from saccade.data.batch import OnDevice
from saccade.tasks.memory.settings import (
    CopySettings,
    EpisodesSettings,
    NgramsSettings,
    PrioritySortSettings,
    RecallSettings,
    RepeatCopySettings,
)

Numbers = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Episodes(OnDevice):
    """Episodes side by side, padded at their ends to the longest."""

    inputs: Float[Tensor, "batch steps d_input"]
    """What is shown at each step."""
    targets: Float[Tensor, "batch steps bits"]
    """What is to be said at it: zeros and ones."""
    target_mask: Bool[Tensor, "batch steps"]
    """True where an answer is wanted."""
    mask: Bool[Tensor, "batch steps"]
    """True where there is a step."""
    num_remembered: int = 1
    """What must be kept apart in any of them, at the least."""

    @property
    def num_targets(self) -> int:
        """Bits that are to be said."""
        return int(self.target_mask.sum()) * self.targets.shape[-1]


@dataclass(frozen=True, slots=True)
class Episode:
    """One of them, as numbers: steps × what is shown, steps × bits to be said, and where they are wanted."""

    inputs: Numbers
    targets: Numbers
    wanted: NDArray[np.bool_]


def draw(random: np.random.Generator, task: EpisodesSettings, count: int) -> Episodes:
    """New episodes of a task, all of one size: among longer ones, short ones would cost as much as these."""
    chosen = of_one_size(random, task)
    episodes = [episode(random, chosen) for _ in range(count)]
    return replace(collate(episodes), num_remembered=task.num_remembered)


def of_one_size(random: np.random.Generator, task: EpisodesSettings) -> EpisodesSettings:
    """The same task with one of its sizes only."""
    sizes: dict[str, Any] = {}
    for smaller, larger in task.RANGES:
        size = _between(random, getattr(task, smaller), getattr(task, larger))
        sizes |= {smaller: size, larger: size}
    return replace(task, **sizes)


def collate(episodes: Sequence[Episode]) -> Episodes:
    """Pad episodes to the longest of them."""
    columns = zip(*((one.inputs, one.targets, one.wanted, np.ones_like(one.wanted)) for one in episodes), strict=True)
    padded = [pad_sequence([torch.from_numpy(rows) for rows in column], batch_first=True) for column in columns]
    inputs, targets, target_mask, mask = padded
    return Episodes(inputs, targets, target_mask, mask)


def episode(random: np.random.Generator, task: EpisodesSettings) -> Episode:
    """One new episode of a task."""
    match task:
        case CopySettings():
            return copy(random, task)
        case RepeatCopySettings():
            return repeat_copy(random, task)
        case RecallSettings():
            return recall(random, task)
        case PrioritySortSettings():
            return priority_sort(random, task)
        case NgramsSettings():
            return ngrams(random, task)


def copy(random: np.random.Generator, task: CopySettings) -> Episode:
    """Vectors that are wanted again."""
    return copy_of(_bits(random, _between(random, task.shortest, task.longest), task.bits))


def copy_of(vectors: Numbers) -> Episode:
    """These vectors, the mark of their end; then they are wanted again."""
    shown = np.zeros((len(vectors) + 1, vectors.shape[1] + 1), np.float32)
    shown[:-1, :-1] = _signs(vectors)
    shown[-1, -1] = 1
    return _asked(shown, vectors)


def repeat_copy(random: np.random.Generator, task: RepeatCopySettings) -> Episode:
    """The vectors, the mark of their end with the number of copies; then these are wanted, and at last the end."""
    vectors = _bits(random, _between(random, task.shortest, task.longest), task.bits)
    copies = _between(random, task.fewest, task.most)
    shown = np.zeros((len(vectors) + 1, task.num_inputs), np.float32)
    shown[:-1, : task.bits] = _signs(vectors)
    shown[-1, task.bits] = 1
    shown[-1, task.bits + 1] = (copies - (task.scale + 1) / 2) / math.sqrt((task.scale**2 - 1) / 12)
    said = np.zeros((copies * len(vectors) + 1, task.num_outputs), np.float32)
    said[:-1, : task.bits] = np.tile(vectors, (copies, 1))
    said[-1, task.bits] = 1
    return _asked(shown, said)


def recall(random: np.random.Generator, task: RecallSettings) -> Episode:
    """Each item after a mark; between two other marks one of them but the last; then the item after it is wanted."""
    items = _differing(random, _between(random, task.fewest, task.most), task.length, task.bits)
    query = int(random.integers(len(items) - 1))
    step = task.length + 1
    shown = np.zeros((step * len(items) + step + 1, task.num_inputs), np.float32)
    for at, item in enumerate([*items, items[query]]):
        shown[step * at, task.bits + (at == len(items))] = 1
        shown[step * at + 1 : step * (at + 1), : task.bits] = _signs(item)
    shown[-1, task.bits + 1] = 1
    return _asked(shown, items[query + 1])


def priority_sort(random: np.random.Generator, task: PrioritySortSettings) -> Episode:
    """Vectors with their priorities, the mark of their end; then those of highest priority are wanted, in order."""
    vectors, priorities = _bits(random, task.given, task.bits), random.uniform(-1, 1, task.given)
    shown = np.zeros((task.given + 1, task.num_inputs), np.float32)
    shown[:-1, : task.bits] = _signs(vectors)
    shown[:-1, task.bits] = priorities
    shown[-1, task.bits + 1] = 1
    return _asked(shown, vectors[np.argsort(-priorities)[: task.wanted]])


def ngrams(random: np.random.Generator, task: NgramsSettings) -> Episode:
    """A bit at each step, and after the first few the next one is wanted; Beta(½, ½) filled the table."""
    before = task.order - 1
    table = random.beta(0.5, 0.5, size=2**before)
    bits = random.integers(0, 2, size=before).tolist()
    for chance in random.random(task.length - before):
        bits.append(int(chance < table[_place(bits, before)]))
    said = np.array(bits, np.float32)[:, None]
    wanted = np.arange(1, task.length) >= before
    return Episode(_signs(said[:-1]), said[1:], wanted)


def _place(bits: Sequence[int], before: int) -> int:
    """The entry of a table that the last bits choose."""
    return int("".join(str(bit) for bit in bits[len(bits) - before :]) or "0", 2)


def _asked(shown: Numbers, said: Numbers) -> Episode:
    """First all is shown, then all is to be said, and nothing at the same time."""
    inputs = np.concatenate([shown, np.zeros((len(said), shown.shape[1]), np.float32)])
    targets = np.concatenate([np.zeros((len(shown), said.shape[1]), np.float32), said])
    return Episode(inputs, targets, np.arange(len(inputs)) >= len(shown))


def _bits(random: np.random.Generator, length: int, bits: int) -> Numbers:
    return random.integers(0, 2, size=(length, bits)).astype(np.float32)


def _signs(bits: Numbers) -> Numbers:
    return 2 * bits - 1


def _differing(random: np.random.Generator, count: int, length: int, bits: int) -> Sequence[Numbers]:
    """Items of which no two are the same, so that a query has one answer."""
    items: dict[bytes, Numbers] = {}
    while len(items) < count:
        item = _bits(random, length, bits)
        items[item.tobytes()] = item
    return list(items.values())


def _between(random: np.random.Generator, least: int, most: int) -> int:
    return int(random.integers(least, most + 1))
