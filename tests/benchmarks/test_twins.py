"""Every trick and its twin: nothing but speed may change."""

from pathlib import Path
from unittest.mock import Mock, patch

import pytest
import torch

from saccade import Recipe, Reporter


@pytest.fixture
def two_updates(write_task, tmp_path: Path):
    """Parameters after two updates of a small model, which drops nothing."""
    from saccade.data.prepare import prepare
    from saccade.tasks.translation.task import TranslationTask
    from saccade.training.loop import Training
    from saccade.training.run import Run

    # With a large ε Adam does not blow rounding noise, such as the gradients of keys' biases, up to full steps.
    settings = ("adam_epsilon=1.0", "learning_rate=10.0", "warmup=1")
    recipe = Recipe.load(write_task(tmp_path), [f"training.{setting}" for setting in settings])
    prepared = prepare(recipe.data, recipe.tokenizer, tmp_path / "corpus", seed=1)

    class Enough(Reporter):
        def updated(self, progress, loss, rate) -> None:
            if progress.update == 2:
                raise StopIteration

    def train() -> dict[str, torch.Tensor]:
        training = Training(Run(tmp_path / "run", recipe), TranslationTask(recipe, prepared), Enough())
        (tmp_path / "run").mkdir(exist_ok=True)
        with pytest.raises(StopIteration):
            training.fit()
        return {name: value.detach() for name, value in training.model.named_parameters()}

    return train


@pytest.mark.parametrize("width", [0, 16])
def test_a_twin_computes_the_same(two_updates, width: int, monkeypatch: pytest.MonkeyPatch):
    """Where all of the task's sentences are short, and where none is."""
    from benchmarks.training.twins import TRICKS
    from saccade.nn import short

    monkeypatch.setattr(short, "WIDTH", width)
    expected = two_updates()
    for name, trick in TRICKS.items():
        with trick.disable():
            actual = two_updates()
        for parameter, value in expected.items():
            torch.testing.assert_close(actual[parameter], value, rtol=1e-3, atol=1e-5, msg=f"{name}: {parameter}")


def test_a_trick_is_really_switched_off(two_updates, monkeypatch: pytest.MonkeyPatch):
    """One that is looked up elsewhere by now would be measured as no gain at all."""
    from benchmarks.training.twins import TRICKS
    from saccade.nn import short

    monkeypatch.setattr(short, "WIDTH", 0)  # sentences are too long for it, so that torch's kernel has its turn
    for trick in TRICKS.values():
        called = Mock(wraps=trick.twin)
        stand_in = lambda *args, called=called, **more: called(*args, **more)  # noqa: E731 - a function, to be a method
        with patch.object(trick.owner, trick.name, stand_in):
            two_updates()
        assert called.called, trick.description


def test_usual_dropout_drops_the_wanted_share():
    from benchmarks.training.twins import TRICKS
    from saccade.nn.dropout import Dropout

    torch.manual_seed(1)
    with TRICKS["bytes"].disable():
        kept = Dropout(0.3).train()(torch.ones(10_000))
    assert abs(float((kept == 0).float().mean()) - 0.3) < 0.02
    assert torch.equal(Dropout(0.3).eval()(torch.ones(9)), torch.ones(9))
