"""Text in, translation out: normalise → tokenize → search → tokens → text. What most users import."""

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice, repeat
from pathlib import Path
from statistics import fmean
from typing import NamedTuple, get_args, overload

from saccade.directory import ModelDirectory
from saccade.engines.automatic import load_engine, load_ensemble
from saccade.engines.compared import by_risk, candidates
from saccade.engines.engine import Compute, Engine, EngineName, Traced
from saccade.engines.worded import Demand, Writer, need_beam, translate_worded
from saccade.errors import DataError, ModelError
from saccade.evaluation.risk import MinimumRisk
from saccade.search.hypothesis import Hypothesis
from saccade.search.hypothesis import score as rank
from saccade.search.settings import SearchSettings
from saccade.text.joining import has_spaces
from saccade.text.normalize import normalize
from saccade.text.parts import Divider, Division, Reading, Split, is_readable, rejoin
from saccade.text.streaming import text_pieces
from saccade.text.tokenizer import EOS, SPECIALS, Tokenizer
from saccade.text.wording import Wording
from saccade.trace.trace import KINDS, AttentionTrace, Kind, Span, Tokens
from saccade.translation import Scored, Translation


def load(
    path: str | Path | Sequence[str | Path],
    *,
    engine: EngineName = "auto",
    device: str = "cpu",
    compute: Compute = "float32",
    wording: Wording | None = None,
    mbr: MinimumRisk | None = None,
) -> "Translator":
    """Open a model directory, or the run directory of a training, to translate with.

    Several directories translate together: a token is as likely as in the mean of what their models say. `auto` runs a
    Transformer on a CPU with CTranslate2, which `compute="int8"` makes smaller and faster, and everything else with
    torch. `wording` and `mbr` are for all that is translated, unless a call has its own.
    """
    for name, given, known in (("engine", engine, EngineName), ("compute", compute, Compute)):
        if given not in get_args(known):
            raise ModelError(f"{name} must be one of {', '.join(get_args(known))}, not {given}.")
    paths = [path] if isinstance(path, str | Path) else path
    if not paths:
        raise ModelError("load needs at least one model directory, but an empty list was given.")
    first, *others = directories = [ModelDirectory.open_translator(Path(each)) for each in paths]
    if not others:
        alone = load_engine(first, engine, device=device, compute=compute)
        return Translator(first, alone, wording=wording, mbr=mbr)
    together = load_ensemble(directories, engine, device=device, compute=compute)
    # What is too long for one of them, the reader should know.
    shortest = min(each.description.max_tokens for each in directories)
    warned = replace(first, description=replace(first.description, max_tokens=shortest))
    return Translator(warned, together, wording=wording, mbr=mbr)


