"""Runs Transformers with CTranslate2, fastest on a CPU, by the same rules as `search/beam.py`, without torch."""

import io
import json
import math
import shutil
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, NoReturn

import ctranslate2

from saccade.data.workers import num_cores
from saccade.directory import ModelDirectory
from saccade.engines import ct2_cache
from saccade.engines.engine import Advanced, Compute, Constrained, Engine, Ids, Sentences, quiet
from saccade.errors import ModelError
from saccade.interop.ctranslate2 import POSITIONS, convert, pieces, transformer
from saccade.search.constraints import FREE, Constraints
from saccade.search.hypothesis import Hypothesis, score
from saccade.search.settings import SearchSettings
from saccade.text.tokenizer import BOS, EOS, PAD, SPECIALS
from saccade.trace.trace import KINDS, Kind

BATCH_TOKENS = 1024
BANNED = (SPECIALS[PAD], SPECIALS[BOS])
SPREAD = 1.5  # sentences searched together have limits no further apart than this


class CTranslate2Engine(Engine):
    """A Transformer in this process."""

    def __init__(self, directory: ModelDirectory, *, device: str = "cpu", compute: Compute = "float32") -> None:
        """Open what was converted before, or convert now."""
        transformer(directory)
        self._directory, self._device, self._compute = directory, device, compute
        self._source, self._target = pieces(directory.tokenizers.source), pieces(directory.tokenizers.target)
        self._ids = {piece: id for id, piece in enumerate(self._target)}
        self._workers = num_cores() if device == "cpu" else 1
        self._positions = POSITIONS
        self._translator = self._load()

    def translate(
        self, sources: Sentences, settings: SearchSettings, *, constraints: Constrained = (), advanced: Advanced = quiet
    ) -> list[list[Hypothesis]]:
        """CTranslate2 does not ask the model about a source without tokens: its only hypothesis has none either."""
        if settings.shortlist and self._directory.has_shortlist:
            raise ModelError(
                f"CTranslate2 does not know the shortlist of {self._directory.path}, without which it may translate "
                'otherwise. Use engine = "torch", or search.shortlist = false.'
            )
        if reason := refusal(settings, constraints):
            raise ModelError(reason)
        limits = [settings.limit(len(source)) for source in sources]
        self._make_room(max([*limits, *(len(source) + 1 for source in sources)], default=0))
        rows = [row for row, source in enumerate(sources) if source]
        found = {row: [self._nothing(settings)] for row, source in enumerate(sources) if not source}
        advanced(len(found))
        for spread, banned in self._passes(settings):
            again = []
            for row, limit, result in self._search(sources, limits, rows, settings, spread, banned):
                if not _is_final(result.hypotheses, limit, limits[row]):
                    again.append(row)
                    continue
                found[row] = self._hypotheses(result, settings)
                if banned:
                    found[row] = self._rescored(sources[row], found[row], settings)
                advanced(1)
            rows = again
        return [found[row] for row in range(len(sources))]

    def stream(self, source: Ids, settings: SearchSettings, *, constraints: Constraints = FREE) -> NoReturn:
        raise ModelError(
            "CTranslate2 hands out translations when they are done. To have tokens as they are written, load the model "
            'with engine = "torch", or "auto", which takes torch for this alone.'
        )

    def token_log_probs(self, sources: Sentences, targets: Sentences) -> list[tuple[float, ...]]:
        self._make_room(max((len(ids) + 1 for ids in (*sources, *targets)), default=0))
        return [tuple(log_probs) for log_probs in self._token_log_probs(sources, targets)]

    def trace(
        self, sources: Sentences, targets: Sentences, *, kinds: Collection[Kind] = KINDS, advanced: Advanced = quiet
    ) -> NoReturn:
        self.need_attention()

    def need_constraints(self, what: str) -> NoReturn:
        """CTranslate2 has some of them, but not alike."""
        raise ModelError(f"{what[:1].upper()}{what[1:]}{NO_CONSTRAINTS}")

    def need_attention(self) -> NoReturn:
        """CTranslate2 has the weights of one layer at most, without the end of the source."""
        raise ModelError(
            "Weights were asked for, but CTranslate2 does not give those of every layer and head. "
            'Load the model with engine = "torch", or "auto", which takes torch for this alone.'
        )

    @staticmethod
    def _passes(settings: SearchSettings) -> Iterator[tuple[float, tuple[str, ...]]]:
        """How widely limits may differ, and what is banned, in a first search and in those for what it left undone."""
        # CTranslate2 takes one limit for all sentences of a call. Those of like limits share the largest, and a search
        # that may have gone on beyond its own limit is made again. What is banned is banned before the softmax, which
        # changes every probability; so it is done only if <pad> or <s> was written, which a trained model never does.
        if settings.length_penalty:  # otherwise one cannot tell from the results when a search has ended
            yield SPREAD, ()
        yield 1.0, ()
        yield 1.0, BANNED

    def _search(
        self,
        sources: Sentences,
        limits: Sequence[int],
        rows: Sequence[int],
        settings: SearchSettings,
        spread: float,
        banned: tuple[str, ...],
    ) -> Iterator[tuple[int, int, Any]]:
        """Each row with the limit that it was given and what was found, as they become ready."""

        def submit(batch: list[int]) -> Any:
            return self._translator.translate_batch(
                [self._read(sources[row]) for row in batch],
                asynchronous=True,
                beam_size=settings.beam,
                # All that have ended, for the last of them tells when the search did.
                num_hypotheses=settings.beam if settings.length_penalty else settings.n_best,
                length_penalty=settings.length_penalty,
                suppress_sequences=[[piece] for piece in banned],
                max_input_length=0,  # otherwise longer ones are cut without a word
                max_decoding_length=limits[batch[0]],
                min_decoding_length=0,
                return_scores=True,
                return_end_token=True,
            )

        lengths = [len(source) + 1 for source in sources]
        for batch, results in self._run(_batches(lengths, limits, rows, spread, self._workers), submit):
            for row, result in zip(batch, results, strict=True):
                yield row, limits[batch[0]], result.result()

    def _token_log_probs(self, sources: Sentences, targets: Sentences) -> list[list[float]]:
        def submit(batch: list[int]) -> Any:
            read = [self._read(sources[row]) for row in batch]
            written = [[self._target[id] for id in targets[row]] for row in batch]
            return self._translator.score_batch(read, written, asynchronous=True, max_input_length=0)

        found: dict[int, list[float]] = {}
        lengths = [max(len(source), len(target)) + 1 for source, target in zip(sources, targets, strict=True)]
        batches = _batches(lengths, lengths, range(len(lengths)), math.inf, self._workers)
        for batch, results in self._run(batches, submit):
            found.update((row, result.result().log_probs) for row, result in zip(batch, results, strict=True))
        return [found[row] for row in range(len(lengths))]

    def _run(
        self, batches: Iterable[list[int]], submit: Callable[[list[int]], Any]
    ) -> Iterator[tuple[list[int], list[Any]]]:
        """Each batch with its results to be waited for."""
        # No more batches are handed out than keep every worker busy: those that are cannot be taken back, and whoever
        # presses Ctrl-C waits for them.
        pending: deque[tuple[list[int], list[Any]]] = deque()
        for batch in batches:
            pending.append((batch, submit(batch)))
            if len(pending) > 2 * self._workers:
                yield pending.popleft()
        yield from pending

    def _nothing(self, settings: SearchSettings) -> Hypothesis:
        (log_prob,) = self.score([()], [()])
        return Hypothesis((), log_prob, score(log_prob, 1, settings), True)

    def _hypotheses(self, result: Any, settings: SearchSettings) -> list[Hypothesis]:
        hypotheses = []
        for tokens, value in zip(result.hypotheses[: settings.n_best], result.scores, strict=False):
            finished = tokens[-1] == SPECIALS[EOS]
            ids = tuple(self._ids[token] for token in (tokens[:-1] if finished else tokens))
            hypotheses.append(Hypothesis(ids, value * math.pow(len(tokens), settings.length_penalty), value, finished))
        return hypotheses

    def _rescored(self, source: Ids, hypotheses: list[Hypothesis], settings: SearchSettings) -> list[Hypothesis]:
        """The same with the probabilities that the model gives them when nothing is banned."""
        rescored = []
        log_probs = self._token_log_probs([source] * len(hypotheses), [hypothesis.ids for hypothesis in hypotheses])
        for hypothesis, of_tokens in zip(hypotheses, log_probs, strict=True):
            written = of_tokens if hypothesis.finished else of_tokens[:-1]
            log_prob = math.fsum(written)
            rescored.append(replace(hypothesis, log_prob=log_prob, score=score(log_prob, len(written), settings)))
        return sorted(rescored, key=lambda hypothesis: -hypothesis.score)

    def _read(self, source: Ids) -> list[str]:
        return [self._source[id] for id in source]

    def _make_room(self, positions: int) -> None:
        """CTranslate2 reads and writes as far as its table of positions goes; longer texts need a longer one."""
        if positions > self._positions:
            self._positions = 1 << (positions - 1).bit_length()
            parameters = self._directory.parameters()
            longer = convert(self._directory, parameters, quantize=self._compute, positions=self._positions)
            self._translator = self._open(longer)

    def _load(self) -> Any:
        """Open the cached model; one that cannot be read, such as a partial copy, is converted again."""
        device, _, index = self._device.partition(":")
        num_devices = {"cpu": 1, "cuda": ctranslate2.get_cuda_device_count()}.get(device, 0)
        if not (index or "0").isdecimal() or int(index or 0) >= num_devices:
            refused = f'device must be one that CTranslate2 can use on this machine, but "{self._device}" is not.'
            raise ModelError(f'{refused} Use device = "cpu".')
        model = ct2_cache.find_or_build(self._directory, self._compute)
        try:
            return self._open(model)
        except RuntimeError:
            if not isinstance(model, Path):
                raise
            shutil.rmtree(model, ignore_errors=True)
            return self._open(ct2_cache.find_or_build(self._directory, self._compute))

    def _open(self, model: Path | Mapping[str, bytes]) -> Any:
        """A worker for each core, each with one thread: for a batch and for a single sentence faster than threads."""
        device, _, index = self._device.partition(":")
        where = {"device": device, "device_index": int(index or 0)}
        threads = {"inter_threads": self._workers, "intra_threads": 1, "max_queued_batches": -1}
        if isinstance(model, Path):
            return ctranslate2.Translator(str(model), **where, **threads, compute_type=self._compute)
        files = {name: io.BytesIO(content) for name, content in model.items()}
        return ctranslate2.Translator("model", files=files, **where, **threads, compute_type=self._compute)


