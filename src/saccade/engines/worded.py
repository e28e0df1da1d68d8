"""Translations that say what they are asked to, in words: what a text lacks is asked for in tokens, and searched again.

A phrase can be cut into tokens in many ways, so that tokens alone can neither tell whether a text has it nor keep it
out. The texts that were found decide, and most need no second search.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from saccade.engines.engine import Advanced, Engine, Ids
from saccade.errors import ModelError
from saccade.search.constraints import FREE, Constraints, Phrase
from saccade.search.hypothesis import Hypothesis
from saccade.search.settings import SearchSettings
from saccade.text.tokenizer import UNK, Tokenizer
from saccade.text.wording import occurrences

ROUNDS = 10  # searches at most: each rules out one more way to spell what is banned


@dataclass(frozen=True, slots=True)
class Demand:
    """What the translation of one source is held to, in the target language."""

    prefix: str = ""
    banned: tuple[str, ...] = ()
    required: tuple[str, ...] = ()

    @property
    def is_of_words(self) -> bool:
        """Whether it is about what stands somewhere in the text."""
        return bool(self.banned or self.required)


@dataclass(frozen=True, slots=True)
class Writer:
    """Between demands and tokens."""

    tokenizer: Tokenizer
    spaced: bool
    """Whether there are blanks between the words of the target language."""

    def begun(self, demand: Demand) -> Constraints:
        """What holds before anything was found: the prefix."""
        return Constraints(prefix=tuple(self.tokenizer.encode(demand.prefix))) if demand.prefix else FREE

    def tightened(self, held: Constraints, demand: Demand, found: Sequence[Hypothesis]) -> Constraints:
        """The same, and against what these hypotheses do wrong; unchanged if nothing is left to do about it."""
        required, banned = dict.fromkeys(held.required), dict.fromkeys(held.banned)
        for each in found:
            text, spans = self.tokenizer.decode_with_spans(each.ids)
            for phrase in demand.required:
                ids = self._phrase(phrase)
                if UNK not in ids and self.tokenizer.decode(ids).strip() not in text:
                    required[ids] = None
            for phrase in demand.banned:
                for first, last in self._covering(phrase, text, spans):
                    if last > len(held.prefix):
                        banned[each.ids[first:last]] = None
        return replace(held, required=tuple(required), banned=tuple(banned))

    def remarks(self, text: str, demand: Demand) -> Iterator[str]:
        """What a text does not hold to, for its reader."""
        if demand.prefix and not text.startswith(self._surface(demand.prefix)):
            yield f"does not begin with {demand.prefix!r}, which has characters that the model cannot write"
        for phrase in demand.required:
            if self._surface(phrase) not in text:
                yield f"does not have {phrase!r}, which is required: no translation with it was found"
        for phrase in demand.banned:
            if any(occurrences(phrase, text, spaced=self.spaced)):
                yield f"has {phrase!r}, which is banned: no translation without it was found"

    def _phrase(self, phrase: str) -> Phrase:
        """How a phrase is asked for: as the beginning of a word, or right after whatever comes before it."""
        return tuple(self.tokenizer.encode(phrase) if self.spaced else self.tokenizer.encode_within(phrase))

    def _surface(self, phrase: str) -> str:
        """A phrase as the model writes it: an imported tokenizer has rules of its own."""
        ids = self.tokenizer.encode(phrase)
        return phrase if UNK in ids else self.tokenizer.decode(ids)

    def _covering(self, phrase: str, text: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """The tokens, from first to before last, that a phrase of the text is written in."""
        for start, end in occurrences(phrase, text, spaced=self.spaced):
            inside = [place for place, (first, last) in enumerate(spans) if first < end and last > start]
            yield inside[0], inside[-1] + 1


def need_beam(settings: SearchSettings) -> None:
    """Refuse a search that cannot be asked for required phrases."""
    if settings.method not in ("beam", "alternatives"):
        raise ModelError(
            f'Required phrases and glossaries need method = "beam" or "alternatives", not "{settings.method}", which '
            "keeps no place for them. Leave them out, or search with a beam."
        )


def translate_worded(
    engine: Engine,
    writer: Writer,
    sources: Sequence[Ids],
    settings: SearchSettings,
    demands: Sequence[Demand],
    *,
    advanced: Advanced = lambda _: None,
) -> list[list[Hypothesis]]:
    """The best hypotheses of each source that hold to its demand, as far as they can be found."""
    held = [writer.begun(demand) for demand in demands]
    rows = [row for row, demand in enumerate(demands) if demand.is_of_words]
    if any(demands[row].required for row in rows):
        need_beam(settings)
    if rows or any(held):
        engine.need_constraints()
    found = engine.translate(sources, settings, constraints=held if any(held) else None, advanced=advanced)
    for _ in range(ROUNDS):
        tighter = {row: writer.tightened(held[row], demands[row], found[row]) for row in rows}
        rows = [row for row in rows if tighter[row] != held[row]]
        if not rows:
            break
        for row in rows:
            held[row] = tighter[row]
        again = engine.translate([sources[row] for row in rows], settings, constraints=[held[row] for row in rows])
        for row, hypotheses in zip(rows, again, strict=True):
            found[row] = hypotheses
    return found
