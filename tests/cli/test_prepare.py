"""`saccade prepare`."""

import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from saccade.data.prepare import Prepared


def test_the_report_goes_to_stderr_and_says_what_comes_next(saccade, write_task, tmp_path: Path):
    recipe = write_task(tmp_path)
    ended = saccade("prepare", recipe)
    assert (ended.code, ended.stdout) == (0, "")
    assert "read" in ended.stderr
    assert "72 source tokens, 72 target tokens; vocabulary of " in ended.stderr
    assert ended.stderr.endswith(f"The data is ready in {tmp_path}/run. Next: saccade train {recipe}\n")
    assert len(Prepared.open(tmp_path / "run/corpus").train) == 36


def test_what_comes_next_repeats_the_overrides(saccade, write_task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A path that is typed is relative to where it is typed."""
    monkeypatch.chdir(tmp_path)
    ended = saccade("prepare", write_task(tmp_path), "--set", "data.max_tokens=9", "--set", 'run="my run"')
    assert ended.stderr.endswith(
        f"""saccade train {tmp_path}/recipe.toml --set data.max_tokens=9 --set 'run="my run"'\n"""
    )
    assert (tmp_path / "my run/corpus").is_dir()


def test_a_second_call_reuses_and_reports_the_same(saccade, write_task, tmp_path: Path):
    recipe = write_task(tmp_path)
    first = saccade("prepare", recipe)
    written = (tmp_path / "run/corpus/prepared.json").stat().st_ino
    assert saccade("prepare", recipe) == first
    assert (tmp_path / "run/corpus/prepared.json").stat().st_ino == written


def test_changed_files_or_settings_are_prepared_anew(saccade, write_task, tmp_path: Path):
    recipe = write_task(tmp_path)
    saccade("prepare", recipe)
    (tmp_path / "train.en").write_text("cat dog\n" + (tmp_path / "train.en").read_text("utf-8"), "utf-8")
    (tmp_path / "train.de").write_text("Hund\n" + (tmp_path / "train.de").read_text("utf-8"), "utf-8")
    saccade("prepare", recipe)
    assert len(Prepared.open(tmp_path / "run/corpus").train) == 37
    saccade("prepare", recipe, "--set", "tokenizer.kind=char")
    assert Prepared.open(tmp_path / "run/corpus").tokenizers.source.kind == "char"


def test_a_damaged_corpus_is_prepared_anew(saccade, write_task, tmp_path: Path):
    """Its messages say: run `saccade prepare` again."""
    recipe = write_task(tmp_path)
    saccade("prepare", recipe)
    os.truncate(tmp_path / "run/corpus/train/source.ids", 3)
    assert saccade("prepare", recipe).code == 0
    assert len(Prepared.open(tmp_path / "run/corpus").train) == 36


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_after_any_interruption_the_same_command_continues(saccade, write_task, tmp_path: Path, sent: signal.Signals):
    recipe = write_task(tmp_path)
    for name in ("train.en", "train.de"):
        (tmp_path / name).write_text("".join(f"{number}\n" for number in range(60_000)), "utf-8")
    words = [sys.executable, "-m", "saccade", "prepare", str(recipe)]
    listens = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # background jobs inherit that it is ignored
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, preexec_fn=listens)
    while not (tmp_path / "run/.corpus.building/clean/000000.npz").exists():
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(sent)
    _, stderr = process.communicate()
    assert process.returncode == (130 if sent == signal.SIGINT else -sent)
    if sent == signal.SIGINT:
        assert stderr == "What is done is kept. Run the same command again to resume.\ninterrupted\n"
    ended = saccade("prepare", recipe)
    assert ended.code == 0
    assert re.match(r"Resuming: [246]0,000 pairs were done", ended.stderr)
    assert len(Prepared.open(tmp_path / "run/corpus").train) == 60_000
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["corpus"]
