"""Text in, translation out. What most users import; `pipeline.py` is what happens in between."""

import copy
from collections.abc import Collection, Generator, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack, get_args, overload

from saccade.directory import ModelDirectory
from saccade.engines.automatic import load_engine, load_ensemble
from saccade.engines.engine import Advanced, Compute, Engine, EngineName, quiet
from saccade.engines.lexical_constraints import TextConstraints
from saccade.engines.tracing import attention_trace, read_tokens
from saccade.errors import DataError, ModelError
from saccade.evaluation.risk import MinimumRisk
from saccade.locate import locate_model
from saccade.pipeline import Pipeline
from saccade.search.overrides import adjust_search
from saccade.search.settings import SearchSettings
from saccade.text.languages import Direction, guess_source
from saccade.text.normalize import normalize
from saccade.text.tokenizer import EOS, SPECIALS
from saccade.text.wording import Wording
from saccade.trace.trace import KINDS, AttentionTrace, Kind
from saccade.translate_options import (
    TranslateKeywords,
    TranslateOptions,
    check_counts,
    check_pairs,
    check_search,
    collect_texts,
    describe,
)
from saccade.translation import Scored, Translation, Translations

Texts = str | list[str]


def load(
    path: str | Path | Sequence[str | Path],
    *,
    engine: EngineName = "auto",
    device: str = "cpu",
    compute: Compute = "float32",
    wording: Wording | None = None,
    mbr: MinimumRisk | None = None,
    to: str | None = None,
    source: str | None = None,
) -> "Translator":
    """Open a model directory, or the run directory of a training, to translate with.

    "hf:OWNER/NAME" is a model on a hub, which is fetched when it is asked for first, and found again without a network.
    Several directories translate together: the probability of a token is the mean of their models'. `auto` runs a
    Transformer on a CPU with CTranslate2, which `compute="int8"` makes smaller and faster, and everything else with
    torch. `wording` and `mbr` apply to all that is translated, unless a call has its own. `to` and `source` choose
    languages of a model that has several; without them, each call chooses.
    """
    for name, given, known in (("engine", engine, EngineName), ("compute", compute, Compute)):
        if given not in get_args(known):
            raise ModelError(f"{name} must be one of {', '.join(get_args(known))}, not {given}.")
    paths = [path] if isinstance(path, str | Path) else path
    if not paths:
        raise ModelError("load needs at least one model directory, but an empty list was given.")
    first, *others = members = [ModelDirectory.open_translator(locate_model(member)) for member in paths]
    runtime = f"{engine} {compute} {device}"
    if to is not None or source is not None:
        first.find_directions(to, source)  # refused before anything is loaded
    if not others:
        alone = load_engine(first, engine, device=device, compute=compute)
        translator = Translator(first, alone, wording=wording, mbr=mbr, runtime=runtime)
    else:
        together = load_ensemble(members, engine, device=device, compute=compute)
        # A text that is too long for one of them is too long.
        shortest = min(member.description.max_tokens for member in members)
        first = replace(first, description=replace(first.description, max_tokens=shortest))
        translator = Translator(first, together, wording=wording, mbr=mbr, members=members, runtime=runtime)
    return translator if to is None and source is None else translator.toward(to, source)


