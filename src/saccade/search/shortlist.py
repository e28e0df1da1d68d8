"""A lexical shortlist: the target tokens that may translate each source token. Known without torch."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from saccade.errors import ModelError
from saccade.parameters import read_parameters

KINDS: dict[str, np.dtype[Any]] = {
    "always": np.dtype(np.int32),
    "offsets": np.dtype(np.int64),
    "tokens": np.dtype(np.int32),
}


@dataclass(frozen=True, slots=True, eq=False)
class Shortlist:
    """By source id, target ids; all of them in one array."""

    always: NDArray[np.int32]
    """Tokens that may translate anything, ascending."""
    offsets: NDArray[np.int64]
    """Where the tokens of each source id begin; one more at the end."""
    tokens: NDArray[np.int32]

    def candidates(self, source: Iterable[int]) -> NDArray[np.int32]:
        """What a translation of these source ids may be written in, ascending."""
        starts, ends = self.offsets[:-1], self.offsets[1:]
        own = [self.tokens[starts[id] : ends[id]] for id in set(source)]
        return np.unique(np.concatenate([self.always, *own]))

    def save(self, path: Path) -> None:
        save_file({name: getattr(self, name) for name in KINDS}, path)

    @classmethod
    def load(cls, path: Path, num_source: int, num_target: int) -> "Shortlist":
        """Read a shortlist for vocabularies of these sizes; any other is refused."""
        arrays = read_parameters(path)
        problem = _kind_problem(arrays)
        made = None if problem else cls(**arrays)
        if made is not None and (problem := made.problem(num_source, num_target)) is None:
            return made
        raise ModelError(
            f"{path} must list target tokens for each source token of this model, but {problem}. "
            "Copy the whole model directory again, or import the model again."
        )

    def problem(self, num_source: int, num_target: int) -> str | None:
        """What keeps it from being used with vocabularies of these sizes; None if nothing does."""
        if len(self.offsets) != num_source + 1:
            return f"it has {len(self.offsets) - 1:,} source tokens instead of {num_source:,}"
        if self.offsets[0] != 0 or self.offsets[-1] != len(self.tokens) or bool((np.diff(self.offsets) < 0).any()):
            return "its offsets do not divide the tokens among the source tokens"
        if any(len(ids) and not 0 <= ids.min() <= ids.max() < num_target for ids in (self.always, self.tokens)):
            return f"some of its tokens are not among the {num_target:,} of the target vocabulary"
        return None


def _kind_problem(arrays: dict[str, NDArray[Any]]) -> str | None:
    for name, kind in KINDS.items():
        if name not in arrays or arrays[name].dtype != kind or arrays[name].ndim != 1:
            return f"it has no list of {kind.name} called {name}"
    return f"it also has {', '.join(sorted(arrays.keys() - KINDS))}" if arrays.keys() > KINDS.keys() else None
