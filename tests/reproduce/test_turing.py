"""The claims about Turing machines, in small: that they measure what they say, and judge by their rules."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

from saccade.reproduce import contest, recall, turing
from saccade.tasks.memory.settings import CopySettings, LstmSettings, RecallSettings, TuringSettings
from saccade.tasks.memory.task import MemoryTask
from saccade.training.updates import learn

SMALL = TuringSettings(d_controller=6, rows=24, d_row=4)
TASKS = {turing: CopySettings(bits=2, longest=3, batch=2), recall: RecallSettings(bits=4, length=1, most=3, batch=2)}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turing, "NUM_TESTED", 2)
    for claim, task in TASKS.items():
        for name, contestant in list(claim.CONTESTANTS.items()):
            model = LstmSettings(layers=1, d_model=4) if name == "LSTM" else SMALL
            small = replace(contestant, open_task=partial(MemoryTask, task, model))
            monkeypatch.setitem(claim.CONTESTANTS, name, small)


def judged(claim: ModuleType, monkeypatch: pytest.MonkeyPatch, machine: list[dict], lstm: list[dict]) -> bool:
    """As if these were measured at the size that is judged, a figure for each seed."""
    figures = {name: {"runs": machine} for name in claim.CONTESTANTS} | {"LSTM": {"runs": lstm}}
    monkeypatch.setattr(contest, "compare", lambda *_: figures)
    return claim.run(updates=1, seeds=range(1, 1 + len(machine))).holds


def exact(*shares: float) -> list[dict]:
    return [{"exact match": {3: 1.0, turing.JUDGED: share}} for share in shares]


def bits(*numbers: float) -> list[dict]:
    return [{"bits per sequence": {2: 0.0, recall.JUDGED: number}} for number in numbers]


@pytest.mark.parametrize(
    ("machine", "lstm", "holds"),
    [
        ((0.95, 1.0), (0.05, 0.0), True),
        ((1.0, 0.94), (0.0, 0.0), False),
        ((1.0, 1.0), (0.0, 0.06), False),
    ],
)
def test_every_seed_counts_in_copying(machine, lstm, holds, monkeypatch: pytest.MonkeyPatch):
    assert judged(turing, monkeypatch, exact(*machine), exact(*lstm)) is holds


@pytest.mark.parametrize(
    ("machine", "lstm", "holds"),
    [((1.0, 0.2), (9.1, 18.0), True), ((0.0, 1.1), (18.0, 18.0), False), ((0.0, 0.0), (18.0, 9.0), False)],
)
def test_every_seed_counts_in_recall(machine, lstm, holds, monkeypatch: pytest.MonkeyPatch):
    assert judged(recall, monkeypatch, bits(*machine), bits(*lstm)) is holds


@pytest.mark.parametrize("claim", [turing, recall])
def test_a_claim_runs_and_is_told_and_drawn(claim: ModuleType, tmp_path: Path):
    heard = []
    finding = claim.run(updates=2, seeds=(1, 2), advanced=lambda *told: heard.append(told))
    times = int(claim.CONTESTANTS["LSTM"].times)
    assert heard.count(("LSTM", 1, 2 * times)) == 2
    assert len(heard) == 2 * 2 * (len(claim.CONTESTANTS) - 1 + times)
    assert not finding.holds
    assert len(finding.figures["machine"]["runs"]) == 2
    assert finding.figures["LSTM"]["updates"] == 2 * times
    table = claim.table(finding)
    assert f"| parameters | {finding.figures['machine']['parameters']:,} |" in table
    claim.plot(finding, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    finding.save(tmp_path)


def test_the_same_seed_gives_the_same_model():
    machine = turing.CONTESTANTS["machine"]
    models = [learn(machine.open_task(seed=seed), machine.training(3, seed)) for seed in (1, 1, 2)]
    weights = [model.output.weight.tolist() for model in models]
    assert weights[0] == weights[1] != weights[2]
