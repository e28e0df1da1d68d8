"""The claim about captions, in small: the noise of hard attention's gradient, and the rule."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from saccade.reproduce import captions
from saccade.reproduce.captions import CONTESTANTS, MODELS
from saccade.tasks.captioning.digits import DigitsTask
from saccade.tasks.captioning.settings import DigitsSettings

TASK = DigitsSettings(batch=2, clutter=0, easy=0)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captions, "NUM_GRADIENTS", 4)
    monkeypatch.setattr(DigitsTask, "num_test", 1)
    contestants = {
        name: replace(CONTESTANTS[name], open_task=partial(DigitsTask, TASK, replace(model, d_model=8)))
        for name, model in MODELS.items()
    }
    monkeypatch.setattr(captions, "CONTESTANTS", contestants)


def test_it_runs_and_is_told_and_drawn(tmp_path: Path):
    finding = captions.run(updates=2, seeds=(1, 2))
    noises = [run["noise"] for run in finding.figures["hard"]["runs"]]
    assert all(noise["with_baseline"] > 0 and noise["without"] > 0 for noise in noises)
    table = captions.table(finding)
    assert "| mean | 0.000 ± 0.000 | – |" in table
    assert table.count(" with and ") == 2
    captions.plot(finding, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    finding.save(tmp_path)


def test_measuring_the_noise_leaves_the_model_as_it_was():
    task = captions.CONTESTANTS["hard"].open_task(seed=1)
    torch.manual_seed(1)
    model = task.build()
    before = model.settings, captions._attention(model).sampling, [each.clone() for each in model.parameters()]
    batch = next(iter(task.fixed(0, 1)))
    noise = captions.gradient_noise(model, -5.0, batch)
    assert noise["with_baseline"] != noise["without"]
    assert captions.gradient_noise(model, -5.0, batch) == noise
    assert (model.settings, captions._attention(model).sampling) == before[:2]
    assert all(torch.equal(now, then) for now, then in zip(model.parameters(), before[2], strict=True))


GOOD = {"soft": 0.9, "hard": 0.9, "mean": 0.7}


@pytest.mark.parametrize(
    ("accuracies", "mass", "noise", "holds"),
    [
        (GOOD, 0.6, {"with_baseline": 1.0, "without": 2.0}, True),
        (GOOD | {"hard": 0.89}, 0.6, {"with_baseline": 1.0, "without": 2.0}, False),
        (GOOD | {"mean": 0.71}, 0.6, {"with_baseline": 1.0, "without": 2.0}, False),
        (GOOD, 0.59, {"with_baseline": 1.0, "without": 2.0}, False),
        (GOOD, 0.6, {"with_baseline": 2.0, "without": 1.0}, False),
    ],
)
def test_the_verdict_follows_the_rule(accuracies: dict[str, float], mass: float, noise: dict[str, float], holds: bool):
    measured = {
        name: {"sequence accuracy": accuracy, "attention on the digit": mass} for name, accuracy in accuracies.items()
    }
    measured["hard"]["noise"] = noise  # type: ignore[assignment]
    assert captions._holds({name: {"runs": [run]} for name, run in measured.items()}) is holds
