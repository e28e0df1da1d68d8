"""`saccade demo`: the whole product in a few minutes, on data it writes itself."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

import saccade
from saccade import Recipe
from saccade.cli.console import note, print_result
from saccade.cli.train import run_training
from saccade.errors import need_torch


def demo(
    directory: Annotated[Path, typer.Option("--directory", "-d", help="Where data, run and model are written.")] = Path(
        "runs/demo"
    ),
) -> None:
    """Train a small Transformer on dates in five languages, score it, translate with it and show its attention.

    No download: the dates are generated. It takes a few minutes on two cores; Ctrl-C saves, and the same command
    resumes.

    Example: `saccade demo`
    """
    from saccade.cli.view import draw
    from saccade.demo.demo import score, translate_showcase, write_demo

    need_torch("`saccade demo`")
    recipe_file = write_demo(directory)
    note(f"The recipe is in {recipe_file}: dates as people write them, to ISO dates.")
    if run_training(Recipe.load(recipe_file)).interrupted:
        note(f"The run is saved. Resume with the same command: {shlex.join(['saccade', 'demo', '-d', str(directory)])}")
        raise typer.Exit(130)
    translator = saccade.load(directory)
    scores = score(translator)
    every = [is_right for answers in scores.values() for is_right in answers]
    print_result(f"\nHeld-out dates: {sum(every):,} of {len(every):,} right ({sum(every) / len(every):.2%})")
    for language, answers in scores.items():
        right, total = sum(answers), len(answers)
        print_result(f"  {language:<8} {right:4d} of {total:4d}  {right / total:.2%}")

    print_result("\nA handful, none of these dates seen in training:")
    translations = translate_showcase(translator)
    for translation in translations:
        print_result(f"  {translation.text}  ←  {translation.source}")
    picture = directory / "attention.svg"
    assert translations[0].attention is not None
    draw([translations[0].attention], outputs=[picture])
    print_result(f"\nmodel    {translator.directory.path}\npicture  {picture}")
    print_result(f'try      saccade view --model {directory} "2 de mayo de 1808"')
