"""A training that is stopped, damaged or changed goes on as if nothing had happened, or says why not."""

import json
import math
import os
import signal
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.training import toy
from tests.training.toy import Crash, Recorder, crash

from saccade.data.batch import Batch, collate
from saccade.data.loader import Loaded
from saccade.data.prepare import Prepared
from saccade.data.sampler import Position
from saccade.directory import ModelDirectory
from saccade.engines.torch import TorchEngine
from saccade.errors import CheckpointError, DataError, ModelError, SettingsError, TrainingError
from saccade.models.settings import ConvolutionalSettings, ModelSettings
from saccade.protocol import Learned
from saccade.search.settings import SearchSettings
from saccade.tasks.translation.task import TranslationTask
from saccade.training import checkpoint
from saccade.training.loop import Training
from saccade.training.reinforce import reinforce
from saccade.training.run import Run
from saccade.training.task import Validation


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return toy.prepared(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, prepared: Prepared) -> tuple[Path, Recorder]:
    """A run of 20 updates that nothing happened to: checkpoints at 6, 12, 18 and 20, validations at 8, 16 and 20."""
    run, recorder = tmp_path_factory.mktemp("whole") / "run", Recorder()
    ended = toy.fit(toy.recipe(run, prepared), prepared, recorder)
    assert not ended.interrupted
    assert ended.progress.update == 20
    return run, recorder


def signalled(number: signal.Signals) -> Callable[[], None]:
    """Ctrl-C, or what a batch system sends before it kills."""
    return lambda: os.kill(os.getpid(), number)


def checkpoints(run: Path) -> list[int]:
    return [int(path.name.removeprefix("update-")) for path in checkpoint.every(run / "checkpoints")]


def test_it_learns_and_reports(whole: tuple[Path, Recorder]):
    run, recorder = whole
    assert recorder.began is not None
    assert recorder.began.update == 0
    assert list(recorder.losses) == list(range(1, 21))
    assert recorder.losses[20] < recorder.losses[1]
    assert [validation.update for validation in recorder.validations] == [8, 16, 20]
    assert recorder.validations[-1].loss < recorder.validations[0].loss
    assert [count for _, count, _ in recorder.averages] == [3]
    assert checkpoints(run) == [20, 18, 12]


def test_metrics_have_a_line_for_every_second_update_and_every_validation(whole: tuple[Path, Recorder]):
    run, recorder = whole
    lines = toy.metrics(run)
    assert [line["update"] for line in lines if "loss" in line] == list(range(2, 21, 2))
    assert [line["update"] for line in lines if "valid_loss" in line] == [8, 16, 20]
    assert [line["loss"] for line in lines if "loss" in line] == pytest.approx(
        [recorder.losses[update] for update in range(2, 21, 2)], abs=1e-5
    )


def test_the_model_of_a_run_can_be_used(whole: tuple[Path, Recorder]):
    run, recorder = whole
    opened = ModelDirectory.open(run)
    assert opened.description.model == toy.MODEL
    assert opened.description.search == SearchSettings(beam=2)
    best = max(recorder.validations + [average for average, *_ in recorder.averages], key=lambda each: each.quality)
    assert f"BLEU {best.quality:.2f}" in (run / "model/card.md").read_text(encoding="utf-8")
    assert TorchEngine.load(opened).translate([opened.tokenizers.source.encode("abc")], opened.description.search)


@pytest.mark.parametrize(
    "stops",
    [
        pytest.param([(15, crash)], id="killed between checkpoints"),
        pytest.param([(18, crash)], id="killed before the checkpoint of the update"),
        pytest.param([(3, crash)], id="killed before the first checkpoint"),
        pytest.param([(7, crash), (9, crash), (13, crash)], id="killed again and again"),
        pytest.param([(15, signalled(signal.SIGINT))], id="interrupted"),
        pytest.param([(12, signalled(signal.SIGTERM)), (13, crash)], id="terminated, then killed"),
        pytest.param([(19, signalled(signal.SIGINT)), (20, crash)], id="interrupted near the end"),
    ],
)
def test_stopped_and_resumed_is_uninterrupted(
    stops: list[tuple[int, Callable[[], None]]],
    whole: tuple[Path, Recorder],
    prepared: Prepared,
    tmp_path: Path,
):
    recipe = toy.recipe(tmp_path / "run", prepared)
    for update, act in stops:
        try:
            ended = toy.fit(recipe, prepared, Recorder(at={update: act}))
            assert ended.interrupted
        except Crash:
            assert act is crash
    assert not toy.fit(recipe, prepared).interrupted
    assert toy.outcome(tmp_path / "run") == toy.outcome(whole[0])
    assert checkpoints(tmp_path / "run") == checkpoints(whole[0])


