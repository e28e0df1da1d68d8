"""`saccade tune`: a model and a translation memory in, a tuned model and a report out."""

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import TaskID

import saccade
from saccade.cli.console import Bar, bar, note, print_result
from saccade.cli.download import locate_given
from saccade.cli.options import From, Overrides, To, argument, option
from saccade.cli.progress import Display
from saccade.errors import SaccadeError, need_torch
from saccade.evaluation.significance import SURE
from saccade.tuning.reporter import TuningReporter

if TYPE_CHECKING:
    from saccade.tasks.translation.settings import TranslationRecipe, TranslationTrainingSettings
    from saccade.tuning.split import Split


def tune(
    model: Annotated[
        Path,
        argument(
            metavar="MODEL",
            callback=locate_given,
            help="What to tune: a model directory, a run directory, or hf:OWNER/NAME on a hub.",
        ),
    ],
    memory: Annotated[
        list[Path] | None,
        argument(metavar="MEMORY", help="A .tsv file of pairs, or a file of sources and one of their translations."),
    ] = None,
    output: Annotated[
        Path, option("--output", "-o", metavar="DIR", help="Where the tuned model goes; `tuned` unless given.")
    ] = Path("tuned"),
    source: Annotated[Path | None, option("--source", help="The memory's sources, a file of lines.")] = None,
    target: Annotated[Path | None, option("--target", help="Their translations, a file of lines.")] = None,
    file: Annotated[Path | None, option("--file", help="Or both in one TSV file.")] = None,
    general: Annotated[
        list[Path] | None,
        option("--general", help="Other text, to measure what tuning costs there: a .tsv, or given twice, two files."),
    ] = None,
    replay: Annotated[
        list[Path] | None,
        option("--replay", help="Other text to learn beside the memory, against forgetting: as for --general."),
    ] = None,
    source_language: From = None,
    target_language: To = None,
    lora: Annotated[
        int | None, option("--lora", min=1, metavar="RANK", help="Train a change of this rank only (LoRA); try 16.")
    ] = None,
    fail_if_general_drops: Annotated[
        float | None,
        option("--fail-if-general-drops", min=0, metavar="BLEU", help="Exit with 1 if --general loses more than this."),
    ] = None,
    overrides: Overrides = None,
) -> None:
    """Tune a model on a translation memory, guarded against forgetting, and report what that gained and cost.

    Sentences unlike all others are held out of the memory to stop by and to report on. Ctrl-C saves a checkpoint; the
    same command resumes from it. The tuned model can be tuned again.

    Examples: `saccade tune hf:Helsinki-NLP/opus-mt-en-de memory.en memory.de -o tuned`

    `saccade tune runs/en-de --file memory.tsv --replay train.en --replay train.de --fail-if-general-drops 1.0`
    """
    need_torch("`saccade tune`")
    from saccade.tuning.request import pair_up

    if [bool(memory), source is not None, target is not None, file is not None] not in _WAYS:
        raise typer.BadParameter("give the memory's files, or --source and --target together, or --file alone")
    if fail_if_general_drops is not None and not general:
        raise typer.BadParameter("--fail-if-general-drops needs a general set: give --general")
    own = memory or [path for path in (source, target) if path is not None]
    display = TuningDisplay()
    try:
        result = saccade.tune(
            model,
            [file] if file else pair_up(own),
            output,
            general=pair_up(general or ()),
            replay=pair_up(replay or ()),
            direction=(source_language, target_language),
            overrides=[*(overrides or ()), *(() if lora is None else [f"training.lora.rank={lora}"])],
            reporter=display,
        )
    finally:
        display.ended()
    if result.interrupted:
        note(f"Saved the run. To resume: {shlex.join(['saccade', *sys.argv[1:]])}")
        raise typer.Exit(130)
    if result.report is not None:  # of several processes under torchrun, the first reports
        _show(result)
    if fail_if_general_drops is not None and (problem := result.explain_drop(fail_if_general_drops)):
        raise SaccadeError(problem)


_WAYS = ([True, False, False, False], [False, True, True, False], [False, False, False, True])
"""Of giving the memory: as arguments, as --source and --target, as --file."""


class TuningDisplay(Display, TuningReporter):
    """The plan, the training, and then the translations of the test sets."""

    def __init__(self) -> None:
        super().__init__()
        self._translations = bar("lines")
        self._lines: Bar | None = None
        self._task = TaskID(0)

    def planned(self, recipe: "TranslationRecipe", split: "Split") -> None:
        self.settings = training = recipe.training
        for line in _plan_lines(training, split):
            note(line)

    def translating(self, system: str, total: int) -> None:
        self.ended()
        self._lines = self._lines or self._translations.__enter__()
        self._task = self._lines.add_task(f"translating: {system}", total=total)

    def translated(self, count: int) -> None:
        assert self._lines is not None
        self._lines.advance(self._task, count)

    def noted(self, remark: str) -> None:
        note(remark)

    def ended(self) -> None:
        super().ended()
        if self._lines is not None:
            self._translations.__exit__(None, None, None)
            self._lines, self._translations = None, bar("lines")


def _plan_lines(training: "TranslationTrainingSettings", split: "Split") -> Iterator[str]:
    held_out = f"{len(split.valid):,} more to stop by and {len(split.test):,} to report on"
    yield f"{len(split.train):,} pairs to learn; held out are {held_out}, none of them a near-duplicate of those."
    if split.general:
        yield f"{len(split.general):,} sentences of a general set show what is lost on other text."
    else:
        yield "There is no general set, so what is lost on other text is not measured. Give one with --general."
    if split.replay:
        yield f"{len(split.replay):,} pairs of other text are replayed, as often as those of the memory."
    elif training.start_share:
        yield f"The tuned model is an average: {training.start_share:.0%} of it is the model before tuning."
    if training.lora is not None:
        yield f"LoRA: only a change of rank {training.lora.rank} is trained."


def _show(result: "saccade.TuningResult") -> None:
    for name, evaluation in result.evaluations.items():
        before, after = (scores[0] for scores in evaluation.comparison.scores.values())
        assert before.interval is not None
        assert after.interval is not None
        sure = "" if after.p_value is None else f"  p = {after.p_value:.4f}{'*' if after.p_value < SURE else ''}"
        print_result(
            f"{name:<9}  BLEU {before.value:6.2f} ± {before.interval.margin:.2f}  →  "
            f"{after.value:6.2f} ± {after.interval.margin:.2f}{sure}"
        )
    print_result(str(result.report))
    print_result(str(result.model))
