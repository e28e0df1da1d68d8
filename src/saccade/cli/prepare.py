"""`saccade prepare`: files in, a cleaned and encoded corpus out."""

from rich.progress import TaskID

import saccade
from saccade import Recipe, Reporter
from saccade.cli.console import Bar, bar, note, stderr, table
from saccade.cli.options import Overrides, RecipeFile, typed


def prepare(recipe: RecipeFile, overrides: Overrides = None) -> None:
    """Clean the corpora of a recipe, learn the tokenizers and encode everything.

    `saccade train` does this by itself when it has not been done; here you can look at the result first.

    Example: `saccade prepare recipe.toml`
    """
    display = PreparationDisplay()
    try:
        run = saccade.prepare(Recipe.load(recipe, overrides or ()), reporter=display)
    except KeyboardInterrupt:
        note("What is done is kept. Run the same command again to resume.")
        raise
    finally:
        display.close()
    note(f"The data is ready in {run}. Next: {typed('train', recipe, overrides)}")


class PreparationDisplay(Reporter):
    """Shows a bar for each stage of a preparation, and then what it came to."""

    def __init__(self) -> None:
        self._bar: Bar | None = None
        self._open = bar("")
        self._stages: dict[str, TaskID] = {}

    def preparing(self, stage: str, done: int, total: int | None, unit: str) -> None:
        if self._bar is None:
            self._bar = self._open.__enter__()
        if stage not in self._stages:
            self._stages[stage] = self._bar.add_task(stage, total=None)
            if done:
                note(f"Resuming: {done:,} {unit} were done before ({stage}).")
        self._bar.update(self._stages[stage], completed=done, total=total)

    def prepared(self, summary: str, rows: list[tuple[str, str, str]]) -> None:
        self.close()
        stderr.print(table("Corpus", ("pairs", "", "the first of them"), rows))
        note(summary)

    def close(self) -> None:
        """Remove the bars."""
        if self._bar is not None:
            self._open.__exit__(None, None, None)
            self._bar = None
