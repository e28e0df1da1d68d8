"""Runs any model with torch: sources sorted by length, batched by tokens, answered in the order they came."""

import math
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from saccade.data.batch import Batch, collate, collate_sources
from saccade.directory import ModelDirectory
from saccade.engines.engine import Advanced, Constrained, Engine, Ids, Sentences, Traced, cut, quiet
from saccade.errors import DataError, ModelError
from saccade.models.build import Model, build
from saccade.models.ensemble import EnsembleModel, Reader
from saccade.models.fill import fill
from saccade.models.settings import ModelSettings
from saccade.models.shortlisted import Shortlisted
from saccade.nn.capture import active_capture, capture
from saccade.nn.machine import device_problem, keep_freed_memory, one_thread_each
from saccade.nn.mode import evaluation_mode
from saccade.search.constraints import FREE, Constraints
from saccade.search.coverage import by_coverage
from saccade.search.hypothesis import Hypothesis
from saccade.search.problem import SearchProblem
from saccade.search.search import search, stream
from saccade.search.settings import SearchSettings
from saccade.search.shortlist import Shortlist
from saccade.text.tokenizer import BOS, EOS, PAD, UNK, Tokenizer
from saccade.trace.trace import KINDS, Kind, Layer

Found = list[list[Hypothesis]]
CROSS: Kind = "cross"

BATCH_TOKENS, BATCH_ROWS = 8192, 512  # read by all prefixes of a beam together; and so many prefixes, at most
BATCH_SENTENCES = 48  # with a shortlist: each has its own part of the output layer, about a megabyte
SCORE_TOKENS = 2048  # fewer, as the logits of all positions are there at once
TRACE_TOKENS = 512  # fewer, as the weights of all layers and heads are kept


