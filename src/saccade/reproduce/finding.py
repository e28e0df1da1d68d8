"""What came out of an experiment, ready to be written down. No torch here."""

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

TEXTS = tomllib.loads((files("saccade") / "reproduce" / "claims.toml").read_text(encoding="utf-8"))
"""What each claim says: `short`, in a line; `claim`, in the paper's sense; and the `rule` by which it holds here."""
Advanced = Callable[[str, int, int], None]
"""Hears who is learning, and how many updates of how many are done."""


def silent(name: str, done: int, of: int) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim, and whether it holds here."""

    claim: str
    """The claim in the paper's sense, with its place there."""
    rule: str
    """What must be the case for it to hold here, set before anything was run."""
    holds: bool
    settings: Mapping[str, Any]
    figures: Mapping[str, Any]

    @classmethod
    def of(cls, name: str, holds: bool, settings: Mapping[str, Any], figures: Mapping[str, Any]) -> "Finding":
        """What came out of the experiment behind the claim of this name."""
        return cls(TEXTS[name]["claim"], TEXTS[name]["rule"], holds, settings, figures)

    def save(self, directory: Path) -> Path:
        """As JSON."""
        path = directory / "finding.json"
        path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False), encoding="utf-8")
        return path

    @classmethod
    def load(cls, directory: Path) -> "Finding":
        """What `save` wrote there. JSON knows no numbers as keys, so those that look like one are made one again."""

        def numbered(table: dict[str, Any]) -> dict[str | int, Any]:
            return {int(key) if key.isdecimal() else key: value for key, value in table.items()}

        text = (directory / "finding.json").read_text(encoding="utf-8")
        return cls(**json.loads(text, object_hook=numbered))
