"""Model and memory in, tuned model and report out: what most users import. `trainer.py` trains, `evaluator.py` scores.

The output is the run directory of a training, with more in it:
  data/          the memory, cleaned and split; and what was asked for, which a resumed tuning must agree with
  report.html    before and after
  scores.json    the same figures for other programs
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from saccade import __version__, settings
from saccade.data.corpus import Example
from saccade.data.settings import CorpusSettings, DataSettings
from saccade.directory import ModelDirectory, write_card
from saccade.errors import OutputExists, SettingsError, need_torch
from saccade.evaluation.page.tuning import TuningFacts, tuning_page
from saccade.evaluator import Evaluation, evaluate
from saccade.files import draft_directory, write_atomically
from saccade.locate import locate_model
from saccade.tasks.translation.settings import TranslationRecipe, TranslationTrainingSettings
from saccade.text.tokenizer import Tokenizers
from saccade.trainer import TrainingResult, train
from saccade.translator import load
from saccade.tuning.card import tuning_card
from saccade.tuning.plan import plan_tuning
from saccade.tuning.reporter import TuningReporter
from saccade.tuning.request import Files, Request, choose_direction, corpora_of
from saccade.tuning.split import Split, split_memory

DATA, REQUEST, REPORT, SCORES = "data", "request.json", "report.html", "scores.json"
_CHANGEABLE = ("training.", "model.", "search.")
_SEED = 1
_SAMPLE = 2000
"""Pairs whose tokens are counted, to know how many all have."""


@dataclass(frozen=True, slots=True, eq=False)
class TuningResult:
    """How a tuning ended."""

    training: TrainingResult
    evaluations: Mapping[str, Evaluation]
    """By set, `in-domain` and perhaps `general`: the model before and after. Empty if the tuning was interrupted."""
    report: Path | None = None
    """The page with all that."""

    @property
    def model(self) -> Path:
        """The directory of the tuned model."""
        return self.training.model

    @property
    def interrupted(self) -> bool:
        """Somebody interrupted it; the same call resumes it."""
        return self.training.interrupted

    @property
    def before(self) -> dict[str, float]:
        """BLEU of the model that was tuned, by set."""
        return self._bleu(0)

    @property
    def after(self) -> dict[str, float]:
        """BLEU of the tuned model, by set."""
        return self._bleu(1)

    def _bleu(self, place: int) -> dict[str, float]:
        scores = {name: list(each.comparison.scores.values()) for name, each in self.evaluations.items()}
        return {name: systems[place][0].value for name, systems in scores.items()}

    def explain_drop(self, most: float) -> str:
        """Why tuning cost more than `most` BLEU on the general set, in a sentence; empty if it did not."""
        before, after = self.before["general"], self.after["general"]
        if before - after <= most:
            return ""
        return (
            f"BLEU on the general set must drop by at most {most:g}, but it dropped by {before - after:.2f}, from "
            f"{before:.2f} to {after:.2f}. Give text like that which the model was trained on as replay, or raise "
            "training.start_share."
        )


def tune(
    model: str | Path,
    memory: Files | Sequence[Files],
    output: str | Path,
    *,
    general: Files | Sequence[Files] | None = None,
    replay: Files | Sequence[Files] | None = None,
    direction: tuple[str | None, str | None] = (None, None),
    overrides: Sequence[str] = (),
    reporter: TuningReporter | None = None,
) -> TuningResult:
    """Tune a model on a translation memory, or resume a tuning that was interrupted; Ctrl-C saves a checkpoint.

    A string or path names a TSV file of pairs, a tuple of two a file of sources and that of their translations, and a
    list holds several of these. `general` is other text to be measured on, `replay` other text to be learned beside the
    memory. `direction` names the languages, such as ("en", "de"), where neither the model nor the names of the files
    tell. `overrides` are settings of the recipe, such as `training.lora.rank=16`.
    """
    need_torch("Tuning")
    reporter, output = reporter or TuningReporter(), Path(output)
    base, corpora = ModelDirectory.open_translator(locate_model(model)), corpora_of(memory)
    chosen = choose_direction(base, corpora[0], *direction)
    request = Request(base, chosen, corpora, corpora_of(general), corpora_of(replay))
    split = _open_split(request, output, reporter)
    recipe = tuning_recipe(request, split, output, overrides)
    reporter.planned(recipe, split)
    training = train(recipe, reporter=reporter)
    if training.interrupted or not training.is_first:
        return TuningResult(training, {})
    return _evaluate(request, recipe, split, training, reporter)


def tuning_recipe(request: Request, split: Split, output: Path, overrides: Sequence[str]) -> TranslationRecipe:
    """The recipe of a tuning: what the plan says for these sizes, and overrides on top."""
    others = [override for override in overrides if not override.strip().startswith(_CHANGEABLE)]
    if others:
        why = "only settings of training, model and search can be set, as all else follows from the files"
        raise SettingsError("tune", [f"{why}, but {other} is none of them." for other in others])
    base, data = request.base, output / DATA
    description = base.description
    plan = plan_tuning(
        len(split.train),
        _count_tokens(base.tokenizers, split.train),
        description.model.d_model,
        valid=len(split.valid),
        replay=len(split.replay),
        lora=any(override.strip().startswith("training.lora") for override in overrides),
    )
    train = [CorpusSettings(file=data / "train.tsv")]
    if split.replay:
        train.append(CorpusSettings(file=data / "replay.tsv", weight=plan.replay_weight))
    recipe = TranslationRecipe(
        run=output,
        data=DataSettings(
            source_language=request.direction.source,
            target_language=request.direction.target,
            train=tuple(train),
            valid=(CorpusSettings(file=data / "valid.tsv"),),
            max_tokens=description.max_tokens,
        ),
        model=description.model,
        training=TranslationTrainingSettings(
            updates=plan.updates,
            batch_tokens=plan.batch_tokens,
            learning_rate=plan.learning_rate,
            warmup=plan.warmup,
            schedule="linear",
            validate_every=plan.validate_every,
            best_by=plan.best_by,
            patience=plan.patience,
            checkpoint_every=plan.validate_every,
            keep=1,
            keep_best=0,
            average=0,
            warm_start=base.path,
            start_share=plan.start_share,
        ),
        search=description.search,
    )
    changed = settings.override(recipe, overrides, origin="tune")
    return replace(changed, run=recipe.run, data=recipe.data)  # with paths as they were given


def _count_tokens(tokenizers: Tokenizers, pairs: Sequence[Example]) -> int:
    """Tokens of all pairs on their longer sides, from a sample."""
    sample = pairs[:: max(1, len(pairs) // _SAMPLE)]
    sources = tokenizers.source.encode_many(pair.source for pair in sample)
    targets = tokenizers.target.encode_many(pair.target for pair in sample)
    longer = sum(1 + max(len(source), len(target)) for source, target in zip(sources, targets, strict=True))
    return round(longer / len(sample) * len(pairs))


def _open_split(request: Request, output: Path, reporter: TuningReporter) -> Split:
    """The parts of the memory, as an interrupted tuning left them or made now."""
    recorded = output / DATA / REQUEST
    if recorded.is_file():
        request.check(recorded)
        return Split.read(output / DATA)
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise OutputExists(
            f"{output} must be a new directory, or one of an interrupted tuning, but it holds something else. "
            "Name another output; nothing was written."
        )
    split, notes = split_memory(request.memory, request.general, request.replay, seed=_SEED)
    for note in notes:
        reporter.noted(note)
    with draft_directory(output / DATA, keep_existing=True) as draft:
        split.write(draft)
        (draft / REQUEST).write_text(json.dumps(request.record(), indent=1, ensure_ascii=False), encoding="utf-8")
    return split


def _evaluate(
    request: Request, recipe: TranslationRecipe, split: Split, training: TrainingResult, reporter: TuningReporter
) -> TuningResult:
    """Compare the model before and after on all sets, and write the report and the card."""
    to, source = request.direction.target, request.direction.source
    before, after = request.base.name, recipe.run.resolve().name
    systems = {
        before: load(request.base.path, to=to, source=source),
        after if after != before else f"{after}, tuned": load(training.model, to=to, source=source),
    }
    sets = {"in-domain": split.test} | ({"general": split.general} if split.general else {})
    evaluations = {}
    for name, pairs in sets.items():
        references, sources = [pair.target for pair in pairs], [pair.source for pair in pairs]
        evaluations[name] = evaluate(systems, reference=references, source=sources, reporter=reporter)
    lora = recipe.training.lora
    facts = TuningFacts(
        memory=request.memory_names,
        pairs=len(split.train),
        replay=len(split.replay),
        rank=None if lora is None else lora.rank,
        updates=training.update,
        best_update=training.best_update,
        minutes=training.seconds / 60,
    )
    reports = {name: evaluation.report(grouped=False) for name, evaluation in evaluations.items()}
    page = tuning_page(reports["in-domain"], reports.get("general"), facts, version=__version__)
    write_atomically(recipe.run / REPORT, page)
    summaries = {name: evaluation.summary() for name, evaluation in evaluations.items()}
    write_atomically(recipe.run / SCORES, json.dumps(summaries, indent=1, ensure_ascii=False) + "\n")
    comparisons = {name: evaluation.comparison for name, evaluation in evaluations.items()}
    write_card(training.model, tuning_card(request, facts, comparisons))
    return TuningResult(training, evaluations, recipe.run / REPORT)