class TorchEngine(Engine):
    """A model in this process, or several that translate together."""

    def __init__(self, model: Model | EnsembleModel, shortlist: Shortlist | None = None) -> None:
        self.model, self.shortlist = model, shortlist

    @classmethod
    def load(cls, directory: ModelDirectory, device: str = "cpu") -> "TorchEngine":
        """Build the model that the directory describes and fill in its parameters."""
        _prepare(device)
        return cls(_loaded(directory).to(device).eval(), directory.shortlist())

    @classmethod
    def load_ensemble(cls, directories: Sequence[ModelDirectory], device: str = "cpu") -> "TorchEngine":
        """Several models with one target vocabulary as one; sources come in the ids of the first."""
        _prepare(device)
        first = directories[0].tokenizers.source
        readers = [_reader(first, directory.tokenizers.source) for directory in directories]
        return cls(EnsembleModel([_loaded(directory) for directory in directories], readers).to(device).eval())

    def translate(
        self, sources: Sentences, settings: SearchSettings, *, constraints: Constrained = (), advanced: Advanced = quiet
    ) -> list[list[Hypothesis]]:
        find = self._search
        if settings.coverage_penalty:
            asked = f"search.coverage_penalty = {settings.coverage_penalty} ranks translations by attention weights"
            self._need_weights(asked, "Use coverage_penalty = 0.", "Use coverage_penalty = 0.")
            find = self._search_and_cover
        if constraints and len(constraints) != len(sources):
            raise DataError(
                f"Every source must have constraints of its own, but there are {len(sources)} sources "
                f"and {len(constraints)} constraints. Give Constraints() to those that are free."
            )
        found: dict[int, list[Hypothesis]] = {}
        threads = _threads(self._device)
        tokens, most = BATCH_TOKENS // settings.num_rows, BATCH_ROWS // settings.num_rows
        if self.shortlist is not None and settings.shortlist:
            most = min(most, BATCH_SENTENCES)
        batches = list(_by_length([len(source) for source in sources], tokens, threads=threads, most=most))

        def find_rows(rows: list[int]) -> Found:
            own = [constraints[row] for row in rows] if constraints else ()
            return find([sources[row] for row in rows], settings, own)

        with evaluation_mode(self.model):
            for rows, hypotheses in _in_threads(find_rows, batches, threads):
                found.update(zip(rows, hypotheses, strict=True))
                advanced(len(rows))
        return [found[row] for row in range(len(sources))]

    def stream(
        self, source: Ids, settings: SearchSettings, *, constraints: Constraints = FREE
    ) -> Generator[int, None, Hypothesis]:
        with evaluation_mode(self.model), torch.inference_mode():
            memory = self.model.encode(collate_sources([source]).to(self._device))
            short = self._shortlisted([source], settings, [constraints])
        problem = self._problem([source], memory, settings, [constraints])
        if short is None:
            return self._evaluated(stream(problem, settings))
        return short.widen_stream(self._evaluated(stream(short.narrow(problem), settings)))

    @torch.inference_mode()
    def token_log_probs(self, sources: Sentences, targets: Sentences) -> list[tuple[float, ...]]:
        found: dict[int, tuple[float, ...]] = {}
        with evaluation_mode(self.model):
            for rows, batch in self._pairs(sources, targets, SCORE_TOKENS):
                for row, log_probs in zip(rows, self._log_probs(batch).tolist(), strict=True):
                    found[row] = tuple(log_probs[: len(targets[row]) + 1])
        return [found[row] for row in range(len(sources))]

    @torch.inference_mode()
    def trace(
        self, sources: Sentences, targets: Sentences, *, kinds: Collection[Kind] = KINDS, advanced: Advanced = quiet
    ) -> list[Traced]:
        """A search that wrote a target has attended to the same, by whatever way it came there (tests/contracts)."""
        self.need_attention()
        found: dict[int, Traced] = {}
        with evaluation_mode(self.model):
            for rows, batch in self._pairs(sources, targets, TRACE_TOKENS):
                with capture(self.model) as captured:
                    log_probs = self._log_probs(batch).cpu()
                asked = [layer for layer in captured.layers if layer.kind in kinds]
                layers = [(layer.name, layer.kind, layer.weights.cpu().numpy()) for layer in asked]
                for place, row in enumerate(rows):
                    source, target = len(sources[row]) + 1, len(targets[row]) + 1
                    own = [  # in memory of their own, without padding
                        Layer(name, kind, cut(weights[place], kind, source, target).copy())
                        for name, kind, weights in layers
                    ]
                    found[row] = Traced(tuple(log_probs[place, :target].tolist()), tuple(own))
                advanced(len(rows))
        return [found[row] for row in range(len(sources))]

    def need_constraints(self, what: str) -> None:
        """Every search of ours satisfies them."""

    def need_attention(self) -> None:
        alone = "Load one of them alone to see where it looks."
        other = 'Train a model with another model.attention.positions, such as "global", to see where it looks.'
        self._need_weights("Weights were asked for", alone, other)

    def _need_weights(self, asked: str, remedy_for_several: str, remedy: str) -> None:
        if isinstance(self.model, EnsembleModel):
            number = len(self.model.members)
            reason = f"{number} models translate together here, and each attends by itself. {remedy_for_several}"
            raise ModelError(f"{asked}, but {reason}")
        if not cast(ModelSettings, self.model.settings).attends:
            reason = "this model has no attention: its decoder reads the source as one vector"
            raise ModelError(f"{asked}, but {reason}. {remedy}")

    @torch.inference_mode()
    def _search(self, sources: Sentences, settings: SearchSettings, constraints: Constrained) -> list[list[Hypothesis]]:
        """The hypotheses of one batch."""
        memory = self.model.encode(collate_sources(sources).to(self._device))
        problem = self._problem(sources, memory, settings, constraints)
        short = self._shortlisted(sources, settings, constraints)
        return search(problem, settings) if short is None else short.widen(search(short.narrow(problem), settings))

    def _search_and_cover(
        self, sources: Sentences, settings: SearchSettings, constraints: Constrained
    ) -> list[list[Hypothesis]]:
        """The same, ranked by what a forced decoding of all that the beam has found attends to."""
        found = self._search(sources, replace(settings, n_best=settings.beam), constraints)
        read = [source for source, several in zip(sources, found, strict=True) for _ in several]
        every = [hypothesis for several in found for hypothesis in several]
        traced = zip(every, self.trace(read, [hypothesis.ids for hypothesis in every], kinds={CROSS}), strict=True)
        weights = (
            trace.first(len(hypothesis.ids) + hypothesis.finished).layers[-1].weights.mean(axis=0)
            for hypothesis, trace in traced
        )
        return [by_coverage(several, list(islice(weights, len(several))), settings) for several in found]

    def _shortlisted(
        self, sources: Sentences, settings: SearchSettings, constraints: Constrained
    ) -> Shortlisted[Any, Any] | None:
        """The model of a batch among the candidates of each source, and what constraints ask for."""
        if self.shortlist is None or not settings.shortlist or isinstance(self.model, EnsembleModel):
            return None
        candidates = [self.shortlist.candidates([*source, EOS]) for source in sources]
        for row, own in enumerate(constraints):
            asked = [*own.prefix, *(token for phrase in own.required for token in phrase)]
            candidates[row] = np.union1d(candidates[row], np.array(asked, np.int32))
        return Shortlisted(self.model, candidates)

    def _problem(
        self, sources: Sentences, memory: Any, settings: SearchSettings, constraints: Constrained
    ) -> SearchProblem[Any, Any]:
        return SearchProblem(
            model=self.model,
            memory=memory,
            limits=torch.tensor([settings.limit(len(source)) for source in sources], device=self._device),
            bos=BOS,
            eos=EOS,
            banned=(PAD, BOS) if settings.unknown else (PAD, BOS, UNK),
            constraints=constraints,
            # The ids tell a source from others, so that its draws are its own, whatever the batch.
            names=[" ".join(map(str, source)) for source in sources] if settings.method == "sampling" else (),
        )

    def _evaluated(self, tokens: Generator[int, None, Hypothesis]) -> Generator[int, None, Hypothesis]:
        """The same, each of them decoded without dropout."""
        while True:
            try:
                with evaluation_mode(self.model):
                    token = next(tokens)
            except StopIteration as end:
                found: Hypothesis = end.value
                return found
            yield token

    @property
    def _device(self) -> torch.device:
        return next(self.model.parameters()).device

    def _pairs(self, sources: Sentences, targets: Sentences, batch_tokens: int) -> Iterator[tuple[list[int], Batch]]:
        """Batches of pairs, each with their places."""
        lengths = [max(len(source), len(target)) for source, target in zip(sources, targets, strict=True)]
        for rows in _by_length(lengths, batch_tokens):
            yield rows, collate([sources[row] for row in rows], [targets[row] for row in rows]).to(self._device)

    def _log_probs(self, batch: Batch) -> Float[Tensor, "batch target"]:
        """Of each target token; zero where there is padding."""
        logits = self.model.logits(self.model(batch))
        losses = cross_entropy(logits.transpose(1, 2), batch.target, reduction="none")
        return -losses.double() * batch.target_mask


