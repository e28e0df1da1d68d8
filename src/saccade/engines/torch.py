"""Runs any model with torch: sources sorted by length, batched by tokens, answered in the order they came."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, cast

import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from saccade.data.batch import Batch, collate, collate_sources
from saccade.directory import ModelDirectory, check_parameters
from saccade.engines.engine import Advanced, Ids, Traced, cut
from saccade.errors import ModelError
from saccade.models.build import Model, build
from saccade.models.settings import ModelSettings
from saccade.nn.capture import capture, listener
from saccade.nn.machine import keep_freed_memory, one_thread_each
from saccade.search.hypothesis import Hypothesis
from saccade.search.search import search
from saccade.search.settings import SearchSettings
from saccade.text.tokenizer import BOS, EOS, PAD
from saccade.trace.trace import KINDS, Kind, Layer, Matrix

Found = list[list[Hypothesis]]

BATCH_TOKENS = 4096  # read by all prefixes of a beam together
SCORE_TOKENS = 2048  # fewer, as the logits of all positions are there at once
TRACE_TOKENS = 512  # fewer, as the weights of all layers and heads are kept


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
        keep_freed_memory()
        return cls(model.to(device).eval())

    def translate(
        self,
        sources: Sequence[Ids],
        settings: SearchSettings,
        *,
        advanced: Advanced = lambda _: None,
    ) -> list[list[Hypothesis]]:
        """The best hypotheses of each source, the best first. `advanced` is told how many more are done."""
        found: dict[int, list[Hypothesis]] = {}
        threads = _threads(self._device)
        batches = list(_by_length([len(source) for source in sources], BATCH_TOKENS // settings.beam, threads))
        with _evaluating(self.model):
            for rows, hypotheses in _in_threads(
                lambda rows: self._search([sources[row] for row in rows], settings), batches, threads
            ):
                found.update(zip(rows, hypotheses, strict=True))
                advanced(len(rows))
        return [found[row] for row in range(len(sources))]

    @torch.inference_mode()
    def score(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[float]:
        """log p(target | source) of each pair, the end of sentence included."""
        found: dict[int, float] = {}
        with _evaluating(self.model):
            for rows, batch in self._pairs(sources, targets, SCORE_TOKENS):
                found.update(zip(rows, self._log_probs(batch).sum(dim=1).tolist(), strict=True))
        return [found[row] for row in range(len(sources))]

    @torch.inference_mode()
    def trace(
        self,
        sources: Sequence[Ids],
        targets: Sequence[Ids],
        *,
        kinds: Collection[Kind] = KINDS,
        advanced: Advanced = lambda _: None,
    ) -> list[Traced]:
        """How likely each token of each target was, and what was attended to for it: a forced decoding.

        A search that has written a target has attended to the same, by whatever way it came there (tests/contracts).
        """
        self.need_attention()
        found: dict[int, Traced] = {}
        with _evaluating(self.model):
            for rows, batch in self._pairs(sources, targets, TRACE_TOKENS):
                with capture(self.model) as heard:
                    log_probs = self._log_probs(batch).cpu()
                layers = {
                    name: torch.cat(calls, dim=-2).cpu().numpy()  # one call, or one for each position
                    for name, calls in heard.weights.items()
                    if _kind(name) in kinds
                }
                for place, row in enumerate(rows):
                    source, target = len(sources[row]) + 1, len(targets[row]) + 1
                    found[row] = Traced(
                        tuple(log_probs[place, :target].tolist()),
                        tuple(_layer(name, weights[place], source, target) for name, weights in layers.items()),
                    )
                advanced(len(rows))
        return [found[row] for row in range(len(sources))]

    def need_attention(self) -> None:
        """Refuse to be asked for weights if there are none."""
        if not cast(ModelSettings, self.model.settings).attends:
            raise ModelError(
                "Weights were asked for, but this model has no attention: its decoder reads the source as one vector. "
                'Train a model with another model.attention.positions, such as "global", to see where it looks.'
            )

    @torch.inference_mode()
    def _search(self, sources: Sequence[Ids], settings: SearchSettings) -> list[list[Hypothesis]]:
        """The hypotheses of one batch."""
        return search(
            self.model,
            self.model.encode(collate_sources(sources).to(self._device)),
            limits=torch.tensor([settings.limit(len(source)) for source in sources], device=self._device),
            bos=BOS,
            eos=EOS,
            settings=settings,
            banned=(PAD, BOS),
        )

    @property
    def _device(self) -> torch.device:
        return next(self.model.parameters()).device

    def _pairs(
        self, sources: Sequence[Ids], targets: Sequence[Ids], batch_tokens: int
    ) -> Iterator[tuple[list[int], Batch]]:
        """Batches of pairs, each with their places."""
        lengths = [max(len(source), len(target)) for source, target in zip(sources, targets, strict=True)]
        for rows in _by_length(lengths, batch_tokens):
            yield rows, collate([sources[row] for row in rows], [targets[row] for row in rows]).to(self._device)

    def _log_probs(self, batch: Batch) -> Float[Tensor, "batch target"]:
        """Of each target token; zero where there is padding."""
        logits = self.model.logits(self.model(batch))
        losses = cross_entropy(logits.transpose(1, 2), batch.target, reduction="none")
        return -losses.double() * batch.target_mask


def fill(model: Model, parameters: Mapping[str, NDArray[Any]], *, origin: str) -> None:
    """Copy parameters into a model of the same make; anything missing, left over or misshapen is refused."""
    own = dict(model.named_parameters())
    given = {name: torch.from_numpy(values) for name, values in parameters.items()}
    check_parameters(
        {name: tuple(parameter.shape) for name, parameter in own.items()},
        {name: tuple(values.shape) for name, values in given.items()},
        origin=origin,
    )
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(given[name])


def _kind(name: str) -> Kind:
    """Who looks at what in the layer of this name."""
    if name.endswith("cross_attention"):
        return "cross"
    return "encoder" if name.startswith("encoder") else "decoder"


def _layer(name: str, weights: Matrix, source: int, target: int) -> Layer:
    """The weights of a layer without their padding, in memory of their own."""
    return Layer(name, _kind(name), cut(weights, _kind(name), source, target).copy())


@contextmanager
def _evaluating(model: Model) -> Iterator[None]:
    """Without dropout, whatever the model was doing before."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


