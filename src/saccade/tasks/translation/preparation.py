"""The corpus of a translation recipe: cleaned, tokenized and stored below the run directory. No torch here."""

from saccade.data.prepare import Prepared, prepare
from saccade.directory import ModelDirectory
from saccade.tasks.translation.settings import TranslationRecipe
from saccade.text.languages import Direction
from saccade.training.reporter import Reporter


def prepare_corpus(recipe: TranslationRecipe, reporter: Reporter) -> Prepared:
    """Clean, learn tokenizers and encode, unless it has been done."""
    warm_start = recipe.training.warm_start
    base = ModelDirectory.open_translator(warm_start) if warm_start else None
    prepared = prepare(
        recipe.data,
        recipe.tokenizer,
        recipe.run / "corpus",
        seed=recipe.training.seed,
        reuse=None if base is None else base.tokenizers,
        directions=() if base is None else _directions(recipe, base),
        replaces=not any((recipe.run / "checkpoints").glob("update-*")),
        progress=lambda stage, done, total: reporter.preparing(stage, done, total, "pairs"),
    )
    rows = [(what, f"{count:,}", example) for what, count, example in prepared.report.table()]
    reporter.prepared(_summary(prepared), rows)
    return prepared


def _directions(recipe: TranslationRecipe, base: ModelDirectory) -> list[Direction]:
    """Those of the data, with the tags that the model has for them which training starts from."""
    learned = recipe.data.directions
    if len(learned) == 1 and not base.description.directions[0].tag:
        return list(learned)
    return [base.find_direction(direction.target, direction.source) for direction in learned]


def _summary(prepared: Prepared) -> str:
    """What a corpus amounts to, in a sentence."""
    tokens, tokenizers = prepared.train.num_tokens, prepared.tokenizers
    target = "" if tokenizers.shared else f" and {len(tokenizers.target):,}"
    return (
        f"{tokens[0]:,} source tokens, {tokens[1]:,} target tokens; vocabulary of {len(tokenizers.source):,}{target}; "
        f"{len(prepared.valid_examples):,} pairs for validation"
    )