def check_device(device: str) -> None:
    """Refuse a device that PyTorch does not find on this machine."""
    if problem := device_problem(device):
        raise ModelError(
            f'device must be one that PyTorch can use on this machine, but "{device}" is not: {problem}. '
            'Use device = "cpu".'
        )


def _prepare(device: str) -> None:
    """What the process asks of the machine before it searches."""
    check_device(device)
    keep_freed_memory()


def _loaded(directory: ModelDirectory) -> Model:
    tokenizers = directory.tokenizers
    model = build(directory.description.model, len(tokenizers.source), len(tokenizers.target))
    fill(model, directory.parameters(), origin=str(directory.path))
    return model


def _reader(first: Tokenizer, own: Tokenizer) -> Reader | None:
    """From the ids of one tokenizer to those of another, by way of the text; None where they are the same."""
    return None if first.checksum == own.checksum else lambda ids: own.encode(first.decode(ids))


def _by_length(
    lengths: Sequence[int], batch_tokens: int, *, threads: int = 1, most: int | None = None
) -> Iterator[list[int]]:
    """Batches of positions, longest first, so that memory runs out at once or never; every thread has some."""
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    batch_tokens = min(batch_tokens, math.ceil((sum(lengths) + len(lengths)) / threads))
    while order:
        rows = min(batch_tokens // (lengths[order[0]] + 1), len(order) if most is None else most)
        yield order[: max(1, rows)]
        order = order[max(1, rows) :]


def _threads(device: torch.device) -> int:
    """Batches searched side by side: a step is too little to share out among threads. A capture wants its order."""
    return 1 if device.type != "cpu" or active_capture() else torch.get_num_threads()


def _in_threads(
    find: Callable[[list[int]], Found], batches: Sequence[list[int]], threads: int
) -> Iterator[tuple[list[int], Found]]:
    """Each batch, in order, with what was found for it by one of so many threads."""
    if threads == 1:
        yield from ((rows, find(rows)) for rows in batches)
        return
    with one_thread_each():
        if len(batches) == 1:
            yield batches[0], find(batches[0])
            return
        pool = ThreadPoolExecutor(threads, thread_name_prefix="search")
        try:
            pending = [pool.submit(find, rows) for rows in batches]
            yield from zip(batches, (future.result() for future in pending), strict=True)
        finally:
            pool.shutdown(cancel_futures=True)  # whoever presses Ctrl-C waits for no more than has begun
