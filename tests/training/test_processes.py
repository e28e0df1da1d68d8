"""Two processes under torchrun do what one would do, and outlive what happens to them."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from tests.training import toy
from tests.training.worker import learn

from saccade import settings
from saccade.data.prepare import Prepared
from saccade.data.sampler import Sampler
from saccade.training import checkpoint
from saccade.training.loop import Training, place
from saccade.training.run import Run

ROOT = Path(__file__).parents[2]


def torchrun(*words: object, restarts: int = 0) -> subprocess.Popen[str]:
    """Two processes on this machine."""
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    return subprocess.Popen(
        [*launch, f"--max-restarts={restarts}", *map(str, words)],
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return toy.prepared(tmp_path_factory.mktemp("together"))


@pytest.fixture(scope="module")
def battered(prepared: Prepared) -> str:
    """What a run says that loses a worker, is started anew by torchrun and then told to stop."""
    directory = prepared.directory.parent
    run, recipe = directory / "battered", directory / "recipe.toml"
    recipe.write_text(settings.dump(toy.recipe(run, prepared, updates=toy.MANY, threads=1)), encoding="utf-8")
    launcher = torchrun("-m", "saccade", "train", recipe, restarts=1)
    killed_after = wait_for_checkpoint(run, after=0)
    os.kill(workers(launcher)[1], signal.SIGKILL)
    wait_for_checkpoint(run, after=killed_after)
    launcher.send_signal(signal.SIGTERM)
    said, _ = launcher.communicate(timeout=300)
    assert launcher.returncode != 0
    return said


@pytest.fixture(scope="module")
def together(prepared: Prepared, battered: str) -> Path:
    """The directory in which two processes have done all that worker.py tells."""
    directory = prepared.directory.parent
    worker = torchrun(ROOT / "tests/training/worker.py", directory)
    said, _ = worker.communicate(timeout=300)
    assert worker.returncode == 0, said
    return directory


def workers(launcher: subprocess.Popen[str]) -> list[int]:
    """The processes that torchrun has started, in order of rank."""
    return [int(number) for number in Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()]


def wait_for_checkpoint(run: Path, after: int) -> int:
    for _ in range(15_000):
        newest = max((int(path.name[-8:]) for path in checkpoint.every(run / "checkpoints")), default=0)
        if newest > after:
            return newest
        time.sleep(0.02)
    raise AssertionError("no checkpoint came")


def test_a_lost_worker_and_an_interrupt_are_told_once(battered: str):
    assert len(re.findall(r"^Going on from update [\d,]+\.$", battered, re.MULTILINE)) == 1, battered
    assert len(re.findall(r"^Interrupted after update [\d,]+\.$", battered, re.MULTILINE)) == 1, battered


def test_after_all_that_it_ends_as_if_nothing_had_happened(together: Path):
    found, expected = toy.outcome(together / "battered"), toy.outcome(together / "whole")
    assert found["progress"].update == toy.MANY
    assert found == expected


def test_two_processes_are_one_that_accumulates_twice_as_much(together: Path, prepared: Prepared, tmp_path: Path):
    recipe = toy.recipe(tmp_path / "run", prepared, model=toy.QUIET, learning_rate=1.0, accumulate=2)
    gradients, losses, parameters = learn(Training(Run(recipe.run, recipe), prepared), updates=50)
    assert losses[-1] < losses[0] - 0.2, "it has learned something"
    for name, found in load_file(together / "descent/gradients.safetensors").items():
        assert np.linalg.norm(found - gradients[name]) < 1e-5 * np.linalg.norm(gradients[name]) + 1e-9, name
    assert json.loads((together / "descent/losses.json").read_text()) == pytest.approx(losses, abs=1e-4)
    for name, found in load_file(together / "descent/parameters.safetensors").items():
        np.testing.assert_allclose(found, parameters[name], rtol=1e-3, atol=1e-4)


def test_an_interrupt_of_one_process_stops_both_after_the_same_update(together: Path, prepared: Prepared):
    found, _ = checkpoint.newest(together / "interrupted/checkpoints")
    assert found is not None
    assert found.progress.update == 9


def test_all_know_what_spoilt_a_batch_of_one(together: Path, prepared: Prepared):
    """The second batch of the third update, which the second process took."""
    batch = Sampler(prepared.train.lengths, max_tokens=toy.TRAINING.batch_tokens, seed=1).epoch(0)[5]
    lines = [line for line in toy.metrics(together / "poisoned") if "skipped" in line]
    assert lines == [{"update": 3, "skipped": 1, "places": [place(prepared.train, row) for row in batch.tolist()]}]