@pytest.fixture(scope="module")
def hard(tmp_path_factory: pytest.TempPathFactory, prepared: Prepared) -> Path:
    """A run with hard attention that nothing happened to."""
    run = tmp_path_factory.mktemp("hard") / "run"
    toy.fit(toy.recipe(run, prepared, model=toy.HARD), prepared)
    return run


@pytest.mark.parametrize(
    "stops",
    [
        pytest.param([(7, crash), (13, signalled(signal.SIGINT))], id="killed, then interrupted"),
        pytest.param([(1, signalled(signal.SIGTERM)), (19, crash)], id="terminated at once, then killed"),
    ],
)
def test_choices_by_chance_are_the_same_again_after_a_stop(
    stops: list[tuple[int, Callable[[], None]]], hard: Path, prepared: Prepared, tmp_path: Path
):
    """What is sampled depends on seed and update alone, and what rewards are held against is in the checkpoint."""
    recipe = toy.recipe(tmp_path / "run", prepared, model=toy.HARD)
    for update, act in stops:
        with pytest.raises(Crash) if act is crash else nullcontext():
            toy.fit(recipe, prepared, Recorder(at={update: act}))
    assert toy.fit(recipe, prepared).progress.update == 20
    found, expected = toy.outcome(tmp_path / "run"), toy.outcome(hard)
    assert found["progress"].baseline is not None
    assert found == expected


def test_the_baseline_is_kept_in_the_checkpoint(hard: Path, whole: tuple[Path, Recorder]):
    """A moving average of rewards, which are logarithms of probabilities; a model without chance has none."""
    baselines = {}
    for path in checkpoint.every(hard / "checkpoints"):
        stored = json.loads((path / "checkpoint.json").read_text(encoding="utf-8"))["progress"]["baseline"]
        assert checkpoint.check(path).progress.baseline == stored
        baselines[path.name] = stored
    assert len(set(baselines.values())) == 3
    assert all(-100 < stored < 0 for stored in baselines.values())
    newest, _ = checkpoint.newest(whole[0] / "checkpoints")
    assert newest is not None
    assert newest.progress.baseline is None


