"""A training that takes a second: strings of letters, reversed by a Transformer with vectors of 16 numbers."""

import json
import math
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from safetensors.numpy import load_file
from torch import Tensor

from saccade.data.batch import Batch
from saccade.data.prepare import Prepared, prepare
from saccade.data.settings import CorpusSettings, DataSettings
from saccade.errors import CheckpointError
from saccade.models.build import Model
from saccade.models.settings import AttentionSettings, ModelSettings, RecurrentSettings, TransformerSettings
from saccade.search.settings import SearchSettings
from saccade.tasks.translation.settings import TranslationRecipe, TranslationTrainingSettings
from saccade.tasks.translation.task import TranslationTask
from saccade.text.tokenizer import TokenizerSettings
from saccade.training import checkpoint
from saccade.training.checkpoint import Progress
from saccade.training.learner import Learner
from saccade.training.loop import Outcome, Training
from saccade.training.reporter import Reporter
from saccade.training.run import Run
from saccade.training.task import Validation

TOKENIZER = TokenizerSettings(kind="char", vocabulary=12, byte_fallback=False)
MODEL = TransformerSettings(layers=1, d_model=16, d_feedforward=32, num_heads=2, dropout=0.2)
QUIET = replace(MODEL, dropout=0.0)
HARD = RecurrentSettings(d_model=16, dropout=0.2, attention=AttentionSettings(positions="hard"))
TRAINING = TranslationTrainingSettings(
    updates=20,
    batch_tokens=160,
    learning_rate=0.01,
    warmup=10,
    validate_every=8,
    checkpoint_every=6,
    average=3,
    keep=1,
    log_every=2,
    device="cpu",
)
MANY = 60
"""Updates that take long enough to be stopped on their way from outside."""


def prepared(directory: Path, letters: str = "abcdef") -> Prepared:
    """320 pairs such as `abcd`, `dcba`."""
    draw = random.Random(1)
    sources = {"".join(draw.choices(letters, k=draw.randint(3, 7))) for _ in range(400)}
    lines = [f"{source}\t{source[::-1]}\n" for source in sorted(sources)[:320]]
    directory.mkdir(exist_ok=True)
    (directory / "pairs.tsv").write_text("".join(lines), encoding="utf-8")
    return prepare(data(directory), TOKENIZER, directory / "corpus", seed=1)


def data(directory: Path) -> DataSettings:
    corpus = CorpusSettings(file=directory / "pairs.tsv")
    return DataSettings(source_language="en", target_language="en", train=(corpus,), hold_out=8)


def recipe(run: Path, prepared: Prepared, *, model: ModelSettings = MODEL, **training: Any) -> TranslationRecipe:
    return TranslationRecipe(
        run=run,
        data=data(prepared.directory.parent),
        tokenizer=TOKENIZER,
        model=model,
        training=replace(TRAINING, **training),
        search=SearchSettings(beam=2),
    )


@dataclass
class Recorder(Reporter):
    """Notes all it is told, and may do something at an update."""

    at: Mapping[int, Callable[[], object]] = field(default_factory=dict)
    began: Progress | None = None
    passed_over: list[CheckpointError] = field(default_factory=list)
    losses: dict[int, float] = field(default_factory=dict)
    places: dict[int, list[str]] = field(default_factory=dict)
    validations: list[Validation] = field(default_factory=list)
    averages: list[tuple[Validation, int, bool]] = field(default_factory=list)

    def started(self, model: Model, progress: Progress, passed_over: list[CheckpointError]) -> None:
        self.began, self.passed_over = progress, passed_over

    def updated(self, progress: Progress, loss: float, rate: float) -> None:
        self.losses[progress.update] = loss
        if act := self.at.get(progress.update):
            act()

    def skipped(self, progress: Progress, places: list[str]) -> None:
        self.places[progress.update] = places
        if act := self.at.get(progress.update):
            act()

    def validated(self, validation: Validation, is_best: bool) -> None:
        self.validations.append(validation)

    def averaged(self, validation: Validation, num_checkpoints: int, is_best: bool) -> None:
        self.averages.append((validation, num_checkpoints, is_best))


class Crash(Exception):
    """As if the machine had gone out."""


def crash() -> None:
    raise Crash


def fit(recipe: TranslationRecipe, prepared: Prepared, recorder: Recorder | None = None) -> Outcome:
    return Training(Run.open(recipe), TranslationTask(recipe, prepared), recorder or Recorder()).fit()


@contextmanager
def poisoned(prepared: Prepared, *rows: int, times: float = math.inf) -> Iterator[None]:
    """Meanwhile the loss of a batch with one of these examples is infinite; or the gradients are, and the loss is not,
    if it is only multiplied.
    """
    sources = [prepared.train[row][0].tolist() for row in rows]
    forward = Learner.forward

    def poison(self: Learner, batch: Batch) -> tuple[Tensor, Tensor]:
        wanted, loss = forward(self, batch)
        batched = (ids[mask][:-1].tolist() for ids, mask in zip(batch.source, batch.source_mask, strict=True))
        if any(source in sources for source in batched):
            return times * wanted, loss if math.isfinite(times) else times * loss
        return wanted, loss

    with mock.patch.object(Learner, "forward", poison):
        yield


def metrics(run: Path) -> list[dict[str, float]]:
    """The lines of metrics.jsonl, without the one figure that is never the same twice."""
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [{name: figure for name, figure in json.loads(line).items() if name != "seconds"} for line in lines]


def outcome(run: Path) -> dict[str, Any]:
    """All that a finished run leaves behind, bit for bit, but for the time it took."""
    newest, _ = checkpoint.newest(run / "checkpoints")
    assert newest is not None
    files = (newest.path / "model.safetensors", newest.path / "optimizer.safetensors", run / "model/model.safetensors")
    return {
        "progress": replace(newest.progress, seconds=0.0),
        "metrics": metrics(run),
        **{f"{file.parent.name}/{file.name}": bits(load_file(file)) for file in files},
    }


def bits(arrays: Mapping[str, np.ndarray]) -> dict[str, bytes]:
    return {name: values.tobytes() for name, values in arrays.items()}
