"""What a translator hands back: a translation with its score, tokens and attention, and scores of given ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from typing import NamedTuple

from saccade.markup import tag
from saccade.trace import alignment, notebook
from saccade.trace.trace import AttentionTrace
from saccade.trace.words import word_spans


@dataclass(frozen=True, slots=True)
class Translation:
    """One way to say a text in the other language."""

    source: str
    """The text as it was given."""
    text: str
    """The translation."""
    score: float = 0.0
    """What ranked it: log-probability made comparable between lengths."""
    log_prob: float = 0.0
    """Its log-probability under the model; of a text in several parts, the sum over them."""
    tokens: tuple[str, ...] = ()
    """The tokens that the translation was written in."""
    attention: AttentionTrace | None = field(default=None, repr=False, compare=False)
    """What was attended to, in every layer and head; None unless asked for."""
    alternatives: tuple["Translation", ...] = field(default=(), repr=False)
    """The next best ones, if more than one was asked for."""
    notes: tuple[str, ...] = ()
    """What the reader should know, such as a source longer than the model has ever seen."""
    num_parts: int = 1
    """How many parts the source was cut into; each was translated by itself."""
    aligned_by: alignment.HeadSelection = field(default=alignment.HeadSelection(), repr=False, compare=False)
    """The weights that `alignment` reads: those that the model names, or the mean of all."""

    def __str__(self) -> str:
        return self.text

    @property
    def alignment(self) -> tuple[alignment.Link, ...] | None:
        """Links (source word, target word) from 0: what each target word attends to most; None without attention."""
        if self.attention is None:
            return None
        heard = self.aligned_by.weights(self.attention)
        sides = (self.attention.source, self.attention.target)
        source, target = (alignment.shares(side.spans, word_spans(side.text)) for side in sides)
        words = alignment.between_words(heard, source, target)
        return tuple(alignment.links(alignment.balanced(words) if self.aligned_by.balanced else words))

    @property
    def traces(self) -> list[AttentionTrace]:
        """Its attention and that of its alternatives, as far as it was asked for."""
        return [each.attention for each in (self, *self.alternatives) if each.attention is not None]

    def _repr_html_(self) -> str:
        """What a notebook shows: the page of its attention and that of its alternatives, or the text alone."""
        return notebook.repr_html(self.traces) if self.traces else tag("p", self.text)


class Translations(list[Translation]):
    """The translations of several texts, in their order."""

    def _repr_html_(self) -> str:
        """What a notebook shows: a line for each, which opens the page of its attention."""
        return notebook.repr_html_list([notebook.Shown(each.source, each.text, each.traces) for each in self])


def join_parts(
    source: str,
    parts: Sequence[Translation],
    *,
    join_texts: Callable[[Sequence[str]], str],
    score: Callable[[Sequence[Translation]], float],
) -> Translation:
    """The translations of all parts of a text as that of the whole; the n-th best has the n-th best of every part."""

    def join(parts: Sequence[Translation]) -> Translation:
        if len(parts) == 1:
            return replace(parts[0], source=source, alternatives=())
        return Translation(
            source=source,
            text=join_texts([part.text for part in parts]),
            score=score(parts),
            log_prob=sum(part.log_prob for part in parts),
            tokens=tuple(token for part in parts for token in part.tokens),
            num_parts=len(parts),
        )

    ranked = [(part, *part.alternatives) for part in parts]
    places = range(max(map(len, ranked)))
    best, *others = (join([several[min(place, len(several) - 1)] for several in ranked]) for place in places)
    return replace(best, alternatives=tuple(others)) if others else best


class Scored(NamedTuple):
    """How likely a given translation is, token by token."""

    tokens: tuple[str, ...]
    """Those of the target, and its end."""
    log_probs: tuple[float, ...]
    """Of each of them, given the source and the tokens before it, in nats."""

    @property
    def log_prob(self) -> float:
        """log p(target | source)."""
        return fsum(self.log_probs)
