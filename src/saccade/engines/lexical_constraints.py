"""Translations constrained by words: what a text lacks becomes constraints on tokens, and it is searched again.

A phrase can be cut into tokens in many ways, so that tokens alone can neither tell whether a text has it nor keep it
out. The texts that were found decide, and most need no second search.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from saccade.engines.engine import Advanced, Engine, Sentences
from saccade.search.constraints import FREE, Constraints, Phrase
from saccade.search.hypothesis import Hypothesis
from saccade.search.settings import SearchSettings
from saccade.text.tokenizer import UNK, Tokenizer
from saccade.text.wording import occurrences

ROUNDS = 10  # searches at most: each rules out one more way to spell what is banned


@dataclass(frozen=True, slots=True)
class TextConstraints:
    """What the translation of one source must satisfy, in words of the target language."""

    prefix: str = ""
    banned: tuple[str, ...] = ()
    required: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.prefix or self.banned or self.required)


@dataclass(frozen=True, slots=True)
class ConstraintEncoder:
    """From constraints on a text to constraints on its tokens."""

    tokenizer: Tokenizer
    spaced: bool
    """Whether there are blanks between the words of the target language."""

    def encode_prefix(self, asked: TextConstraints) -> Constraints:
        """The constraints of the first search."""
        return Constraints(prefix=tuple(self.tokenizer.encode(asked.prefix))) if asked.prefix else FREE

    def translate(
        self,
        engine: Engine,
        sources: Sentences,
        settings: SearchSettings,
        asked: Sequence[TextConstraints],
        advanced: Advanced,
    ) -> list[list[Hypothesis]]:
        """The best hypotheses of each source that satisfy its constraints, as far as they can be found."""
        if not any(asked):
            return engine.translate(sources, settings, advanced=advanced)
        constraints = [self.encode_prefix(own) for own in asked]
        rows = [row for row, own in enumerate(asked) if own.banned or own.required]
        first = constraints if any(constraints) else ()
        best = engine.translate(sources, settings, constraints=first, advanced=advanced)
        for _ in range(ROUNDS):
            tighter = {row: self.tighten(constraints[row], asked[row], best[row]) for row in rows}
            rows = [row for row in rows if tighter[row] != constraints[row]]
            if not rows:
                break
            constraints = [tighter.get(row, own) for row, own in enumerate(constraints)]
            again = [sources[row] for row in rows]
            hypotheses = engine.translate(again, settings, constraints=[constraints[row] for row in rows])
            for row, of_source in zip(rows, hypotheses, strict=True):
                best[row] = of_source
        return best

    def tighten(
        self, constraints: Constraints, asked: TextConstraints, hypotheses: Sequence[Hypothesis]
    ) -> Constraints:
        """The constraints that also rule out what these hypotheses do wrong; unchanged if nothing can be done."""
        required, banned = dict.fromkeys(constraints.required), dict.fromkeys(constraints.banned)
        for hypothesis in hypotheses:
            text, spans = self.tokenizer.decode_with_spans(hypothesis.ids)
            for phrase in asked.required:
                ids = self._phrase(phrase)
                if UNK not in ids and self.tokenizer.decode(ids).strip() not in text:
                    required[ids] = None
            for phrase in asked.banned:
                for first, last in self._covering(phrase, text, spans):
                    if last > len(constraints.prefix):
                        banned[hypothesis.ids[first:last]] = None
        return replace(constraints, required=tuple(required), banned=tuple(banned))

    def notes(self, text: str, asked: TextConstraints) -> Iterator[str]:
        """Which constraints a translation does not satisfy, for its reader."""
        if asked.prefix and not text.startswith(self._surface(asked.prefix)):
            yield f"does not begin with {asked.prefix!r}, which has characters that the model cannot write"
        for phrase in asked.required:
            if self._surface(phrase) not in text:
                yield f"does not have {phrase!r}, which is required: no translation with it was found"
        for phrase in asked.banned:
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