def _by_length(lengths: Sequence[int], batch_tokens: int, threads: int = 1) -> Iterator[list[int]]:
    """Batches of positions, longest first, so that memory runs out at once or never; small enough that every thread has
    some.
    """
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    batch_tokens = min(batch_tokens, math.ceil((sum(lengths) + len(lengths)) / threads))
    while order:
        rows = max(1, batch_tokens // (lengths[order[0]] + 1))
        yield order[:rows]
        order = order[rows:]


def _threads(device: torch.device) -> int:
    """How many batches are searched side by side: on a CPU, one for each thread that torch may use.

    What a beam adds up in a step is too little to share out. Whoever listens to weights hears them in order.
    """
    return 1 if device.type != "cpu" or listener() else torch.get_num_threads()


def _in_threads(
    find: Callable[[list[int]], Found], batches: Sequence[list[int]], threads: int
) -> Iterator[tuple[list[int], Found]]:
    """Each batch, in order, with what was found for it by one of so many threads."""
    if threads == 1:
        yield from ((rows, find(rows)) for rows in batches)
        return
    pool = ThreadPoolExecutor(min(threads, len(batches) or 1), thread_name_prefix="search")
    with one_thread_each():
        try:
            pending = [pool.submit(find, rows) for rows in batches]
            yield from zip(batches, (future.result() for future in pending), strict=True)
        finally:
            pool.shutdown(cancel_futures=True)  # whoever presses Ctrl-C waits for no more than has begun
