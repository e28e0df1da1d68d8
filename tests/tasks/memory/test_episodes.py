"""Episodes: what is shown, what is wanted, and that each is what the paper describes, told by other code."""

import math
from collections import Counter
from dataclasses import fields
from itertools import pairwise

import numpy as np
import pytest
import torch

from saccade.tasks.memory.episodes import Episode, collate, copy_of, draw, episode, of_one_size
from saccade.tasks.memory.settings import (
    CopySettings,
    EpisodesSettings,
    NgramsSettings,
    PrioritySortSettings,
    RecallSettings,
    RepeatCopySettings,
    twice_as_large,
)

TASKS: list[EpisodesSettings] = [
    CopySettings(bits=3, longest=5),
    RepeatCopySettings(bits=3, longest=4, most=3),
    RecallSettings(bits=2, length=2, most=5),
    PrioritySortSettings(bits=3, given=6, wanted=4),
    NgramsSettings(order=3, length=20),
]


def every(task: EpisodesSettings, count: int = 40) -> list[Episode]:
    random = np.random.default_rng(1)
    return [episode(random, task) for _ in range(count)]


def seen(shown: np.ndarray) -> list[list[float]]:
    """Bits are shown by their signs."""
    assert set(np.unique(shown)) <= {-1, 1}
    return ((shown + 1) / 2).tolist()


def answer(given: Episode) -> list[list[float]]:
    return given.targets[given.wanted].tolist()


@pytest.fixture(params=TASKS, ids=lambda task: task.kind)
def task(request: pytest.FixtureRequest) -> EpisodesSettings:
    return request.param


def test_the_same_generator_gives_the_same_episodes(task: EpisodesSettings):
    one, same, other = (draw(np.random.default_rng(seed), task, 4) for seed in (1, 1, 2))
    assert torch.equal(one.inputs, same.inputs)
    assert torch.equal(one.targets, same.targets)
    assert one.inputs.shape != other.inputs.shape or not torch.equal(one.inputs, other.inputs)


def test_sizes_are_as_told(task: EpisodesSettings):
    for given in every(task):
        assert given.inputs.shape == (len(given.wanted), task.num_inputs)
        assert given.targets.shape == (len(given.wanted), task.num_outputs)
        assert set(np.unique(given.targets)) <= {0, 1}


@pytest.mark.parametrize("task", TASKS[:4], ids=lambda task: task.kind)
def test_nothing_is_shown_while_answers_are_wanted_and_nothing_wanted_before(task: EpisodesSettings):
    for given in every(task):
        assert not given.inputs[given.wanted].any()
        assert not given.targets[~given.wanted].any()
        first = int(given.wanted.argmax())
        assert given.wanted[first:].all()
        assert given.inputs[first - 1].any()


def test_a_copy_is_what_was_shown():
    task, lengths = CopySettings(bits=3, shortest=2, longest=4), Counter()
    for given in every(task):
        shown = seen(given.inputs[: len(answer(given)), :3])
        assert answer(given) == shown
        assert given.inputs[len(shown)].tolist() == [0, 0, 0, 1]
        assert len(given.inputs) == 2 * len(shown) + 1
        lengths[len(shown)] += 1
    assert set(lengths) == {2, 3, 4}
    assert copy_of(np.eye(3, dtype=np.float32)).targets[-3:].tolist() == np.eye(3).tolist()


def test_copies_are_as_many_as_told_and_then_comes_the_end():
    """The number is shown less the mean 5.5 of 1 to 10, over their deviation √(99 / 12)."""
    task, sizes = RepeatCopySettings(bits=2, longest=3, most=4), set()
    for given in every(task):
        length = int(given.inputs[:, 2].argmax())
        copies = round(float(given.inputs[length, 3]) * math.sqrt(99 / 12) + 5.5, 4)
        shown = [[*vector, 0] for vector in seen(given.inputs[:length, :2])]
        assert answer(given) == shown * int(copies) + [[0, 0, 1]]
        sizes.add((length, copies))
    assert sizes == {(length, copies) for length in (1, 2, 3) for copies in (1, 2, 3, 4)}


