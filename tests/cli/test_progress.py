"""What a person sees of a training, at a terminal of any width or in a file."""

import re
from io import StringIO

import pytest
from rich.console import Console
from torch import nn

from saccade.cli import console, progress
from saccade.cli.progress import Display
from saccade.training.checkpoint import Progress
from saccade.training.settings import TrainingSettings
from saccade.training.task import Validation

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
SETTINGS = TrainingSettings(updates=2000, log_every=1)
LONG = "The quick brown fox jumps over the lazy dog and runs on through the dark forest. " * 3


def terminal(monkeypatch: pytest.MonkeyPatch, width: int, *, is_terminal: bool = True) -> StringIO:
    """Where everything is written from now on."""
    file = StringIO()
    made = Console(force_terminal=is_terminal, width=width, file=file, highlight=False)
    for module in (console, progress):
        monkeypatch.setattr(module, "stderr", made)
    return file


def watched(width: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Display, StringIO]:
    """A display after 150 updates in 100 seconds."""
    file = terminal(monkeypatch, width)
    display = Display(SETTINGS)
    display.started(nn.Linear(2, 2), Progress("corpus"), [])
    display.updated(Progress("corpus", update=150, seconds=100.0, tokens=300_000), 4.0, 1e-3)
    return display, file


def line(display: Display) -> str:
    """The bar as it stands."""
    file = StringIO()
    Console(width=console.stderr.width, file=file).print(display.bar.get_renderable())
    return file.getvalue().rstrip("\n")


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_count_and_time_left_always_show(width: int, monkeypatch: pytest.MonkeyPatch):
    display, _ = watched(width, monkeypatch)
    shown = line(display)
    display.ended()
    assert "\n" not in shown
    assert len(shown.rstrip()) <= width - console.MARGIN, "room for ^C, which would else wrap"
    assert "150/2,000" in shown
    assert re.search(r"\d:\d\d:\d\d|-:--:--", shown)


def test_figures_show_as_far_as_there_is_room(monkeypatch: pytest.MonkeyPatch):
    shown = {}
    for width in (60, 80, 140):
        display, _ = watched(width, monkeypatch)
        shown[width] = line(display)
        display.ended()
    assert "loss" not in shown[60]
    assert "loss 4.000" in shown[80]
    assert "loss 4.000  1.5 updates/s  3,000 tokens/s" in shown[140]


def test_the_bar_shows_the_best_as_soon_as_it_is_known(monkeypatch: pytest.MonkeyPatch):
    display, _ = watched(140, monkeypatch)
    display.validated(Validation(150, 2.0, 12.34, ("a", "b")), is_best=True)
    assert "best BLEU 12.34" in line(display)
    display.validated(Validation(150, 2.0, 23.45, ("a", "b")), is_best=True)
    assert "best BLEU 23.45" in line(display)
    display.ended()


def test_nothing_of_the_bar_stays(monkeypatch: pytest.MonkeyPatch):
    display, file = watched(80, monkeypatch)
    display.ended()
    assert file.getvalue().rstrip("\n").endswith("\x1b[1A\x1b[2K"), "the cursor goes up and the line is erased"


def test_long_samples_stay_to_the_right(monkeypatch: pytest.MonkeyPatch):
    display, file = watched(60, monkeypatch)
    display.ended()
    file.truncate(0)
    display.validated(Validation(150, 2.0, 12.34, (LONG, "狗" * 100)), is_best=True)
    head, *rest = ESCAPES.sub("", file.getvalue()).replace("\r", "").strip("\0").splitlines()
    assert "update 150" in head
    assert len(rest) > 6
    assert all(re.match(r" {10}\S| {8}→ \S", text) for text in rest), rest
    assert all(Console(width=60).measure(text).maximum <= 60 for text in rest)
    assert "".join(text[10:].strip() for text in rest).count("狗") == 100


def test_without_a_terminal_there_is_a_line_a_minute(monkeypatch: pytest.MonkeyPatch):
    file = terminal(monkeypatch, 80, is_terminal=False)
    now = 0.0
    display = Display(SETTINGS, clock=lambda: now)
    display.started(nn.Linear(2, 2), Progress("corpus"), [])
    for update in range(1, 401):  # two a second
        now = update / 2
        display.updated(Progress("corpus", update=update, seconds=now, tokens=1000 * update), 4.0, 1e-3)
    display.validated(Validation(400, 2.0, 12.34, (LONG, LONG)), is_best=True)
    display.ended()
    _, *lines = file.getvalue().splitlines()
    assert [re.match(r"update ([\d,]+)/2,000  loss 4\.000  ", text)[1] for text in lines[:4]] == [
        "1",
        "121",
        "241",
        "361",
    ]  # type: ignore[index]
    assert lines[5].strip() == LONG.strip(), "for programs, a line is a line"


@pytest.mark.parametrize(("unit", "count"), [("lines", "500/1,000 lines"), (None, "50%")])
def test_other_bars_count_in_units_or_in_percent(unit: str | None, count: str, monkeypatch: pytest.MonkeyPatch):
    terminal(monkeypatch, 100)
    with console.bar(unit) as shown:
        shown.add_task("translating", total=1000, completed=500, figures=("12 lines",))
        with console.stderr.capture() as captured:
            console.stderr.print(shown.get_renderable())
    assert count in captured.get()
    assert "12 lines" in captured.get()
