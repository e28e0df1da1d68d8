"""What every test runs under. Imports nothing of saccade: the shape-checking hook must come first."""

import os
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import settings

# `make test` runs two processes on what may be two cores: each, and each it starts, gets one thread. Said to
# torch before it is imported, as importing it takes seconds that many tests do not need.
os.environ["OMP_NUM_THREADS"] = "1"

# A busy machine is no failure, and a failure found once is found again.
settings.register_profile("saccade", deadline=None, derandomize=True)
settings.load_profile("saccade")


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    stdout: str
    stderr: str


@pytest.fixture(scope="session")
def saccade() -> Callable[..., Ended]:
    """`saccade ARGS` in this process, on a screen wide enough for any table; a traceback is the test's own."""

    def run(*args: str | Path, stdin: str | bytes = "") -> Ended:
        from typer.testing import CliRunner

        from saccade.cli import console
        from saccade.cli.main import app

        console.stdout.width = console.stderr.width = 200
        words = [str(word) for word in args]
        result = CliRunner().invoke(app, words, input=stdin, prog_name="saccade", catch_exceptions=False)
        return Ended(result.exit_code, result.stdout, result.stderr)

    return run


WORDS = {"ant": "Ameise", "bee": "Biene", "cat": "Katze", "dog": "Hund", "fox": "Fuchs", "lion": "Löwe"}
RECIPE = """\
run = "run"

[data]
source_language = "en"
target_language = "de"
train = [{ source = "train.en", target = "train.de" }]
valid = { source = "valid.en", target = "valid.de" }
max_tokens = 8

[tokenizer]
vocabulary = 200
byte_fallback = false

[model]
layers = 1
d_model = 32
d_feedforward = 64
num_heads = 2
dropout = 0.0

[training]
updates = 100
batch_tokens = 256
learning_rate = 0.01
warmup = 20
validate_every = 50
best_by = "loss"
checkpoint_every = 50
threads = 1
"""


@pytest.fixture(scope="session")
def write_task() -> Callable[[Path], Path]:
    """Write a translation task that takes a second to learn, two words after each other; its recipe."""

    def write(directory: Path) -> Path:
        pairs = list(product(WORDS, repeat=2))
        for name, chosen in (("train", pairs), ("valid", pairs[::6])):
            (directory / f"{name}.en").write_text("".join(f"{a} {b}\n" for a, b in chosen), "utf-8")
            (directory / f"{name}.de").write_text("".join(f"{WORDS[a]} {WORDS[b]}\n" for a, b in chosen), "utf-8")
        (directory / "recipe.toml").write_text(RECIPE, "utf-8")
        return directory / "recipe.toml"

    return write


@pytest.fixture(scope="session")
def trained(
    tmp_path_factory: pytest.TempPathFactory, saccade: Callable[..., Ended], write_task: Callable[[Path], Path]
) -> Path:
    """The directory of the task and of its finished run; tests that change anything take a copy."""
    directory = tmp_path_factory.mktemp("trained")
    ended = saccade("train", write_task(directory))
    assert ended.code == 0, ended.stderr
    return directory
