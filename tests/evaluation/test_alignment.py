"""The alignment error rate: by hand, against a loop that counts one link at a time, and its bootstrap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.errors import DataError
from saccade.evaluation.alignment import (
    Aligned,
    choose,
    choose_by_agreement,
    diagonal,
    difference,
    error_rate,
    score,
)
from saccade.trace.alignment import HeadSelection, flipped
from saccade.trace.pharaoh import Gold
from saccade.trace.trace import AttentionTrace, Layer, Tokens

link = st.tuples(st.integers(0, 4), st.integers(0, 4))
sentences = st.lists(st.tuples(st.sets(link), st.sets(link), st.sets(link)), min_size=1, max_size=5)


def test_by_hand():
    """Sentence 1: A = {00, 11, 12}, S = {00, 11}, P = S ∪ {21}. Sentence 2: A = {00}, S = {10}, P = S ∪ {00}.

    |A| = 4, |S| = 3, |A∩S| = 2, |A∩P| = 3: precision 3/4, recall 2/3, AER = 1 − 5/7.
    """
    gold = [Gold.of([(0, 0), (1, 1)], [(2, 1)]), Gold.of([(1, 0)], [(0, 0)])]
    found = score([[(0, 0), (1, 1), (1, 2)], [(0, 0)]], gold)
    assert (found.precision, found.recall) == (0.75, pytest.approx(2 / 3))
    assert found.error_rate == pytest.approx(2 / 7) == error_rate([[(0, 0), (1, 1), (1, 2)], [(0, 0)]], gold)
    assert (found.num_links, found.num_sentences) == (4, 2)


@given(sentences)
def test_equal_to_counting_one_link_at_a_time(given: list):
    found = [sorted(links) for links, _, _ in given]
    gold = [Gold.of(sure, possible) for _, sure, possible in given]
    right = wanted = total = hit = 0
    for links, line in zip(found, gold, strict=True):
        for each in links:
            total += 1
            right += each in line.possible
            hit += each in line.sure
        for _ in line.sure:
            wanted += 1
    result = score(found, gold, samples=20)
    assert result.precision == pytest.approx(right / total if total else 0)
    assert result.recall == pytest.approx(hit / wanted if wanted else 0)
    assert result.error_rate == pytest.approx(1 - (hit + right) / (total + wanted) if total + wanted else 0)
    assert 0 <= result.low <= result.high <= 1


def test_without_possible_links_it_is_one_minus_f1():
    gold = [Gold.of([(0, 0), (1, 1), (2, 2)])]
    found = score([[(0, 0), (1, 2)]], gold)
    f1 = 2 * found.precision * found.recall / (found.precision + found.recall)
    assert found.error_rate == pytest.approx(1 - f1)


def test_the_interval_is_that_of_corpora_drawn_with_replacement():
    """Half of 400 sentences are all right, half all wrong: the share of right ones has a standard error of 1/40."""
    gold = [Gold.of([(0, 0)])] * 400
    found = [[(0, 0)] if row % 2 else [(1, 1)] for row in range(400)]
    result = score(found, gold)
    assert result.error_rate == 0.5
    assert result.low == pytest.approx(0.5 - 1.96 / 40, abs=0.006)
    assert result.high == pytest.approx(0.5 + 1.96 / 40, abs=0.006)
    assert result == score(found, gold), "the same seed"


def test_a_difference_is_drawn_in_pairs():
    """One aligner has one more link right in every sentence: however sentences are drawn, that stays so."""
    gold = [Gold.of([(0, 0), (1, 1)])] * 30
    worse, better = [[(0, 0), (1, 0)]] * 30, [[(0, 0), (1, 1)]] * 30
    found = difference(worse, better, gold)
    assert (found.value, found.low, found.high) == (0.5, 0.5, 0.5)
    assert difference(better, worse, gold).value == -0.5


def test_the_diagonal_by_hand():
    assert diagonal(3, 3) == [(0, 0), (1, 1), (2, 2)]
    assert diagonal(4, 2) == [(1, 0), (3, 1)], "the middles of two halves lie at 1 and 3 of 4"
    assert diagonal(2, 4) == [(0, 0), (0, 1), (1, 2), (1, 3)]
    assert diagonal(0, 3) == diagonal(3, 0) == []


@given(st.integers(1, 40), st.integers(1, 40))
def test_the_diagonal_stays_inside_and_never_turns_back(sources: int, targets: int):
    found = diagonal(sources, targets)
    assert [target for _, target in found] == list(range(targets))
    places = [source for source, _ in found]
    assert places == sorted(places)
    assert 0 <= places[0] <= places[-1] < sources


# -- the choice of heads --


def aligned(*layers: list) -> Aligned:
    """Words of one token each, and the end of both sides; each layer is heads × rows × columns."""
    made = [np.array(layer, dtype=float) for layer in layers]
    rows, columns = made[0].shape[1:]
    trace = AttentionTrace(
        source=Tokens(tuple("abcdefg"[:columns])),
        target=Tokens(tuple("tuvwxyz"[:rows])),
        layers=tuple(Layer(f"decoder.{at}.cross_attention", "cross", layer) for at, layer in enumerate(made)),
    )
    words = np.eye(rows)[:, : rows - 1], np.eye(columns)[:, : columns - 1]
    return Aligned(trace, words[1], words[0])


def shifted(order: list[int], size: int) -> np.ndarray:
    """Weights whose row t + 1, which reads token t, looks at order[t]; row 0 looks at the end."""
    return np.eye(size)[[size - 1, *order]]


def test_the_best_reading_is_found():
    """Head 2 of layer 2 knows, in the rows that read; the other heads look about at random, and loudly."""
    rng = np.random.default_rng(1)
    pairs, gold = [], []
    for _ in range(10):
        order = list(rng.permutation(3))
        noise = 4 * rng.random((3, 4, 4))
        pairs.append(aligned(list(noise[:2]), [noise[2], shifted(order, 4)]))
        gold.append(Gold.of((int(source), target) for target, source in enumerate(order)))
    best, *others = choose(pairs, gold)
    assert best.selection == HeadSelection(((1, 1),), "reads")
    assert (best.name, best.error_rate) == ("layer 2, head 2", 0)
    assert all(other.error_rate > 0 for other in others if other.name != best.name)
    assert [pair.links(best.selection) for pair in pairs] == [
        [(source, target) for target, source in enumerate(np.argmax(pair.trace.of()[1].weights[1][1:], axis=1))]
        for pair in pairs
    ]


def test_balance_is_chosen_where_a_word_attracts_everybody():
    """Every target word looks at the last source word most, and next at its own."""
    weights = 0.4 * np.eye(4)[[0, 1, 2, 3]] + [0, 0, 0.6, 0]
    best = choose([aligned([weights])], [Gold.of([(0, 0), (1, 1), (2, 2)])])[0]
    assert (best.selection.balanced, best.selection.rows, best.error_rate) == (True, "predicts", 0)


def test_among_equals_the_simplest():
    both = [np.eye(4), np.eye(4)]
    assert choose([aligned(both, both)], [Gold.of([(0, 0), (1, 1), (2, 2)])])[0].selection == HeadSelection()


def test_agreement_finds_the_layers_that_know_without_a_gold():
    rng = np.random.default_rng(1)
    forward, backward = [], []
    for _ in range(20):
        order = rng.permutation(4)
        noise = 2 * rng.random((2, 5, 5))
        forward.append(aligned([noise[0]], [shifted(list(order), 5)]))
        backward.append(aligned([shifted(list(np.argsort(order)), 5)], [noise[1]]))
    there, back = choose_by_agreement(forward, backward)
    assert (there[0].selection, back[0].selection) == (
        HeadSelection(((1, 0),), "reads"),
        HeadSelection(((0, 0),), "reads"),
    )
    for one, other in zip(forward, backward, strict=True):
        assert one.links(there[0].selection) == sorted(
            flipped(other.links(back[0].selection)), key=lambda pair: pair[1]
        )


# -- messages --


def test_another_number_of_lines_is_refused():
    with pytest.raises(DataError) as caught:
        score([[]], [])
    assert str(caught.value) == (
        "Links of sentence n are scored against line n of the gold, but there are 1 sentences and 0 lines. "
        "Give files with the same number of lines; a blank line counts as a line."
    )


def test_nothing_to_score_or_to_choose_on_is_refused():
    with pytest.raises(DataError, match="scored on at least one sentence, but there are none"):
        score([], [])
    with pytest.raises(DataError, match="chosen on sentence pairs, but there are none"):
        choose([], [])
