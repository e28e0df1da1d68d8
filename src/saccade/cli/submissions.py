"""What `saccade evaluate` compares: lines of files, and what models make of the source."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from saccade.cli.console import bar, note
from saccade.errors import DataError, MissingDependency, ModelError
from saccade.search.overrides import adjust_search
from saccade.search.settings import SearchSettings
from saccade.text.formats.opening import open_text

if TYPE_CHECKING:
    from saccade.evaluation.report import Submission
    from saccade.translation import Translation
    from saccade.translator import Translator

CHUNK = 200  # texts whose attention is held at a time
UNNAMED = ("run", "model")  # what a directory is called for what it is, not for what is in it


def named(words: Sequence[str]) -> list[tuple[str, Path]]:
    """Of NAME=PATH or PATH; the name is else that of the file, or of the directory around a run or model."""
    found = []
    for word in words:
        name, equals, rest = word.partition("=")
        path = Path(rest if equals and not Path(word).exists() else word)
        own = path.parent.name if path.name in UNNAMED and path.parent.name else path.name
        found.append((name if path != Path(word) else own, path))
    return found


def check_names(systems: Sequence[tuple[str, Path]]) -> None:
    """Refuse two systems of one name, which nobody could tell apart."""
    counts = Counter(name for name, _ in systems)
    for name, count in counts.items():
        if count > 1:
            paths = " and ".join(str(path) for each, path in systems if each == name)
            raise DataError(
                f"Every system must have a name of its own, but {paths} are both called {name or 'nothing'}. Give "
                "names, such as: --hypotheses old=FILE --hypotheses new=FILE"
            )


def lines(path: Path, what: str) -> list[str]:
    """The lines of a file that must have some."""
    if found := list(open_text(path)):
        return found
    raise DataError(f"{path} must hold at least one {what}, but it is empty.")


def check_counts(files: Sequence[tuple[Path, Sequence[str]]]) -> None:
    """Refuse files of unequal length; each is named with its own."""
    if len({len(found) for _, found in files}) > 1:
        *first, last = (f"{path} has {len(found):,}" for path, found in files)
        raise DataError(
            f"Line n of every file must belong to line n of the others, but {', '.join(first)} and {last} lines. Find "
            "the line that is missing or was split in two; a blank line counts as a line."
        )


def of_model(
    translator: "Translator",
    sources: list[str],
    references: list[str],
    *,
    origin: Path,
    beam: int | None,
    attention: bool,
) -> "Submission":
    """Translations of a model and what else it says of the reference."""
    from saccade.evaluation.attention import gaze
    from saccade.evaluation.report import Submission

    settings = adjust_search(translator.search, beam, 1, origin="The command line")
    remark = no_attention(translator, sources) if attention else ""
    texts, gazes = [], []
    looked_at = attention and not remark
    for number, translation in enumerate(_translated(translator, sources, settings, attention=looked_at), start=1):
        for each in translation.notes:
            note(f"{origin}, line {number} {each}")
        texts.append(translation.text)
        gazes.append(None if translation.attention is None else gaze(translation.attention))
    encoded = translator.directory.tokenizers.target.encode_many(references)
    num_tokens = sum(len(ids) + 1 for ids in encoded)
    loss = -sum(translator.score(sources, references)) / num_tokens
    facts = {"perplexity": math.exp(loss), "tokens": num_tokens, "beam": settings.beam}
    return Submission(texts, gazes if looked_at else None, facts, remark)


def no_attention(translator: "Translator", sources: Sequence[str]) -> str:
    """Why there is no attention to look at; nothing if there is."""
    try:
        translator.translate(next((text for text in sources if text.strip()), ""), attention=True)
    except (ModelError, MissingDependency) as error:
        return str(error)
    return ""


def _translated(
    translator: "Translator", sources: list[str], settings: SearchSettings, *, attention: bool
) -> Iterator["Translation"]:
    """In order. With attention, a part at a time, as the weights of all fill the memory.

    Every text is read whole, however long: scores are those of the model, with attention or without.
    """
    size = CHUNK if attention else max(1, len(sources))
    with bar("lines") as progress:
        task = progress.add_task("translating", total=len(sources))
        for begin in range(0, len(sources), size):
            yield from translator.translate(
                sources[begin : begin + size],
                search=settings,
                attention=attention,
                split="never",
                advanced=lambda count: progress.advance(task, count),
            )
