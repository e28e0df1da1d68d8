"""Scenes of digits: what is drawn, where it lies, and that the splits share nothing."""

import numpy as np
import pytest
import torch

from saccade.tasks.captioning import digits
from saccade.tasks.captioning.digits import (
    FIRST_DIGIT,
    SIDE,
    SPLITS,
    Scene,
    cells_of,
    mass_on_digits,
    scene_batch,
    scenes,
)
from saccade.tasks.captioning.settings import DigitsSettings
from saccade.text.tokenizer import EOS


def drawn(split: digits.Split = "train", count: int = 30, **changes: int) -> list[Scene]:
    return scenes(DigitsSettings(**changes), np.random.default_rng(1), count, split)


def test_the_same_numbers_draw_the_same_scenes():
    for one, other in zip(drawn(), drawn(), strict=True):
        assert np.array_equal(one.image, other.image)
        assert (one.digits, one.boxes) == (other.digits, other.boxes)
    assert not np.array_equal(drawn()[0].image, drawn()[1].image)


def test_digits_go_from_left_to_right_and_lie_apart():
    for scene in drawn(count=100):
        columns = [column for _, column in scene.boxes]
        assert columns == sorted(columns)
        assert all(np.diff(columns) >= digits.APART)
        for at, (row, column) in enumerate(scene.boxes):
            assert 0 <= row <= 40 - SIDE
            assert 0 <= column <= 40 - SIDE
            for other_row, other_column in scene.boxes[at + 1 :]:
                assert abs(row - other_row) >= SIDE or abs(column - other_column) >= SIDE


@pytest.mark.parametrize("split", SPLITS)
def test_what_lies_in_a_box_is_a_digit_of_the_split_with_that_name(split: digits.Split):
    pictures, labels = digits._digits(split)
    known = {picture.tobytes(): int(label) for picture, label in zip(pictures, labels, strict=True)}
    for scene in drawn(split):
        for digit, (row, column) in zip(scene.digits, scene.boxes, strict=True):
            inside = np.ascontiguousarray(scene.image[row : row + SIDE, column : column + SIDE])
            assert known[inside.tobytes()] == digit, "clutter never lies over a digit"


def test_the_splits_share_no_digit():
    """1797 digits in all, and each has one place; a copy would fall into the same split by its pixels."""
    own = {split: {picture.tobytes() for picture in digits._digits(split)[0]} for split in SPLITS}
    assert not own["train"] & own["test"]
    assert not own["train"] & own["valid"]
    assert not own["valid"] & own["test"]
    sizes = {split: len(digits._digits(split)[0]) for split in SPLITS}
    assert sum(sizes.values()) == 1797
    assert 0.65 < sizes["train"] / 1797 < 0.75
    assert all(set(digits._digits(split)[1]) == set(range(10)) for split in SPLITS)


def test_clutter_lies_beside_the_digits():
    bare, cluttered = drawn(clutter=0), drawn(clutter=6)
    assert np.mean([(scene.image > 0).sum() for scene in cluttered]) > 1.2 * np.mean(
        [(scene.image > 0).sum() for scene in bare]
    )
    assert all(scene.image.min() >= 0 and scene.image.max() <= 1 for scene in cluttered)


def test_scenes_have_from_fewest_to_most_digits():
    assert {len(scene.digits) for scene in drawn()} == {1, 2, 3}
    assert {len(scene.digits) for scene in drawn(fewest=2, digits=2)} == {2}


def test_a_batch_says_the_digits_and_ends():
    some = drawn(count=4, digits=2, fewest=2)
    batch = scene_batch(some)
    assert batch.images.shape == (4, 1, 40, 40)
    assert batch.num_targets == 4 * 3
    for scene, target in zip(some, batch.target.tolist(), strict=True):
        assert target == [FIRST_DIGIT + digit for digit in scene.digits] + [EOS]


def test_cells_on_a_digit_by_hand():
    """Cells of 4 pixels, the box from row 2 and column 12 on: middles 2, 6, 10, 14 lie within 2–16, and 14, 18, 22."""
    on = cells_of(torch.tensor([[[2, 12]]]), 40, 10).view(10, 10)
    assert on.nonzero().tolist() == [[row, column] for row in (0, 1, 2, 3) for column in (3, 4, 5)]


def test_mass_is_one_on_the_right_digit_and_nothing_on_another():
    batch = scene_batch(drawn(count=6, fewest=3))
    on = cells_of(batch.boxes, 40, 10).double()
    right = torch.cat([on / on.sum(dim=-1, keepdim=True), torch.full((6, 1, 100), 0.01)], dim=1)
    assert mass_on_digits(right, batch) == pytest.approx(1.0)
    assert mass_on_digits(right.roll(1, dims=1), batch) < 0.2
    even = torch.full((6, 4, 100), 0.01, dtype=torch.float64)
    assert 0.09 <= mass_on_digits(even, batch) <= 0.16
    fewer = scene_batch(drawn(count=30))
    assert fewer.num_digits < 90
    on = cells_of(fewer.boxes, 40, 10).double()
    assert mass_on_digits(on / on.sum(dim=-1, keepdim=True).clamp(min=1), fewer) == pytest.approx(1.0), (
        "what is not there does not count"
    )


def test_settings_that_cannot_be():
    with pytest.raises(
        ValueError, match=r"size must be from 16 to .* and a multiple of 4, not 30; digits must be from 1 to 3, not 5"
    ) as caught:
        DigitsSettings(digits=5, size=30, clutter=-1, batch=0)
    with pytest.raises(ValueError, match="size must be at least 40 for 2 digits, not 36"):
        DigitsSettings(digits=2, size=36)
    with pytest.raises(ValueError, match="digits must be at least fewest = 3, not 2"):
        DigitsSettings(digits=2, fewest=3)
    assert str(caught.value).endswith("clutter must be at least 0, not -1; batch must be at least 1, not 0")
