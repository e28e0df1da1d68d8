"""What holds for every model that decodes, to rounding in float64: add yours to `every_model`."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.contracts.models import SOURCES, TARGETS, Tiny, every_model, loss, taught_model, whole_batch

from saccade import directory
from saccade.data.batch import Batch, collate
from saccade.directory import Description, Direction, ModelDirectory
from saccade.engines import torch as engines
from saccade.engines.torch import TorchEngine
from saccade.models.build import Model
from saccade.models.settings import RecurrentSettings
from saccade.nn.capture import AttentionModule, capture
from saccade.search.settings import SearchSettings
from saccade.text.tokenizer import EOS
from saccade.training.checkpoint import parameters

EXACT = {"rtol": 0.0, "atol": 1e-10}


@pytest.fixture(params=every_model())
def tiny(request: pytest.FixtureRequest) -> Tiny:
    return every_model()[request.param]


@pytest.fixture
def model(tiny: Tiny) -> Model:
    return tiny.build()


@pytest.fixture(params=[name for name, tiny in every_model().items() if tiny.settings.attends])
def attending(request: pytest.FixtureRequest) -> Model:
    return every_model()[request.param].build()


@pytest.fixture(params=every_model())
def taught(request: pytest.FixtureRequest) -> Model:
    return taught_model(request.param)


def chooses(model: Model, parameter: str) -> bool:
    """What only tells a hard choice where to fall: outside training nothing flows back through it."""
    settings = model.settings
    is_hard = isinstance(settings, RecurrentSettings) and settings.attention.positions == "hard"
    return is_hard and ".score." in parameter


def weights_may_sum_to(model: Model) -> str:
    """One; through a window also zero, where it holds no key, or with a gain anything between."""
    attention = model.settings.attention if isinstance(model.settings, RecurrentSettings) else None
    if attention is None or not attention.positions.startswith("local"):
        return "one"
    return "any" if attention.gaussian or attention.positions == "local-p" else "one or zero"


def log_probs(model: Model, batch: Batch) -> torch.Tensor:
    return model.logits(model(batch)).log_softmax(dim=-1)


def masked_out(batch: Batch, row: int) -> Batch:
    """The batch with nothing to attend to in the source of one row."""
    mask = batch.source_mask.clone()
    mask[row] = False
    return replace(batch, source_mask=mask)


def stepped(model: Model, batch: Batch) -> list[torch.Tensor]:
    """What each step says when the known target is read token by token."""
    state = model.start(model.encode(batch))
    said = []
    for last in batch.prefix.T:
        log_probs, state = model.step(last, state)
        said.append(log_probs)
    return said


def heard_in_steps(model: Model, batch: Batch) -> list[dict[str, torch.Tensor]]:
    """What each step attends to in the source."""
    with capture(model) as heard:
        stepped(model, batch)
    cross = {layer.name: layer.calls for layer in heard.layers if layer.kind == "cross"}
    return [{name: calls[step][:, :, 0] for name, calls in cross.items()} for step in range(batch.prefix.shape[1])]


def test_stepping_equals_teacher_forcing(model: Model):
    batch = whole_batch()
    together = torch.stack(stepped(model, batch), dim=1)
    expected = log_probs(model, batch)
    torch.testing.assert_close(together[batch.target_mask], expected[batch.target_mask], **EXACT)
    torch.testing.assert_close(expected.exp().sum(dim=-1), torch.ones(batch.prefix.shape, dtype=torch.float64), **EXACT)


def test_padding_changes_nothing(model: Model):
    padded = log_probs(model, whole_batch())
    for row, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        alone = log_probs(model, collate([source], [target]))[0]
        torch.testing.assert_close(padded[row, : len(alone)], alone, **EXACT)


def test_ids_under_the_padding_are_never_read(model: Model):
    batch = whole_batch()
    other = replace(
        batch,
        source=batch.source.masked_fill(~batch.source_mask, 5),
        prefix=batch.prefix.masked_fill(~batch.target_mask, 5),
    )
    expected, found = log_probs(model, batch), log_probs(model, other)
    torch.testing.assert_close(found[batch.target_mask], expected[batch.target_mask], **EXACT)


def test_batch_order_changes_nothing(model: Model):
    order = [3, 0, 4, 2, 1]
    shuffled = collate([SOURCES[row] for row in order], [TARGETS[row] for row in order])
    torch.testing.assert_close(log_probs(model, shuffled), log_probs(model, whole_batch())[order], **EXACT)


def test_batch_company_changes_nothing(model: Model):
    own = log_probs(model, whole_batch())[0]
    company = collate([SOURCES[0], [7] * 9, [8]], [TARGETS[0], [4], [6] * 11])
    length = len(TARGETS[0]) + 1
    torch.testing.assert_close(log_probs(model, company)[0, :length], own[:length], **EXACT)


def test_pick_reorders_repeats_and_drops_rows(model: Model):
    batch = whole_batch()
    state = model.start(model.encode(batch))
    _, state = model.step(batch.prefix[:, 0], state)
    _, state = model.step(batch.prefix[:, 1], state)
    rows = torch.tensor([2, 0, 0, 4])
    last = torch.tensor([5, 6, 4, 7, 9])

    with capture(model) as heard:
        whole, _ = model.step(last, state)
        picked, after = model.step(last[rows], model.pick(state, rows))
    torch.testing.assert_close(picked, whole[rows], **EXACT)
    for of_all, of_picked in heard.weights.values():
        torch.testing.assert_close(of_picked, of_all[rows], **EXACT)

    # Rows that were one can go their own ways.
    again, _ = model.step(torch.tensor([4, 4, 5, 4]), after)
    assert not torch.allclose(again[1], again[2])


def test_a_state_can_be_used_twice(model: Model):
    batch = whole_batch()
    _, state = model.step(batch.prefix[:, 0], model.start(model.encode(batch)))
    first, _ = model.step(batch.prefix[:, 1], state)
    second, _ = model.step(batch.prefix[:, 1], state)
    assert torch.equal(first, second)


def test_listening_changes_nothing(attending: Model):
    model, batch = attending, whole_batch()
    expected = model(batch)
    with capture(model):
        torch.testing.assert_close(model(batch), expected, **EXACT)
        listened = stepped(model, batch)
    torch.testing.assert_close(listened, stepped(model, batch), **EXACT)


def test_every_attention_declares_its_kind(attending: Model):
    layers = [module for module in attending.modules() if isinstance(module, AttentionModule)]
    assert {layer.kind for layer in layers} <= {"cross", "encoder", "decoder"}
    with capture(attending) as captured:
        attending(whole_batch())
    assert len(captured.layers) == len(layers), "each of them records what it does"
    assert any(layer.kind == "cross" for layer in captured.layers)


def test_weights_are_a_distribution_over_the_real_source(attending: Model):
    model, batch, sums = attending, whole_batch(), []
    for step in heard_in_steps(model, batch):
        assert step
        for weights in step.values():
            assert weights.shape[0] == len(SOURCES)
            assert weights.shape[2] == batch.source.shape[1]
            assert bool((weights >= 0).all())
            assert not weights.masked_select(~batch.source_mask[:, None]).any()
            sums.append(weights.sum(dim=-1).flatten())
    total = torch.cat(sums)
    wanted = {"one": total.new_ones(()), "one or zero": total.round(), "any": total.clamp(0, 1)}
    torch.testing.assert_close(total, wanted[weights_may_sum_to(model)].expand_as(total), **EXACT)
    assert bool((total > 0.01).any())


def test_weights_of_stepping_and_of_teacher_forcing_are_the_same(attending: Model):
    model, batch = attending, whole_batch()
    with capture(model) as heard:
        model(batch)
    for position, step in enumerate(heard_in_steps(model, batch)):
        real = batch.target_mask[:, position]
        for name, weights in step.items():
            forced = torch.cat(heard.weights[name], dim=-2)[:, :, position]
            torch.testing.assert_close(weights[real], forced[real], **EXACT)


def test_a_source_that_is_masked_out_gives_zero_weights_and_finite_gradients(model: Model):
    batch = masked_out(whole_batch(), row=1)
    for said, step in zip(stepped(model, batch), heard_in_steps(model, batch), strict=True):
        assert bool(said.isfinite().all())
        assert not any(weights[1].any() for weights in step.values())
    loss(model, batch).backward()
    for name, parameter in model.named_parameters():
        assert chooses(model, name) or bool(parameter.grad.isfinite().all())


def test_a_source_that_is_masked_out_is_not_read(model: Model):
    """Its context is zero, whatever stands there, and its neighbours do not notice."""
    batch = masked_out(whole_batch(), row=1)
    source = batch.source.clone()
    source[1] = 5
    found, other, whole = (log_probs(model, each) for each in (batch, replace(batch, source=source), whole_batch()))
    torch.testing.assert_close(found[1], other[1], **EXACT)
    neighbours = [0, 2, 3, 4]
    torch.testing.assert_close(found[neighbours], whole[neighbours], **EXACT)


def test_saved_and_loaded_is_the_same(tiny: Tiny, model: Model, tmp_path: Path):
    model = model.float()
    description = Description(
        directions=(Direction(source="de", target="en"),), max_tokens=9, model=tiny.settings, search=SearchSettings()
    )
    directory.save(tmp_path / "model", description, tiny.tokenizers(), parameters(model), card="# Tiny\n")
    opened = ModelDirectory.open(tmp_path / "model")
    loaded = TorchEngine.load(opened)

    assert opened.description == description
    assert opened.tokenizers.checksums == tiny.tokenizers().checksums
    assert opened.num_parameters == sum(parameter.numel() for parameter in model.parameters())
    assert not loaded.model.training
    assert loaded.model.state_dict().keys() == model.state_dict().keys()
    for name, values in model.state_dict().items():
        assert torch.equal(loaded.model.state_dict()[name], values)
    settings = SearchSettings(beam=4, n_best=4)
    assert loaded.translate(SOURCES, settings) == TorchEngine(model).translate(SOURCES, settings)
    assert loaded.score(SOURCES, TARGETS) == TorchEngine(model).score(SOURCES, TARGETS)


@pytest.mark.parametrize("beam", [1, 4])
def test_the_score_of_a_search_is_the_models_own(taught: Model, beam: int):
    engine = TorchEngine(taught)
    found = engine.translate(SOURCES, SearchSettings(beam=beam, n_best=beam))
    pairs = [
        (source, hypothesis)
        for source, hypotheses in zip(SOURCES, found, strict=True)
        for hypothesis in hypotheses
        if hypothesis.finished
    ]
    assert len(pairs) > len(SOURCES) * beam / 2
    assert len({len(hypothesis.ids) for _, hypothesis in pairs}) > 2
    own = engine.score([source for source, _ in pairs], [hypothesis.ids for _, hypothesis in pairs])
    assert [hypothesis.log_prob for _, hypothesis in pairs] == pytest.approx(own, abs=1e-10)


def test_a_score_is_the_sum_of_the_log_probabilities(model: Model):
    for row, score in enumerate(TorchEngine(model).score(SOURCES, TARGETS)):
        said = log_probs(model, collate([SOURCES[row]], [TARGETS[row]]))[0]
        by_hand = sum(said[place, id].item() for place, id in enumerate([*TARGETS[row], EOS]))
        assert score == pytest.approx(by_hand, abs=1e-10)


@pytest.mark.parametrize("beam", [1, 4])
def test_translations_keep_their_order_and_need_no_company(taught: Model, beam: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(engines, "BATCH_TOKENS", 24)  # several batches
    sources = [*SOURCES, [4] * 9, [8, 7], SOURCES[0], [5, 9, 10, 4, 4, 4, 6]]
    engine = TorchEngine(taught)
    settings = SearchSettings(beam=beam, n_best=beam, max_length_extra=5)
    done: list[int] = []
    together = engine.translate(sources, settings, advanced=done.append)
    assert sum(done) == len(sources)
    assert len(done) > 2
    for source, found in zip(sources, together, strict=True):
        (alone,) = engine.translate([source], settings)
        assert [hypothesis.ids for hypothesis in found] == [hypothesis.ids for hypothesis in alone]
        for one, other in zip(found, alone, strict=True):
            assert one.finished == other.finished
            assert one.score == pytest.approx(other.score, abs=1e-10)


def test_no_sources_have_no_translations(model: Model):
    assert TorchEngine(model).translate([], SearchSettings()) == []
    assert TorchEngine(model).score([], []) == []


@pytest.mark.parametrize("training", [True, False])
def test_a_search_leaves_the_mode_of_the_model_as_it_was(model: Model, training: bool):
    quiet = TorchEngine(model).score(SOURCES, TARGETS)
    model.train(training)
    engine = TorchEngine(model)
    assert engine.score(SOURCES, TARGETS) == quiet, "there is no dropout in a score"
    assert engine.translate(SOURCES, SearchSettings(beam=2)) == engine.translate(SOURCES, SearchSettings(beam=2))
    assert all(module.training == training for module in model.modules())
    with pytest.raises(IndexError):
        engine.translate([[999]], SearchSettings())
    assert model.training == training


def test_dropout_is_at_work_in_training(model: Model):
    batch = whole_batch()
    model.train()
    assert not torch.equal(model(batch), model(batch))


def test_gradients_are_those_of_central_differences(model: Model):
    """One random direction for every parameter: (L(θ + hv) − L(θ − hv)) / 2h = ∇L · v."""
    batch, h = whole_batch(), 1e-6
    loss(model, batch).backward()
    random = torch.Generator().manual_seed(2)
    for name, parameter in model.named_parameters():
        direction = torch.randn(parameter.shape, generator=random, dtype=torch.float64)
        with torch.no_grad():
            parameter += h * direction
            above = loss(model, batch)
            parameter -= 2 * h * direction
            below = loss(model, batch)
            parameter += h * direction
        numeric = ((above - below) / (2 * h)).item()
        flowing = 0.0 if chooses(model, name) else (parameter.grad * direction).sum().item()
        assert flowing == pytest.approx(numeric, rel=1e-6, abs=1e-7), name