CHANGED = "is kept by CTranslate2 before the softmax, which changes the probabilities of all other tokens"
NO_CONSTRAINTS = f' cannot be used with CTranslate2: what is banned {CHANGED}. Use engine = "torch".'
UNLIKE = {
    "method": "finds other translations with CTranslate2, if it knows of it at all",
    "penalty": "is not known to CTranslate2, which divides by length^α",
    "stopping": "is not known to CTranslate2, which has a rule of its own",
    "coverage_penalty": "is counted by CTranslate2 without the end of the source",
    "min_length": CHANGED,
    "no_repeat_ngram": CHANGED,
    "max_repeats": "is not known to CTranslate2",
    "unknown": CHANGED,
}
"""What CTranslate2 does not do, or not alike."""


def beyond(settings: SearchSettings, constraints: Constrained = ()) -> str | None:
    """The first of what is asked for that CTranslate2 cannot do: such as `penalty = "gnmt"`; None if it can do all."""
    usual = {field.name: field.default for field in fields(settings)}
    for name in UNLIKE:
        if getattr(settings, name) != usual[name]:
            return f"{name} = {json.dumps(getattr(settings, name))}"
    return "constraints" if any(constraints) else None


def refusal(settings: SearchSettings, constraints: Constrained = ()) -> str | None:
    """Why CTranslate2 cannot search like this, and what can; None if it can."""
    asked = beyond(settings, constraints)
    if asked is None or asked == "constraints":
        return asked and f"Constraints{NO_CONSTRAINTS}"
    name = asked.partition(" ")[0]
    usual = json.dumps(getattr(SearchSettings(), name))
    return f'search.{asked} {UNLIKE[name]}. Use {name} = {usual}, or engine = "torch".'


def _is_final(hypotheses: Sequence[Sequence[str]], limit: int, own_limit: int) -> bool:
    """Whether a search with this limit found what one with its own limit would have, and nothing that is no text."""
    ended = limit == own_limit or all(len(each) < own_limit for each in hypotheses)
    return ended and not any(banned in each for each in hypotheses for banned in BANNED)


def _batches(
    lengths: Sequence[int], limits: Sequence[int], rows: Sequence[int], spread: float, workers: int
) -> Iterator[list[int]]:
    """Rows of like lengths and limits, the longest first; small enough that every worker has some."""
    tokens = min(BATCH_TOKENS, math.ceil(sum(lengths[row] for row in rows) / workers))
    order = sorted(rows, key=lambda row: (-limits[row], -lengths[row]))
    while order:
        most, least = max(1, tokens // lengths[order[0]]), limits[order[0]] / spread
        batch = list(takewhile(lambda row: limits[row] >= least, order[:most]))  # noqa: B023
        yield batch
        order = order[len(batch) :]
