"""Words in, links out: a model is led through two known sentences, and its weights say what belongs together."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from saccade.errors import DataError
from saccade.evaluation.alignment import Aligned
from saccade.text.joining import has_spaces, join
from saccade.trace.alignment import shares
from saccade.trace.trace import Tokens

if TYPE_CHECKING:
    from saccade.translator import Translator

Words = Sequence[str]


def align(translator: "Translator", sources: Sequence[Words], targets: Sequence[Words]) -> list[Aligned]:
    """Force the model through each target and keep its weights, ready to be read between these words.

    Words are put together with blanks, or without where the language of that side is written so. A pair with an empty
    side has nothing to align and is refused: leave it out.
    """
    description = translator.directory.description
    left = [join(words, spaced=has_spaces(description.source_language)) for words in sources]
    right = [join(words, spaced=has_spaces(description.target_language)) for words in targets]
    for number, pair in enumerate(zip(left, right, strict=True), start=1):
        if not all(side.text for side in pair):
            raise DataError(f"Both sides of a pair must have words, but one side of pair {number} has none.")
    traces = translator.trace([each.text for each in left], [each.text for each in right], kinds=["cross"])
    return [
        Aligned(trace, shares(_spans(trace.source), source.spans), shares(_spans(trace.target), target.spans))
        for trace, source, target in zip(traces, left, right, strict=True)
    ]


def _spans(tokens: Tokens) -> tuple[tuple[int, int], ...]:
    assert tokens.spans is not None
    return tokens.spans
