"""`saccade demo`: the whole product in a few minutes, on data it writes itself."""

import shlex
from collections import defaultdict
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

import saccade
from saccade import Recipe
from saccade.cli.console import note, print_result
from saccade.cli.train import run_training
from saccade.errors import OutputExists, need_torch

NUM_TRAIN, NUM_VALID, NUM_TEST = 40_000, 500, 2_000
NAMES = {"en": "English", "zh": "Chinese", "de": "German", "fr": "French", "es": "Spanish"}

RECIPE = (files("saccade") / "demo" / "recipe.toml").read_text(encoding="utf-8")


def demo(
    directory: Annotated[Path, typer.Option("--directory", "-d", help="Where everything goes.")] = Path("runs/demo"),
) -> None:
    """Train a small Transformer on dates in five languages, score it, translate with it and show its attention.

    No download: the dates are generated. It takes a few minutes on two cores; Ctrl-C saves, and the same command
    goes on.

    Example: `saccade demo`
    """
    need_torch("`saccade demo`")
    recipe_file = write_task(directory)
    note(f"The recipe is in {recipe_file}: dates as people write them, to ISO dates.")
    if run_training(Recipe.load(recipe_file)).interrupted:
        note(f"Saved the run. To resume: {shlex.join(['saccade', 'demo', '-d', str(directory)])}")
        raise typer.Exit(130)
    translator = saccade.load(directory)
    report_accuracy(translator)
    show_attention(translator, directory)


def write_task(directory: Path) -> Path:
    """The demo's data and recipe, as files like any user's."""
    from saccade.demo import dates

    if directory.exists() and any(directory.iterdir()) and not (directory / "data").is_dir():
        raise OutputExists(f"{directory} exists and is not a demo. Name another one with --directory.")
    (directory / "data").mkdir(parents=True, exist_ok=True)
    training = dates.examples(NUM_TRAIN, seed=1, split="train")
    validation = dates.examples(NUM_VALID, seed=1, split="valid")
    for name, pairs in (("train", training), ("valid", validation)):
        path = directory / "data" / f"{name}.tsv"
        if not path.is_file():
            path.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), encoding="utf-8")
    (directory / "demo.toml").write_text(RECIPE, encoding="utf-8")
    return directory / "demo.toml"


def report_accuracy(translator: saccade.Translator) -> None:
    """Exact match on dates that no wording of was ever seen in training."""
    from saccade.demo import dates

    held_out = dates.written_dates(NUM_TEST, seed=1, split="test")
    found = translator.translate([written.text for written in held_out])
    right: dict[str, list[bool]] = defaultdict(list)
    for written, translation in zip(held_out, found, strict=True):
        right[written.wording.language].append(translation.text == written.day.isoformat())
    total = sum(map(sum, right.values()))
    print_result(f"\nHeld-out dates: {total:,} of {len(held_out):,} right ({total / len(held_out):.2%})")
    for language, answers in sorted(right.items()):
        share = sum(answers) / len(answers)
        print_result(f"  {NAMES[language]:<8} {sum(answers):4d} of {len(answers):4d}  {share:.2%}")


def show_attention(translator: saccade.Translator, directory: Path) -> None:
    """A handful of translations, and where the model looked for one of them."""
    from saccade.cli.view import draw
    from saccade.demo import dates

    print_result("\nA handful, none of these dates seen in training:")
    examples = dates.showcase()
    found = translator.translate([example.source for example in examples], attention=True)
    for translation in found:
        print_result(f"  {translation.text}  ←  {translation.source}")
    picture = directory / "attention.svg"
    assert found[0].attention is not None
    draw([found[0].attention], outputs=[picture])
    print_result(f"\nmodel    {translator.directory.path}\npicture  {picture}")
    print_result(f'try      saccade view --model {directory} "2 de mayo de 1808"')
