"""The sentences that all contestants translate, and where each finds the model in the form that it reads.

Standard library only: other toolkits import this from environments of their own.
"""

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from saccade.models.settings import TransformerSettings

Side = Literal["source", "target"]


@dataclass(frozen=True, kw_only=True)
class DecodingWork:
    """A directory with everything that a contestant reads; `decoding.layout` writes it."""

    directory: Path
    corpus: str
    """A description of the sentences."""
    model: str
    """The model directory."""
    parameters: str
    """Its file of parameters, for safetensors."""
    settings: TransformerSettings
    language: str
    """Of the target."""
    threads: int

    @classmethod
    def open(cls, directory: Path) -> "DecodingWork":
        """Read what `save` wrote."""
        table = json.loads((directory / "sentences.json").read_text(encoding="utf-8"))
        return cls(**table | {"directory": directory, "settings": TransformerSettings(**table["settings"])})

    def save(self) -> None:
        """Write it for other processes."""
        table = {name: value for name, value in asdict(self).items() if name != "directory"}
        (self.directory / "sentences.json").write_text(json.dumps(table), encoding="utf-8")

    @cached_property
    def sources(self) -> list[str]:
        """The sentences to translate."""
        return _lines(self.directory / "source")

    @cached_property
    def references(self) -> list[str] | None:
        """Their translations, if known."""
        path = self.directory / "reference"
        return _lines(path) if path.exists() else None

    def ctranslate2(self, compute: str) -> Path:
        """For `ctranslate2.Translator`."""
        return self.directory / f"ctranslate2 {compute}"

    @property
    def marian(self) -> Path:
        """For transformers."""
        return self.directory / "marian"

    def pieces(self, side: Side) -> str:
        """For SentencePiece."""
        return str(self.directory / f"{side}.spm")

    def vocabulary(self, side: Side) -> list[str]:
        """The pieces by the model's ids, specials first."""
        pieces: list[str] = json.loads((self.directory / f"{side}.json").read_text(encoding="utf-8"))
        return pieces


def embedding_names(settings: TransformerSettings) -> dict[str, str]:
    """The parameters that embed the source and the target, and that of the output layer."""
    source = "target" if settings.embeddings == "shared" else "source"
    output = "output" if settings.embeddings == "separate" else "target"
    used = {"source": source, "target": "target", "output": output}
    return {what: f"{which}_embedding.weight" for what, which in used.items()}


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()
