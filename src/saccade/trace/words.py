"""A trace of tokens as a trace of words, or of single characters where there are no spaces, as in Chinese.

What is looked at is summed over the tokens of a word and who looks is averaged, so that rows sum to what they did.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from saccade.errors import SaccadeError
from saccade.trace.alignment import between_words
from saccade.trace.trace import AttentionTrace, Layer, Matrix, Span, Tokens

# Han, kana and half-width kana; Korean has spaces. Variation selectors and voicing marks belong to what they follow.
ALONE = (
    "\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
WORD = re.compile(rf"[{ALONE}][\u3099\u309a\ufe00-\ufe0f\U000e0100-\U000e01ef]*|[^\s{ALONE}]+")
Spans = Sequence[Span]
PART = re.compile("▁+|<0x[0-9A-F]{2}>")  # a token without characters of its own that belongs to the word that follows


def words(
    trace: AttentionTrace, *, source: Spans | None = None, target: Spans | None = None, punctuation: bool = False
) -> AttentionTrace:
    """The same trace between words: those that `word_spans` finds unless given, in characters of the texts.

    A token that lies in several words, as Chinese ones do, is shared out between them by its characters. Specials such
    as `</s>` stay as they are; so does a side without spans. Log-probabilities of tokens add up to those of words.
    """
    sources, of_source = _words(trace.source, source, punctuation)
    targets, of_target = _words(trace.target, target, punctuation)
    log_probs = None if trace.token_log_probs is None else tuple((trace.token_log_probs @ of_target).tolist())
    sides = {
        "cross": (of_source, of_target),
        "encoder": (of_source, of_source),
        "decoder": (_read(of_target), of_target),
        "image": (None, of_target),
        "memory": (None, of_target),
    }
    layers = tuple(Layer(each.name, each.kind, between_words(each.weights, *sides[each.kind])) for each in trace.layers)
    return replace(trace, source=sources, target=targets, layers=layers, token_log_probs=log_probs)


def word_spans(text: str, *, punctuation: bool = False) -> list[Span]:
    """Where the words of a text are: between spaces, and each Chinese or Japanese character by itself.

    With `punctuation`, that at the ends of a word is split off: `(dog).` is `(`, `dog` and `).`, but `don't` is one.
    """
    found = [match.span() for match in WORD.finditer(text)]
    return [part for span in found for part in _split(text, span)] if punctuation else found


def _split(text: str, span: Span) -> Iterator[Span]:
    first, end = span
    while first < end and _is_punctuation(text[first]):
        first += 1
    last = end
    while first < last and _is_punctuation(text[last - 1]):
        last -= 1
    yield from (part for part in ((span[0], first), (first, last), (last, end)) if part[0] < part[1])


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character).startswith("P")


def _words(tokens: Tokens, spans: Spans | None, punctuation: bool) -> tuple[Tokens, Matrix]:
    """The words of one side, and how much of each token (row) belongs to each word (column)."""
    if tokens.spans is None:
        return tokens, np.eye(len(tokens))
    chosen = word_spans(tokens.text, punctuation=punctuation) if spans is None else list(spans)
    shares = _shares(tokens, chosen)
    order = list(dict.fromkeys(owner for each in shares for owner in each))
    if missing := [span for span in chosen if span not in order]:
        start, end = missing[0]
        raise SaccadeError(
            f"Every word must hold characters of its text, but that from {start} to {end} has none. "
            "Give spans that follow one another and leave empty words out."
        )
    table = np.array([[each.get(owner, 0.0) for owner in order] for each in shares])
    texts = [tokens.tokens[owner] if isinstance(owner, int) else tokens.text[slice(*owner)] for owner in order]
    places = [tokens.spans[owner] if isinstance(owner, int) else owner for owner in order]
    return Tokens(tuple(texts), tokens.text, tuple(places)), table


def _shares(tokens: Tokens, words: Sequence[Span]) -> list[dict[Span | int, float]]:
    """For each token its words, and how much of it belongs to each; a special, named by its place, has itself alone."""
    assert tokens.spans is not None
    inside = {place: word for word in words for place in range(*word)}
    shares: list[dict[Span | int, float]] = []
    for place, (token, (start, end)) in enumerate(zip(tokens.tokens, tokens.spans, strict=True)):
        counts = Counter(inside[at] for at in range(start, end) if at in inside)
        if counts:
            shares.append({word: count / counts.total() for word, count in counts.items()})
        elif words and (end > start or PART.fullmatch(token)):
            shares.append({next((word for word in words if word[1] > start), words[-1]): 1.0})
        else:
            shares.append({place: 1.0})
    return shares


def _read(of_target: Matrix) -> Matrix:
    """The words that the decoder reads, one place later than it writes them: `<s>` comes first."""
    later = np.zeros_like(of_target)  # of a target without an end, the last word is counted to the word before
    later[0, 0] = 1.0
    later[1:, 1:] = of_target[:-1, :-1]
    later[1:, -1] += of_target[:-1, -1]
    return later
