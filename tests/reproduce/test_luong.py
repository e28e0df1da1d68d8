"""Luong's grid, in small: what is measured where it is known, and the rule."""

import math
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import pytest

from saccade.engines.engine import Traced
from saccade.reproduce import luong
from saccade.reproduce.luong import CONTESTANTS, MODELS
from saccade.reproduce.numbers import named, split
from saccade.search.hypothesis import Hypothesis
from saccade.trace.trace import Layer


class Oracle:
    """Knows these numbers, is sure by a half, and looks at the words that are linked, or at none of them."""

    def __init__(self, numbers: Sequence[int], *, looks: bool) -> None:
        self.known = {tuple(named(number).source): named(number) for number in numbers}
        self.looks = looks

    def translate(self, sources: list[list[int]], settings: object) -> list[list[Hypothesis]]:
        said = [self.known[tuple(source)].target for source in sources]
        return [[Hypothesis(ids=tuple(ids), log_prob=0.0, score=0.0, finished=True)] for ids in said]

    def trace(self, sources: list[list[int]], targets: list[list[int]], kinds: Collection[str]) -> list[Traced]:
        found = []
        for source, target in zip(sources, targets, strict=True):
            weights = np.zeros((1, len(target) + 1, len(source) + 1))
            weights[:, :, -1] = 0.4  # the end attracts everybody, and is not a word
            if self.looks:
                for there, here in self.known[tuple(source)].gold.possible:
                    weights[0, here, there] = 0.6
            layer = Layer("cross_attention", "cross", weights)
            found.append(Traced((math.log(0.5),) * (len(target) + 1), (layer,)))
        return found


@pytest.mark.parametrize(("looks", "error"), [(True, 0.0), (False, 1.0)])
def test_what_is_measured_of_one_who_knows(looks: bool, error: float):
    numbers = [16, 21, 7386]
    found = luong.scores(Oracle(numbers, looks=looks), numbers)  # type: ignore[arg-type]
    assert found == {"perplexity": pytest.approx(2.0), "exact match": 1.0, "alignment error": pytest.approx(error)}


def test_the_grid_is_the_papers():
    assert len(CONTESTANTS) == 4 + 3 + 3
    assert {settings.attend for settings in MODELS.values()} == {"after"}
    assert MODELS["local-p (concat)"].attention.score == "additive"


def test_only_numbers_of_the_training_split_are_learned_from(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(luong, "split", lambda: ([21], [22]))
    batch = next(luong.batches(1))
    assert {tuple(row[:-1]) for row in batch.source.tolist()} == {tuple(named(21).source)}
    assert split()[0] != [21]


@pytest.mark.parametrize(
    ("name", "perplexity", "error", "holds"),
    [
        ("global (dot)", 1.1, 0.1, True),
        ("global (dot)", 1.3, 0.1, False),
        ("global (general)", 1.1, 0.29, False),
        ("global (concat)", 9.0, 0.9, True),
        ("local-p (general)", 9.0, 0.9, True),
    ],
)
def test_the_verdict_follows_the_rule(name: str, perplexity: float, error: float, holds: bool):
    usual = {"perplexity": 1.0, "exact match": 0.5, "alignment error": 0.1}
    measured = dict.fromkeys(CONTESTANTS, usual)
    measured["global (location)"] = usual | {"perplexity": 1.2, "alignment error": 0.3}
    measured[name] = usual | {"perplexity": perplexity, "alignment error": error}
    assert luong._holds({name: {"runs": [run]} for name, run in measured.items()}) is holds


def test_it_runs_and_is_told_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(luong, "NUM_TESTED", 3)
    monkeypatch.setattr(luong, "BATCH", 2)
    finding = luong.run(updates=1)
    assert luong.table(finding).count("\n| ") == len(CONTESTANTS)
    luong.plot(finding, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    finding.save(tmp_path)
