"""Text in, translation out: normalise → tokenize → search → tokens → text. What most users import."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
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
from saccade.search.hypothesis import score as rank
from saccade.search.settings import SearchSettings
from saccade.text.parts import Divider, Division, Reading, Split, rejoin
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
    """Its log-probability under the model; of a text in several parts, the sum over them."""
    tokens: tuple[str, ...] = ()
    """The tokens that the translation was written in."""
    attention: AttentionTrace | None = field(default=None, repr=False, compare=False)
    """What was attended to, in every layer and head; None unless asked for."""
    alternatives: tuple["Translation", ...] = field(default=(), repr=False)
    """The next best ones, if more than one was asked for."""
    notes: tuple[str, ...] = ()
    """What the reader should know, such as a source longer than the model has ever seen."""
    num_parts: int = 1
    """How many parts the source was cut into; each was translated by itself."""

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
        self, texts: str, *, search: SearchSettings | None = None, attention: bool = False, split: Split = ...
    ) -> Translation: ...

    @overload
    def translate(
        self,
        texts: list[str],
        *,
        search: SearchSettings | None = None,
        attention: bool = False,
        split: Split = ...,
        advanced: Callable[[int], None] = ...,
    ) -> list[Translation]: ...

    def translate(
        self,
        texts: str | list[str],
        *,
        search: SearchSettings | None = None,
        attention: bool = False,
        split: Split = "auto",
        advanced: Callable[[int], None] = lambda _: None,
    ) -> Translation | list[Translation]:
        """Translate one text or many; the n-th translation belongs to the n-th text, blank ones included.

        `search` is the model's own unless given. `advanced` is told how many more texts are done. `attention` changes
        neither texts nor scores: what was found is decoded once more, by force, and then listened to.

        `split` is `auto`: a text that the model was trained to read is read whole, and a longer one in as few parts as
        fit, with a note; a text without any letter or digit is left as it is. `sentences` cuts between all sentences.
        `never` has the model read every text as it is, and so does `attention`: weights are those of one reading.
        """
        if isinstance(texts, str):
            return self.translate([texts], search=search, attention=attention, split=split)[0]
        if split not in get_args(Split):
            raise ModelError(f"split must be one of {', '.join(get_args(Split))}, not {split}.")
        if attention:
            self.engine.need_attention()
            split = _whole(split)
        divisions = self._divider.divide(texts, split)
        readings = [reading for division in divisions for reading in division.readings]
        found = iter(self._read(readings, search or self.search, attention, _scaled(advanced, len(texts), readings)))
        return [
            self._joined(text, division, list(islice(found, len(division.readings))), search or self.search)
            for text, division in zip(texts, divisions, strict=True)
        ]

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

    @property
    def _divider(self) -> Divider:
        description = self.directory.description
        return Divider(self.directory.tokenizers.source, description.source_language, description.max_tokens)

    def _read(
        self, readings: list[Reading], search: SearchSettings, attention: bool, advanced: Callable[[int], None]
    ) -> list[Translation]:
        """The translation of each part by itself."""
        read = [row for row, reading in enumerate(readings) if reading.ids]
        advanced(len(readings) - len(read))
        found = self.engine.translate([readings[row].ids for row in read], search, advanced=advanced)
        traced: Iterator[Traced | None] = repeat(None)
        if attention:
            pairs = [
                (readings[row].ids, each.ids) for row, several in zip(read, found, strict=True) for each in several
            ]
            traced = iter(self.engine.trace([source for source, _ in pairs], [target for _, target in pairs]))
        translations = [Translation(reading.part.text, "" if reading.ids else reading.left) for reading in readings]
        for row, hypotheses in zip(read, found, strict=True):
            best, *others = (self._translation(readings[row].part.text, each, next(traced)) for each in hypotheses)
            translations[row] = replace(best, alternatives=tuple(others))
        return translations

    def _joined(self, text: str, division: Division, parts: list[Translation], search: SearchSettings) -> Translation:
        """The translations of all parts as that of the whole; the next best one has the next best of every part."""
        notes = self._notes(division)
        if len(parts) == 1:
            return replace(parts[0], source=text, notes=notes)
        description = self.directory.description

        def whole(chosen: list[Translation]) -> Translation:
            log_prob = sum(each.log_prob for each in chosen)
            num_tokens = sum(len(each.tokens) + 1 for each in chosen if each.tokens)
            return Translation(
                source=text,
                text=rejoin(
                    [reading.part for reading in division.readings],
                    [each.text for each in chosen],
                    description.source_language,
                    description.target_language,
                ),
                score=rank(log_prob, max(1, num_tokens), search),
                log_prob=log_prob,
                tokens=tuple(token for each in chosen for token in each.tokens),
                num_parts=len(chosen),
            )

        ranked = [[each, *each.alternatives] for each in parts]
        best, *others = (
            whole([several[min(place, len(several) - 1)] for several in ranked])
            for place in range(max(map(len, ranked)))
        )
        return replace(best, alternatives=tuple(others), notes=notes)

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

    def _notes(self, division: Division) -> tuple[str, ...]:
        longest = self.directory.description.max_tokens
        has = f"has {division.num_tokens} tokens, but the model was trained on at most {longest}"
        if division.place:
            return (f"{has}: it was translated in {len(division.readings)} parts, cut {division.place}",)
        if len(division.readings) == 1 and len(division.readings[0].ids) > longest:
            return (f"{has}: check this translation, or split the text into sentences",)
        return ()


def _whole(split: Split) -> Split:
    if split == "sentences":
        raise ModelError(
            "Weights are those of one reading, so attention can be had of whole texts only, but "
            'split = "sentences" was asked for, too. Leave one of them out, or translate each sentence by itself.'
        )
    return "never"


def _scaled(advanced: Callable[[int], None], num_texts: int, readings: Sequence[Reading]) -> Callable[[int], None]:
    """Told of parts, tells of texts."""
    done = 0

    def count(parts: int) -> None:
        nonlocal done
        before, done = done, done + parts
        share = num_texts / max(1, len(readings))
        advanced(round(done * share) - round(before * share))

    return count


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
