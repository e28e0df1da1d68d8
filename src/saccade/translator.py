"""Text in, translation out: normalise → tokenize → search → tokens → text. What most users import."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import islice, repeat
from pathlib import Path
from typing import get_args, overload

from saccade.directory import ModelDirectory
from saccade.engines.automatic import load_engine
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


def load(
    path: str | Path, *, engine: EngineName = "auto", device: str = "cpu", compute: Compute = "float32"
) -> "Translator":
    """Open a model directory, or the run directory of a training, to translate with.

    `auto` runs Transformers on a CPU with CTranslate2, which `compute="int8"` makes smaller and faster, and everything
    else with torch.
    """
    for name, given, known in (("engine", engine, EngineName), ("compute", compute, Compute)):
        if given not in get_args(known):
            raise ModelError(f"{name} must be one of {', '.join(get_args(known))}, not {given}.")
    directory = ModelDirectory.open(Path(path))
    return Translator(directory, load_engine(directory, engine, device=device, compute=compute))


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
        written = [(row, each) for row, several in zip(real, found, strict=True) for each in several]
        decoded = self.directory.tokenizers.target.decode_many([each.ids for _, each in written])
        traced: Iterable[Traced | None] = repeat(None, len(written))
        if attention:
            traced = self.engine.trace([sources[row] for row, _ in written], [each.ids for _, each in written])
        said = (
            self._translation(texts[row], each, text, heard)
            for (row, each), text, heard in zip(written, decoded, traced, strict=True)
        )
        translations = [Translation(text, "") for text in texts]
        for row, hypotheses in zip(real, found, strict=True):
            best, *others = islice(said, len(hypotheses))
            translations[row] = replace(best, alternatives=tuple(others), notes=self._notes(sources[row]))
        return translations

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[float]:
        """log p(target | source) of each pair, in nats."""
        tokenizers = self.directory.tokenizers
        return self.engine.score(tokenizers.source.encode_many(sources), tokenizers.target.encode_many(targets))

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
        if len(sources) != len(targets):
            raise DataError(
                f"Every source must have one target, but there are {len(sources)} sources and {len(targets)} targets."
            )
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

    def _translation(self, source: str, hypothesis: Hypothesis, text: str, traced: Traced | None) -> Translation:
        pieces = self.directory.tokenizers.target.pieces
        return Translation(
            source=source,
            text=text,
            score=hypothesis.score,
            log_prob=hypothesis.log_prob,
            tokens=tuple(pieces[id] for id in hypothesis.ids),
            attention=None if traced is None else self._attended(source, hypothesis, traced),
        )

    def _attended(self, source: str, hypothesis: Hypothesis, traced: Traced) -> AttentionTrace:
        """What was attended to while the hypothesis was written."""
        tokenizers = self.directory.tokenizers
        _, read = _tokens(tokenizers.source, source)
        text, spans = tokenizers.target.decode_with_spans(hypothesis.ids)
        tokens = _pieces(tokenizers.target, hypothesis.ids, text, spans, ends=hypothesis.finished)
        attention = self._attention(read, tokens, traced.first(len(tokens)))
        return replace(attention, score=hypothesis.score, log_prob=hypothesis.log_prob)

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


def _tokens(tokenizer: Tokenizer, text: str) -> tuple[tuple[int, ...], Tokens]:
    """A text as the model reads it: its ids, and its tokens with their end."""
    encoded = tokenizer.encode_with_spans(text)
    return encoded.ids, _pieces(tokenizer, encoded.ids, tokenizer.normalize(text), encoded.spans)


def _pieces(
    tokenizer: Tokenizer, ids: Iterable[int], text: str, spans: tuple[Span, ...], *, ends: bool = True
) -> Tokens:
    pieces = tuple(tokenizer.pieces[id] for id in ids)
    if not ends:
        return Tokens(pieces, text, spans)
    return Tokens((*pieces, SPECIALS[EOS]), text, (*spans, (len(text), len(text))))
