"""The settings of tasks in episodes, on which memories are tried (Graves et al. 2014, §4). No torch here."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from annotated_types import Ge, Interval

from saccade.fields import Checked, Layers, NotNegative, Positive, Size
from saccade.recipe import Recipe


@dataclass(frozen=True, kw_only=True, slots=True)
class TuringSettings(Checked):
    """The Neural Turing Machine of Graves et al. 2014. The defaults are the paper's for copying (Table 1)."""

    kind: Literal["turing"] = "turing"
    """The kind of model."""
    controller: Literal["feed-forward", "lstm"] = "feed-forward"
    """What tells the heads where to look: a layer that remembers nothing by itself, or an LSTM."""
    d_controller: Size = 100
    """Size of the controller's states."""
    rows: Size = 128
    """Rows of the memory."""
    d_row: Size = 20
    """Numbers of a row."""
    read_heads: Size = 1
    """Heads that read."""
    write_heads: Size = 1
    """Heads that write."""
    reach: NotNegative = 1
    """The farthest that a head can shift in a step, to either side; 0 for no shifts."""
    interpolates: bool = True
    """Heads can stay where they were, whatever stands there (eq. 7); else they find their place by content anew."""
    sharpens: bool = True
    """Heads can sharpen what shifts have blurred (eq. 9)."""

    def conflicts(self) -> Iterator[str]:
        if 2 * self.reach + 1 > self.rows:
            most = (self.rows - 1) // 2
            yield f"reach must leave shifts apart, at most {most} on {self.rows} rows, but is {self.reach}"


@dataclass(frozen=True, kw_only=True, slots=True)
class LstmSettings(Checked):
    """A network of long short-term memory, read step by step. The defaults are the paper's (Table 3)."""

    kind: Literal["lstm"] = "lstm"
    """The kind of model."""
    layers: Layers = 3
    """Layers, one upon another."""
    d_model: Size = 256
    """Size of the states."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Episodic(Checked):
    """What all tasks in episodes say of themselves."""

    # RANGES are the settings that are a smallest and a largest size of an episode.
    DOUBLES: ClassVar[tuple[str, ...]]
    """The settings that double with the size of an episode. The last says how many things must be remembered."""
    NUM_MARKS: ClassVar[int] = 2
    """Channels beside those of the answers, for whatever else must be told: an end, copies, a query, a priority."""
    if TYPE_CHECKING:
        bits: int

    kind: str
    """The task."""
    batch: Positive = 16
    """Episodes of a batch."""

    @property
    def num_inputs(self) -> int:
        """Numbers that are shown at each step."""
        return self.num_outputs + self.NUM_MARKS

    @property
    def num_outputs(self) -> int:
        """Bits that are to be said at each step."""
        return self.bits

    @property
    def num_remembered(self) -> int:
        """What must be kept apart at the least in the longest episode: vectors, items, or counts of a table."""
        return int(getattr(self, self.DOUBLES[-1]))


@dataclass(frozen=True, kw_only=True, slots=True)
class CopySettings(Episodic):
    """Say again what was shown (§4.1). The defaults are the paper's."""

    RANGES = (("shortest", "longest"),)
    DOUBLES = ("shortest", "longest")
    NUM_MARKS = 1  # the end of the sequence

    kind: Literal["copy"] = "copy"
    bits: Positive = 8
    """Bits of each vector."""
    shortest: Positive = 1
    """Vectors of the shortest sequence."""
    longest: Positive = 20
    """Vectors of the longest sequence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RepeatCopySettings(Episodic):
    """Say again what was shown, as often as told, and then that this is the end (§4.2)."""

    RANGES = (("shortest", "longest"), ("fewest", "most"))
    DOUBLES = ("shortest", "longest")
    NUM_MARKS = 1  # copies; the channel of the end is that of the answers

    kind: Literal["repeat-copy"] = "repeat-copy"
    bits: Positive = 8
    """Bits of each vector; one more marks the end."""
    shortest: Positive = 1
    """Vectors of the shortest sequence."""
    longest: Positive = 10
    """Vectors of the longest sequence."""
    fewest: Positive = 1
    """The smallest number of copies."""
    most: Positive = 10
    """The largest number of copies."""
    scale: Annotated[int, Ge(2)] = 10
    """Numbers of copies are shown as if drawn evenly from 1 to this: less their mean, over their deviation."""

    @property
    def num_outputs(self) -> int:
        return self.bits + 1  # the end


@dataclass(frozen=True, kw_only=True, slots=True)
class RecallSettings(Episodic):
    """Shown several items and one of them again, say the item that came after it (§4.3)."""

    RANGES = (("fewest", "most"),)
    DOUBLES = ("fewest", "most")

    kind: Literal["recall"] = "recall"
    bits: Positive = 6
    """Bits of each vector."""
    length: Positive = 3
    """Vectors of an item."""
    fewest: Annotated[int, Ge(2)] = 2
    """The smallest number of items."""
    most: Positive = 6
    """The largest number of items."""

    def conflicts(self) -> Iterator[str]:
        if self.most > 2 ** (self.bits * self.length):
            yield (
                f"most must not exceed the 2^(bits · length) = {2 ** (self.bits * self.length)} items that differ, "
                f"but is {self.most}"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class PrioritySortSettings(Episodic):
    """Say the vectors of highest priority, highest first (§4.5)."""

    DOUBLES = ("wanted", "given")

    kind: Literal["priority-sort"] = "priority-sort"
    bits: Positive = 8
    """Bits of each vector."""
    given: Positive = 20
    """Vectors that are shown, each with a priority between -1 and 1."""
    wanted: Positive = 16
    """Vectors that are to be said."""

    def conflicts(self) -> Iterator[str]:
        if self.given < self.wanted:
            yield f"given must be at least wanted = {self.wanted}, not {self.given}"


@dataclass(frozen=True, kw_only=True, slots=True)
class NgramsSettings(Episodic):
    """Say how likely a one comes next, where the last bits decide by a table that is new in every episode (§4.4)."""

    DOUBLES = ("length",)
    NUM_MARKS = 0

    kind: Literal["ngrams"] = "ngrams"
    order: Annotated[int, Interval(ge=1, le=20)] = 6
    """The n of n-grams: the n - 1 bits before it decide about a bit."""
    length: Positive = 200
    """Bits of an episode."""

    def conflicts(self) -> Iterator[str]:
        if self.length <= self.order:
            yield f"length must be above order, but is {self.length} with order {self.order}"

    @property
    def num_outputs(self) -> int:
        return 1

    @property
    def num_remembered(self) -> int:
        return int(2 ** (self.order - 1))


EpisodesSettings = CopySettings | RepeatCopySettings | RecallSettings | PrioritySortSettings | NgramsSettings


def twice_as_large(task: EpisodesSettings) -> EpisodesSettings:
    """Episodes of twice the largest size: what a machine has not seen, but its algorithm would do as well."""
    largest = replace(task, **{smaller: getattr(task, larger) for smaller, larger in task.RANGES})
    return replace(largest, **{name: 2 * getattr(largest, name) for name in task.DOUBLES})


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryRecipe(Recipe):
    """The sections of the recipe of copying, recall and other tasks in episodes."""

    task: EpisodesSettings
    model: TuringSettings | LstmSettings = field(default_factory=TuringSettings)


RECIPES = (MemoryRecipe,)
