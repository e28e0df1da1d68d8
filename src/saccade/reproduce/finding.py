"""What came out of an experiment, ready to be written down. No torch here."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

Advanced = Callable[[str, int, int], None]
"""Told who is learning, and how many updates of how many are done."""


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

    def save(self, directory: Path) -> Path:
        """As JSON."""
        path = directory / "finding.json"
        path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False), encoding="utf-8")
        return path
