"""The ids of pieces in a model made elsewhere, as Marian's, whose two SentencePiece models share one vocabulary."""

import json
from collections.abc import Iterable
from pathlib import Path

from saccade.errors import ModelError


class Vocabulary:
    """Pieces by id, each once; one of them is `<unk>`, which all others are taken for."""

    def __init__(self, pieces: Iterable[str], *, origin: str = "the vocabulary") -> None:
        """`origin` names it in messages."""
        self.pieces = tuple(pieces)
        self._ids = {piece: id for id, piece in enumerate(self.pieces)}
        if len(self._ids) < len(self.pieces) or "<unk>" not in self._ids:
            raise ModelError(
                f"{origin} must list every piece once, and <unk> among them, but it has {len(self.pieces)} entries "
                f"with {len(self._ids)} different pieces{'' if '<unk>' in self._ids else ' and no <unk>'}. It was "
                "changed or damaged: copy the model again, or import it again with `saccade import`."
            )

    def __len__(self) -> int:
        return len(self.pieces)

    def ids(self, pieces: Iterable[str]) -> list[int]:
        unknown = self._ids["<unk>"]
        return [self._ids.get(piece, unknown) for piece in pieces]

    def dump(self) -> str:
        """The content of its file, a JSON list."""
        return json.dumps(self.pieces, ensure_ascii=False, indent=0) + "\n"

    @classmethod
    def load(cls, path: Path) -> "Vocabulary":
        try:
            pieces = json.loads(path.read_text("utf-8"))
            problem = "it is something else"
        except (OSError, ValueError) as error:
            pieces, problem = None, f"it cannot be read ({error})"
        if isinstance(pieces, list) and all(isinstance(piece, str) for piece in pieces):
            return cls(pieces, origin=str(path))
        raise ModelError(
            f"{path} must be a JSON list of pieces, all of them strings, but {problem}. "
            "Copy the model again, or import it again with `saccade import`."
        )


def split_code(text: str) -> tuple[str, str]:
    """The code of the wanted language before a text, such as `>>deu<<`, which is one piece, and the text itself."""
    end = text.find("<<") if text.startswith(">>") else -1
    return ("", text) if end == -1 else (text[: end + 2], text[end + 2 :])