def test_the_baseline_begins_as_the_first_mean_and_moves_by_a_tenth(
    prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """b₁ = r₁, then b ← 0.9 b + 0.1 r. A batch is held against what was there before it; the first against itself."""
    rewards, held = [], []

    def noting(learned, mask, given, baseline: float, **shares: float) -> torch.Tensor:
        rewards.append(given.mean().item())
        held.append(baseline)
        assert shares == {"reward": 0.3, "entropy": 0.01}
        return reinforce(learned, mask, given, baseline, **shares)

    monkeypatch.setattr("saccade.tasks.translation.loss.reinforce", noting)
    attention = replace(toy.HARD.attention, reward=0.3, entropy=0.01)
    recipe = toy.recipe(tmp_path / "run", prepared, model=replace(toy.HARD, attention=attention), accumulate=2)
    training = Training(Run(recipe.run, recipe), TranslationTask(recipe, prepared))
    batches = training.batches(Position())
    for _ in range(2):  # of two batches each
        training.update(batches)
    first, second, third, fourth = rewards
    after = [first, 0.9 * first + 0.1 * second]
    after += [0.9 * after[1] + 0.1 * third]
    assert held == pytest.approx([first, *after])
    assert training.progress.baseline == pytest.approx(0.9 * after[2] + 0.1 * fourth)


def test_what_is_rewarded_moves_the_score(prepared: Prepared, tmp_path: Path):
    """With every source sampled, only REINFORCE tells the score anything; it is a part of the loss that is reported."""
    gradients = {}
    for reward in (0.0, 0.5):
        attention = replace(toy.HARD.attention, sampling=1.0, reward=reward, entropy=0.0)
        recipe = toy.recipe(tmp_path / "run", prepared, model=replace(toy.HARD, attention=attention), clip_norm=0.0)
        training = Training(Run(recipe.run, recipe), TranslationTask(recipe, prepared))
        training.update(training.batches(Position()))
        gradients[reward] = training.model.decoder.cross_attention.score.of_key.weight.grad
    assert not gradients[0.0].any()
    assert bool(gradients[0.5].any())


def test_more_updates_can_be_asked_for(whole: tuple[Path, Recorder], prepared: Prepared, tmp_path: Path):
    """The run ends twice: the first end is validated too, and changes nothing of what is learned after it."""
    run, recorder = tmp_path / "run", Recorder()
    toy.fit(toy.recipe(run, prepared, updates=15), prepared)
    toy.fit(toy.recipe(run, prepared), prepared, recorder)
    assert recorder.began is not None
    assert recorder.began.update == 15
    found, expected = toy.outcome(run), toy.outcome(whole[0])
    for file in ("update-00000020/model.safetensors", "update-00000020/optimizer.safetensors"):
        assert found[file] == expected[file]
    assert [line for line in found["metrics"] if line["update"] != 15] == expected["metrics"]
    assert [list(line) for line in found["metrics"] if line["update"] == 15] == [["update", "valid_loss", "valid_bleu"]]


def test_the_best_so_far_is_never_given_up_for_less(prepared: Prepared, tmp_path: Path):
    """Also not after a first end, where the best may have been the average of checkpoints."""
    run = tmp_path / "run"
    first = toy.fit(toy.recipe(run, prepared, updates=12), prepared).progress.best
    recorder = Recorder()
    toy.fit(toy.recipe(run, prepared, updates=14), prepared, recorder)
    assert recorder.began is not None
    assert recorder.began.best == first


@pytest.mark.parametrize("damaged", ["model.safetensors", "optimizer.safetensors", "checkpoint.json"])
def test_a_damaged_checkpoint_is_named_and_passed_over(
    damaged: str, whole: tuple[Path, Recorder], prepared: Prepared, tmp_path: Path
):
    run, recorder = tmp_path / "run", Recorder()
    with pytest.raises(Crash):
        toy.fit(toy.recipe(run, prepared), prepared, Recorder(at={19: crash}))
    file = run / "checkpoints/update-00000018" / damaged
    file.write_bytes(file.read_bytes()[:-10])
    toy.fit(toy.recipe(run, prepared), prepared, recorder)
    assert recorder.began is not None
    assert recorder.began.update == 12
    assert [str(file.parent) in str(error) for error in recorder.passed_over] == [True]
    assert toy.outcome(run) == toy.outcome(whole[0])


def test_a_damaged_checkpoint_does_not_keep_a_run_from_ending(
    whole: tuple[Path, Recorder], prepared: Prepared, tmp_path: Path
):
    """That of update 15 is not written again, and would be one of the last three."""
    run = tmp_path / "run"
    toy.fit(toy.recipe(run, prepared), prepared, Recorder(at={15: signalled(signal.SIGINT)}))
    (run / "checkpoints/update-00000015/model.safetensors").write_bytes(b"")
    toy.fit(toy.recipe(run, prepared), prepared)
    assert toy.outcome(run) == toy.outcome(whole[0])


def test_when_all_checkpoints_are_damaged_nothing_is_lost(prepared: Prepared, tmp_path: Path):
    recipe = toy.recipe(tmp_path / "run", prepared, updates=15)
    toy.fit(recipe, prepared)
    for path in checkpoint.every(recipe.run / "checkpoints"):
        (path / "checkpoint.json").unlink()
    before = {path: path.read_bytes() for path in recipe.run.rglob("*") if path.is_file()}
    with pytest.raises(
        CheckpointError, match=r"every one is damaged: .*-00000015.*-00000012.*-00000006.*remove \S+"
    ) as e:
        toy.fit(recipe, prepared)
    assert f"remove {recipe.run / 'checkpoints'} to begin anew" in str(e.value)
    assert {path: path.read_bytes() for path in recipe.run.rglob("*") if path.is_file()} == before


def test_a_run_that_has_ended_ends_again_at_once(prepared: Prepared, tmp_path: Path):
    run, recorder = tmp_path / "run", Recorder()
    toy.fit(toy.recipe(run, prepared), prepared)
    before = toy.outcome(run)
    for updates in (20, 5):
        ended = toy.fit(toy.recipe(run, prepared, updates=updates), prepared, recorder)
        assert not ended.interrupted
        assert ended.progress.update == 20
        assert not recorder.losses
        assert toy.outcome(run) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_saves_and_says_so(number: signal.Signals, prepared: Prepared, tmp_path: Path):
    run = tmp_path / "run"
    handlers = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    ended = toy.fit(toy.recipe(run, prepared), prepared, Recorder(at={4: signalled(number)}))
    assert ended.interrupted
    assert ended.progress.update == 4
    assert checkpoints(run) == [4]
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == handlers


def test_a_second_interrupt_acts_at_once(prepared: Prepared, tmp_path: Path):
    def twice() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        toy.fit(toy.recipe(tmp_path / "run", prepared), prepared, Recorder(at={4: twice}))
    assert not checkpoints(tmp_path / "run")
    assert signal.getsignal(signal.SIGINT) == handler


def test_another_seed_is_another_run(whole: tuple[Path, Recorder], prepared: Prepared, tmp_path: Path):
    recorder = Recorder()
    toy.fit(toy.recipe(tmp_path / "run", prepared, seed=2, updates=2), prepared, recorder)
    assert recorder.losses[1] != whole[1].losses[1]


def test_two_batches_accumulated_are_one_of_both(prepared: Prepared, tmp_path: Path):
    """The loss is per target token of all batches together, so their sizes do not matter."""
    rows = np.arange(30)
    parts = {1: [rows], 2: [rows[:7], rows[7:]], 3: [rows[:1], rows[1:25], rows[25:]]}
    gradients = {}
    for accumulate, cut in parts.items():
        quiet = replace(toy.MODEL, dropout=0.0)
        recipe = toy.recipe(tmp_path / "run", prepared, model=quiet, accumulate=accumulate, clip_norm=0.5)
        training = Training(Run(recipe.run, recipe), TranslationTask(recipe, prepared))
        training.model.double()
        training.update(
            Loaded(Position(0, number), part, collate(*prepared.train.batch(part)))
            for number, part in enumerate(cut, start=1)
        )
        assert training.progress.position == Position(0, accumulate)
        assert training.progress.tokens == sum(len(prepared.train[row][1]) + 1 for row in range(30))
        gradients[accumulate] = [parameter.grad for parameter in training.model.parameters()]
    for accumulate in (2, 3):
        for one, several in zip(gradients[1], gradients[accumulate], strict=True):
            torch.testing.assert_close(several, one, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("clip_norm", [0.0, 0.01])
def test_large_gradients_are_clipped(clip_norm: float, prepared: Prepared, tmp_path: Path):
    recipe = toy.recipe(tmp_path / "run", prepared, clip_norm=clip_norm)
    training = Training(Run(recipe.run, recipe), TranslationTask(recipe, prepared))
    training.update(training.batches(Position()))
    squares = sum(parameter.grad.square().sum().item() for parameter in training.model.parameters())
    assert squares**0.5 == pytest.approx(0.01, rel=1e-3) if clip_norm else squares**0.5 > 0.1


def batch_with(training: Training, row: int, update: int) -> list[str]:
    """The places of the batch of this update, which must hold this example."""
    batch = training.task.sampler().epoch(0)[update - 1].tolist()
    assert row in batch
    return [training.task.place(each) for each in batch]


@pytest.mark.parametrize("times", [math.inf, 1e38], ids=["loss", "gradients"])
def test_an_update_that_is_not_finite_is_left_out_and_named(times: float, prepared: Prepared, tmp_path: Path):
    recipe = toy.recipe(tmp_path / "run", prepared, updates=8, log_every=1)
    training = Training(Run.open(recipe), TranslationTask(recipe, prepared), recorder := Recorder())
    row = int(training.task.sampler().epoch(0)[4][3])
    with toy.poisoned(prepared, row, times=times):
        ended = training.fit()
    assert recorder.places == {5: batch_with(training, row, 5)}
    assert [line["places"] for line in toy.metrics(recipe.run) if "skipped" in line] == [recorder.places[5]]
    assert (ended.progress.update, ended.progress.skipped) == (8, 1)
    assert {state["step"].item() for state in training.optimizer.state.values()} == {7}
    assert all(parameter.isfinite().all() for parameter in training.model.parameters())
    lost = sum(len(prepared.train[int(row)][1]) + 1 for row in training.task.sampler().epoch(0)[4])
    learned = sum(
        len(prepared.train[int(row)][1]) + 1 for batch in training.task.sampler().epoch(0)[:8] for row in batch
    )
    assert ended.progress.tokens == learned - lost


def test_a_left_out_update_changes_nothing_but_the_count(prepared: Prepared, tmp_path: Path):
    recipe = toy.recipe(tmp_path / "run", prepared)
    training = Training(Run(recipe.run, recipe), TranslationTask(recipe, prepared))
    batches = training.batches(Position())
    training.update(batches)
    before = (
        toy.bits(checkpoint.parameters(training.model)),
        toy.bits(checkpoint._moments(training.model, training.optimizer)),
    )
    with toy.poisoned(prepared, *training.task.sampler().epoch(0)[1].tolist()):
        training.update(batches)
    after = (
        toy.bits(checkpoint.parameters(training.model)),
        toy.bits(checkpoint._moments(training.model, training.optimizer)),
    )
    assert after == before
    assert (training.progress.update, training.progress.skipped) == (2, 1)


def test_only_the_batch_that_is_not_finite_is_named(prepared: Prepared, tmp_path: Path):
    recipe = toy.recipe(tmp_path / "run", prepared, accumulate=3)
    training = Training(Run(recipe.run, recipe), TranslationTask(recipe, prepared), recorder := Recorder())
    rows = training.task.sampler().epoch(0)[1].tolist()
    with toy.poisoned(prepared, rows[0]):
        training._note(training.update(training.batches(Position())))
    assert recorder.places == {1: [prepared.train.place(row) for row in rows]}


@pytest.mark.parametrize("model", [toy.MODEL, toy.HARD], ids=["transformer", "hard attention"])
def test_resumed_over_left_out_updates_is_uninterrupted(model: ModelSettings, prepared: Prepared, tmp_path: Path):
    """Left out are updates 5, 11 and 14; checkpoints stand at 6, 12 and 18."""
    for name, stops in {"whole": {}, "stopped": {9: crash, 13: signalled(signal.SIGINT), 17: crash}}.items():
        recipe = toy.recipe(tmp_path / name, prepared, model=model)
        epoch = Training(Run(recipe.run, recipe), TranslationTask(recipe, prepared)).task.sampler().epoch(0)
        with toy.poisoned(prepared, *(int(epoch[update - 1][0]) for update in (5, 11, 14))):
            for update, act in stops.items():
                with pytest.raises(Crash) if act is crash else nullcontext():
                    toy.fit(recipe, prepared, Recorder(at={update: act}))
            assert toy.fit(recipe, prepared).progress.skipped == 3
    assert toy.outcome(tmp_path / "whole") == toy.outcome(tmp_path / "stopped")


def test_a_checkpoint_before_the_first_sound_update_can_be_gone_on_with(prepared: Prepared, tmp_path: Path):
    """Then the optimizer has nothing to remember yet."""
    for name, stops in {"whole": {}, "stopped": {1: signalled(signal.SIGINT)}}.items():
        recipe = toy.recipe(tmp_path / name, prepared, updates=4)
        row = int(Training(Run(recipe.run, recipe), TranslationTask(recipe, prepared)).task.sampler().epoch(0)[0][0])
        with toy.poisoned(prepared, row):
            for update, act in stops.items():
                toy.fit(recipe, prepared, Recorder(at={update: act}))
            assert toy.fit(recipe, prepared).progress.skipped == 1
    assert toy.outcome(tmp_path / "whole") == toy.outcome(tmp_path / "stopped")


def test_too_many_left_out_in_a_row_stop_the_run(prepared: Prepared, tmp_path: Path):
    """4 is left out, then 8, 9 and 10: the checkpoint of update 6 stands."""
    recipe = toy.recipe(tmp_path / "run", prepared, max_skipped=3)
    epoch = Training(Run(recipe.run, recipe), TranslationTask(recipe, prepared)).task.sampler().epoch(0)
    recorder = Recorder()
    with (
        toy.poisoned(prepared, *(int(epoch[update - 1][0]) for update in (4, 8, 9, 10))),
        pytest.raises(TrainingError, match=r"in the last 3 updates \(training\.max_skipped\) they were not"),
    ):
        toy.fit(recipe, prepared, recorder)
    assert list(recorder.places) == [4, 8, 9, 10]
    found, damaged = checkpoint.newest(recipe.run / "checkpoints")
    assert found is not None
    assert (found.progress.update, damaged) == (6, [])
    assert toy.fit(recipe, prepared).progress.update == 20, "once the lines are mended, the run goes on"


@pytest.mark.parametrize(
    "model", [toy.MODEL, toy.HARD, ConvolutionalSettings(d_model=16)], ids=lambda model: model.kind
)
def test_bfloat16_is_the_same_but_for_rounding(model: ModelSettings, prepared: Prepared, tmp_path: Path):
    losses = {}
    for precision in ("float32", "bfloat16"):
        recipe = toy.recipe(tmp_path / "run", prepared, model=model, precision=precision, learning_rate=1e-3)
        training = Training(Run(recipe.run, recipe), TranslationTask(recipe, prepared))
        batches = training.batches(Position())
        losses[precision] = [training.update(batches).loss for _ in range(4)]
        assert {parameter.dtype for parameter in training.model.parameters()} == {torch.float32}
    assert losses["bfloat16"] == pytest.approx(losses["float32"], rel=2e-3)
    assert losses["bfloat16"] != losses["float32"]


def test_compiled_is_what_learns_but_not_what_validates(
    prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Here nothing is compiled, which takes minutes and cannot be done while shapes are checked."""
    calls = []

    def compiled(learn: Callable[[Batch], Learned], *, dynamic: bool) -> Callable[[Batch], Learned]:
        assert dynamic, "batches have many shapes"
        return lambda batch: calls.append("compiled") or learn(batch)

    monkeypatch.setattr(torch, "compile", compiled)
    recipe = toy.recipe(tmp_path / "run", prepared, updates=3, compile=True)
    recorder = Recorder(at={update: lambda: calls.append("updated") for update in (1, 2, 3)})
    toy.fit(recipe, prepared, recorder)
    assert calls == ["compiled", "updated"] * 3


def test_patience_ends_a_run_early(prepared: Prepared, tmp_path: Path):
    """Validations at 2, 4, 6, …; the best is that of 4, and two without a better one are too many."""
    bleus = {2: 1.0, 4: 5.0, 6: 4.0, 8: 4.5}
    recipe = toy.recipe(tmp_path / "run", prepared, patience=2, validate_every=2, average=0)
    training = Training(Run.open(recipe), TranslationTask(recipe, prepared))
    training.task.validate = lambda model, update: Validation(update, 1.0, bleus[update], ("", ""))  # type: ignore[assignment]
    ended = training.fit()
    assert not ended.interrupted
    assert ended.progress.update == 8
    assert (ended.progress.best, ended.progress.best_update, ended.progress.stale) == (5.0, 4, 2)

    again = Recorder()
    assert toy.fit(recipe, prepared, again).progress.update == 8, "it stays at its end"
    assert not again.losses


def test_the_best_model_is_kept_not_the_last(prepared: Prepared, tmp_path: Path):
    losses = {2: 3.0, 4: 1.0, 6: 2.0, 8: 2.5}
    recipe = toy.recipe(tmp_path / "run", prepared, best_by="loss", validate_every=2, updates=8, average=0)
    kept: dict[str, bytes] = {}
    keep = Recorder(at={4: lambda: kept.update(toy.bits(checkpoint.parameters(training.model)))})
    training = Training(Run.open(recipe), TranslationTask(recipe, prepared), keep)
    training.task.validate = lambda model, update: Validation(update, losses[update], 0.0, ("", ""))  # type: ignore[assignment]
    assert training.fit().progress.best_update == 4
    assert toy.bits(ModelDirectory.open(recipe.run).parameters()) == kept


def test_the_best_checkpoint_is_kept_to_go_on_from(prepared: Prepared, tmp_path: Path):
    losses = {2: 3.0, 4: 1.0, 6: 2.0, 8: 2.5}
    often = {"validate_every": 2, "checkpoint_every": 2}
    recipe = toy.recipe(tmp_path / "run", prepared, best_by="loss", updates=8, average=0, **often)
    training = Training(Run.open(recipe), TranslationTask(recipe, prepared))
    training.task.validate = lambda model, update: Validation(update, losses[update], 0.0, ("", ""))  # type: ignore[assignment]
    training.fit()
    assert checkpoints(recipe.run) == [8, 4]


def test_a_trial_leaves_nothing_behind(prepared: Prepared, tmp_path: Path):
    recipe = toy.recipe(tmp_path / "run", prepared)
    training = Training(Run(recipe.run, recipe), TranslationTask(recipe, prepared))
    assert training.trial(list(islice(training.batches(Position()), 2))) > 0
    assert training.task.batches_per_epoch > 1
    assert not recipe.run.exists()


def test_another_corpus_is_refused(prepared: Prepared, tmp_path: Path):
    recipe = toy.recipe(tmp_path / "run", prepared, updates=2)
    toy.fit(recipe, prepared)
    with pytest.raises(DataError, match="learned from another corpus"):
        toy.fit(recipe, toy.prepared(tmp_path / "other", letters="ghijkl"))


def test_a_validation_set_is_needed(prepared: Prepared, tmp_path: Path):
    with pytest.raises(DataError, match=r"data\.hold_out"):
        TranslationTask(toy.recipe(tmp_path, prepared), replace(prepared, valid={key: [] for key in prepared.valid}))


def test_a_warm_start_begins_with_the_parameters_of_another_run(
    whole: tuple[Path, Recorder], prepared: Prepared, tmp_path: Path
):
    recipe = toy.recipe(tmp_path / "run", prepared, warm_start=whole[0])
    training = Training(Run(recipe.run, recipe), TranslationTask(recipe, prepared))
    found = toy.bits(checkpoint.parameters(training.model))
    assert found == toy.bits(ModelDirectory.open(whole[0]).parameters())
    assert training.progress.update == 0


def test_a_warm_start_with_other_tokenizers_is_refused(whole: tuple[Path, Recorder], tmp_path: Path):
    other = toy.prepared(tmp_path / "other", letters="ghijkl")
    recipe = toy.recipe(tmp_path / "run", other, warm_start=whole[0])
    with pytest.raises(ModelError, match="warm start needs the tokenizers"):
        Training(Run(recipe.run, recipe), TranslationTask(recipe, other))


def test_a_warm_start_of_another_make_is_refused(whole: tuple[Path, Recorder], prepared: Prepared, tmp_path: Path):
    recipe = toy.recipe(tmp_path / "run", prepared, warm_start=whole[0])
    deeper = replace(recipe, model=replace(recipe.model, layers=recipe.model.layers + 1, dropout=0.5))
    with pytest.raises(SettingsError, match=r"needs the \[model\] settings of") as refused:
        Training(Run(deeper.run, deeper), TranslationTask(deeper, prepared))
    assert [problem.partition(":")[0] for problem in refused.value.problems] == [
        "model.layers",
        "Copy this into the recipe",
    ]
    assert f"layers = {recipe.model.layers}\n" in refused.value.problems[-1]