class Translator:
    """A model ready to translate."""

    def __init__(
        self,
        directory: ModelDirectory,
        engine: Engine,
        *,
        wording: Wording | None = None,
        mbr: MinimumRisk | None = None,
        members: Sequence[ModelDirectory] = (),
        runtime: str = "",
    ) -> None:
        """`wording` and `mbr` apply to all that is translated, unless a call has its own. `members` are the models of
        an ensemble, of which `directory` is the first. `runtime` names engine, precision and device.
        """
        self.directory, self.engine = directory, engine
        self.wording, self.mbr = wording or Wording(), mbr
        self.members, self.runtime = tuple(members) or (directory,), runtime
        self._pipelines: dict[Direction, Pipeline] = {}
        self._bound: dict[tuple[Direction, ...], Translator] = {}

    def __repr__(self) -> str:
        return f"<Translator {', '.join(map(str, self.directions))}, {self.directory.path}>"

    @property
    def directions(self) -> tuple[Direction, ...]:
        """What it translates, such as en → de."""
        return self.directory.description.directions

    def toward(self, to: str | None = None, source: str | None = None) -> "Translator":
        """A translator into one language, of a model that has several; `source` is needed only where texts do not tell.

        It shares the model with this one. A model of one direction needs no choice.
        """
        chosen = self.directory.find_directions(to, source)
        if chosen not in self._bound:
            bound = copy.copy(self)
            bound.directory, bound.runtime = self.directory.toward(*chosen), f"{self.runtime} {chosen[0].tag}".rstrip()
            bound._pipelines, bound._bound = {}, {chosen: bound}
            self._bound[chosen] = bound
        return self._bound[chosen]

    @property
    def search(self) -> SearchSettings:
        """How this model translates unless told otherwise."""
        return self.directory.description.search

    @overload
    def translate(self, texts: str, **options: Unpack[TranslateKeywords]) -> Translation: ...  # type: ignore[overload-overlap]  # a string is one text, although it is iterable

    @overload
    def translate(self, texts: Iterable[str], **options: Unpack[TranslateKeywords]) -> Translations: ...

    def translate(self, texts: str | Iterable[str], **options: Unpack[TranslateKeywords]) -> Translation | Translations:
        """Translate one text or many; the n-th translation belongs to the n-th text, blank ones included.

        to, source
            Languages, of a model that has several directions, such as to="de".
        beam, n_best
            Override the search; more translations than the beam is wide widen it.
        glossary
            Terms and their translations, such as {"dog": "Hund"}: short for `wording=Wording(glossary=…)`.
        search
            `SearchSettings`; the model's own unless given.
        wording
            Constrains translations: one `Wording` for all texts, or one for each.
        mbr
            `MinimumRisk` returns the translations that are most like all others instead of the likeliest, and makes
            that their score.
        attention
            Also return the weights. It changes neither texts nor scores: they come from decoding the result again.
        split
            `auto`: a text that the model was trained to read is translated whole, and a longer one in as few parts as
            fit, with a note; a text without any letter or digit is left as it is. `sentences` cuts between all
            sentences. `never` has the model read every text as it is. Texts whose wording has a prefix or required
            phrases are not cut, nor are any with attention.
        advanced
            Called with the number of texts that have been finished since.
        """
        given = self._given(options)
        listed = [texts] if isinstance(texts, str) else collect_texts(texts)
        self._check(given, len(listed))
        bound = self.toward(options.get("to"), options.get("source"))
        translations = bound._translate(listed, given, options.get("advanced", quiet))
        return translations[0] if isinstance(texts, str) else translations

    def _translate(self, texts: Sequence[str], options: TranslateOptions, advanced: Advanced) -> Translations:
        """Those of each source language by themselves, where there are several."""
        directions = [self._direction(text) for text in texts]
        if len(set(directions)) <= 1:
            return self._pipeline(directions[0] if texts else self.directions[0]).translate(texts, options, advanced)
        wordings, translations = options.wordings(len(texts)), dict[int, Translation]()
        for direction in dict.fromkeys(directions):
            rows = [row for row, own in enumerate(directions) if own == direction]
            given = replace(options, wording=[wordings[row] for row in rows])
            made = self._pipeline(direction).translate([texts[row] for row in rows], given, advanced)
            translations |= zip(rows, made, strict=True)
        return Translations(translations[row] for row in range(len(texts)))

    def _direction(self, text: str) -> Direction:
        return self.directions[0] if len(self.directions) == 1 else guess_source(text, self.directions)

    def _pipeline(self, direction: Direction) -> Pipeline:
        if direction not in self._pipelines:
            self._pipelines[direction] = Pipeline(self.directory.toward(direction), self.engine)
        return self._pipelines[direction]

    def stream(
        self, text: str, *, search: SearchSettings | None = None, prefix: str = ""
    ) -> Generator[str, None, Translation]:
        """Pieces of the translation of one text while it is being written; the generator's value is all of it.

        Together they are exactly the text that `translate` gives for the same search: greedy unless given. It
        begins with `prefix`. A text is read whole, with a note if it is too long.
        """
        if not isinstance(text, str):
            raise DataError(f"text must be one string, not {describe(text)}. Stream each text by itself.")
        settings = replace(self.search, beam=1, n_best=1) if search is None else search
        check_search(settings)
        if self.mbr is not None or self.wording.banned or self.wording.required or self.wording.glossary:
            kind = "compares translations" if self.mbr is not None else "constrains the words of translations"
            raise ModelError(
                f"This translator {kind}, which needs whole texts, but a stream shows each piece before the next is "
                "known. Use translate, or load the model without mbr, and with no wording but a prefix."
            )
        bound, constraints = self.toward(), TextConstraints(normalize(prefix or self.wording.prefix))
        return bound._pipeline(bound._direction(text)).stream(text, settings, constraints)

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[float]:
        """log p(target | source) of each pair, in nats."""
        return [scored.log_prob for scored in self.score_tokens(sources, targets)]

    def score_tokens(self, sources: Sequence[str], targets: Sequence[str]) -> list[Scored]:
        """The same, token by token."""
        check_pairs(sources, targets)
        tokenizers = self.toward().directory.tokenizers
        tokenizer, read = tokenizers.target, tokenizers.source.encode_many(sources)
        written = tokenizer.encode_many(targets)
        log_probs = self.engine.token_log_probs(read, written)
        pieces = ((*(tokenizer.piece(id) for id in ids), SPECIALS[EOS]) for ids in written)
        return [Scored(tokens, of_tokens) for tokens, of_tokens in zip(pieces, log_probs, strict=True)]

    @overload
    def trace(self, sources: str, targets: str, *, kinds: Collection[Kind] = ...) -> AttentionTrace: ...

    @overload
    def trace(
        self, sources: list[str], targets: list[str], *, kinds: Collection[Kind] = ..., advanced: Advanced = ...
    ) -> list[AttentionTrace]: ...

    def trace(
        self, sources: Texts, targets: Texts, *, kinds: Collection[Kind] = KINDS, advanced: Advanced = quiet
    ) -> AttentionTrace | list[AttentionTrace]:
        """What the model attends to when it has to write a known translation: of one pair or of many.

        For many pairs, ask for the `kinds` that you need: the weights of all take much memory.
        """
        if isinstance(sources, str) and isinstance(targets, str):
            return self.trace([sources], [targets], kinds=kinds)[0]
        check_pairs(sources, targets)
        tokenizers, model = self.toward().directory.tokenizers, self.directory.name
        read = [read_tokens(tokenizers.source, text) for text in sources]
        written = [read_tokens(tokenizers.target, text) for text in targets]
        sides = ([ids for ids, _ in side] for side in (read, written))
        traced = zip(read, written, self.engine.trace(*sides, kinds=kinds, advanced=advanced), strict=True)
        return [attention_trace(source, target, trace, model=model) for (_, source), (_, target), trace in traced]

    def _given(self, options: TranslateKeywords) -> TranslateOptions:
        """What a call asks for, on top of what this translator was loaded with."""
        known = TranslateKeywords.__annotations__
        if unknown := [name for name in options if name not in known]:
            raise DataError(f"translate has no option {unknown[0]}. It takes {', '.join(known)}.")
        wording, glossary = options.get("wording"), options.get("glossary")
        if wording is not None and glossary is not None:
            raise DataError(
                "glossary and wording must not both be given: the one is short for the other. "
                "Write wording=Wording(glossary={…}, …)."
            )
        own = self.wording if wording is None else wording
        return TranslateOptions(
            search=self._adjusted(options.get("search"), options.get("beam"), options.get("n_best")),
            wording=own if glossary is None else Wording(glossary=glossary),
            mbr=options.get("mbr") or self.mbr,
            attention=options.get("attention", False),
            split=options.get("split", "auto"),
        )

    def _adjusted(self, search: SearchSettings | None, beam: int | None, n_best: int | None) -> SearchSettings:
        """The settings of a call; without `n_best`, as many translations as before, as far as a given beam has room."""
        settings = self.search if search is None else search
        check_search(settings)
        check_counts(beam=beam, n_best=n_best)
        if beam is None and n_best is None:
            return settings
        several = settings.n_best if n_best is None else n_best
        if n_best is None and beam is not None and not settings.returns_any_number:
            several = max(1, min(several, beam))
        return adjust_search(settings, beam, several, origin="translate")

    def _check(self, options: TranslateOptions, count: int) -> None:
        """Refuse what cannot be done at once, and not at the first text with a term of the glossary."""
        if options.attention:
            self.engine.need_attention()
        wordings = options.wordings(count)
        for name in ("glossary", "required", "banned", "prefix"):
            if any(getattr(wording, name) for wording in wordings):
                self.engine.need_constraints(name)
        options.check_wordings(wordings)
