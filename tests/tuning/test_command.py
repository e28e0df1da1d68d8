"""`saccade tune` as it is typed: what it prints, how it ends, and a model of many directions."""

import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest
from tests.conftest import Ended
from tests.messages.test_tune_messages import save, sentences, write
from tests.tuning.conftest import Task

import saccade as door
from saccade.directory import ModelDirectory

Run = Callable[..., Ended]


@pytest.fixture(scope="module")
def spoilt(saccade: Run, task: Task, quick: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ended]:
    """Tuned without a guard and much too fast."""
    output = tmp_path_factory.mktemp("spoilt") / "tuned"
    settings = [*quick, "training.learning_rate=0.01", "training.start_share=0"]
    words = [word for setting in settings for word in ("--set", setting)]
    given = ("tune", task.base, "--file", task.memory, "-o", output, "--general", task.general, *words)
    return output, saccade(*given, "--fail-if-general-drops", "1.0")


def test_a_tuning_that_costs_too_much_fails(spoilt: tuple[Path, Ended]):
    _, ended = spoilt
    assert ended.code == 1
    figures = re.search(
        r"error: BLEU on the general set must drop by at most 1, but it dropped by ([\d.]+), from ([\d.]+) to "
        r"([\d.]+)\. Give text like that which the model was trained on as replay, or raise training\.start_share\.\n$",
        ended.stderr,
    )
    assert figures is not None, ended.stderr
    drop, before, after = map(float, figures.groups())
    assert drop > 1.0
    assert drop == pytest.approx(before - after, abs=0.011)


def test_what_is_printed(spoilt: tuple[Path, Ended], saccade: Run, task: Task, quick: list[str]):
    """Also where the limit is kept: a finished tuning is only measured again."""
    output, ended = spoilt
    settings = [*quick, "training.learning_rate=0.01", "training.start_share=0"]
    words = [word for setting in settings for word in ("--set", setting)]
    given = ("tune", task.base, task.memory, "-o", output, "--general", task.general, *words)
    again = saccade(*given, "--fail-if-general-drops", "100")
    assert again.code == 0
    assert again.stdout == ended.stdout
    in_domain, general, report, model = ended.stdout.splitlines()
    assert re.fullmatch(r"in-domain  BLEU +[\d.]+ ± [\d.]+  →  +[\d.]+ ± [\d.]+  p = 0\.0\d+\*", in_domain)
    assert re.fullmatch(r"general    BLEU +[\d.]+ ± [\d.]+  →  +[\d.]+ ± [\d.]+  p = [\d.]+\*?", general)
    assert (Path(report), Path(model)) == (output / "report.html", output / "model")
    assert "to report on, none of them a near-duplicate" in ended.stderr
    assert "Already finished" in again.stderr


def test_interrupted_it_says_how_to_resume(
    saccade: Run, task: Task, quick: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def interrupt() -> None:
        while not (tmp_path / "tuned" / "metrics.jsonl").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("sys.argv", ["saccade", "tune", "a model", "memory.tsv"])
    words = [word for setting in [*quick, "training.log_every=1"] for word in ("--set", setting)]
    words += ["--set", "training.updates=100000"]
    thread = Thread(target=interrupt)
    thread.start()
    ended = saccade("tune", task.base, task.memory, "-o", tmp_path / "tuned", *words)
    thread.join()
    assert ended.code == 130
    assert ended.stdout == ""
    assert "Saved the run. To resume: saccade tune 'a model' memory.tsv" in ended.stderr
    assert list((tmp_path / "tuned" / "checkpoints").glob("update-*"))


def test_one_direction_of_many(saccade: Run, tmp_path: Path):
    """Is tuned by its tag; the others stay in the description."""
    base = save(tmp_path / "many", ("en", "de"), ("de", "en"), ("zh", "en"))
    memory = write(tmp_path / "memory.tsv", sentences(150, 1))
    words = ("--set", "training.updates=2", "--set", "training.threads=1", "--lora", "2")
    ended = saccade("tune", base, memory, "-o", tmp_path / "tuned", "--from", "zh", "--to", "en", *words)
    assert ended.code == 0, ended.stderr
    before, after = ModelDirectory.open(base), ModelDirectory.open(tmp_path / "tuned")
    assert set(after.description.directions) == set(before.description.directions)
    assert after.tokenizers.checksums == before.tokenizers.checksums
    for to in ("de", "en"):
        assert door.load(tmp_path / "tuned").translate("abc", to=to).text is not None