class Translator:
    """A model ready to translate."""

    def __init__(
        self,
        directory: ModelDirectory,
        engine: Engine,
        *,
        wording: Wording | None = None,
        mbr: MinimumRisk | None = None,
    ) -> None:
        """`wording` and `mbr` are for all that is translated, unless a call has its own."""
        self.directory = directory
        self.engine = engine
        self.wording = wording or Wording()
        self.mbr = mbr

    def __repr__(self) -> str:
        description = self.directory.description
        return f"<Translator {description.source_language} → {description.target_language}, {self.directory.path}>"

    @overload
    def translate(
        self,
        texts: str,
        *,
        search: SearchSettings | None = None,
        wording: Wording | None = None,
        mbr: MinimumRisk | None = None,
        attention: bool = False,
        split: Split = ...,
    ) -> Translation: ...

    @overload
    def translate(
        self,
        texts: list[str],
        *,
        search: SearchSettings | None = None,
        wording: Wording | Sequence[Wording] | None = None,
        mbr: MinimumRisk | None = None,
        attention: bool = False,
        split: Split = ...,
        advanced: Callable[[int], None] = ...,
    ) -> list[Translation]: ...

    def translate(
        self,
        texts: str | list[str],
        *,
        search: SearchSettings | None = None,
        wording: Wording | Sequence[Wording] | None = None,
        mbr: MinimumRisk | None = None,
        attention: bool = False,
        split: Split = "auto",
        advanced: Callable[[int], None] = lambda _: None,
    ) -> Translation | list[Translation]:
        """Translate one text or many; the n-th translation belongs to the n-th text, blank ones included.

        `search` is the model's own unless given. `wording` is what translations are held to: one for all texts, or one
        for each. `mbr` takes those that are most like all others instead of the likeliest, and makes that their score.
        `advanced` is told how many more texts are done. `attention` changes neither texts nor scores: what was found is
        decoded once more, by force, and then listened to.

        `split` is `auto`: a text that the model was trained to read is read whole, and a longer one in as few parts as
        fit, with a note; a text without any letter or digit is left as it is. `sentences` cuts between all sentences.
        `never` has the model read every text as it is. Whole are also read the texts whose wording has a prefix or
        requires phrases, and all of them with `attention`: weights are those of one reading.
        """
        if isinstance(texts, str):
            return self.translate([texts], search=search, wording=wording, mbr=mbr, attention=attention, split=split)[0]
        if split not in get_args(Split):
            raise ModelError(f"split must be one of {', '.join(get_args(Split))}, not {split}.")
        if attention:
            self.engine.need_attention()
            split = _whole(split)
        asked = Asked(search or self.search, mbr or self.mbr, attention)
        wordings = self._wordings(texts, wording)
        self._check_held(wordings, asked)
        divisions = self._divided(texts, wordings, split)
        parts = [
            (reading, self._demand(reading.part.text, each))
            for division, each in zip(divisions, wordings, strict=True)
            for reading in division.readings
        ]
        found = iter(self._read(parts, asked, _scaled(advanced, len(texts), len(parts))))
        return [
            self._joined(text, division, list(islice(found, len(division.readings))), each, asked)
            for text, division, each in zip(texts, divisions, wordings, strict=True)
        ]

    def stream(
        self, text: str, *, search: SearchSettings | None = None, prefix: str = ""
    ) -> Generator[str, None, Translation]:
        """Pieces of the translation of one text while it is being written; the generator's value is all of it.

        The pieces together are exactly the text that `translate` gives for the same search: greedy unless given, as a
        beam does not know its first word before its last. The translation begins with `prefix`. A text is read whole,
        with a note if it is too long.
        """
        self._check_streams()
        source = self.directory.tokenizers.source.encode(text)
        if not source or not is_readable(text):
            if left := normalize(text):
                yield left
            return Translation(text, left)
        demand = Demand(normalize(prefix or self.wording.prefix))
        tokens = self.engine.stream(
            source, search or replace(self.search, beam=1, n_best=1), constraints=self._writer.begun(demand)
        )
        found: list[Hypothesis] = []

        def noted() -> Iterator[int]:
            found.append((yield from tokens))

        target = self.directory.tokenizers.target
        yield from text_pieces(target, noted())
        translation = self._translation(text, found[0], target.decode(found[0].ids), None)
        remarks = self._writer.remarks(translation.text, demand)
        return replace(translation, notes=(*self._too_long(len(source)), *remarks))

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

    def _check_streams(self) -> None:
        """Refuse to stream what is known of a whole text only: pieces are never taken back."""
        if self.mbr is not None or self.wording.banned or self.wording.required or self.wording.glossary:
            held = "compares translations" if self.mbr is not None else "holds translations to words"
            raise ModelError(
                f"This translator {held}, which needs whole texts, but a stream shows each piece before the next is "
                "known. Use translate, or load the model without mbr, and with no wording but a prefix."
            )

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

    def _wordings(self, texts: Sequence[str], wording: Wording | Sequence[Wording] | None) -> list[Wording]:
        """What the translation of each text is held to."""
        wording = self.wording if wording is None else wording
        wordings = [wording] * len(texts) if isinstance(wording, Wording) else list(wording)
        if strange := [each for each in wordings if not isinstance(each, Wording)]:
            raise DataError(
                f"wording must be a Wording, or a list with one for each text, but there is {strange[0]!r}. "
                'Write, for example, Wording(glossary={"dog": "Hund"}).'
            )
        if len(wordings) != len(texts):
            raise DataError(
                f"Every text must have a wording of its own, or all of them the same, but there are {len(texts)} texts "
                f"and {len(wordings)} wordings. Give Wording() to those that are free."
            )
        return wordings

    def _check_held(self, wordings: Sequence[Wording], asked: "Asked") -> None:
        """Refuse what cannot be held to at once, not at the first text with a term of the glossary."""
        if not any(wordings):
            return
        self.engine.need_constraints()
        if any(each.required or each.glossary for each in wordings):
            if asked.mbr is not None and asked.mbr.samples:
                raise ModelError(
                    "Required phrases and glossaries need a beam, but with minimum Bayes risk over "
                    f"{asked.mbr.samples} samples, translations are drawn by chance, which keeps no place for them. "
                    "Leave one of the two out."
                )
            need_beam(asked.search)

    def _demand(self, text: str, wording: Wording) -> Demand:
        """What a wording asks of the translation of this text, or of a part of one."""
        if not wording:
            return Demand()
        spaced = has_spaces(self.directory.description.source_language)
        banned = tuple(dict.fromkeys(normalize(phrase) for phrase in wording.banned))
        return Demand(normalize(wording.prefix), banned, wording.demands(text, spaced=spaced))

    def _divided(self, texts: Sequence[str], wordings: Sequence[Wording], split: Split) -> list[Division]:
        """The parts of each text. A prefix and required phrases are those of a whole text, not of every part of it."""
        description = self.directory.description
        divider = Divider(self.directory.tokenizers.source, description.source_language, description.max_tokens)
        divisions = divider.divide(texts, split)
        for row, wording in enumerate(wordings):
            if len(divisions[row].readings) > 1 and (wording.prefix or wording.required):
                divisions[row] = divider.divide([texts[row]], "never")[0]
        return divisions

    def _read(
        self, parts: list[tuple[Reading, Demand]], asked: "Asked", advanced: Callable[[int], None]
    ) -> list[Translation]:
        """The translation of each part by itself."""
        read = [(row, reading, demand) for row, (reading, demand) in enumerate(parts) if reading.ids]
        advanced(len(parts) - len(read))
        found = translate_worded(
            self.engine,
            self._writer,
            [reading.ids for _, reading, _ in read],
            asked.candidates,
            [demand for _, _, demand in read],
            advanced=advanced,
        )
        if asked.mbr is not None:
            found = [self._by_risk(several, asked, asked.mbr) for several in found]
        written = [(reading, each) for (_, reading, _), several in zip(read, found, strict=True) for each in several]
        decoded = self.directory.tokenizers.target.decode_many([each.ids for _, each in written])
        traced: Iterable[Traced | None] = repeat(None, len(written))
        if asked.attention:
            traced = self.engine.trace([reading.ids for reading, _ in written], [each.ids for _, each in written])
        said = (
            self._translation(reading.part.text, each, text, heard)
            for (reading, each), text, heard in zip(written, decoded, traced, strict=True)
        )
        translations = [Translation(reading.part.text, "" if reading.ids else reading.left) for reading, _ in parts]
        for (row, _, _), hypotheses in zip(read, found, strict=True):
            best, *others = islice(said, len(hypotheses))
            translations[row] = replace(best, alternatives=tuple(others)) if others else best
        return translations

    def _by_risk(self, found: list[Hypothesis], asked: "Asked", mbr: MinimumRisk) -> list[Hypothesis]:
        """As many as are asked for, that of the least risk first."""
        texts = [self.directory.tokenizers.target.decode(each.ids) for each in found]
        drawn = asked.candidates.method == "sampling"
        language = self.directory.description.target_language
        return by_risk(found, texts, mbr, drawn=drawn, language=language)[: asked.search.n_best]

    def _joined(
        self, text: str, division: Division, parts: list[Translation], wording: Wording, asked: "Asked"
    ) -> Translation:
        """The translations of all parts as that of the whole; the next best one has the next best of every part."""
        ranked = [[each, *each.alternatives] for each in parts]
        best, *others = (
            self._whole(text, division, [found[min(place, len(found) - 1)] for found in ranked], asked)
            for place in range(max(map(len, ranked)))
        )
        if any(reading.ids for reading in division.readings):
            demand, cut = self._demand(text, wording), self._cut(division)
            best, *others = (self._noted(each, cut, demand) for each in (best, *others))
        return replace(best, alternatives=tuple(others)) if others else best

    def _noted(self, translation: Translation, cut: tuple[str, ...], demand: Demand) -> Translation:
        """The same, with what its reader should know, if anything."""
        notes = (*cut, *self._writer.remarks(translation.text, demand))
        return replace(translation, notes=notes) if notes else translation

    def _whole(self, text: str, division: Division, parts: list[Translation], asked: "Asked") -> Translation:
        """One translation of every part, put together."""
        if len(parts) == 1:
            (alone,) = parts
            is_whole = alone.source == text and not alone.alternatives
            return alone if is_whole else replace(alone, source=text, alternatives=())
        description = self.directory.description
        log_prob = sum(each.log_prob for each in parts)
        num_tokens = sum(len(each.tokens) + 1 for each in parts if each.tokens)
        return Translation(
            source=text,
            text=rejoin(
                [reading.part for reading in division.readings],
                [each.text for each in parts],
                description.source_language,
                description.target_language,
            ),
            score=rank(log_prob, max(1, num_tokens), asked.search)
            if asked.mbr is None
            else fmean(each.score for each in parts),
            log_prob=log_prob,
            tokens=tuple(token for each in parts for token in each.tokens),
            num_parts=len(parts),
        )

    def _cut(self, division: Division) -> tuple[str, ...]:
        """That a text was too long to be read whole, or was read whole although it is too long."""
        if division.place:
            longest = self.directory.description.max_tokens
            return (
                f"has {division.num_tokens} tokens, but the model was trained on at most {longest}: "
                f"it was translated in {len(division.readings)} parts, cut {division.place}",
            )
        return self._too_long(len(division.readings[0].ids)) if len(division.readings) == 1 else ()

    def _too_long(self, num_tokens: int) -> tuple[str, ...]:
        longest = self.directory.description.max_tokens
        if num_tokens <= longest:
            return ()
        return (
            f"has {num_tokens} tokens, but the model was trained on at most {longest}: "
            "check this translation, or split the text into sentences",
        )

    @cached_property
    def _writer(self) -> Writer:
        return Writer(self.directory.tokenizers.target, has_spaces(self.directory.description.target_language))


