"""Runs any model with torch: sources sorted by length, batched by tokens, answered in the order they came."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy

from saccade.data.batch import collate, collate_sources
from saccade.directory import ModelDirectory
from saccade.errors import ModelError
from saccade.models.build import Model, build
from saccade.search.hypothesis import Hypothesis
from saccade.search.search import search
from saccade.search.settings import SearchSettings
from saccade.text.tokenizer import BOS, EOS, PAD

BATCH_TOKENS = 2048
Ids = Sequence[int]
Advanced = Callable[[int], None]


class TorchEngine:
    """A model in this process."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @classmethod
    def load(cls, directory: ModelDirectory, device: str = "cpu") -> "TorchEngine":
        """Build the model that the directory describes and fill in its parameters."""
        tokenizers = directory.tokenizers
        model = build(directory.description.model, len(tokenizers.source), len(tokenizers.target))
        fill(model, directory.parameters(), origin=str(directory.path))
        return cls(model.to(device).eval())

    @torch.inference_mode()
    def translate(
        self,
        sources: Sequence[Ids],
        settings: SearchSettings,
        *,
        weights: bool = False,
        advanced: Advanced = lambda _: None,
    ) -> list[list[Hypothesis]]:
        """The best hypotheses of each source, the best first. `advanced` is told how many more are done."""
        device = next(self.model.parameters()).device
        found: dict[int, list[Hypothesis]] = {}
        with _evaluating(self.model):
            for rows in _by_length([len(source) for source in sources], BATCH_TOKENS // settings.beam):
                chosen = [sources[row] for row in rows]
                memory = self.model.encode(collate_sources(chosen).to(device))
                hypotheses = search(
                    self.model,
                    memory,
                    limits=torch.tensor([settings.limit(len(source)) for source in chosen], device=device),
                    bos=BOS,
                    eos=EOS,
                    settings=settings,
                    weights=weights,
                    banned=(PAD, BOS),
                )
                found.update(zip(rows, hypotheses, strict=True))
                advanced(len(rows))
        return [found[row] for row in range(len(sources))]

    @torch.inference_mode()
    def score(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[float]:
        """log p(target | source) of each pair, the end of sentence included."""
        device = next(self.model.parameters()).device
        found: dict[int, float] = {}
        lengths = [max(len(source), len(target)) for source, target in zip(sources, targets, strict=True)]
        with _evaluating(self.model):
            for rows in _by_length(lengths, BATCH_TOKENS):
                batch = collate([sources[row] for row in rows], [targets[row] for row in rows]).to(device)
                logits = self.model.logits(self.model(batch))
                losses = cross_entropy(logits.transpose(1, 2), batch.target, reduction="none")
                found.update(zip(rows, (-losses.double() * batch.target_mask).sum(dim=1).tolist(), strict=True))
        return [found[row] for row in range(len(sources))]


def fill(model: Model, parameters: Mapping[str, NDArray[Any]], *, origin: str) -> None:
    """Copy parameters into a model of the same make; anything missing, left over or misshapen is refused."""
    own = dict(model.named_parameters())
    given = {name: torch.from_numpy(values) for name, values in parameters.items()}
    problems = [
        *(f"{name} is missing" for name in own.keys() - given.keys()),
        *(f"{name} is not a parameter of this model" for name in given.keys() - own.keys()),
        *(
            f"{name} must have shape {tuple(own[name].shape)}, not {tuple(given[name].shape)}"
            for name in own.keys() & given.keys()
            if own[name].shape != given[name].shape
        ),
    ]
    if problems:
        raise ModelError(
            f"The parameters of {origin} must fit its settings and vocabulary, but {'; '.join(sorted(problems)[:5])}"
            f"{f'; and {len(problems) - 5} more' if len(problems) > 5 else ''}. Its files do not belong together: "
            "copy the whole model directory again."
        )
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(given[name])


@contextmanager
def _evaluating(model: Model) -> Iterator[None]:
    """Without dropout, whatever the model was doing before."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


def _by_length(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Batches of positions, longest first, so that memory runs out at once or never."""
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    while order:
        rows = max(1, batch_tokens // (lengths[order[0]] + 1))
        yield order[:rows]
        order = order[rows:]
