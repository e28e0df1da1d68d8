"""What every test runs under. Imports nothing of saccade: the shape-checking hook must come first."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import settings

# `make test` runs two processes on what may be two cores: each, and each it starts, gets one thread. Said to
# torch before it is imported, as importing it takes seconds that many tests do not need.
os.environ["OMP_NUM_THREADS"] = "1"
# Some virtual machines announce AMX and end a process that uses it (bfloat16) with an illegal instruction.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")

# A busy machine is no failure, and a failure found once is found again.
settings.register_profile("saccade", deadline=None, derandomize=True)
settings.load_profile("saccade")

TORCH_SEED = 67280421310721  # with which torch begins
FONTS = ("Liberation Sans", "Noto Sans", "Noto Sans CJK SC", "Noto Color Emoji")
"""Families that stand for what `make system-packages` installs."""
CHROMIUM = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def pytest_configure(config: pytest.Config) -> None:
    """Let pytest-randomly change the order only: random numbers stay, so that a test that fails once fails again."""
    config.option.randomly_reset_seed = False
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as in the background of a shell, and then in every child
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how to get the same order again; pytest-randomly says it in a header, which `-q` leaves out."""
    if config.pluginmanager.hasplugin("randomly"):
        terminalreporter.write_line(f"order of the tests: --randomly-seed={config.getoption('randomly_seed')}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Before every test and its fixtures, torch's random numbers are those of a new process, whatever ran before."""
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(TORCH_SEED)


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


@pytest.fixture(scope="session")
def system_fonts() -> None:
    """Fonts of all scripts, as Debian packages them. Only tests that look at their glyphs need them."""
    command = shutil.which("fc-list")
    listed = subprocess.run([command, ":", "family"], capture_output=True, text=True).stdout if command else ""
    families = {family for line in listed.splitlines() for family in line.split(",")}
    if missing := [family for family in FONTS if family not in families]:
        pytest.skip(f"needs the fonts {', '.join(missing)}. Install them with: make system-packages")


@pytest.fixture
def only_dejavu(monkeypatch: pytest.MonkeyPatch) -> None:
    """PNG pictures are drawn with the DejaVu Sans that comes with matplotlib, whatever fonts this machine has."""
    import matplotlib

    _draw_with(monkeypatch, font_files=[str(Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSans.ttf")])


@pytest.fixture
def no_fonts(monkeypatch: pytest.MonkeyPatch) -> None:
    """PNG pictures are drawn as on a machine without fonts."""
    _draw_with(monkeypatch)


def _draw_with(monkeypatch: pytest.MonkeyPatch, **fonts: Any) -> None:
    import resvg_py

    draw = partial(resvg_py.svg_to_bytes, skip_system_fonts=True, **fonts)
    monkeypatch.setattr("saccade.trace.png._resvg", lambda: SimpleNamespace(svg_to_bytes=draw))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The system's Chromium. Of a module, not of the session: while it runs, no other event loop can."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("needs Chromium. Install it with: make system-packages")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        started = running.chromium.launch(executable_path=chromium, args=CHROMIUM)
        yield started
        started.close()
