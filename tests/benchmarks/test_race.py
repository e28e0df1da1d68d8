"""Turns between processes, with contestants of a few lines that need no torch."""

import sys
import textwrap
from pathlib import Path

import pytest

from benchmarks.contestants import ContestantFailed, peer_commands
from benchmarks.training import race
from benchmarks.training.race import TrainingContestant, TrainingRace, TrainingResult, TrainingTurn
from benchmarks.training.tables import speed_ratios, training_figures, training_table
from benchmarks.training.work import SIZES, TrainingWork

SLEEPS = """
import sys, time
from pathlib import Path
from benchmarks.turns import Turns

turns, log = Turns(sys.argv[2]), Path(sys.argv[1])
while True:
    with log.open("a") as file:
        file.write(sys.argv[2])
    time.sleep(0.002)
    turns.count_update(int(sys.argv[3]))
    print("This must not reach the answers.")
"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TrainingWork:
    monkeypatch.setattr(race, "sgemm", lambda work: runner(tmp_path, "s", 7))
    monkeypatch.setattr(race, "SGEMM_SECONDS", 0.01)
    return TrainingWork(
        directory=tmp_path,
        corpus="none",
        size="tiny",
        model=SIZES["tiny"],
        vocabulary=9,
        batch_tokens=9,
        threads=1,
    )


def runner(directory: Path, name: str, tokens: int) -> TrainingContestant:
    command = (sys.executable, "-c", SLEEPS, str(directory / "order"), name, str(tokens))
    return TrainingContestant(name=name, command=command)


def broken(code: str, *, may_fail: bool) -> TrainingContestant:
    command = (sys.executable, "-c", textwrap.dedent(code))
    return TrainingContestant(name="broken", command=command, may_fail=may_fail)


def test_one_runs_at_a_time_and_every_other_round_backwards(work: TrainingWork, tmp_path: Path):
    field = [runner(tmp_path, "a", 10), runner(tmp_path, "b", 20)]
    outcome = race.run_race(field, work, windows=2, seconds=0.03)
    assert [result.name for result in outcome.results] == ["a", "b"]
    assert [len(result.turns) for result in outcome.results] == [2, 2]
    order = (tmp_path / "order").read_text()
    turns = [name for name, before in zip(order, " " + order, strict=False) if name != before]
    assert "".join(turns) == "sab" + "sab" + "sba"  # four updates to warm up; then the two rounds
    assert outcome.sgemm_peak == pytest.approx(7 / 0.002, rel=0.9)


def test_tokens_are_counted_by_time(work: TrainingWork, tmp_path: Path):
    field = [runner(tmp_path, "a", 10), runner(tmp_path, "b", 30)]
    slow, fast = race.run_race(field, work, windows=1, seconds=0.1).results
    for result, tokens in ((slow, 10), (fast, 30)):
        (turn,) = result.turns
        assert turn.tokens == tokens * turn.updates
        assert turn.seconds >= 0.1
        assert turn.peak > 1
    assert speed_ratios(slow, slow) == [1.0]
    assert speed_ratios(fast, slow) == [fast.turns[0].rate / slow.turns[0].rate]


@pytest.mark.parametrize(
    "code",
    [
        "raise SystemExit('no such toolkit')",
        """
        from benchmarks.turns import Turns
        turns = Turns(); turns.ready(); turns.request(); raise SystemExit('no such toolkit')
        """,
    ],
    ids=["at its start", "in its turn"],
)
def test_one_that_fails(code: str, work: TrainingWork, tmp_path: Path):
    lines: list[str] = []
    field = [runner(tmp_path, "a", 10), broken(code, may_fail=True)]
    outcome = race.run_race(field, work, windows=2, seconds=0.01, report=lines.append)
    assert [result.name for result in outcome.results] == ["a"]
    assert "Skipping broken." in "\n".join(lines)
    with pytest.raises(ContestantFailed) as caught:
        race.run_race([broken(code, may_fail=False)], work, windows=1, seconds=0.01)
    for fact in ("broken", "code 1", "no such toolkit"):
        assert fact in str(caught.value)


def test_peers_are_those_that_are_installed(work: TrainingWork, tmp_path: Path):
    for script in ("train/here", "train/missing", "decode/there"):
        (tmp_path / script).parent.mkdir(exist_ok=True)
        (tmp_path / f"{script}.py").touch()
    for name in ("here", "there"):
        python = tmp_path / f"venv/{name}/bin/python"
        python.parent.mkdir(parents=True)
        python.touch()
    (peer,) = race.peers(work, tmp_path)
    python = str(tmp_path / "venv/here/bin/python")
    assert peer.command == (python, "-P", str(tmp_path / "train/here.py"), str(tmp_path))
    assert peer.may_fail
    assert list(peer_commands(tmp_path, "decode")) == ["there"]


def test_an_epoch_is_trained_after_the_windows(work: TrainingWork, tmp_path: Path):
    (tmp_path / "examples.json").write_text(str([[[5], [6] * 9]] * 40))
    lines: list[str] = []
    field = [runner(tmp_path, "a", 10), runner(tmp_path, "b", 100)]
    outcome = race.run_race(field, work, windows=1, seconds=0.01, epoch=True, report=lines.append)
    assert [line.split()[:2] for line in lines[-2:]] == [["epoch:", "b"], ["epoch:", "a"]]
    for result in outcome.results:
        assert len(result.turns) == 1
        assert result.epoch_peak is not None
        assert result.epoch_peak >= result.peak
    order = (tmp_path / "order").read_text()
    assert order.endswith("b" * 4 + "a" * 40), "400 tokens each, in updates of 100 and of 10"
    assert not order.endswith("a" * 41)


def test_memory_after_an_epoch_has_its_columns(work: TrainingWork, tmp_path: Path):
    (tmp_path / "examples.json").write_text("[[[5], [6]]]")
    turn = TrainingTurn(tokens=10, updates=1, seconds=1, peak=1000)
    results = [TrainingResult(name, "paper", [turn], peak) for name, peak in (("plain", 2000.0), ("ours", 1500.0))]
    outcome = TrainingRace(work, results, sgemm_peak=1e9)
    columns, _, plain, ours = [line.strip("| ").split(" | ") for line in training_table(outcome).splitlines()[-4:]]
    assert columns[-2:] == ["peak MiB after an epoch", "× plain"]
    assert [row[-5:-3] for row in (plain, ours)] == [["1,000", "1.00"]] * 2
    assert [row[-2:] for row in (plain, ours)] == [["2,000", "1.00"], ["1,500", "0.75"]]
    assert [one["epoch_peak_mib"] for one in training_figures(outcome)["contestants"]] == [2000, 1500]
    without = TrainingRace(work, [TrainingResult("plain", "paper", [turn])], sgemm_peak=1e9)
    assert "epoch" not in training_table(without) + str(training_figures(without))