def test_recalled_is_the_item_after_the_one_that_is_shown_again():
    task, places = RecallSettings(bits=3, length=2, fewest=2, most=5), set()
    for given in every(task, 80):
        marks = given.inputs[:, 3]
        items = [seen(given.inputs[at + 1 : at + 3, :3]) for at in np.flatnonzero(marks)]
        first, last = np.flatnonzero(given.inputs[:, 4])
        query = seen(given.inputs[first + 1 : last, :3])
        assert len({str(item) for item in items}) == len(items)
        assert answer(given) == items[items.index(query) + 1]
        assert last == len(given.inputs) - 3
        places.add((len(items), items.index(query)))
    assert places == {(count, at) for count in range(2, 6) for at in range(count - 1)}


def test_sorted_are_the_highest_priorities_highest_first():
    for given in every(PrioritySortSettings(bits=4, given=7, wanted=5)):
        priorities, vectors = given.inputs[:7, 4].tolist(), seen(given.inputs[:7, :4])
        rest = list(zip(priorities, vectors, strict=True))
        assert all(-1 <= priority <= 1 for priority, _ in rest)
        assert given.inputs[7].tolist() == [0] * 5 + [1]
        for said in answer(given):
            best = max(rest)
            assert said == best[1]
            rest.remove(best)
        assert len(rest) == 2


def test_ngrams_follow_a_table_that_is_new_each_time():
    """Of Beta(½, ½), 2 · (2/π) asin √0.15 = 0.51 lies below 0.15 or above 0.85; of an even draw it would be 0.3."""
    shares = [np.mean(seen(given.inputs)) for given in every(NgramsSettings(order=1, length=200), 300)]
    assert 0.43 < np.mean([share < 0.15 or share > 0.85 for share in shares]) < 0.59
    assert 0.43 < np.mean(shares) < 0.57


def test_a_bit_depends_on_the_ones_before_it():
    """Whatever follows 1 says nothing of what follows 0: the two shares of an episode are often far apart."""
    apart = []
    for given in every(NgramsSettings(order=2, length=200)):
        shown = [int(bit) for (bit,) in seen(given.inputs)]
        bits = [*shown, int(given.targets[-1, 0])]
        assert bits[1:] == given.targets[:, 0].astype(int).tolist()
        assert given.wanted.all()
        after = {bit: [now for before, now in pairwise(bits) if before == bit] for bit in (0, 1)}
        if all(after.values()):
            apart.append(abs(np.mean(after[0]) - np.mean(after[1])) > 0.3)
    assert np.mean(apart) > 0.3
    assert [given.wanted.tolist() for given in every(NgramsSettings(order=4, length=6), 1)] == [
        [False] * 2 + [True] * 3
    ]


def test_a_batch_has_one_size_and_over_batches_all_of_them():
    random, task, sizes = np.random.default_rng(1), CopySettings(bits=2, longest=4), Counter()
    for _ in range(60):
        batch = draw(random, task, 3)
        assert bool(batch.mask.all())
        sizes[batch.inputs.shape[1]] += 1
    assert set(sizes) == {3, 5, 7, 9}
    for task in TASKS:
        chosen = of_one_size(random, task)
        assert len({len(each.inputs) for each in every(chosen, 10)}) == 1


def test_padding_is_marked_and_counts_for_nothing():
    episodes = [copy_of(np.ones((length, 2), np.float32)) for length in (3, 1)]
    batch = collate(episodes)
    assert batch.mask.tolist() == [[True] * 7, [True] * 3 + [False] * 4]
    assert batch.target_mask.tolist() == [[False] * 4 + [True] * 3, [False, False, True, False, False, False, False]]
    assert not batch.inputs[1, 3:].any()
    assert batch.num_targets == 4 * 2


def test_a_batch_moves_as_a_whole(task: EpisodesSettings):
    batch = draw(np.random.default_rng(1), task, 2)
    moved = batch.to(torch.device("meta"))
    tensors = [field.name for field in fields(batch) if isinstance(getattr(batch, field.name), torch.Tensor)]
    assert all(getattr(moved, name).is_meta for name in tensors)
    assert moved.num_remembered == batch.num_remembered == task.num_remembered


def test_twice_as_large_is_more_to_remember():
    assert [task.num_remembered for task in TASKS] == [5, 4, 5, 6, 4]
    assert [twice_as_large(task).num_remembered for task in TASKS] == [10, 8, 10, 12, 4]
    assert len(every(twice_as_large(TASKS[4]))[0].inputs) == 39
