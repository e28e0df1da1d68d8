"""Words in, weights between words out, from a model that is led through both sentences."""

from pathlib import Path

import numpy as np
import pytest

from saccade.aligner import align
from saccade.errors import DataError
from saccade.trace.alignment import Reading
from saccade.translator import Translator, load


@pytest.fixture(scope="module")
def translator(trained: Path) -> Translator:
    return load(trained / "run")


def test_the_weights_are_those_of_the_translation_itself(translator: Translator):
    """A word is one token here, so that words and tokens, but for the end, are the same."""
    translation = translator.translate("cat lion", attention=True)
    assert translation.attention is not None
    assert translation.text == "Katze Löwe"
    (pair,) = align(translator, [["cat", "lion"]], [["Katze", "Löwe"]])
    for reading in (Reading(), Reading(((0, 1),)), Reading(rows="reads")):
        assert pair.weights(reading) == pytest.approx(reading.weights(translation.attention)[:2, :2], abs=1e-5)


def test_a_word_in_pieces_gets_their_sum_and_gives_their_mean(translator: Translator):
    (pair,) = align(translator, [["catdog", "fox"]], [["Hund", "KatzeFuchs"]])
    source, target = pair.trace.source.tokens, pair.trace.target.tokens
    assert (len(source) > 3, len(target) > 3) == (True, True), "in pieces"
    weights = pair.trace.matrix()
    columns, rows = len(source) - 2, len(target) - 1
    expected = [
        [part[:, :columns].sum(axis=1).mean(), part[:, columns].mean()] for part in (weights[:1], weights[1:rows])
    ]
    assert pair.weights(Reading()) == pytest.approx(np.array(expected))


def test_company_changes_nothing(translator: Translator):
    sources, targets = [["ant"], ["bee", "cat", "dog"]], [["Ameise"], ["Biene", "Katze"]]
    together = align(translator, sources, targets)
    alone = [align(translator, [source], [target])[0] for source, target in zip(sources, targets, strict=True)]
    for one, other in zip(together, alone, strict=True):
        assert one.weights(Reading()) == pytest.approx(other.weights(Reading()), abs=1e-6)


def test_an_empty_side_is_refused(translator: Translator):
    with pytest.raises(DataError, match="Both sides of a pair must have words, but one side of pair 2 has none"):
        align(translator, [["ant"], ["bee"]], [["Ameise"], []])
