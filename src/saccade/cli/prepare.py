"""`saccade prepare`: files in, a cleaned and encoded corpus out."""

from pathlib import Path

from saccade import recipe as recipes
from saccade.cli.console import bar, note, stderr, table
from saccade.cli.options import Overrides, RecipeFile, typed
from saccade.data.prepare import Prepared
from saccade.data.prepare import prepare as prepare_corpus
from saccade.directory import ModelDirectory
from saccade.recipe import Recipe


def prepare(recipe: RecipeFile, overrides: Overrides = None) -> None:
    """Clean the corpora of a recipe, learn the tokenizers and encode everything.

    `saccade train` does this by itself when it has not been done; here you can look at the result first.

    Example: `saccade prepare recipe.toml`
    """
    chosen = recipes.load_any(recipe, overrides or ())
    if not isinstance(chosen, Recipe):
        note(f"A recipe with a [task] needs no preparation. Next: {typed('train', recipe, overrides)}")
        return
    prepared = prepared_corpus(chosen)
    show(prepared)
    note(f"The corpus is in {prepared.directory}. Next: {typed('train', recipe, overrides)}")


def prepared_corpus(recipe: Recipe) -> Prepared:
    """The corpus of a recipe, below its run directory; made now unless it is there already."""
    warm_start = recipe.training.warm_start
    reuse = ModelDirectory.open(warm_start).tokenizers if warm_start else None
    with bar("pairs") as progress:
        tasks = {}

        def advanced(stage: str, done: int, total: int | None) -> None:
            if stage not in tasks:
                tasks[stage] = progress.add_task(stage, total=None)
                if done:
                    note(f"continuing: {done:,} pairs were done ({stage})")
            progress.update(tasks[stage], completed=done, total=total)

        try:
            return prepare_corpus(
                recipe.data,
                recipe.tokenizer,
                corpus_directory(recipe),
                seed=recipe.training.seed,
                reuse=reuse,
                progress=advanced,
            )
        except KeyboardInterrupt:
            note("What is done is kept: the same command continues.")
            raise


def corpus_directory(recipe: Recipe) -> Path:
    """Where the prepared corpus of a recipe lies."""
    return recipe.run / "corpus"


def show(prepared: Prepared) -> None:
    """What was read, dropped and kept, and what it amounts to."""
    rows = [(what, f"{count:,}", example) for what, count, example in prepared.report.table()]
    stderr.print(table("Corpus", ("pairs", "", "the first of them"), rows))
    tokens = prepared.train.num_tokens
    note(
        f"{tokens[0]:,} source tokens, {tokens[1]:,} target tokens; vocabulary of {len(prepared.tokenizers.source):,}"
        + ("" if prepared.tokenizers.shared else f" and {len(prepared.tokenizers.target):,}")
        + f"; {len(prepared.valid_examples):,} pairs for validation"
    )
