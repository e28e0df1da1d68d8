"""Words in, weights between words out, from a model that is led through both sentences."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from saccade.aligner import SentencePairs, align, weigh_words
from saccade.errors import DataError
from saccade.trace.alignment import HeadSelection
from saccade.trace.pharaoh import Gold
from saccade.translator import Translator, load


@pytest.fixture(scope="module")
def translator(trained: Path) -> Translator:
    return load(trained / "run")


def test_the_weights_are_those_of_the_translation_itself(translator: Translator):
    """A word is one token here, so that words and tokens, but for the end, are the same."""
    translation = translator.translate("cat lion", attention=True)
    assert translation.attention is not None
    assert translation.text == "Katze Löwe"
    (pair,) = weigh_words(translator, [["cat", "lion"]], [["Katze", "Löwe"]])
    for selection in (HeadSelection(), HeadSelection(((0, 1),)), HeadSelection(rows="reads")):
        assert pair.weights(selection) == pytest.approx(selection.weights(translation.attention)[:2, :2], abs=1e-5)


def test_a_word_in_pieces_gets_their_sum_and_gives_their_mean(translator: Translator):
    (pair,) = weigh_words(translator, [["catdog", "fox"]], [["Hund", "KatzeFuchs"]])
    source, target = pair.trace.source.tokens, pair.trace.target.tokens
    assert (len(source) > 3, len(target) > 3) == (True, True), "in pieces"
    weights = pair.trace.matrix()
    columns, rows = len(source) - 2, len(target) - 1
    expected = [
        [part[:, :columns].sum(axis=1).mean(), part[:, columns].mean()] for part in (weights[:1], weights[1:rows])
    ]
    assert pair.weights(HeadSelection()) == pytest.approx(np.array(expected))


def test_company_changes_nothing(translator: Translator):
    sources, targets = [["ant"], ["bee", "cat", "dog"]], [["Ameise"], ["Biene", "Katze"]]
    together = weigh_words(translator, sources, targets)
    alone = [weigh_words(translator, [source], [target])[0] for source, target in zip(sources, targets, strict=True)]
    for one, other in zip(together, alone, strict=True):
        assert one.weights(HeadSelection()) == pytest.approx(other.weights(HeadSelection()), abs=1e-6)


def test_an_empty_side_is_refused(translator: Translator):
    with pytest.raises(DataError, match="Both sides of a pair must have words, but one side of pair 2 has none"):
        weigh_words(translator, [["ant"], ["bee"]], [["Ameise"], []])


def test_links_and_their_report(translator: Translator):
    """Without gold there is nothing to report; a blank side has no links, and keeps its place."""
    gold = [Gold.of([(0, 0), (1, 1)]), Gold.of([]), Gold.of([(0, 0)])]
    pairs = SentencePairs([["cat", "lion"], [], ["bee"]], [["Katze", "Löwe"], ["Hund"], ["Biene"]], gold)
    found = align(translator, pairs, threshold=0.0)
    assert [sorted(links) for links in found.links] == [[(0, 0), (0, 1), (1, 0), (1, 1)], [], [(0, 0)]]
    report = found.report()
    assert (report.scores.recall, report.scores.num_links) == (1.0, 5)
    assert report.to_json()["this_model"]["precision"] == pytest.approx(3 / 5)
    with pytest.raises(DataError, match="these pairs have none"):
        align(translator, SentencePairs(pairs.sources, pairs.targets)).report()


def test_heads_are_selected_or_chosen_but_not_both(translator: Translator):
    pairs = SentencePairs([["cat"]], [["Katze"]])
    with pytest.raises(DataError, match="either selected or chosen"):
        align(translator, pairs, selection=HeadSelection(), choose_on=pairs)
    with pytest.raises(DataError, match="known links"):
        align(translator, pairs, choose_on=pairs)


def test_a_model_may_say_which_heads_align(translator: Translator):
    """Its word counts unless another selection is given, or heads are chosen; in both directions if both say so."""
    pairs = SentencePairs([["cat", "lion"]], [["Katze", "Löwe"]], [Gold.of([(0, 0), (1, 1)])])
    named = HeadSelection(((0, 1),), rows="reads", balanced=True)

    def saying(selection: HeadSelection | None, *languages: str) -> Translator:
        direction = replace(translator.directory.description.directions[0], source=languages[0], target=languages[1])
        description = replace(translator.directory.description, alignment=selection, directions=(direction,))
        return Translator(replace(translator.directory, description=description), translator.engine)

    model, reverse = saying(named, "en", "de"), saying(HeadSelection(((0, 0),)), "de", "en")
    assert align(model, pairs).selection == named
    assert align(model, pairs).links == align(translator, pairs, selection=named).links
    assert align(model, pairs, selection=HeadSelection()).selection == HeadSelection()
    assert align(model, pairs, choose_on=pairs).selection == align(translator, pairs, choose_on=pairs).selection
    both = align(model, pairs, reverse=reverse)
    assert (both.selection, both.reverse_selection) == (named, HeadSelection(((0, 0),)))
    one = align(model, pairs, reverse=saying(None, "de", "en"))
    assert one.reverse_selection == align(translator, pairs, reverse=saying(None, "de", "en")).reverse_selection
    translation = model.translate("cat lion", attention=True)
    assert list(translation.alignment) == align(model, pairs).links[0]
