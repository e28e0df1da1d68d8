"""What a call of `translate` asks for, checked before anything is translated."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, get_args

from saccade.engines.mbr import candidate_search
from saccade.errors import DataError, ModelError
from saccade.evaluation.risk import MinimumRisk
from saccade.search.constraints import need_beam
from saccade.search.settings import SearchSettings
from saccade.text.segments import Split
from saccade.text.wording import Wording


class TranslateKeywords(TypedDict, total=False):
    """What `Translator.translate` takes beside the texts; its docstring explains each."""

    to: str | None
    source: str | None
    beam: int | None
    n_best: int | None
    glossary: Mapping[str, str] | None
    search: SearchSettings | None
    wording: Wording | Sequence[Wording] | None
    mbr: MinimumRisk | None
    attention: bool
    split: Split
    advanced: Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslateOptions:
    """How all texts of a call are translated."""

    search: SearchSettings
    wording: Wording | Sequence[Wording]
    """One for all texts, or one for each."""
    mbr: MinimumRisk | None = None
    attention: bool = False
    split: Split = "auto"

    def __post_init__(self) -> None:
        check_search(self.search)
        if self.split not in get_args(Split):
            raise ModelError(f"split must be one of {', '.join(get_args(Split))}, not {self.split}.")
        if not isinstance(self.mbr, MinimumRisk | None):
            raise DataError(f"mbr must be a MinimumRisk, not {describe(self.mbr)}. Write mbr=MinimumRisk(samples=32).")
        if self.attention and self.split == "sentences":
            raise ModelError(
                'attention is available only for unsplit text, but split = "sentences" was given, too. '
                "Leave one of them out, or translate each sentence by itself."
            )

    @property
    def candidates(self) -> SearchSettings:
        """The search that is made: minimum Bayes risk compares more translations than it returns."""
        return self.search if self.mbr is None else candidate_search(self.search, self.mbr)

    def wordings(self, count: int) -> list[Wording]:
        """One for each of `count` texts."""
        wordings = [self.wording] * count if isinstance(self.wording, Wording) else list(self.wording)
        if strange := [wording for wording in wordings if not isinstance(wording, Wording)]:
            raise DataError(
                f"wording must be a Wording, or a list with one for each text, but there is {strange[0]!r}. "
                'Write, for example, Wording(glossary={"dog": "Hund"}).'
            )
        if len(wordings) != count:
            raise DataError(
                f"Every text must have a wording of its own, or all of them the same, but there are {count} texts "
                f"and {len(wordings)} wordings. Give Wording() to those that are free."
            )
        return wordings

    def check_wordings(self, wordings: Iterable[Wording]) -> None:
        """Refuse wordings that this search cannot satisfy, before the first text that has a term of the glossary."""
        if any(wording.required or wording.glossary for wording in wordings):
            if self.mbr is not None and self.mbr.samples:
                raise ModelError(
                    "Required phrases and glossaries need a beam, but minimum Bayes risk over "
                    f"{self.mbr.samples} samples has none. Leave one of the two out."
                )
            need_beam(self.search)


def check_search(search: object) -> None:
    """Refuse a search that is not given as settings."""
    if not isinstance(search, SearchSettings):
        raise DataError(
            f"search must be SearchSettings, not {describe(search)}. Write search=SearchSettings(beam=3), or beam=3."
        )


def check_counts(**counts: object) -> None:
    """Refuse numbers that are not integers."""
    for name, count in counts.items():
        if count is not None and (not isinstance(count, int) or isinstance(count, bool)):
            raise DataError(f"{name} must be an integer, not {describe(count)}. Write, for example, {name}=3.")


def collect_texts(texts: object) -> list[str]:
    """The texts of any iterable, if they are texts."""
    if isinstance(texts, bytes | bytearray) or not isinstance(texts, Iterable):
        remedy = "Decode it first." if isinstance(texts, bytes | bytearray) else "Pass the text itself, or a list."
        raise DataError(f"texts must be a string or an iterable of strings, not {describe(texts)}. {remedy}")
    listed: list[Any] = list(texts)
    for number, text in enumerate(listed, start=1):
        if not isinstance(text, str):
            raise DataError(
                f"texts must be strings, but number {number} is {describe(text)}. "
                "Leave it out, or pass an empty string to keep its place."
            )
    return listed


def check_pairs(sources: Sequence[str], targets: Sequence[str]) -> None:
    """Refuse sources and targets that do not belong together."""
    if isinstance(sources, str) or isinstance(targets, str):
        raise DataError("Sources and targets must be two lists of strings. Write score([source], [target]).")
    if len(sources) != len(targets):
        raise DataError(
            f"Every source must have one target, but there are {len(sources)} sources and {len(targets)} targets."
        )


def describe(value: object) -> str:
    """A value of the wrong type, for a message: None, or its type."""
    return "None" if value is None else f"{type(value).__name__} ({value!r:.40})"
