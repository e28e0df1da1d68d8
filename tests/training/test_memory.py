"""A training's memory stays what it was early on, and what an estimate says it is."""

import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
from tests.training import toy

from saccade.data.sampler import Position
from saccade.tasks.translation.task import TranslationTask
from saccade.training.estimate import NUM_SAMPLED, NUM_TYPICAL, estimate
from saccade.training.loop import Training
from saccade.training.run import Run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
ROOM = 160
"""MiB by which resident memory may grow from update 12 to update 24. It grew by 260 while a validation's was kept; some
80 are of libraries that it is the first to use."""


def figures(what: str) -> list[int]:
    """What a process of its own prints."""
    script = Path(__file__).with_name("memory.py")
    ended = subprocess.run([sys.executable, script, what], check=True, capture_output=True, text=True, timeout=120)
    return [int(line) for line in ended.stdout.split()]


def test_memory_of_validation_is_released_and_the_estimate_holds():
    early, late, peak = figures("train")
    assert late < early + ROOM
    (estimated,) = figures("estimate")
    assert 0.75 * peak < estimated < 1.25 * peak


def test_the_estimate_tries_the_largest_batches(tmp_path: Path):
    prepared = toy.prepared(tmp_path)
    recipe = toy.recipe(tmp_path / "run", prepared)
    training = Training(Run(recipe.run, recipe), TranslationTask(recipe, prepared))
    sizes: list[int] = []
    training._learn = lambda batches, _: sizes.extend(batch.source.numel() for batch in batches) or [0.0]  # type: ignore[assignment, func-returns-value, misc]
    training._clip = lambda: 0.0  # type: ignore[method-assign]
    estimate(training)
    largest = max(
        loaded.batch.source.numel() for loaded in islice(training.task.batches(Position(), 0, 1), NUM_SAMPLED)
    )
    assert largest in sizes[NUM_TYPICAL:]
    assert not recipe.run.exists(), "nothing is saved"
