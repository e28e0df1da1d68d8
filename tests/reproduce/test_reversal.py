"""The claim about reversed sources, in small."""

from pathlib import Path

import pytest

from saccade.engines.torch import TorchEngine
from saccade.models.build import build
from saccade.reproduce import reversal, strings
from saccade.reproduce.reversal import LENGTHS, MODELS
from saccade.reproduce.strings import NUM_TOKENS
from saccade.search.hypothesis import Hypothesis


class Copies:
    """Says what it reads, but strings that begin with an even letter wrongly."""

    def translate(self, sources: list[list[int]], settings: object) -> list[list[Hypothesis]]:
        said = [tuple(source) if source[0] % 2 else (*source, 5) for source in sources]
        return [[Hypothesis(ids=ids, log_prob=0.0, score=0.0, finished=True)] for ids in said]


def test_a_string_is_to_be_said_as_it_is():
    batch = next(reversal.BATCHES(1))
    assert batch.source.tolist() == batch.target.tolist()
    assert batch.source_mask.sum(dim=1).max() <= reversal.LONGEST + 1


def test_exact_match_counts_whole_strings():
    assert 0.3 < strings.share_right(Copies(), 4, 1, count=100, step=1) < 0.7  # type: ignore[arg-type]


def test_only_the_order_of_reading_differs():
    models = [build(settings, NUM_TOKENS, NUM_TOKENS) for settings in MODELS.values()]
    assert [settings.reverses_source for settings in MODELS.values()] == [False, True]
    shapes = [{name: each.shape for name, each in model.state_dict().items()} for model in models]
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize(("forwards", "backwards", "holds"), [(0.5, 0.61, True), (0.5, 0.59, False), (0.9, 0.5, False)])
def test_the_verdict_follows_the_rule(forwards: float, backwards: float, holds: bool, monkeypatch: pytest.MonkeyPatch):
    order = iter([forwards] * len(LENGTHS) + [backwards] * len(LENGTHS))
    monkeypatch.setattr(reversal, "share_right", lambda *_, **__: next(order))
    monkeypatch.setattr(strings, "BATCH", 2)
    assert reversal.run(updates=1).holds is holds


def test_it_runs_and_is_told_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reversal, "LENGTHS", (3, 4))
    monkeypatch.setattr(reversal, "NUM_TESTED", 2)
    monkeypatch.setattr(strings, "BATCH", 2)
    finding = reversal.run(updates=1, seeds=(1, 2))
    assert isinstance(finding.figures["forwards"]["parameters"], int)
    table = reversal.table(finding)
    assert "| length | forwards | backwards |" in table
    assert "Mean over all lengths: forwards 0." in table
    reversal.plot(finding, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    finding.save(tmp_path)


def test_the_engine_is_the_one_of_translations():
    """What is measured is what a user would get."""
    engine = TorchEngine(build(MODELS["backwards"], NUM_TOKENS, NUM_TOKENS).eval())
    assert 0.0 <= strings.share_right(engine, 3, 1, count=100, step=1) <= 0.1
