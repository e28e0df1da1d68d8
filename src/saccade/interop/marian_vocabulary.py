"""From the ids of a Marian vocabulary to ours, where the specials come first, and from its tokenizers to ours."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade.errors import ModelError
from saccade.text.tokenizer import BOS, EOS, PAD, SPECIALS, UNK, Tokenizer, Tokenizers
from saccade.text.vocabulary import Vocabulary

SPM = ("source.spm", "target.spm")
MARK = "saccade_spm_sizes"
"""In the tokenizer_config.json of what we exported: how long each SentencePiece model is without our normaliser."""


@dataclass(frozen=True, slots=True)
class Order:
    """Which row of their tables stands where in ours."""

    pieces: tuple[str, ...]
    rows: tuple[int, ...]

    @property
    def repeats_start(self) -> bool:
        """Decoding there begins with a token that has another meaning, too, so that its row becomes two of ours."""
        return self.rows.count(self.rows[BOS]) > 1


def order(ids: Mapping[str, Any], size: int, words: Mapping[str, Any], start: int | None, *, origin: str) -> Order:
    """Our specials first, then all other rows as they come; `words` is tokenizer_config.json, which names specials.

    `size` is the number of rows; one without a piece is named by its number. `start` is the row that decoding begins
    with; the source side has none, and `<s>` is called there whatever was called so, or padding.
    """
    named = (words.get(f"{name}_token") or SPECIALS[id] for name, id in (("pad", PAD), ("unk", UNK), ("eos", EOS)))
    pad, unk, eos = (word["content"] if isinstance(word, dict) else word for word in named)
    problems = [f"{word!r} is missing" for word in (pad, unk, eos) if word not in ids]
    wrong = [word for word, id in ids.items() if type(id) is not int or not 0 <= id < size]
    problems += [f"the id of {word!r} is {ids[word]!r}" for word in wrong[:3]]
    if not wrong and len(set(ids.values())) < len(ids):
        problems.append("several pieces have the same id")
    if problems:
        raise ModelError(
            f"{origin} must give every piece an id of its own, from 0 to {size - 1}, the specials among them, but "
            f"{'; '.join(problems)}. It does not belong to this model, or was damaged: download it again."
        )
    begin = ids.get(SPECIALS[BOS], ids[pad]) if start is None else start
    first = [ids[pad], ids[unk], begin, ids[eos]]
    pieces = {id: piece for piece, id in ids.items() if piece not in SPECIALS}
    others = [row for row in range(size) if row not in first]
    return Order((*SPECIALS, *(pieces.get(row, f"<row {row}>") for row in others)), (*first, *others))


def tokenizers(path: Path, words: Mapping[str, Any], source: Order, target: Order) -> Tokenizers:
    """Those of a Marian directory, which cut texts by their own SentencePiece models."""
    if mark := words.get(MARK):
        return _our_own(path, mark)
    return Tokenizers(
        *(
            Tokenizer((path / name).read_bytes(), Vocabulary(side.pieces), origin=str(path / name))
            for name, side in zip(SPM, (source, target), strict=True)
        )
    )


def _our_own(path: Path, sizes: Any) -> Tokenizers:
    """What we exported comes back as it was: ids by SentencePiece, and `normalize` before it."""
    models = [(path / name).read_bytes() for name in SPM]
    if not (
        isinstance(sizes, list)
        and len(sizes) == 2
        and all(type(size) is int and 0 < size <= len(model) for size, model in zip(sizes, models, strict=True))
    ):
        raise ModelError(
            f"{path} must have the SentencePiece models that it was exported with, as {MARK} in tokenizer_config.json "
            f"says, but that is {sizes!r}. Export the model again, or remove the entry to import it as it is."
        )
    ours = [model[:size] for size, model in zip(sizes, models, strict=True)]
    return Tokenizers(*(Tokenizer(model, origin=str(path / name)) for name, model in zip(SPM, ours, strict=True)))
