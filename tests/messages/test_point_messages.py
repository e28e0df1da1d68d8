"""The exact words a user reads when sets cannot be put in order."""

import re
from typing import Any

import numpy as np
import pytest
import torch

from saccade.errors import DataError
from saccade.search.settings import SearchSettings
from saccade.tasks.pointing.model import PointerNetwork
from saccade.tasks.pointing.points import collate_sets, solve
from saccade.tasks.pointing.settings import PointerSettings, PointsSettings
from saccade.tasks.pointing.task import PointingTask


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
        ({"layers": 0}, "layers must be from 1 to 1,000, not 0"),
        (
            {"d_model": 0, "num_positions": -1},
            "num_positions must be from 1 to 65,536, not -1; d_model must be from 1 to 65,536, not 0",
        ),
        ({"d_model": 7, "bidirectional": True}, "d_model must be even for a bidirectional encoder, not 7"),
    ],
)
def test_settings_out_of_range(given: dict[str, int], message: str):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        PointerSettings(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"batch": 0}, "batch must be at least 1, not 0"),
        ({"smallest": 4, "largest": 3}, "largest must be at least smallest = 4, not 3"),
        ({"smallest": 0}, "smallest must be at least 1, not 0"),
        ({"kind": "hull", "smallest": 2}, 'smallest must be at least 3 with kind = "hull", not 2'),
        (
            {"kind": "tour", "test_sizes": (2, 20)},
            'test_sizes must be at least 3 with kind = "tour", not 2; test_sizes must be at most 12 with kind = "tour", '
            "whose answers are found by trying, not 20",
        ),
    ],
)
def test_tasks_out_of_range(given: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        PointsSettings(**given)


@pytest.mark.parametrize(
    ("kind", "text", "came"),
    [
        ("sort", "0.3 one 0.2", "one is none"),
        ("sort", "0.3 0.1,0.2", "0.1,0.2 is none"),
        ("sort", "  ", "there is none at all"),
        ("sort", "0.3 nan", "nan is none"),
    ],
)
def test_numbers_to_be_sorted(kind, text: str, came: str):
    assert (
        shown(kind, text)
        == f"What is to be sorted must be numbers with blanks between, such as 0.3 0.1 0.2, but {came}."
    )


@pytest.mark.parametrize(("text", "came"), [("0.1,0.2 0.3", "0.3 is none"), ("0.1,0.2,0.3", "0.1,0.2,0.3 is none")])
def test_points_as_text(text: str, came: str):
    wanted = "Points must be pairs of numbers with blanks between, such as 0.1,0.9 0.5,0.2 0.7,0.7"
    assert shown("hull", text) == f"{wanted}, but {came}."
    assert shown("tour", text) == f"{wanted}, but {came}."


def test_too_few_points_as_text():
    assert shown("hull", "0.1,0.2 0.3,0.4") == (
        "A convex hull must have at least 3 points, but there are 2. Take more points."
    )


def shown(kind, text: str) -> str:
    lesson = PointingTask(PointsSettings(kind=kind), PointerSettings(d_model=8), SearchSettings())
    with pytest.raises(DataError) as caught:
        lesson.show(lesson.build(), text)
    return str(caught.value)
