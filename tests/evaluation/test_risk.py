"""The expected utility of translations is that of a plain double loop over sacreBLEU."""

import logging
import random

import pytest
from hypothesis import given
from hypothesis import settings as sometimes
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF

from saccade.evaluation.risk import Utility, expected_utility, utilities
from saccade.evaluation.scores import bleu_tokenization

UTILITIES: tuple[Utility, ...] = ("chrf", "bleu")
texts = st.lists(st.text(alphabet="aab cd.é狗好 ", max_size=25), min_size=1, max_size=6)


def by_sacrebleu(hypothesis: str, reference: str, utility: Utility, language: str) -> float:
    metric = CHRF() if utility == "chrf" else BLEU(tokenize=bleu_tokenization(language), effective_order=True)
    return float(metric.sentence_score(hypothesis, [reference]).score)


@pytest.mark.parametrize("language", ["de", "zh"])
@pytest.mark.parametrize("utility", UTILITIES)
@sometimes(max_examples=40)
@given(candidates=texts)
def test_utilities_are_those_of_sacrebleu(utility: Utility, language: str, candidates: list[str]):
    found = utilities(candidates, utility, language=language)
    for row, hypothesis in enumerate(candidates):
        expected = [by_sacrebleu(hypothesis, reference, utility, language) for reference in candidates]
        assert found[row].tolist() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("utility", UTILITIES)
def test_the_expectation_is_that_of_a_plain_double_loop(utility: Utility, weighed: bool):
    """Words of six sentences by chance, some of them twice; weights need not sum to one."""
    rng = random.Random(1)
    words = ["der", "die", "Hund", "Katze", "läuft", "schläft", "im", "am", "Park", "Haus", "schnell", "."]
    candidates = [" ".join(rng.choices(words, k=rng.randrange(4, 12))) for _ in range(9)]
    candidates += candidates[:3]
    weights = [rng.random() for _ in candidates] if weighed else [1.0] * len(candidates)
    expected = []
    for hypothesis in candidates:
        total = 0.0
        for reference, weight in zip(candidates, weights, strict=True):
            total += weight * by_sacrebleu(hypothesis, reference, utility, "de")
        expected.append(total / sum(weights))
    found = expected_utility(candidates, weights if weighed else None, utility=utility, language="de")
    assert found == pytest.approx(expected, abs=1e-9)
    assert len(set(found)) == 9


def test_the_one_that_is_like_the_others_wins_over_the_likeliest():
    """0.4 for the odd one alone, but 0.2 for each of three that say nearly the same."""
    candidates = ["Bitte warten.", "Der Hund läuft im Park.", "Der Hund läuft im Parke.", "Der Hund rennt im Park."]
    found = expected_utility(candidates, [0.4, 0.2, 0.2, 0.2], language="de")
    assert max(zip(found, candidates, strict=True))[1].startswith("Der Hund")


def test_nothing_is_like_nothing_else_and_warns_of_nothing(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING):
        assert expected_utility(["", ""], language="de") == [0.0, 0.0]
        assert expected_utility(["a"], language="de") == [100.0]
    assert caplog.text == ""
