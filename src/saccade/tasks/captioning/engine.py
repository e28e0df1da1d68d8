"""Runs a captioner with torch: images in, what is said of them out, and where it looked for each word."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from saccade.engines.engine import Advanced, Ids, Traced
from saccade.errors import ModelError
from saccade.nn.capture import capture
from saccade.nn.mode import evaluating
from saccade.search.hypothesis import Hypothesis
from saccade.search.problem import SearchProblem
from saccade.search.search import search
from saccade.search.settings import SearchSettings
from saccade.tasks.captioning.batch import Images, collate_captions
from saccade.tasks.captioning.model import AnyCaptioner, Captioner
from saccade.text.tokenizer import BOS, EOS, PAD, UNK
from saccade.trace.trace import AttentionTrace, Layer, Picture, Tokens

BATCH = 64


class CaptionEngine:
    """A captioner in this process. An image has no tokens, so that a caption's limit is `max_length_extra`."""

    def __init__(self, model: AnyCaptioner) -> None:
        self.model: Captioner[Any] = model

    def describe(
        self, images: Float[Tensor, "images ..."], settings: SearchSettings, *, advanced: Advanced = lambda _: None
    ) -> list[list[Hypothesis]]:
        """The best captions of each image, the best first. `advanced` is told how many more are done."""
        found: list[list[Hypothesis]] = []
        size = max(1, BATCH // settings.beam)
        for part in (images[begin : begin + size] for begin in range(0, len(images), size)):
            with evaluating(self.model):
                problem = SearchProblem(
                    model=self.model,
                    memory=self.model.encode(Images(part)),
                    limits=torch.full((len(part),), settings.limit(0), device=part.device),
                    bos=BOS,
                    eos=EOS,
                    banned=(PAD, BOS) if settings.unknown else (PAD, BOS, UNK),
                )
                found += search(problem, settings)
            advanced(len(part))
        return found

    def trace(self, images: Float[Tensor, "images ..."], captions: Sequence[Ids]) -> list[Traced]:
        """How likely each token of each caption was, and where in the image was looked for it."""
        if not self.model.settings.attends:
            raise ModelError(
                "Weights were asked for, but this model has no attention: it reads the mean of all cells. Train one "
                'with model.attention = "soft" or "hard" to see where it looks.'
            )
        with evaluating(self.model):
            return [self._traced(image[None], caption) for image, caption in zip(images, captions, strict=True)]

    def _traced(self, image: Tensor, caption: Ids) -> Traced:
        batch = collate_captions(image, [caption])
        with capture(self.model) as captured:
            logits = self.model.logits(self.model(batch))
        log_probs = -cross_entropy(logits[0].double(), batch.target[0], reduction="none")
        layers = [
            Layer(layer.name, "image", layer.weights[0].numpy()) for layer in captured.layers if layer.kind == "image"
        ]
        return Traced(tuple(log_probs.tolist()), tuple(layers))


def caption_trace(traced: Traced, caption: Hypothesis, target: Tokens, picture: Picture) -> AttentionTrace:
    """Where a model looked for each piece of a caption; `trace.words` makes words of them."""
    return AttentionTrace(
        source=Tokens(()),
        target=target,
        layers=traced.layers,
        score=caption.score,
        log_prob=caption.log_prob if caption.finished else None,
        token_log_probs=traced.token_log_probs,
        image=picture,
    )
