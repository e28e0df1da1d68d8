"""The claims about Turing machines, in small: that they measure what they say, and judge by their rules."""

from pathlib import Path
from types import ModuleType

import pytest

from saccade.reproduce import episodes, recall, turing
from saccade.reproduce.episodes import Contestant
from saccade.tasks.memory.settings import CopySettings, LstmSettings, RecallSettings, TuringSettings

SMALL = TuringSettings(d_controller=6, rows=24, d_row=4)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turing, "TASK", CopySettings(bits=2, longest=3, batch=2))
    monkeypatch.setattr(recall, "TASK", RecallSettings(bits=3, length=1, most=3, batch=2))
    monkeypatch.setattr(episodes, "NUM_TESTED", 2)
    for claim in (turing, recall):
        small = {name: Contestant(SMALL, 0.01) for name in claim.CONTESTANTS}
        small["LSTM"] = Contestant(LstmSettings(layers=1, d_model=4), 0.01, times=claim.CONTESTANTS["LSTM"].times)
        monkeypatch.setattr(claim, "CONTESTANTS", small)
    monkeypatch.setattr(recall, "ITEMS", (2, 8))
    monkeypatch.setattr(turing, "LENGTHS", (3, 16))


def judged(claim: ModuleType, monkeypatch: pytest.MonkeyPatch, machine: list[dict], lstm: list[dict]) -> bool:
    """As if these were measured at the size that is judged, a figure for each seed."""
    order = {"machine": iter(machine), "LSTM": iter(lstm)}
    perfect = {"bits per sequence": 0.0, "exact match": 1.0}
    names = [name for name in claim.CONTESTANTS for _ in machine]
    calls = iter([(name, size) for name in names for size in range(2)])

    def measured(model: object, task: object, seed: int) -> dict[str, float]:
        name, size = next(calls)
        return next(order[name]) if size == 1 and name in order else perfect

    monkeypatch.setattr(claim, "measure", measured)
    return claim.run(updates=1, seeds=range(1, 1 + len(machine))).holds


def exact(*shares: float) -> list[dict]:
    return [{"bits per sequence": 1.0, "exact match": share} for share in shares]


def bits(*numbers: float) -> list[dict]:
    return [{"bits per sequence": number, "exact match": 0.0} for number in numbers]


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
    advanced = []
    finding = claim.run(updates=2, seeds=(1, 2), advanced=lambda *told: advanced.append(told))
    times = claim.CONTESTANTS["LSTM"].times
    assert advanced.count(("LSTM", 1, 2 * times)) == 2
    assert len(advanced) == 2 * 2 * (len(claim.CONTESTANTS) - 1 + times)
    assert not finding.holds
    assert len(finding.figures["machine"]) == 2
    assert finding.figures["LSTM"][0]["updates"] == 2 * times
    table = claim.table(finding)
    assert f"| parameters | {finding.figures['machine'][0]['parameters']:,} |" in table
    claim.plot(finding, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    finding.save(tmp_path)


def test_the_same_seed_gives_the_same_model():
    contestant = Contestant(SMALL, 0.01)
    found = [episodes.learn(contestant, turing.TASK, updates=3, seed=seed)[0] for seed in (1, 1, 2)]
    weights = [model.output.weight.tolist() for model in found]
    assert weights[0] == weights[1] != weights[2]
