"""What two processes do together; test_processes.py starts it under torchrun and looks at what they leave behind."""

import json
import os
import signal
import sys
from pathlib import Path

import torch
from safetensors.numpy import save_file
from tests.training import toy
from tests.training.toy import Recorder

from saccade.data.prepare import Prepared
from saccade.data.sampler import Position
from saccade.tasks.translation.settings import TranslationRecipe
from saccade.tasks.translation.task import TranslationTask
from saccade.training import checkpoint
from saccade.training.loop import Training
from saccade.training.processes import Processes, joined
from saccade.training.run import Run


def learn(training: Training, updates: int) -> tuple[checkpoint.Arrays, list[float], checkpoint.Arrays]:
    """The gradients of the first update, the losses of all, and the parameters after them.

    By plain gradient descent: Adam would turn the noise of gradients that should be zero into full steps.
    """
    training.optimizer = torch.optim.SGD(training.model.parameters())
    batches = training.batches(Position())
    losses = [training.update(batches).loss]
    gradients = {name: parameter.grad.numpy().copy() for name, parameter in training.model.named_parameters()}
    losses += [training.update(batches).loss for _ in range(updates - 1)]
    return gradients, losses, checkpoint.parameters(training.model)


def train(
    recipe: TranslationRecipe, prepared: Prepared, group: Processes, recorder: Recorder | None = None
) -> Training:
    group.first(lambda: Run.open(recipe) and None)
    training = Training(Run(recipe.run, recipe), TranslationTask(recipe, prepared), recorder, group)
    training.outcome = training.fit()  # type: ignore[attr-defined]
    return training


def main(directory: Path, group: Processes) -> None:
    prepared = Prepared.open(directory / "corpus")

    descent = toy.recipe(directory / "descent", prepared, model=toy.QUIET, learning_rate=0.3, clip_norm=0.0)
    gradients, losses, parameters = learn(
        Training(Run(descent.run, descent), TranslationTask(descent, prepared), processes=group), updates=50
    )
    if group.is_first:
        descent.run.mkdir()
        save_file(gradients, descent.run / "gradients.safetensors")
        save_file(parameters, descent.run / "parameters.safetensors")
        (descent.run / "losses.json").write_text(json.dumps(losses))

    for name in ("whole", "battered"):
        train(toy.recipe(directory / name, prepared, updates=toy.MANY, threads=1), prepared, group)

    for name in ("plain", "sharded", "stopped"):
        recipe = toy.recipe(directory / name, prepared, shard=name != "plain")
        if name == "stopped":  # by the second process, which is asked to; then it goes on
            stop = Recorder(at={9: lambda: group.is_first or os.kill(os.getpid(), signal.SIGTERM)})
            training = train(recipe, prepared, group, stop)
            assert training.outcome.interrupted  # type: ignore[attr-defined]
            assert training.progress.update == 9
        train(recipe, prepared, group)

    # One example spoils a batch of the second process.
    recipe = toy.recipe(directory / "poisoned", prepared, updates=5)
    row = int(training.task.sampler().epoch(0)[2 * 3 - 1][0])
    with toy.poisoned(prepared, row):
        skipped = train(recipe, prepared, group, recorder := Recorder())
    assert skipped.progress.skipped == 1
    assert list(recorder.places) == [3]


if __name__ == "__main__":
    torch.set_num_threads(1)
    with joined(torch.device("cpu")) as processes:
        main(Path(sys.argv[1]), processes)
