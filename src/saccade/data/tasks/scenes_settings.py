"""Settings of the task of questions about scenes. No torch here."""

from dataclasses import dataclass
from typing import ClassVar, Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class ScenesSettings:
    """A grid of coloured shapes, and a question such as "which colour is left of the star?"."""

    MODELS: ClassVar[tuple[str, ...]] = ("coattention",)

    kind: Literal["scenes"] = "scenes"
    """The task."""
    batch: int = 64
    """Scenes of a batch, each with one question."""
    side: int = 3
    """Cells of the grid in each direction."""
    num_colours: int = 6
    """Colours, one of which is the answer."""

    def __post_init__(self) -> None:
        problems = [
            f"{name} must be at least {least}, not {getattr(self, name)}"
            for name, least in (("batch", 1), ("side", 2), ("num_colours", 2))
            if getattr(self, name) < least
        ]
        if problems:
            raise ValueError("; ".join(problems))
