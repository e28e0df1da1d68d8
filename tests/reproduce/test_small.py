"""Claims that measure without training, and those of the tasks of classifiers: that they measure what they say."""

import math
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from saccade.nn.positions import sinusoids
from saccade.reproduce import coattention, contest, facets, glyphs, hierarchical, positions, scaling
from saccade.reproduce.claims import CLAIMS, open_claim
from saccade.reproduce.figures import spread
from saccade.reproduce.finding import TEXTS, Finding


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_says_what_it_is_and_when_it_holds(name: str):
    claim, text = open_claim(name), TEXTS[name]
    assert text["claim"].endswith(".")
    assert "et al." in text["claim"]
    assert text["rule"].endswith(".")
    assert 0 < claim.QUICK < claim.UPDATES
    assert all(callable(getattr(claim, part)) for part in ("run", "table", "plot"))


def test_a_finding_that_was_saved_is_told_as_before(tmp_path: Path):
    found = scaling.run(updates=20, seeds=(1, 2))
    found.save(tmp_path)
    again = Finding.load(tmp_path)
    assert again == found
    assert scaling.table(again) == scaling.table(found)


def test_a_spread_is_that_of_all_seeds():
    assert spread([0.5]) == "0.500"
    assert spread([1.0, 2.0, 3.0], 2) == "2.00 ± 0.82"


def test_the_gradient_of_a_softmax_is_what_autograd_says():
    scores = torch.randn(3, scaling.NUM_KEYS, dtype=torch.float64)
    found = scaling._looked_at({4: scores})
    jacobians = [torch.autograd.functional.jacobian(lambda row: row.softmax(dim=-1), row) for row in scores]
    assert found["gradient"][4] == pytest.approx(float(sum(each.norm() for each in jacobians)) / 3)
    assert found["largest weight"][4] == pytest.approx(float(scores.softmax(dim=-1).amax(dim=-1).mean()))


def test_scaling_holds_in_small():
    finding = scaling.run(updates=20, seeds=(1, 2))
    assert finding.holds
    assert len(finding.figures["plain"]["runs"]) == 2


def test_turning_is_linear_and_shifts_positions():
    vectors = sinusoids(20, positions.D_MODEL).double()
    torch.testing.assert_close(vectors[:15] @ positions.turned(5), vectors[5:], rtol=0, atol=1e-6)


def test_a_random_table_has_no_such_map():
    finding = positions.run(updates=3)
    assert finding.holds
    assert finding.settings["offsets"] == [1, 2, 4]


CLASSIFIERS: dict[ModuleType, list[tuple[list[float], bool]]] = {
    hierarchical: [([0.96, 0.9, 0.1], True), ([0.95, 0.91, 0.1], False), ([0.89, 0.1, 0.1], False)],
    coattention: [
        ([0.9, 0.8, 0.6, 0.3, 0.2], True),
        ([0.9, 0.79, 0.1, 0.1, 0.1], False),
        ([0.9, 0.9, 0.71, 0.1, 0.1], False),
    ],
    glyphs: [([0.8, 0.25, 0.9], True), ([0.79, 0.2, 0.1], False), ([0.9, 0.26, 0.1], False)],
    facets: [([0.9, 0.85], True), ([0.9, 0.86], False)],
}
CASES = [(claim, *case) for claim, cases in CLASSIFIERS.items() for case in cases]


@pytest.mark.parametrize(("claim", "accuracies", "holds"), CASES)
def test_the_verdict_follows_the_rule(
    claim: Any, accuracies: list[float], holds: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    figures = {
        name: {"parameters": 10, "updates": 3, "runs": [{"seed": 1, "cpu_seconds": 2.0, "accuracy": accuracy}]}
        for name, accuracy in zip(claim.CONTESTANTS, accuracies, strict=True)
    }
    monkeypatch.setattr(contest, "compare", lambda *_: figures)
    finding: Finding = claim.run(updates=1)
    assert finding.holds is holds
    assert f"| {next(iter(claim.CONTESTANTS))} | {accuracies[0]:.3f} | 10 | 3 | 2 |" in claim.table(finding)
    claim.plot(finding, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_contestants_are_taught_and_measured():
    told = []
    found = facets.run(updates=2, seeds=(1, 2), advanced=lambda *each: told.append(each))
    runs = found.figures["one weight a token"]["runs"]
    assert [run["seed"] for run in runs] == [1, 2]
    assert all(math.isfinite(run["loss"]) and 0 <= run["accuracy"] <= 1 for run in runs)
    assert told[:2] == [("a weight for each feature", 1, 2), ("a weight for each feature", 2, 2)]
