"""The exact words a user reads when sets cannot be put in order."""

import numpy as np
import pytest
import torch

from saccade.data.tasks.points import collate_sets, solve
from saccade.errors import DataError
from saccade.models.pointer import PointerNetwork
from saccade.models.pointer_settings import PointerSettings


@pytest.mark.parametrize(("task", "what"), [("hull", "A convex hull"), ("tour", "A tour")])
def test_fewer_than_three_points(task, what: str):
    with pytest.raises(DataError) as caught:
        solve(task, [np.zeros((3, 2)), np.zeros((2, 2))])
    assert str(caught.value) == f"{what} must have at least 3 points, but there are 2. Take more points."


def test_more_points_than_can_be_tried():
    with pytest.raises(DataError) as caught:
        solve("tour", [np.zeros((13, 2))])
    assert str(caught.value) == (
        "The shortest tour is found by trying all of them in effect, so it must have at most 12 points, but there are "
        "13. Take fewer points."
    )


def test_more_elements_than_an_index_softmax_can_name():
    model = PointerNetwork(PointerSettings(output="index", num_positions=4, d_model=8), 1)
    model.start(model.encode(collate_sets([np.zeros((4, 1))])))
    with pytest.raises(DataError) as caught, torch.inference_mode():
        model.start(model.encode(collate_sets([np.zeros((5, 1))])))
    assert str(caught.value) == (
        "An index softmax has one output for each of 4 positions, but a set has 5 elements. Train with a larger "
        'model.num_positions, or with model.output = "pointer", which has no such bound.'
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"layers": 0}, "layers must be at least 1, not 0"),
        (
            {"d_model": 0, "num_positions": -1},
            "num_positions must be at least 1, not -1; d_model must be at least 1, not 0",
        ),
        ({"d_model": 7, "bidirectional": True}, "d_model must be even for a bidirectional encoder, not 7"),
    ],
)
def test_settings_out_of_range(given: dict[str, int], message: str):
    with pytest.raises(ValueError) as caught:
        PointerSettings(**given)
    assert str(caught.value) == message
