"""Words in, links out: a model is led through two known sentences, and its weights say what belongs together."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from saccade.errors import DataError, ModelError
from saccade.evaluation.alignment import Aligned
from saccade.text.joining import has_spaces, join
from saccade.trace.alignment import shares
from saccade.trace.trace import AttentionTrace, Layer, Matrix, Tokens

if TYPE_CHECKING:
    from torch import Tensor

    from saccade.text.tokenizer import Tokenizer
    from saccade.translator import Translator

Words = Sequence[str]


def align(translator: "Translator", sources: Sequence[Words], targets: Sequence[Words]) -> list[Aligned]:
    """Force the model through each target and keep its weights, ready to be read between these words.

    Words are put together with blanks, or without where the language of that side is written so. A pair with an empty
    side has nothing to align and is refused: leave it out.
    """
    description = translator.directory.description
    if not description.model.attends:
        raise ModelError(
            "An alignment is read off attention, but this model has none: its decoder reads the source as one vector. "
            'Train a model with another model.attention.positions, such as "global".'
        )
    left = [join(words, spaced=has_spaces(description.source_language)) for words in sources]
    right = [join(words, spaced=has_spaces(description.target_language)) for words in targets]
    for number, pair in enumerate(zip(left, right, strict=True), start=1):
        if not all(side.text for side in pair):
            raise DataError(f"Both sides of a pair must have words, but one side of pair {number} has none.")
    traces = _traces(translator, [each.text for each in left], [each.text for each in right])
    return [
        Aligned(trace, shares(_spans(trace.source), source.spans), shares(_spans(trace.target), target.spans))
        for trace, source, target in zip(traces, left, right, strict=True)
    ]


def _spans(tokens: Tokens) -> tuple[tuple[int, int], ...]:
    assert tokens.spans is not None
    return tokens.spans


def _traces(translator: "Translator", sources: Sequence[str], targets: Sequence[str]) -> list[AttentionTrace]:
    """Stands in for `Translator.trace(sources, targets)`: replace the call above when that exists."""
    import torch

    from saccade.data.batch import collate
    from saccade.nn.capture import capture

    tokenizers, model = translator.directory.tokenizers, translator.engine.model
    found = []
    for one, other in zip(sources, targets, strict=True):
        source, source_ids = _tokens(tokenizers.source, one)
        target, target_ids = _tokens(tokenizers.target, other)
        batch = collate([source_ids], [target_ids]).to(next(model.parameters()).device)
        with torch.inference_mode(), capture(model) as heard:
            model(batch)
        layers = tuple(
            Layer(name, "cross", _stacked([call[0] for call in calls]))
            for name, calls in heard.weights.items()
            if name.endswith("cross_attention")
        )
        found.append(AttentionTrace(source=source, target=target, layers=layers))
    return found


def _stacked(calls: "list[Tensor]") -> Matrix:
    """Heads × target × source, from one call for the whole target or one call a step."""
    import torch

    stacked: Matrix = torch.cat(calls, dim=1).float().cpu().numpy()
    return stacked


def _tokens(tokenizer: "Tokenizer", text: str) -> tuple[Tokens, list[int]]:
    encoded = tokenizer.encode_with_spans(text)
    end = len(text)
    return Tokens((*encoded.pieces, "</s>"), text, (*encoded.spans, (end, end))), list(encoded.ids)
