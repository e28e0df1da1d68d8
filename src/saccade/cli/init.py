"""`saccade init`: a starter recipe, commented, for your files."""

from pathlib import Path
from typing import Annotated

import typer

from saccade.cli.console import note, print_result
from saccade.errors import OutputExists

RECIPE = """\
# A recipe of saccade: everything a training is made from. Paths are relative to this file.
# Check it with `saccade train recipe.toml --dry-run`; train with `saccade train recipe.toml`.
# Any setting can be overridden: `--set training.updates=500`.

run = "run"                      # prepared corpus, checkpoints, metrics and the finished model go here

[data]
source_language = "{source_language}"
target_language = "{target_language}"
# valid = {{ source = "valid.{source_language}", target = "valid.{target_language}" }}
hold_out = 1000                  # pairs taken from the training data for validation while `valid` is not given
max_tokens = 128                 # longer sentences are left out of training, and counted

[[data.train]]                   # repeat this table for more corpora; gzip and zstd are read as they are
{corpus}

[data.cleaning]
max_ratio = 9.0                  # pairs with one side so many times longer than the other are left out
deduplicate = true

[tokenizer]
kind = "bpe"                     # or "unigram", "char"
vocabulary = 8000                # 8,000 for tens of thousands of pairs, 32,000 for millions
shared = true                    # one vocabulary for both languages; with false, set model.embeddings = "tied"

[model]
preset = "small"                 # "tiny", "small", "base" and "big" of the Transformer; single settings may follow
norm = "pre"                     # learns far faster from little data than "post", the paper's

[training]
updates = 20000
batch_tokens = 4096
warmup = 2000
validate_every = 1000
checkpoint_every = 1000
patience = 10                    # stop after so many validations without a better BLEU

[search]
beam = 5
"""


def init(
    directory: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Where the recipe goes; made if it is not there.", show_default=False),
    ],
    source: Annotated[
        Path | None,
        typer.Option("--source", help="Your source sentences, a file of lines.", show_default=False),
    ] = None,
    target: Annotated[
        Path | None, typer.Option("--target", help="Their translations, a file of lines.", show_default=False)
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", help="Or both in one TSV file.", show_default=False)] = None,
    source_language: Annotated[str, typer.Option("--from", help="Code of the source language.")] = "en",
    target_language: Annotated[str, typer.Option("--to", help="Code of the target language.")] = "de",
) -> None:
    """Write a starter recipe for your files, with a comment on every line that matters.

    Examples: `saccade init my-model --source memory.en --target memory.zh --from en --to zh`

    `saccade init my-model --file memory.tsv --from en --to de`
    """
    if (source is None) != (target is None) or (source is not None and file is not None):
        raise typer.BadParameter("give --source and --target together, or --file alone")
    recipe = directory / "recipe.toml"
    if recipe.exists():
        raise OutputExists(f"{recipe} exists already. Edit it, or name another directory; nothing was written.")
    if file is not None:
        corpus = f'file = "{_quoted(file)}"'
    else:
        pair = (source or Path(f"train.{source_language}"), target or Path(f"train.{target_language}"))
        names = [_quoted(path) if source else str(path) for path in pair]
        corpus = f'source = "{names[0]}"\ntarget = "{names[1]}"'
    directory.mkdir(parents=True, exist_ok=True)
    text = RECIPE.format(source_language=source_language, target_language=target_language, corpus=corpus)
    recipe.write_text(text, encoding="utf-8")
    print_result(str(recipe))
    note(f"Look it over, then: saccade train {recipe} --dry-run")


def _quoted(path: Path) -> str:
    """As the recipe, which may lie elsewhere, has to name it."""
    return str(path.resolve()).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