class Asked(NamedTuple):
    """What is asked of all texts of a call alike."""

    search: SearchSettings
    mbr: MinimumRisk | None
    attention: bool

    @property
    def candidates(self) -> SearchSettings:
        """The search that is really made: to be compared, there must be more than are asked for."""
        return self.search if self.mbr is None else candidates(self.search, self.mbr)


def _whole(split: Split) -> Split:
    if split == "sentences":
        raise ModelError(
            "Weights are those of one reading, so attention can be had of whole texts only, but "
            'split = "sentences" was asked for, too. Leave one of them out, or translate each sentence by itself.'
        )
    return "never"


def _scaled(advanced: Callable[[int], None], num_texts: int, num_parts: int) -> Callable[[int], None]:
    """Told of parts, tells of texts."""
    done = 0

    def count(parts: int) -> None:
        nonlocal done
        before, done = done, done + parts
        share = num_texts / max(1, num_parts)
        advanced(round(done * share) - round(before * share))

    return count


def _check_pairs(sources: Sequence[str], targets: Sequence[str]) -> None:
    if isinstance(sources, str) or isinstance(targets, str):
        raise DataError(
            "Sources and targets must be two lists of texts, but one of them is a single text. "
            "Write score([source], [target])."
        )
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
    pieces = tuple(tokenizer.pieces[id] for id in ids)
    if not ends:
        return Tokens(pieces, text, spans)
    return Tokens((*pieces, SPECIALS[EOS]), text, (*spans, (len(text), len(text))))
