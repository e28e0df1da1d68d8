"""What can be said of one translation: how near it is to its reference, and what is odd about it."""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from saccade.evaluation.attention import Gaze
from saccade.evaluation.scores import is_unspaced, metrics
from saccade.evaluation.significance import Counts
from saccade.evaluation.words import ngrams, words


@dataclass(frozen=True, slots=True)
class Sentence:
    """One system's translation of one source."""

    text: str
    chrf: float
    """chrF2 of this sentence alone, from 0 to 100."""
    bleu: float
    """BLEU of this sentence alone, of n-grams up to its own length."""
    length_ratio: float | None
    """Its words by those of the reference, as BLEU counts them; None where the reference has none."""
    repetition: int
    """How many word pairs it says again, beyond what the reference repeats."""
    empty: bool
    """It has no character, although the reference has."""
    copied: bool
    """It is the source itself, although the reference is not."""
    gaze: Gaze | None = None


@dataclass(frozen=True, slots=True)
class Oddities:
    """What is counted over all translations of a system."""

    length_ratio: float | None
    """Words of all translations by words of all references."""
    empty: int
    copied: int
    repeating: int
    """Translations that say a word pair again."""
    short: int
    """Translations of less than half the reference's length, empty ones included."""
    long: int
    """Translations of more than twice the reference's length."""
    gaze: Gaze | None
    """The means over all translations with attention."""


def describe(
    translations: Sequence[str],
    references: Sequence[Sequence[str]],
    sources: Sequence[str] | None,
    counts: Mapping[str, Counts],
    *,
    language: str,
    gazes: Sequence[Gaze | None] | None = None,
) -> list[Sentence]:
    """Every translation of a system; `counts` are those of its metrics, as `compare` has counted them."""
    from sacrebleu.metrics.bleu import BLEU

    chrf, bleu = metrics(language)["chrF2"], BLEU(effective_order=True)
    size = 4 if is_unspaced(language) else 2
    described = []
    for at, text in enumerate(translations):
        known = [lines[at] for lines in references]
        in_bleu, in_chrf = (counts[name][at].tolist() for name in ("BLEU", "chrF2"))
        described.append(
            Sentence(
                text=text,
                chrf=float(chrf._compute_score_from_stats(in_chrf).score),
                bleu=float(bleu._compute_score_from_stats(in_bleu).score),
                length_ratio=in_bleu[0] / in_bleu[1] if in_bleu[1] else None,
                repetition=repetition(text, known, size),
                empty=not text.strip() and any(line.strip() for line in known),
                copied=sources is not None and is_copied(text, sources[at], known),
                gaze=gazes[at] if gazes else None,
            )
        )
    return described


def repetition(text: str, references: Sequence[str], size: int = 2) -> int:
    """Σ max(0, c(g) − max(f(g), c_ref(g))) over the n-grams g of `size` words, case aside.

    c counts g in the text, c_ref where it is most frequent in a reference. f is 1, as saying something once is no
    repetition, or 0 where all words of g are the same: the the.
    """
    allowed: Counter[tuple[str, ...]] = Counter()
    for reference in references:
        allowed |= ngrams(words(reference.casefold()), size)
    said = ngrams(words(text.casefold()), size)
    return sum(max(0, count - max(len(set(ngram)) > 1, allowed[ngram])) for ngram, count in said.items())


def is_copied(text: str, source: str, references: Sequence[str]) -> bool:
    """Whether it is the source, case and spaces aside, where no reference is."""
    plain = _plain(source)
    return bool(plain) and _plain(text) == plain and all(_plain(reference) != plain for reference in references)


def oddities(sentences: Sequence[Sentence], counts: Mapping[str, Counts]) -> Oddities:
    """Over all translations of a system."""
    said, wanted = counts["BLEU"][:, :2].sum(axis=0)
    ratios = [each.length_ratio for each in sentences if each.length_ratio is not None]
    gazes = [each.gaze for each in sentences if each.gaze is not None]
    return Oddities(
        length_ratio=float(said / wanted) if wanted else None,
        empty=sum(each.empty for each in sentences),
        copied=sum(each.copied for each in sentences),
        repeating=sum(each.repetition > 0 for each in sentences),
        short=sum(ratio < 0.5 for ratio in ratios),
        long=sum(ratio > 2 for ratio in ratios),
        gaze=Gaze(fmean(gaze.entropy for gaze in gazes), fmean(gaze.uncovered for gaze in gazes)) if gazes else None,
    )


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())
