"""The pointer experiment, in small: that it measures what it says, and judges by its rule."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from saccade.reproduce import pointer
from saccade.reproduce.finding import Finding
from saccade.reproduce.pointer import INDEX, POINTER
from saccade.tasks.pointing.task import PointingTask

GOOD = {
    f"sort, {POINTER}": {10: 0.9, 15: 0.31},
    f"sort, {INDEX}": {15: 0.01},
    f"hull, {POINTER}": {10: 0.8, 15: 0.3},
    f"hull, {INDEX}": {15: 0.05},
    f"tour, {POINTER}": {},
}


def figures(length: float = 1.03, invalid: float = 0.0) -> dict[str, Any]:
    """As if these shares had come out, and at all other sizes a half."""
    found = {}
    for title, shares in GOOD.items():
        others = {"area": 0.99, "length": length, "invalid": invalid}
        by_size = {name: dict.fromkeys(pointer.SIZES, value) for name, value in others.items()}
        by_size["exact match"] = {size: shares.get(size, 0.5) for size in pointer.SIZES}
        found[title] = {"parameters": 1234, "updates": 3, "runs": [{"seed": 1, "cpu_seconds": 2.0, **by_size}]}
    return found


def test_the_verdict_follows_the_rule():
    assert pointer._holds(figures())
    assert not pointer._holds(figures(length=1.031))
    assert not pointer._holds(figures(invalid=0.01))


@pytest.mark.parametrize(
    ("title", "size", "share"),
    [
        (f"sort, {POINTER}", 10, 0.89),
        (f"sort, {POINTER}", 15, 0.3),
        (f"sort, {INDEX}", 15, 0.02),
        (f"hull, {POINTER}", 10, 0.79),
        (f"hull, {POINTER}", 15, 0.29),
        (f"hull, {INDEX}", 15, 0.06),
    ],
)
def test_one_bad_share_is_enough_to_fail(title: str, size: int, share: float):
    found = figures()
    found[title]["runs"][0]["exact match"][size] = share
    assert not pointer._holds(found)


def test_the_table_and_the_plot(tmp_path: Path):
    finding = Finding("claim", "rule", True, {}, figures())
    told = pointer.table(finding)
    assert "| sort, pointer | 0.500 | 0.500 | 0.900 | 0.500 | 0.310 | 0.500 | 1,234 | 3 | 2 |" in told
    assert "Hulls of 10 points: 0.9900 of the area, 0.0000 no polygon." in told
    assert "Tours of 5 points: 1.0300 times the shortest." in told
    pointer.plot(finding, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_every_contestant_is_trained_and_measured(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("saccade.tasks.pointing.task.NUM_TESTED", 8)
    for name, contestant in list(pointer.CONTESTANTS.items()):
        task = contestant.open_task(seed=1)
        smaller = replace(task.task, batch=4), replace(task.model, d_model=8), task.search
        monkeypatch.setitem(pointer.CONTESTANTS, name, replace(contestant, open_task=partial(PointingTask, *smaller)))
    heard: list[tuple[str, int, int]] = []
    finding = pointer.run(updates=5, seeds=(1, 2), advanced=lambda *told: heard.append(told))
    assert not finding.holds
    assert set(finding.figures) == set(GOOD)
    assert heard.count(("sort, pointer", 1, 1)) == 2
    assert heard.count(("hull, index softmax", 5, 5)) == 2
    for title, found in finding.figures.items():
        assert [run["seed"] for run in found["runs"]] == [1, 2]
        assert set(found["runs"][0]["exact match"]) == set(pointer.CONTESTANTS[title].open_task(seed=1).task.test_sizes)
