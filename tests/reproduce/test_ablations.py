"""The rows of the Transformer's Table 3, in small."""

import math
from pathlib import Path

import pytest
import torch

from saccade.data.batch import collate_sources
from saccade.reproduce import ablations, strings
from saccade.reproduce.ablations import CONTESTANTS, WITH, WITHOUT
from saccade.search.hypothesis import Hypothesis
from saccade.tasks.translation import loss
from saccade.training.loss import smoothed_loss


@pytest.mark.parametrize("name", [WITH, "learned positions", WITHOUT])
def test_without_positions_the_order_of_a_source_makes_no_difference(name: str):
    torch.manual_seed(1)
    model = CONTESTANTS[name].open_task(seed=1).build().double().eval()
    states = [model.encode(collate_sources([source])).keys[0] for source in ([5, 6, 7], [7, 5, 6])]
    same = torch.allclose(states[0][:3], states[1][[1, 2, 0]])
    assert same is (name == WITHOUT)


def test_every_row_differs_from_the_first_in_one_thing():
    tasks = {name: contestant.open_task(seed=1) for name, contestant in CONTESTANTS.items()}
    first = tasks[WITH]
    for name, task in tasks.items():
        changed = [
            task.model != first.model,
            task.training.label_smoothing != first.training.label_smoothing,
            type(task) is not type(first),
        ]
        assert sum(changed) == (name != WITH)


def test_a_row_is_trained_with_its_own_smoothing(monkeypatch: pytest.MonkeyPatch):
    used = []

    def heard(hidden: torch.Tensor, output: torch.Tensor, target: torch.Tensor, smoothing: float) -> torch.Tensor:
        used.append(smoothing)
        return smoothed_loss(hidden, output, target, smoothing)

    monkeypatch.setattr(loss, "smoothed_loss_chunked", heard)
    monkeypatch.setattr(strings, "BATCH", 2)
    monkeypatch.setattr(ablations, "scores", lambda engine, seed: {"perplexity": 1.0, "exact match": 1.0})
    ablations.run(updates=1)
    assert used == [0.0 if name == "label smoothing 0" else 0.1 for name in CONTESTANTS]


class Uniform:
    """Says everything with the same probability, and never anything right."""

    def translate(self, sources: list[list[int]], settings: object) -> list:
        return [[Hypothesis(ids=(), log_prob=0.0, score=0.0, finished=True)] for _ in sources]

    def token_log_probs(self, sources: list[list[int]], targets: list[list[int]]) -> list[tuple[float, ...]]:
        assert targets[0] == sources[0][::-1]
        return [(math.log(1 / 30),) * (len(target) + 1) for target in targets]


def test_the_perplexity_of_a_uniform_guess_is_the_number_of_choices():
    assert ablations.scores(Uniform(), seed=1) == {"perplexity": pytest.approx(30), "exact match": 0}  # type: ignore[arg-type]


@pytest.mark.parametrize(("base", "bare", "holds"), [(0.9, 0.05, True), (0.89, 0.0, False), (1.0, 0.06, False)])
def test_the_verdict_follows_the_rule(base: float, bare: float, holds: bool, monkeypatch: pytest.MonkeyPatch):
    order = iter([base if name == WITH else bare if name == WITHOUT else 0.5 for name in CONTESTANTS])
    monkeypatch.setattr(ablations, "scores", lambda engine, seed: {"perplexity": 1.0, "exact match": next(order)})
    monkeypatch.setattr(strings, "BATCH", 2)
    assert ablations.run(updates=1).holds is holds


def test_it_runs_and_is_told_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in CONTESTANTS.keys() - {WITH, WITHOUT}:
        monkeypatch.delitem(CONTESTANTS, name)
    monkeypatch.setattr(ablations, "NUM_TESTED", 2)
    monkeypatch.setattr(strings, "BATCH", 2)
    finding = ablations.run(updates=1, seeds=(1, 2))
    assert "| without positions | " in ablations.table(finding)
    ablations.plot(finding, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    finding.save(tmp_path)
