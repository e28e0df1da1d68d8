"""`saccade bench`: speed, side by side with what a user would pick instead."""

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from saccade.benchmark import race, report
from saccade.benchmark.corpus import lay_out
from saccade.benchmark.race import Contestant, Result
from saccade.benchmark.work import SIZES, Drops, Work
from saccade.cli.console import note, print_result
from saccade.cli.options import ModelPath
from saccade.cli.plain_help import PlainGroup, Verb
from saccade.directory import ModelDirectory
from saccade.errors import DataError, OutputExists, need_torch
from saccade.interop.ctranslate2 import transformer
from saccade.text.formats.opening import check_readable

PLAIN: tuple[Drops, ...] = ("everywhere", "paper")
"""The first is what all are held against: torch.nn.Transformer as it comes."""
OURS: tuple[Drops, ...] = ("paper", "feed-forward", "everywhere")
"""Our default, and like with like."""

app = typer.Typer(cls=PlainGroup, no_args_is_help=True, rich_markup_mode="markdown")

Size = Annotated[
    Literal["tiny", "base", "all"], typer.Option("--size", help="Size of the model; all: one after another.")
]
Windows = Annotated[int, typer.Option("--windows", min=1, help="How many turns each contestant has.")]
Seconds = Annotated[float, typer.Option("--seconds", min=0.01, help="How long a turn lasts, at least.")]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Also write the figures of every turn to this new file.")]
Peers = Annotated[
    Path | None, typer.Option("--peers", help="Also other toolkits: those that install.sh of this directory installed.")
]


@app.callback()
def bench() -> None:
    """Measure speed on this machine, side by side with what you would use instead.

    Example: `saccade bench train`
    """


@app.command(cls=Verb)
def train(
    size: Size = "tiny",
    windows: Windows = 5,
    seconds: Seconds = 10.0,
    peers: Peers = None,
    json_file: JsonFile = None,
) -> None:
    """Compare the updates of our training with those of a plain torch.nn loop, and of other toolkits.

    Contestants take turns in processes of their own, and the ratio to the plain loop of the same round counts. The
    sentences are Multi30k's where SACCADE_DATA is set, else generated. docs/speed.md tells what is the same for all.

    Examples: `saccade bench train`

    `saccade bench train --size all --windows 9 --peers benchmarks/peers`
    """
    _refuse_missing(peers)

    def contestants(work: Work) -> list[Contestant]:
        shown = ("paper", "everywhere") if work.size == "base" else OURS  # all sit in memory at once
        rows = [race.plain(work, drops) for drops in PLAIN] + [race.ours(work, drops) for drops in shown]
        return rows + (race.peers(work, peers, "train") if peers else [])

    _measure(contestants, report.training_table, size, windows, seconds, json_file)


@app.command(cls=Verb)
def tricks(size: Size = "tiny", windows: Windows = 5, seconds: Seconds = 10.0, json_file: JsonFile = None) -> None:
    """Measure what each trick of our training gains: with all of them, and with one left out in turn.

    Example: `saccade bench tricks`
    """

    def contestants(work: Work) -> list[Contestant]:
        from saccade.benchmark.tricks import TRICKS

        lacking = [race.ours(work, "paper", without=name, called=trick.what) for name, trick in TRICKS.items()]
        return [race.ours(work, "paper"), *lacking]

    _measure(contestants, report.tricks_table, size, windows, seconds, json_file)


@app.command(cls=Verb)
def decode(
    model: ModelPath,
    sentences: Annotated[int, typer.Option("--sentences", min=20, help="How many sentences are translated.")] = 1000,
    windows: Windows = 3,
    source: Annotated[
        Path | None,
        typer.Option("--source", help="Sentences in the model's language, a line each. Multi30k's unless given."),
    ] = None,
    reference: Annotated[
        Path | None, typer.Option("--reference", help="Their translations, line by line, to compute BLEU with.")
    ] = None,
    peers: Peers = None,
    json_file: JsonFile = None,
) -> None:
    """Compare our translating with CTranslate2 by hand, Hugging Face's generate and other toolkits, text to text.

    All have the same model, which must be a trained Transformer: one that is not knows no end, and its speed says
    nothing. Contestants take turns in processes of their own. Without --source the sentences are Multi30k's where
    SACCADE_DATA is set, else generated. docs/speed.md tells what is the same for all.

    Examples: `saccade bench decode --model runs/en-de`

    `saccade bench decode --model runs/en-de --peers benchmarks/peers`

    `saccade bench decode --model runs/fr-en --source news.fr --reference news.en --sentences 5000`
    """
    from saccade.benchmark import decoding
    from saccade.benchmark.layout import lay_out as lay_out_sentences

    _refuse_missing(peers)
    _refuse_existing(json_file)
    if reference is not None and source is None:
        raise typer.BadParameter("--reference goes with --source, whose lines it translates")
    for path in filter(None, (source, reference)):
        check_readable(path)
    opened = ModelDirectory.open(model)
    transformer(opened)
    machine = report.machine("ctranslate2", "torch", "transformers")
    print_result(f"{machine}\n")
    with tempfile.TemporaryDirectory(prefix="saccade-bench-") as directory:
        work = lay_out_sentences(Path(directory), opened, sentences, source, reference)
        results = decoding.race(decoding.field(work, peers), work, windows=windows, told=note)
        for beam in decoding.BEAMS:
            print_result(f"{decoding.table(results, work, beam)}\n")
        figures = decoding.as_table(results, work)
    if json_file is not None:
        _write(json_file, {"machine": machine, **figures})


def _refuse_missing(peers: Path | None) -> None:
    if peers is not None and not list(peers.glob("venv/*/bin/python")):
        raise DataError(
            f"{peers} must hold other toolkits, each installed below venv, but none is. In saccade's repository, run "
            "benchmarks/peers/install.sh, then give --peers benchmarks/peers."
        )


def _refuse_existing(json_file: Path | None) -> None:
    if json_file is not None and json_file.exists():
        raise OutputExists(f"{json_file} exists already. Remove it or name another file; nothing was measured.")


def _write(json_file: Path, figures: dict[str, Any]) -> None:
    json_file.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _measure(
    contestants: Callable[[Work], list[Contestant]],
    table: Callable[[Sequence[Result], Work, float], str],
    size: str,
    windows: int,
    seconds: float,
    json_file: Path | None,
) -> None:
    need_torch("`saccade bench`")
    _refuse_existing(json_file)
    machine = report.machine("torch")
    print_result(f"{machine}\n")
    figures: list[dict[str, Any]] = []
    for each in SIZES if size == "all" else [size]:
        with tempfile.TemporaryDirectory(prefix="saccade-bench-") as directory:
            note(f"{each}: preparing the corpus")
            work = lay_out(Path(directory), each)
            results, peak = race.race(contestants(work), work, windows=windows, seconds=seconds, told=note)
            print_result(f"{table(results, work, peak)}\n")
            figures.append(report.as_table(results, work, peak))
    if json_file is not None:
        _write(json_file, {"machine": machine, "sizes": figures})
