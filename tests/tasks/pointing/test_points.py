"""Sets and their answers in tensors."""

import numpy as np
import pytest
import torch

from saccade.tasks.pointing.points import D_INPUT, STOP, PointBatch, collate, draw, solve

TASKS = ["sort", "hull", "tour"]


def point_batch(task, random, count: int, smallest: int, largest: int) -> PointBatch:
    """New sets with their answers."""
    sets = draw(random, count, smallest, largest, D_INPUT[task])
    return collate(sets, solve(task, sets))


def rows_of(batch: PointBatch) -> list[tuple[list[list[float]], list[int]]]:
    """Elements and answer of each row, by the masks alone."""
    return [
        (points[real].tolist(), target[said].tolist())
        for points, real, target, said in zip(
            batch.points, batch.source_mask, batch.target, batch.target_mask, strict=True
        )
    ]


@pytest.mark.parametrize("task", TASKS)
def test_a_batch_holds_sets_and_their_answers(task):
    batch = point_batch(task, np.random.default_rng(1), 40, 3, 7)
    sets = draw(np.random.default_rng(1), 40, 3, 7, D_INPUT[task])
    assert {len(points) for points in sets} == {3, 4, 5, 6, 7}
    for (elements, target), points, order in zip(rows_of(batch), sets, solve(task, sets), strict=True):
        np.testing.assert_allclose(elements, points, atol=1e-7)
        assert target == [*(order + 1), STOP]
    assert batch.num_targets == sum(len(target) for _, target in rows_of(batch))
    for found, order, points, own in zip(batch.orders, solve(task, sets), batch.sets, sets, strict=True):
        assert found.tolist() == order.tolist()
        np.testing.assert_allclose(points, own, atol=1e-7)


@pytest.mark.parametrize("task", TASKS)
def test_the_decoder_reads_what_it_should_have_said_before(task):
    batch = point_batch(task, np.random.default_rng(1), 40, 3, 7)
    assert torch.equal(batch.prefix[:, 1:], batch.target[:, :-1])
    assert not batch.prefix[:, 0].any()


@pytest.mark.parametrize("task", TASKS)
def test_a_batch_is_a_function_of_its_generator(task):
    one, other, another = (point_batch(task, np.random.default_rng(seed), 9, 3, 6) for seed in (1, 1, 2))
    assert all(torch.equal(getattr(one, name), getattr(other, name)) for name in one.__slots__)
    assert torch.equal(one.points, other.points)
    assert not torch.equal(one.points, another.points[:, : one.points.shape[1]])


def test_sorted_elements_rise():
    batch = point_batch("sort", np.random.default_rng(3), 20, 1, 9)
    for elements, target in rows_of(batch):
        ordered = [elements[id - 1][0] for id in target[:-1]]
        assert ordered == sorted(elements[at][0] for at in range(len(elements)))


def test_tours_of_different_sizes_keep_their_places():
    sets = draw(np.random.default_rng(4), 30, 3, 7, 2)
    for points, order in zip(sets, solve("tour", sets), strict=True):
        assert order.tolist() == solve("tour", [points])[0].tolist()


def test_elements_are_spread_evenly():
    numbers = np.concatenate(draw(np.random.default_rng(5), 500, 5, 10, 1))
    counts, _ = np.histogram(numbers, bins=10, range=(0, 1))
    assert counts.sum() == len(numbers)
    assert abs(counts / len(numbers) - 0.1).max() < 0.02


def test_a_batch_moves_as_a_whole():
    batch = collate([np.array([[0.5], [0.25]])], [[1, 0]]).to(torch.device("meta"))
    assert {
        getattr(batch, name).device.type for name in ("points", "source_mask", "prefix", "target", "target_mask")
    } == {"meta"}


def test_an_empty_answer_is_a_stop_alone():
    batch = collate([np.array([[0.5], [0.25]]), np.array([[0.1]])], [[], [0]])
    assert batch.target.tolist() == [[STOP, STOP], [1, STOP]]
    assert batch.target_mask.tolist() == [[True, False], [True, True]]
