"""What a tuning was asked for: its files, its direction, and a record of both that a resumed one must agree with."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade.data.settings import CorpusSettings
from saccade.directory import ModelDirectory
from saccade.errors import DataError, ModelError, OutputExists
from saccade.files import sha256_of
from saccade.starter import guess_languages
from saccade.text.formats.opening import check_readable
from saccade.text.languages import Direction

FORMAT = 1
_ALONE = (".tsv", ".tsv.gz", ".tsv.zst")

Files = str | Path | tuple[str | Path, str | Path]
"""A TSV file of pairs; or a file of sources, and one whose line n translates line n of it."""


def corpora_of(files: Files | Sequence[Files] | None) -> tuple[CorpusSettings, ...]:
    """The corpora that files make; a tuple of two is one corpus, a list holds several."""
    if files is None:
        return ()
    listed = [files] if isinstance(files, str | Path | tuple) else files
    return tuple(_corpus(each) for each in listed)


def _corpus(files: Files) -> CorpusSettings:
    paths = [Path(files)] if isinstance(files, str | Path) else [Path(path) for path in files]
    for path in paths:
        check_readable(path)
    try:
        if len(paths) == 1:
            return CorpusSettings(file=paths[0])
        source, target = paths
        return CorpusSettings(source=source, target=target)
    except ValueError as error:
        raise DataError(f"{error}. Name the file of sources, then that of their translations.") from None


def pair_up(paths: Sequence[Path]) -> list[Files]:
    """Files as they are typed: a .tsv has both sides, all others come in twos."""
    found: list[Files] = []
    waiting: Path | None = None
    for path in paths:
        if waiting is None and path.name.lower().endswith(_ALONE):
            found.append(path)
        elif waiting is None:
            waiting = path
        else:
            found.append((waiting, path))
            waiting = None
    if waiting is not None:
        raise DataError(
            f"A file of sources must be followed by that of their translations, but {waiting} is the last one. Add the "
            "other, or name a file that ends in .tsv and has both, with a tab between."
        )
    return found


def choose_direction(base: ModelDirectory, memory: CorpusSettings, source: str | None, target: str | None) -> Direction:
    """The direction of a model that a memory is of: as given, else as its names tell, else the only one."""
    guesses = guess_languages(memory)
    asked = (source or guesses[0], target or guesses[1])
    try:
        found = base.find_directions(asked[1], asked[0])
    except ModelError as error:
        names = " and ".join(path.name for path in memory.paths)
        hint = "" if source and target else f" The languages were guessed from {names}: give --from and --to."
        raise ModelError(f"{error}{hint if any(guesses) else ''}") from None
    if len(found) > 1:
        sources = " or ".join(f'"{direction.source}"' for direction in found)
        raise ModelError(
            f"{base.name} translates {', '.join(map(str, found))}: name the language of the memory's sources "
            f"({sources}), with --from."
        )
    return found[0]


@dataclass(frozen=True, slots=True)
class Request:
    """All that the data of a tuning follows from."""

    base: ModelDirectory
    direction: Direction
    memory: tuple[CorpusSettings, ...]
    general: tuple[CorpusSettings, ...]
    replay: tuple[CorpusSettings, ...]

    @property
    def memory_names(self) -> str:
        """The names of the memory's files."""
        return " and ".join(path.name for corpus in self.memory for path in corpus.paths)

    def record(self) -> dict[str, Any]:
        """As plain values; files are known by their checksums, so that they may move."""
        return {
            "format": FORMAT,
            "base": {"path": str(self.base.path.absolute()), "sha256": self.base.checksum()},
            "direction": str(self.direction),
            "memory": _record(self.memory),
            "general": _record(self.general),
            "replay": _record(self.replay),
        }

    def check(self, recorded: Path) -> None:
        """Refuse to resume what was begun with another model or with other files."""
        before = json.loads(recorded.read_text(encoding="utf-8"))
        now, output = self.record(), recorded.parent.parent
        changes = [name for name in now if _known(before.get(name)) != _known(now[name])]
        if changes:
            named = {"base": "model", "memory": "memory", "general": "general set", "replay": "replayed text"}
            listed = " and ".join(named.get(name, name) for name in changes)
            raise OutputExists(
                f"{output} must be a new directory, or one that was begun with the same model and files, but it has "
                f"another {listed}. Name another output, or give what it was begun with to resume it."
            )


def _record(corpora: Sequence[CorpusSettings]) -> list[dict[str, str]]:
    paths = [path for corpus in corpora for path in corpus.paths]
    return [{"path": str(path.absolute()), "sha256": sha256_of(path)} for path in paths]


def _known(value: Any) -> Any:
    """What is compared: checksums, not places."""
    if isinstance(value, list):
        return [_known(each) for each in value]
    return value.get("sha256") if isinstance(value, Mapping) else value
