"""Table 1 of the Transformer, measured: powers, bytes and reach where they are known, and the rule."""

from pathlib import Path

import pytest

from saccade.reproduce import complexity
from saccade.reproduce.complexity import SEEN, TABLE


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_a_power_is_found_again(exponent: float):
    sizes = [3, 10, 50]
    assert complexity.power(sizes, [0.01 * size**exponent for size in sizes]) == pytest.approx(exponent)


def test_weights_take_four_bytes_for_every_pair():
    assert complexity.weight_bytes(7) == 7 * 7 * 4


@pytest.mark.parametrize("name", TABLE)
def test_each_layer_sees_what_it_must(name: str):
    assert complexity.seen(name) == SEEN[name]


def test_a_time_is_the_shortest_of_several(monkeypatch: pytest.MonkeyPatch):
    clock = iter([0.0, 5.0, 10.0, 12.0, 20.0, 24.0])
    monkeypatch.setattr(complexity.time, "process_time", lambda: next(clock))
    assert complexity.shortest_time("convolution", 4, 4, 3) == 2.0


def judged(monkeypatch: pytest.MonkeyPatch, powers: dict[str, tuple[float, float]], **changed: object) -> bool:
    """As if times grew by these powers."""
    monkeypatch.setattr(
        complexity, "shortest_time", lambda name, n, d, repeats: 1e-6 * n ** powers[name][0] * d ** powers[name][1]
    )
    for name, value in changed.items():
        monkeypatch.setattr(complexity, name, value)
    return complexity.run(updates=1).holds


@pytest.mark.parametrize("name", TABLE)
def test_the_verdict_follows_the_rule(name: str, monkeypatch: pytest.MonkeyPatch):
    n, d = TABLE[name]
    assert judged(monkeypatch, TABLE)
    assert judged(monkeypatch, TABLE | {name: (n + 0.3, d - 0.3)})
    assert not judged(monkeypatch, TABLE | {name: (n + 0.4, d)})
    assert not judged(monkeypatch, TABLE | {name: (n, d - 0.4)})


def test_reach_and_memory_count_too(monkeypatch: pytest.MonkeyPatch):
    assert not judged(monkeypatch, TABLE, seen=lambda name: 3)
    monkeypatch.undo()
    assert not judged(monkeypatch, TABLE, weight_bytes=lambda n: 4 * n)


def test_it_runs_and_is_told_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(complexity, "SIZES", dict.fromkeys(TABLE, ([(8, 4), (16, 4)], [(8, 4), (8, 8)])))
    finding = complexity.run(updates=2, seeds=(1, 2))
    assert finding.figures["memory"] == pytest.approx(2)
    assert "| self-attention | " in complexity.table(finding)
    complexity.plot(finding, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    finding.save(tmp_path)
