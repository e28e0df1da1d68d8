"""Text in, translation out: normalise → tokenize → search → tokens → text. What most users import."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import repeat
from math import fsum
from pathlib import Path
from typing import NamedTuple, get_args, overload

from saccade.directory import ModelDirectory
from saccade.engines.automatic import load_engine, load_ensemble
from saccade.engines.engine import Compute, Engine, EngineName, Traced
from saccade.errors import DataError, ModelError
from saccade.search.hypothesis import Hypothesis
from saccade.search.settings import SearchSettings
from saccade.text.tokenizer import EOS, SPECIALS, Tokenizer
from saccade.trace.trace import KINDS, AttentionTrace, Kind, Span, Tokens


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
    """Its log-probability under the model."""
    tokens: tuple[str, ...] = ()
    """The tokens that the translation was written in."""
    attention: AttentionTrace | None = field(default=None, repr=False, compare=False)
    """What was attended to, in every layer and head; None unless asked for."""
    alternatives: tuple["Translation", ...] = field(default=(), repr=False)
    """The next best ones, if more than one was asked for."""
    notes: tuple[str, ...] = ()
    """What the reader should know, such as a source longer than the model has ever seen."""

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """What a notebook shows: the page of its attention and that of its alternatives, or the text alone."""
        traces = [each.attention for each in (self, *self.alternatives) if each.attention is not None]
        if not traces:
            return f"<p>{escape(self.text)}</p>"
        from saccade.trace.notebook import repr_html

        return repr_html(traces)


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


def load(
    path: str | Path | Sequence[str | Path],
    *,
    engine: EngineName = "auto",
    device: str = "cpu",
    compute: Compute = "float32",
) -> "Translator":
    """Open a model directory, or the run directory of a training, to translate with.

    Several directories translate together: a token is as likely as in the mean of what their models say. `auto` runs a
    Transformer on a CPU with CTranslate2, which `compute="int8"` makes smaller and faster, and everything else with
    torch.
    """
    for name, given, known in (("engine", engine, EngineName), ("compute", compute, Compute)):
        if given not in get_args(known):
            raise ModelError(f"{name} must be one of {', '.join(get_args(known))}, not {given}.")
    paths = [path] if isinstance(path, str | Path) else path
    if not paths:
        raise ModelError("load needs at least one model directory, but an empty list was given.")
    first, *others = directories = [ModelDirectory.open(Path(each)) for each in paths]
    if not others:
        return Translator(first, load_engine(first, engine, device=device, compute=compute))
    together = load_ensemble(directories, engine, device=device, compute=compute)
    # What is too long for one of them, the reader should know.
    shortest = min(each.description.max_tokens for each in directories)
    return Translator(replace(first, description=replace(first.description, max_tokens=shortest)), together)


class Translator:
    """A model ready to translate."""

    def __init__(self, directory: ModelDirectory, engine: Engine) -> None:
        self.directory = directory
        self.engine = engine

    def __repr__(self) -> str:
        description = self.directory.description
        return f"<Translator {description.source_language} → {description.target_language}, {self.directory.path}>"

    @overload
    def translate(
        self, texts: str, *, search: SearchSettings | None = None, attention: bool = False
    ) -> Translation: ...

    @overload
    def translate(
        self,
        texts: list[str],
        *,
        search: SearchSettings | None = None,
        attention: bool = False,
        advanced: Callable[[int], None] = ...,
    ) -> list[Translation]: ...

    def translate(
        self,
        texts: str | list[str],
        *,
        search: SearchSettings | None = None,
        attention: bool = False,
        advanced: Callable[[int], None] = lambda _: None,
    ) -> Translation | list[Translation]:
        """Translate one text or many; the n-th translation belongs to the n-th text, blank ones included.

        `search` is the model's own unless given. `advanced` is told how many more texts are done. `attention` changes
        neither texts nor scores: what was found is decoded once more, by force, and then listened to.
        """
        if isinstance(texts, str):
            return self.translate([texts], search=search, attention=attention)[0]
        if attention:
            self.engine.need_attention()
        sources = self.directory.tokenizers.source.encode_many(texts)
        real = [row for row, source in enumerate(sources) if source]
        advanced(len(texts) - len(real))
        found = self.engine.translate([sources[row] for row in real], search or self.search, advanced=advanced)
        traced: Iterator[Traced | None] = repeat(None)
        if attention:
            pairs = [(sources[row], each.ids) for row, several in zip(real, found, strict=True) for each in several]
            traced = iter(self.engine.trace([source for source, _ in pairs], [target for _, target in pairs]))
        translations = [Translation(text, "") for text in texts]
        for row, hypotheses in zip(real, found, strict=True):
            best, *others = (self._translation(texts[row], each, next(traced)) for each in hypotheses)
            translations[row] = replace(best, alternatives=tuple(others), notes=self._notes(sources[row]))
        return translations

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[float]:
        """log p(target | source) of each pair, in nats."""
        return [each.log_prob for each in self.score_tokens(sources, targets)]

    def score_tokens(self, sources: Sequence[str], targets: Sequence[str]) -> list[Scored]:
        """The same, token by token."""
        _check_pairs(sources, targets)
        tokenizer = self.directory.tokenizers.target
        written = tokenizer.encode_many(targets)
        found = self.engine.token_log_probs(self.directory.tokenizers.source.encode_many(sources), written)
        return [
            Scored((*(tokenizer.piece(id) for id in ids), SPECIALS[EOS]), log_probs)
            for ids, log_probs in zip(written, found, strict=True)
        ]

    @overload
    def trace(self, sources: str, targets: str, *, kinds: Collection[Kind] = ...) -> AttentionTrace: ...

    @overload
    def trace(
        self,
        sources: list[str],
        targets: list[str],
        *,
        kinds: Collection[Kind] = ...,
        advanced: Callable[[int], None] = ...,
    ) -> list[AttentionTrace]: ...

    def trace(
        self,
        sources: str | list[str],
        targets: str | list[str],
        *,
        kinds: Collection[Kind] = KINDS,
        advanced: Callable[[int], None] = lambda _: None,
    ) -> AttentionTrace | list[AttentionTrace]:
        """What the model attends to when it has to write a known translation: of one pair or of many.

        For many pairs, ask for the `kinds` that you need: the weights of all take much memory.
        """
        if isinstance(sources, str) or isinstance(targets, str):
            return self.trace([str(sources)], [str(targets)], kinds=kinds)[0]
        _check_pairs(sources, targets)
        tokenizers = self.directory.tokenizers
        read = [_tokens(tokenizers.source, text) for text in sources]
        written = [_tokens(tokenizers.target, text) for text in targets]
        traced = self.engine.trace(
            [ids for ids, _ in read], [ids for ids, _ in written], kinds=kinds, advanced=advanced
        )
        return [
            self._attention(source, target, each)
            for (_, source), (_, target), each in zip(read, written, traced, strict=True)
        ]

    @property
    def search(self) -> SearchSettings:
        """How this model translates unless told otherwise."""
        return self.directory.description.search

    def _translation(self, source: str, hypothesis: Hypothesis, traced: Traced | None) -> Translation:
        tokenizers = self.directory.tokenizers
        text, spans = tokenizers.target.decode_with_spans(hypothesis.ids)
        tokens = _pieces(tokenizers.target, hypothesis.ids, text, spans, ends=hypothesis.finished)
        attention = None
        if traced is not None:
            _, read = _tokens(tokenizers.source, source)
            attention = self._attention(read, tokens, traced.first(len(tokens)))
            attention = replace(attention, score=hypothesis.score, log_prob=hypothesis.log_prob)
        return Translation(
            source=source,
            text=text,
            score=hypothesis.score,
            log_prob=hypothesis.log_prob,
            tokens=tokens.tokens[: len(hypothesis.ids)],
            attention=attention,
        )

    def _attention(self, source: Tokens, target: Tokens, traced: Traced) -> AttentionTrace:
        return AttentionTrace(
            source=source,
            target=target,
            layers=traced.layers,
            model=self.directory.name,
            log_prob=sum(traced.token_log_probs),
            token_log_probs=traced.token_log_probs,
        )

    def _notes(self, source: list[int]) -> tuple[str, ...]:
        longest = self.directory.description.max_tokens
        if len(source) <= longest:
            return ()
        return (
            f"has {len(source)} tokens, but the model was trained on at most {longest}: "
            "check this translation, or split the text into sentences",
        )


def _check_pairs(sources: Sequence[str], targets: Sequence[str]) -> None:
    if len(sources) != len(targets):
        raise DataError(
            f"Every source must have one target, but there are {len(sources)} sources and {len(targets)} targets."
        )


def _tokens(tokenizer: Tokenizer, text: str) -> tuple[tuple[int, ...], Tokens]:
    """A text as the model reads it: its ids, and its tokens with their end."""
    encoded = tokenizer.encode_with_spans(text)
    return encoded.ids, _pieces(tokenizer, encoded.ids, tokenizer.normalize(text), encoded.spans)


def _pieces(
    tokenizer: Tokenizer, ids: Iterable[int], text: str, spans: tuple[Span, ...], *, ends: bool = True
) -> Tokens:
    pieces = tuple(tokenizer.piece(id) for id in ids)
    if not ends:
        return Tokens(pieces, text, spans)
    return Tokens((*pieces, SPECIALS[EOS]), text, (*spans, (len(text), len(text))))
