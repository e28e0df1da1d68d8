"""Two processes under torchrun do what one would do, and outlive what happens to them."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from tests.training import toy
from tests.training.toy import Recorder
from tests.training.worker import learn

from saccade import settings
from saccade.data.prepare import Prepared
from saccade.data.sampler import Sampler
from saccade.directory import ModelDirectory
from saccade.engines.torch import TorchEngine
from saccade.tasks.translation.task import TranslationTask
from saccade.training import checkpoint
from saccade.training.loop import Training
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
    assert len(re.findall(r"^Resuming from update [\d,]+\.$", battered, re.MULTILINE)) == 1, battered
    assert len(re.findall(r"^Interrupted after update [\d,]+\.$", battered, re.MULTILINE)) == 1, battered


def test_after_all_that_it_ends_as_if_nothing_had_happened(together: Path):
    found, expected = toy.outcome(together / "battered"), toy.outcome(together / "whole")
    assert found["progress"].update == toy.MANY
    assert found == expected


def test_two_processes_are_one_that_accumulates_twice_as_much(together: Path, prepared: Prepared, tmp_path: Path):
    recipe = toy.recipe(tmp_path / "run", prepared, model=toy.QUIET, learning_rate=0.3, clip_norm=0.0, accumulate=2)
    gradients, losses, parameters = learn(
        Training(Run(recipe.run, recipe), TranslationTask(recipe, prepared)), updates=50
    )
    assert losses[-1] < losses[0] - 0.2, "it has learned something"
    for name, found in load_file(together / "descent/gradients.safetensors").items():
        assert np.linalg.norm(found - gradients[name]) < 1e-5 * np.linalg.norm(gradients[name]) + 1e-9, name
    assert json.loads((together / "descent/losses.json").read_text()) == pytest.approx(losses, abs=1e-4)
    for name, found in load_file(together / "descent/parameters.safetensors").items():
        np.testing.assert_allclose(found, parameters[name], rtol=1e-3, atol=1e-4)


def test_parameters_spread_over_the_processes_learn_the_same(together: Path, prepared: Prepared):
    """And what they have learned is saved as one model, which says the same."""
    said, figures = [], []
    for name in ("plain", "sharded"):
        losses = [line["valid_loss"] for line in toy.metrics(together / name) if "valid_loss" in line]
        opened = ModelDirectory.open(together / name)
        engine, encode = TorchEngine.load(opened), opened.tokenizers.source.encode
        sources = [encode(example.source) for example in prepared.valid_examples]
        best = [found[0] for found in engine.translate(sources, opened.description.search)]
        said.append([opened.tokenizers.target.decode(hypothesis.ids) for hypothesis in best])
        figures.append(losses + [hypothesis.score for hypothesis in best])
    assert said[0] == said[1]
    assert figures[0] == pytest.approx(figures[1], rel=1e-3)
    assert len(figures[0]) == 3 + 8


def test_each_process_writes_the_rows_that_it_holds(together: Path):
    path = checkpoint.every(together / "sharded/checkpoints")[0]
    parts = [load_file(path / f"optimizer-0000{rank}-of-00002.safetensors") for rank in (1, 2)]
    assert [part["exp_avg.decoder.0.self_attention.output.weight"].shape for part in parts] == [(8, 16), (8, 16)]


def test_spread_interrupted_and_resumed_is_uninterrupted(together: Path):
    found, expected = (checkpoint.newest(together / name / "checkpoints")[0] for name in ("stopped", "sharded"))
    assert found is not None
    assert expected is not None
    assert replace(found.progress, seconds=0.0) == replace(expected.progress, seconds=0.0)
    for name in ("model.safetensors", "optimizer.safetensors"):
        assert toy.bits(checkpoint._read(found.path, name)) == toy.bits(checkpoint._read(expected.path, name))
    assert toy.metrics(together / "stopped") == toy.metrics(together / "sharded")


def test_one_process_goes_on_with_what_two_have_begun(together: Path, prepared: Prepared, tmp_path: Path):
    """Whether they had spread the parameters or not.

    The bias of keys adds the same to all scores of a query, so its gradient is zero but for rounding, which Adam makes
    full steps of: it is left out.
    """
    models = []
    for name in ("plain", "sharded"):
        shutil.copytree(together / name, tmp_path / name)
        recipe = toy.recipe(tmp_path / name, prepared, updates=22, shard=name == "sharded")
        assert toy.fit(recipe, prepared, recorder := Recorder()).progress.update == 22
        assert list(recorder.losses) == [21, 22]
        models.append(checkpoint.newest(recipe.run / "checkpoints")[0].model())  # type: ignore[union-attr]
    for name, values in models[0].items():
        found = models[1][name]
        if name.endswith("attention.projection.bias"):
            values, found = (np.delete(each, np.s_[len(each) // 3 : 2 * len(each) // 3]) for each in (values, found))
        np.testing.assert_allclose(found, values, atol=0.01, err_msg=name)


def test_all_know_what_spoilt_a_batch_of_one(together: Path, prepared: Prepared):
    """The second batch of the third update, which the second process took."""
    batch = Sampler(prepared.train.lengths, max_tokens=toy.TRAINING.batch_tokens, seed=1).epoch(0)[5]
    lines = [line for line in toy.metrics(together / "poisoned") if "skipped" in line]
    assert lines == [{"update": 3, "skipped": 1, "places": [prepared.train.place(row) for row in batch.tolist()]}]
