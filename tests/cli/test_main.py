"""What every command shares: help, version, completion, exit codes, streams."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from saccade import __version__

VERBS = [
    "demo",
    "init",
    "clean",
    "prepare",
    "train",
    "tune",
    "translate",
    "evaluate",
    "score",
    "align",
    "info",
    "get",
    "export",
    "import",
    "view",
    "reproduce",
]


def command(*args: str | Path, **options: object) -> "subprocess.CompletedProcess[str]":
    """`saccade ARGS` in a process of its own."""
    return subprocess.run([sys.executable, "-m", "saccade", *args], capture_output=True, text=True, **options)  # type: ignore[call-overload, no-any-return]


def test_the_commands_load_without_torch():
    code = "import saccade.cli.main, sys; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_version(saccade):
    assert saccade("--version") == (0, f"saccade {__version__}\n", "")


def test_help_names_every_command(saccade):
    ended = saccade("--help")
    assert (ended.code, ended.stderr) == (0, "")
    assert re.findall(r"^│ ([a-z]+) ", ended.stdout, re.MULTILINE) == VERBS
    assert saccade("-h") == ended


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_command_shows_an_example(verb: str, saccade):
    ended = saccade(verb, "--help")
    assert (ended.code, ended.stderr) == (0, "")
    assert re.search(rf"^ Examples?: .*saccade {verb}", ended.stdout, re.MULTILINE), ended.stdout


def test_no_command_shows_the_help(saccade):
    ended = saccade()
    assert ended.code == 2
    assert "Usage: saccade" in ended.stdout + ended.stderr
    assert "translate" in ended.stdout + ended.stderr


@pytest.mark.parametrize(
    "words", [["trian", "recipe.toml"], ["train"], ["train", "a", "b"], ["train", "a", "--sett", "b"], ["--vresion"]]
)
def test_wrong_usage(words: list[str], saccade):
    ended = saccade(*words)
    assert (ended.code, ended.stdout) == (2, "")
    assert ended.stderr.startswith("Usage: saccade")


def test_the_module_is_the_command():
    ended = command("--version")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"saccade {__version__}\n", "")


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_completion_is_offered():
    """Asked for from a bash that runs the command, as typer looks for the shell it runs under."""
    line = f"{sys.executable} -m saccade --show-completion bash; true"
    ended = subprocess.run(["bash", "-c", line], env=os.environ | {"SHELL": "bash"}, capture_output=True, text=True)
    assert ended.stderr == ""
    assert "complete -o default -F _saccade_completion saccade" in ended.stdout


def test_completion_completes():
    asked = {"_SACCADE_COMPLETE": "complete_bash", "COMP_WORDS": "saccade tr", "COMP_CWORD": "1"}
    assert command(env=os.environ | asked).stdout.split() == ["train", "translate"]


def test_help_tells_how_to_install_completion(saccade):
    assert "--install-completion" in saccade("--help").stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_output_that_cannot_be_written(tmp_path: Path):
    for name in ("a.en", "a.de"):
        (tmp_path / name).write_text("one\n" * 100, "utf-8")
    words = ["init", tmp_path / "new", "--source", tmp_path / "a.en", "--target", tmp_path / "a.de"]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "saccade", *words], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1] == (
        "error: Cannot read or write the output: No space left on device. Check that its directory "
        "exists, that you may write there and that the disk is not full."
    )
    assert "Traceback" not in ended.stderr


def test_an_interrupt_is_no_traceback(saccade, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("saccade.recipe.Recipe.load", interrupted)
    assert saccade("train", tmp_path) == (130, "", "interrupted\n")


def _helps() -> Iterator[list[str]]:
    """The words before --help of every command."""
    from saccade.cli.main import app

    waiting: list[tuple[list[str], Any]] = [([], typer.main.get_command(app))]
    while waiting:
        words, command = waiting.pop()
        yield words
        waiting += [([*words, name], below) for name, below in getattr(command, "commands", {}).items()]


@pytest.mark.parametrize("words", list(_helps()), ids=" ".join)
def test_help_names_no_types_of_python(saccade, words: list[str]):
    ended = saccade(*words, "--help")
    assert ended.code == 0
    assert re.findall(r"<[^>]*>|\[?x ?>=[^\]]*\]?|list\[|Path\b", ended.stdout) == []
    assert re.search(r"--help +-h +Show|--help +Show", ended.stdout)


def test_help_says_what_follows_an_option(saccade):
    told = saccade("translate", "--help").stdout
    assert re.search(r"--beam +-b +N ", told)
    assert re.search(r"--output +-o +FILE ", told)
    assert re.search(r"--split +auto\|sentences\|never ", told)
    assert re.search(r"--directory +-d +DIR ", saccade("demo", "--help").stdout)
    assert saccade("translate", "--model", "m", "--beam", "0").code == 2, "bounds still hold"


def test_commands_load_where_there_is_no_resource_module():
    """As on Windows."""
    code = "import sys; sys.modules['resource'] = None; import saccade.cli.main, saccade.training.estimate"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
