"""Turns between processes, with contestants of a few lines that need no torch."""

import sys
import textwrap
from pathlib import Path

import pytest

from saccade.benchmark import race
from saccade.benchmark.race import Contestant, ContestantFailed
from saccade.benchmark.report import ratios
from saccade.benchmark.work import SIZES, Work

SLEEPS = """
import sys, time
from pathlib import Path
from saccade.benchmark.turns import Turns

turns, log = Turns(sys.argv[2]), Path(sys.argv[1])
while True:
    with log.open("a") as file:
        file.write(sys.argv[2])
    time.sleep(0.002)
    turns.updated(int(sys.argv[3]))
    print("This must not reach the answers.")
"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Work:
    monkeypatch.setattr(race, "sgemm", lambda work: runner(tmp_path, "s", 7))
    monkeypatch.setattr(race, "SGEMM_SECONDS", 0.01)
    return Work(
        directory=tmp_path,
        corpus="none",
        size="tiny",
        model=SIZES["tiny"],
        vocabulary=9,
        batch_tokens=9,
        threads=1,
    )


def runner(directory: Path, name: str, tokens: int) -> Contestant:
    return Contestant(name, (sys.executable, "-c", SLEEPS, str(directory / "order"), name, str(tokens)))


def broken(code: str, *, may_fail: bool) -> Contestant:
    return Contestant("broken", (sys.executable, "-c", textwrap.dedent(code)), may_fail=may_fail)


def test_one_runs_at_a_time_and_every_other_round_backwards(work: Work, tmp_path: Path):
    field = [runner(tmp_path, "a", 10), runner(tmp_path, "b", 20)]
    results, peak = race.race(field, work, windows=2, seconds=0.03)
    assert [result.name for result in results] == ["a", "b"]
    assert [len(result.turns) for result in results] == [2, 2]
    order = (tmp_path / "order").read_text()
    turns = [name for name, before in zip(order, " " + order, strict=False) if name != before]
    assert "".join(turns) == "sab" + "sab" + "sba"  # four updates to warm up; then the two rounds
    assert peak == pytest.approx(7 / 0.002, rel=0.9)


def test_tokens_are_counted_by_time(work: Work, tmp_path: Path):
    results, _ = race.race([runner(tmp_path, "a", 10), runner(tmp_path, "b", 30)], work, windows=1, seconds=0.1)
    slow, fast = results
    for result, tokens in ((slow, 10), (fast, 30)):
        (turn,) = result.turns
        assert turn.tokens == tokens * turn.updates
        assert turn.seconds >= 0.1
        assert turn.peak > 1
    assert ratios(slow, slow) == [1.0]
    assert ratios(fast, slow) == [fast.turns[0].rate / slow.turns[0].rate]


@pytest.mark.parametrize(
    "code",
    [
        "raise SystemExit('no such toolkit')",
        """
        from saccade.benchmark.turns import Turns
        turns = Turns(); turns.ready(); turns.wait(); raise SystemExit('no such toolkit')
        """,
    ],
    ids=["at its start", "in its turn"],
)
def test_one_that_fails(code: str, work: Work, tmp_path: Path):
    told: list[str] = []
    field = [runner(tmp_path, "a", 10), broken(code, may_fail=True)]
    results, _ = race.race(field, work, windows=2, seconds=0.01, told=told.append)
    assert [result.name for result in results] == ["a"]
    assert "broken is left out." in "\n".join(told)
    with pytest.raises(ContestantFailed) as caught:
        race.race([broken(code, may_fail=False)], work, windows=1, seconds=0.01)
    assert str(caught.value) == (
        "broken must answer every turn, but its process ended with code 1. Its last words:\nno such toolkit"
    )


def test_peers_are_those_that_are_installed(work: Work, tmp_path: Path):
    for script in ("train/here", "train/missing", "decode/there"):
        (tmp_path / script).parent.mkdir(exist_ok=True)
        (tmp_path / f"{script}.py").touch()
    for name in ("here", "there"):
        python = tmp_path / f"venv/{name}/bin/python"
        python.parent.mkdir(parents=True)
        python.touch()
    (found,) = race.peers(work, tmp_path, "train")
    command = (str(tmp_path / "venv/here/bin/python"), str(tmp_path / "train/here.py"), str(tmp_path))
    assert found == Contestant("here", command, may_fail=True)
    (found,) = race.peers(work, tmp_path, "decode")
    assert found.command[1] == str(tmp_path / "decode/there.py")
