"""`saccade init`: a starter recipe, commented and sized to your files."""

from pathlib import Path
from typing import Annotated

import typer

from saccade.cli.console import note, print_result
from saccade.cli.options import argument, option
from saccade.errors import OutputExists
from saccade.starter import starter_recipe


def init(
    directory: Annotated[Path, argument(metavar="DIR", help="Where the recipe goes; made if it is not there.")],
    source: Annotated[Path | None, option("--source", help="Your source sentences, a file of lines.")] = None,
    target: Annotated[Path | None, option("--target", help="Their translations, a file of lines.")] = None,
    file: Annotated[Path | None, option("--file", help="Or both in one TSV file.")] = None,
    source_language: Annotated[str | None, option("--from", help="Source language; else by the file's name.")] = None,
    target_language: Annotated[str | None, option("--to", help="Target language; else by the file's name.")] = None,
    minutes: Annotated[float, typer.Option("--minutes", min=1, help="How long training may take here.")] = 60,
) -> None:
    """Write a starter recipe for your files, sized to them and to your time, with a comment on every line that matters.

    Examples: `saccade init my-model --source memory.en --target memory.zh`

    `saccade init my-model --file memory.tsv --from en --to de --minutes 600`
    """
    given = [path is not None for path in (source, target, file)]
    if given not in ([True, True, False], [False, False, True]):
        raise typer.BadParameter("give --source and --target together, or --file alone")
    recipe = directory / "recipe.toml"
    if recipe.exists():
        raise OutputExists(f"{recipe} exists already. Edit it, or name another directory; nothing was written.")
    text, plan = starter_recipe(
        directory=directory,
        source=source,
        target=target,
        file=file,
        source_language=source_language,
        target_language=target_language,
        minutes=minutes,
    )
    directory.mkdir(parents=True, exist_ok=True)
    recipe.write_text(text, encoding="utf-8")
    print_result(str(recipe))
    note(
        f"{plan.pairs:,} pairs: a {plan.preset} model with a vocabulary of {plan.vocabulary:,}, "
        f"{plan.updates:,} updates, {plan.duration()} on this machine's processor (an estimate)."
    )
    if plan.epochs < 5:
        note("That is little for so much data. A larger --minutes, or a GPU and more updates, gives a better model.")
    note(f"Look it over, then: saccade train {recipe} --dry-run")
