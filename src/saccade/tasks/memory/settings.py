"""The settings of tasks in episodes, on which memories are tried (Graves et al. 2014, §4). No torch here."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from saccade.recipe import Recipe
from saccade.tasks.memory.model_settings import LstmSettings, TuringSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class CopySettings:
    """Say again what was shown (§4.1). The defaults are the paper's."""

    kind: Literal["copy"] = "copy"
    """The task."""
    bits: int = 8
    """Bits of each vector."""
    shortest: int = 1
    """Vectors of the shortest sequence."""
    longest: int = 20
    """Vectors of the longest sequence."""
    batch: int = 16
    """Episodes of a batch."""

    def __post_init__(self) -> None:
        _refuse([*_below(self, 1, "bits", "shortest", "batch"), *_order(self, "shortest", "longest")])


@dataclass(frozen=True, kw_only=True, slots=True)
class RepeatCopySettings:
    """Say again what was shown, as often as told, and then that this is the end (§4.2)."""

    kind: Literal["repeat-copy"] = "repeat-copy"
    """The task."""
    bits: int = 8
    """Bits of each vector; one more marks the end."""
    shortest: int = 1
    """Vectors of the shortest sequence."""
    longest: int = 10
    """Vectors of the longest sequence."""
    fewest: int = 1
    """The smallest number of copies."""
    most: int = 10
    """The largest number of copies."""
    scale: int = 10
    """Numbers of copies are shown as if drawn evenly from 1 to this: less their mean, over their deviation."""
    batch: int = 16
    """Episodes of a batch."""

    def __post_init__(self) -> None:
        problems = [
            *_below(self, 1, "bits", "shortest", "fewest", "batch"),
            *_below(self, 2, "scale"),
            *_order(self, "shortest", "longest"),
            *_order(self, "fewest", "most"),
        ]
        _refuse(problems)


@dataclass(frozen=True, kw_only=True, slots=True)
class RecallSettings:
    """Shown several items and one of them again, say the item that came after it (§4.3)."""

    kind: Literal["recall"] = "recall"
    """The task."""
    bits: int = 6
    """Bits of each vector."""
    length: int = 3
    """Vectors of an item."""
    fewest: int = 2
    """The smallest number of items."""
    most: int = 6
    """The largest number of items."""
    batch: int = 16
    """Episodes of a batch."""

    def __post_init__(self) -> None:
        problems = [
            *_below(self, 1, "bits", "length", "batch"),
            *_below(self, 2, "fewest"),
            *_order(self, "fewest", "most"),
        ]
        if not problems and self.most > 2 ** (self.bits * self.length):
            problems.append(
                f"most must not exceed the 2^(bits · length) = {2 ** (self.bits * self.length)} items that differ, "
                f"but is {self.most}"
            )
        _refuse(problems)


@dataclass(frozen=True, kw_only=True, slots=True)
class PrioritySortSettings:
    """Say the vectors of highest priority, highest first (§4.5)."""

    kind: Literal["priority-sort"] = "priority-sort"
    """The task."""
    bits: int = 8
    """Bits of each vector."""
    given: int = 20
    """Vectors that are shown, each with a priority between -1 and 1."""
    wanted: int = 16
    """Vectors that are to be said."""
    batch: int = 16
    """Episodes of a batch."""

    def __post_init__(self) -> None:
        _refuse([*_below(self, 1, "bits", "wanted", "batch"), *_order(self, "wanted", "given")])


@dataclass(frozen=True, kw_only=True, slots=True)
class NgramsSettings:
    """Say how likely a one comes next, where the last bits decide by a table that is new in every episode (§4.4)."""

    kind: Literal["ngrams"] = "ngrams"
    """The task."""
    order: int = 6
    """The n of n-grams: the n - 1 bits before it decide about a bit."""
    length: int = 200
    """Bits of an episode."""
    batch: int = 16
    """Episodes of a batch."""

    def __post_init__(self) -> None:
        problems = list(_below(self, 1, "order", "batch"))
        if self.length <= self.order:
            problems.append(f"length must be above order, but is {self.length} with order {self.order}")
        _refuse(problems)


EpisodesSettings = CopySettings | RepeatCopySettings | RecallSettings | PrioritySortSettings | NgramsSettings


def num_inputs(task: EpisodesSettings) -> int:
    """Numbers that are shown at each step: the bits, and a channel for whatever else must be told."""
    match task:
        case CopySettings():
            return task.bits + 1  # the end of the sequence
        case RepeatCopySettings() | RecallSettings() | PrioritySortSettings():
            return task.bits + 2  # copies, the query or the priority as well
        case NgramsSettings():
            return 1


def num_outputs(task: EpisodesSettings) -> int:
    """Bits that are to be said at each step."""
    match task:
        case RepeatCopySettings():
            return task.bits + 1  # the end
        case NgramsSettings():
            return 1
        case CopySettings() | RecallSettings() | PrioritySortSettings():
            return task.bits


def num_remembered(task: EpisodesSettings) -> int:
    """What must be kept apart at the least in the longest episode: vectors, items, or counts of a table."""
    match task:
        case CopySettings() | RepeatCopySettings():
            return task.longest
        case RecallSettings():
            return task.most
        case PrioritySortSettings():
            return task.given
        case NgramsSettings():
            return int(2 ** (task.order - 1))


def twice_as_large(task: EpisodesSettings) -> EpisodesSettings:
    """Episodes of twice the largest size: what a machine has not seen, but its algorithm would do as well."""
    match task:
        case CopySettings():
            return replace(task, shortest=2 * task.longest, longest=2 * task.longest)
        case RepeatCopySettings():
            return replace(task, shortest=2 * task.longest, longest=2 * task.longest, fewest=task.most)
        case RecallSettings():
            return replace(task, fewest=2 * task.most, most=2 * task.most)
        case PrioritySortSettings():
            return replace(task, given=2 * task.given, wanted=2 * task.wanted)
        case NgramsSettings():
            return replace(task, length=2 * task.length)


def _below(settings: object, least: int, *names: str) -> Iterable[str]:
    values = {name: getattr(settings, name) for name in names}
    return [f"{name} must be at least {least}, not {value}" for name, value in values.items() if value < least]


def _order(settings: object, smaller: str, larger: str) -> Iterable[str]:
    few, many = getattr(settings, smaller), getattr(settings, larger)
    return [f"{larger} must be at least {smaller} = {few}, not {many}"] if many < few else []


def _refuse(problems: list[str]) -> None:
    if problems:
        raise ValueError("; ".join(problems))


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryRecipe(Recipe):
    """The sections of the recipe of copying, recall and other tasks in episodes."""

    task: EpisodesSettings
    """What is learned, and the data that shows it."""
    model: TuringSettings | LstmSettings = field(default_factory=TuringSettings)
    """What is trained."""


RECIPES = (MemoryRecipe,)
