"""BLEU of captions against all that people said of an image, with the interval of its bootstrap."""

from collections.abc import Sequence
from typing import cast

from saccade.errors import DataError
from saccade.evaluation.scores import Score, bleu_tokenization
from saccade.evaluation.significance import Interval, chosen_seed, counted, interval, resampled, score


def caption_bleu(
    captions: Sequence[str], references: Sequence[Sequence[str]], *, language: str, samples: int = 1000
) -> Score:
    """BLEU-4 of lower-cased text. An image may have more captions than another; those missing are left out."""
    from sacrebleu.metrics.bleu import BLEU

    if len(captions) != len(references) or not captions or not all(references):
        raise DataError(
            f"Every caption is scored against one caption or more of its image, but there are {len(captions)} captions "
            f"and {sum(1 for each in references if each)} images with any. Give as many of both."
        )
    metric = BLEU(lowercase=True, tokenize=bleu_tokenization(language), force=True)
    most = max(len(each) for each in references)
    columns = [[each[at] if at < len(each) else None for each in references] for at in range(most)]
    references_by_file = cast(
        Sequence[Sequence[str]], columns
    )  # sacreBLEU takes None for no reference, and says not so
    whole = metric.corpus_score(list(captions), references_by_file)
    counts = counted(metric, captions, references_by_file)
    assert abs(score(metric, counts) - whole.score) < 1e-6
    within: Interval = interval(resampled(metric, counts, samples=samples, seed=chosen_seed()[0]))
    return Score("BLEU", whole.score, metric.get_signature().format(), within)


def bare(text: str) -> str:
    """Without punctuation, as captions are compared in the literature."""
    return " ".join("".join(each if each.isalnum() else " " for each in text).split())
