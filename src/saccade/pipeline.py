"""The straight line behind `Translator`, from text to translation: segment → tokenize → search → detokenize → join."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, repeat
from statistics import fmean

from saccade.directory import ModelDirectory
from saccade.engines.engine import Advanced, Engine, Sentences, Traced
from saccade.engines.lexical_constraints import ConstraintEncoder, TextConstraints
from saccade.engines.mbr import rank_by_risk
from saccade.engines.tracing import trace_hypothesis
from saccade.search.hypothesis import Hypothesis, score
from saccade.search.settings import SearchSettings
from saccade.text.joining import has_spaces
from saccade.text.normalize import normalize
from saccade.text.segments import Segment, Segmentation, Segmenter, is_readable, note_too_long, rejoin
from saccade.text.streaming import text_pieces
from saccade.text.wording import Wording
from saccade.trace.alignment import HeadSelection
from saccade.translate_options import TranslateOptions
from saccade.translation import Translation, Translations, join_parts


@dataclass(frozen=True)
class Pipeline:
    """A model, its tokenizers and its languages, put to work on texts."""

    directory: ModelDirectory
    engine: Engine

    def translate(self, texts: Sequence[str], options: TranslateOptions, advanced: Advanced) -> Translations:
        """The translation of each text. `advanced` is called with the number of texts finished since."""
        wordings = options.wordings(len(texts))
        split = "never" if options.attention else options.split
        uncut = {row for row, wording in enumerate(wordings) if wording.prefix or wording.required}
        segmentations = self._segmenter.segment(texts, split, uncut=uncut)
        segments = [
            (segment, self._constraints(segment.part.text, wording))
            for segmentation, wording in zip(segmentations, wordings, strict=True)
            for segment in segmentation.segments
        ]
        progress = _count_texts(advanced, len(texts), len(segments))
        translated = iter(self._translate_segments(segments, options, progress))
        return Translations(
            self._join(text, segmentation, list(islice(translated, len(segmentation.segments))), wording, options)
            for text, segmentation, wording in zip(texts, segmentations, wordings, strict=True)
        )

    def _translate_segments(
        self, segments: Sequence[tuple[Segment, TextConstraints]], options: TranslateOptions, advanced: Advanced
    ) -> list[Translation]:
        """The translation of each segment by itself; what has nothing to translate stays as it is."""
        translations = [
            Translation(segment.part.text, "" if segment.ids else segment.untranslated) for segment, _ in segments
        ]
        rows = [row for row, (segment, _) in enumerate(segments) if segment.ids]
        advanced(len(segments) - len(rows))
        sources = [segments[row][0].ids for row in rows]
        hypotheses = self._search(sources, [segments[row][1] for row in rows], options, advanced)
        every = [(row, hypothesis) for row, several in zip(rows, hypotheses, strict=True) for hypothesis in several]
        texts = self.directory.tokenizers.target.decode_many([hypothesis.ids for _, hypothesis in every])
        traces: Iterable[Traced | None] = repeat(None, len(every))
        if options.attention:
            read = [segments[row][0].ids for row, _ in every]
            traces = self.engine.trace(read, [hypothesis.ids for _, hypothesis in every])
        written = (
            self._translation(segments[row][0].part.text, hypothesis, text, traced)
            for (row, hypothesis), text, traced in zip(every, texts, traces, strict=True)
        )
        for row, several in zip(rows, hypotheses, strict=True):
            best, *others = islice(written, len(several))
            translations[row] = replace(best, alternatives=tuple(others)) if others else best
        return translations

    def _search(
        self, sources: Sentences, constraints: Sequence[TextConstraints], options: TranslateOptions, advanced: Advanced
    ) -> list[list[Hypothesis]]:
        """As many hypotheses of each source as are asked for, best first."""
        settings, mbr = options.candidates, options.mbr
        encoder, decode = self._constraint_encoder, self.directory.tokenizers.target.decode
        found = encoder.translate(self.engine, sources, settings, constraints, advanced)
        if mbr is None:
            return found
        sampled, language = settings.method == "sampling", self.directory.description.target_language
        texts = ([decode(hypothesis.ids) for hypothesis in several] for several in found)
        pairs = zip(found, texts, strict=True)
        ranked = (rank_by_risk(several, own, mbr, sampled=sampled, language=language) for several, own in pairs)
        return [several[: options.search.n_best] for several in ranked]

    def _translation(self, source: str, hypothesis: Hypothesis, text: str, traced: Traced | None) -> Translation:
        tokenizers, model = self.directory.tokenizers, self.directory.name
        return Translation(
            source=source,
            text=text,
            score=hypothesis.score,
            log_prob=hypothesis.log_prob,
            tokens=tuple(tokenizers.target.pieces[id] for id in hypothesis.ids),
            attention=None if traced is None else trace_hypothesis(tokenizers, source, hypothesis, traced, model=model),
            aligned_by=self.directory.description.alignment or HeadSelection(),
        )

    def _join(
        self,
        text: str,
        segmentation: Segmentation,
        parts: list[Translation],
        wording: Wording,
        options: TranslateOptions,
    ) -> Translation:
        """The translations of all segments as that of the whole text, with what its reader should know."""
        description = self.directory.description
        languages = description.source_language, description.target_language

        def rank(parts: Sequence[Translation]) -> float:
            if options.mbr is not None:
                return fmean(part.score for part in parts)
            num_tokens = sum(len(part.tokens) + 1 for part in parts if part.tokens)
            return score(sum(part.log_prob for part in parts), max(1, num_tokens), options.search)

        cut = [segment.part for segment in segmentation.segments]
        whole = join_parts(text, parts, join_texts=lambda texts: rejoin(cut, texts, *languages), score=rank)
        if not any(segment.ids for segment in segmentation.segments):
            return whole
        notes, constraints = segmentation.notes(description.max_tokens), self._constraints(text, wording)

        def annotate(translation: Translation) -> Translation:
            own = (*notes, *self._constraint_encoder.notes(translation.text, constraints))
            return replace(translation, notes=own) if own else translation

        return replace(annotate(whole), alternatives=tuple(map(annotate, whole.alternatives)))

    def stream(
        self, text: str, settings: SearchSettings, constraints: TextConstraints
    ) -> Generator[str, None, Translation]:
        """Pieces of the translation of one text while it is being written; the generator's value is all of it."""
        source, target = self.directory.tokenizers.source.encode(text), self.directory.tokenizers.target
        if not source or not is_readable(text):
            if untranslated := normalize(text):
                yield untranslated
            return Translation(text, untranslated)
        tokens = self.engine.stream(source, settings, constraints=self._constraint_encoder.encode_prefix(constraints))
        result: list[Hypothesis] = []

        def kept() -> Iterator[int]:
            result.append((yield from tokens))

        yield from text_pieces(target, kept())
        translation = self._translation(text, result[0], target.decode(result[0].ids), None)
        longest = self.directory.description.max_tokens
        num_tokens = len(source) - len(self.directory.tokenizers.source.tag)
        too_long = (note_too_long(num_tokens, longest),) if num_tokens > longest else ()
        return replace(translation, notes=(*too_long, *self._constraint_encoder.notes(translation.text, constraints)))

    def _constraints(self, text: str, wording: Wording) -> TextConstraints:
        """What a wording asks of the translation of this text, or of a part of one."""
        if not wording:
            return TextConstraints()
        spaced = has_spaces(self.directory.description.source_language)
        banned = tuple(dict.fromkeys(normalize(phrase) for phrase in wording.banned))
        return TextConstraints(normalize(wording.prefix), banned, wording.demands(text, spaced=spaced))

    @cached_property
    def _segmenter(self) -> Segmenter:
        description, tokenizer = self.directory.description, self.directory.tokenizers.source
        longest, language = description.max_tokens, description.source_language
        return Segmenter(tokenizer.tagged(""), language, longest, tokenizer.tag)

    @cached_property
    def _constraint_encoder(self) -> ConstraintEncoder:
        spaced = has_spaces(self.directory.description.target_language)
        return ConstraintEncoder(self.directory.tokenizers.target, spaced)


def _count_texts(advanced: Advanced, num_texts: int, num_segments: int) -> Advanced:
    """Called with numbers of segments, calls `advanced` with numbers of texts."""
    done = 0

    def count(segments: int) -> None:
        nonlocal done
        before, done = done, done + segments
        share = num_texts / max(1, num_segments)
        advanced(round(done * share) - round(before * share))

    return count
