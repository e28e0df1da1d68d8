"""What holds for every captioner that decodes, as tests/contracts has it for models that read tokens."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from saccade.errors import ModelError
from saccade.nn.capture import capture
from saccade.search.settings import SearchSettings
from saccade.tasks.captioning import model as captioners
from saccade.tasks.captioning.batch import CaptionBatch, Images, collate_captions
from saccade.tasks.captioning.engine import CaptionEngine
from saccade.tasks.captioning.loss import CaptionLoss
from saccade.tasks.captioning.model import AnyCaptioner, RecurrentCaptioner, captioner
from saccade.tasks.captioning.settings import CaptionerSettings
from saccade.text.tokenizer import EOS
from saccade.training.learner import Learner

EXACT = {"rtol": 0.0, "atol": 1e-10}
NUM_TOKENS, DEPTH = 11, 5
CAPTIONS = [[4, 9, 5], [10, 4, 8, 7, 6, 5], [7], []]
IMAGE_OF = [1, 0, 0, 2]
KINDS = {
    "soft": {"attention": "soft"},
    "hard": {"attention": "hard"},
    "mean": {"attention": "mean"},
    "blind": {"encoder": "blind"},
    "transformer": {"decoder": "transformer", "d_feedforward": 12, "num_heads": 2},
    "residual": {"encoder": "residual"},
}
ATTENDING = [name for name in KINDS if name not in ("mean", "blind")]


def built(name: str) -> AnyCaptioner:
    torch.manual_seed(1)
    settings = CaptionerSettings(**{"d_model": 8, "dropout": 0.3} | KINDS[name])  # type: ignore[arg-type]
    model = captioner(settings, NUM_TOKENS, 1 if name == "residual" else DEPTH).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:  # a bias of zero, or a gain of one, could be left out unnoticed
                parameter += 0.3 * torch.randn_like(parameter)
    return model


@pytest.fixture(params=KINDS)
def model(request: pytest.FixtureRequest) -> AnyCaptioner:
    return built(request.param)


@cache
def images(of_pixels: bool) -> Tensor:
    random = torch.Generator().manual_seed(2)
    shape = (3, 1, 8, 12) if of_pixels else (3, 2, 3, DEPTH)
    return torch.randn(shape, generator=random, dtype=torch.float64)


def whole(model: AnyCaptioner) -> CaptionBatch:
    return collate_captions(images(model.settings.encoder == "residual"), CAPTIONS, IMAGE_OF)


def log_probs(model: AnyCaptioner, batch: CaptionBatch) -> Tensor:
    return model.logits(model(batch)).log_softmax(dim=-1)


def test_stepping_equals_teacher_forcing(model: AnyCaptioner):
    batch = whole(model)
    state = model.pick(model.start(model.encode(batch)), batch.image_of)
    said = []
    for last in batch.prefix.T:
        step, state = model.step(last, state)
        said.append(step)
    together, expected = torch.stack(said, dim=1), log_probs(model, batch)
    torch.testing.assert_close(together[batch.target_mask], expected[batch.target_mask], **EXACT)


def test_padding_and_company_change_nothing(model: AnyCaptioner):
    batch = whole(model)
    together = log_probs(model, batch)
    for row, (caption, image) in enumerate(zip(CAPTIONS, IMAGE_OF, strict=True)):
        alone = log_probs(model, collate_captions(batch.images[image : image + 1], [caption]))[0]
        torch.testing.assert_close(together[row, : len(alone)], alone, **EXACT)


@pytest.mark.parametrize("name", ["soft", "hard", "mean"])
def test_whether_the_decoder_goes_on_with_few_captions_or_with_all_changes_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
):
    model = built(name)
    batch = whole(model)
    found = []
    for together in (1, 2, 3, 16):
        monkeypatch.setattr(captioners, "TOGETHER", together)
        learned = [each[batch.target_mask] for each in model.learn(batch) if each is not None]
        gradients = torch.autograd.grad(learned[0].pow(2).sum(), list(model.parameters()), allow_unused=True)
        found.append(learned + [each for each in gradients if each is not None])
    assert len(found[0]) > {"soft": 20, "hard": 15, "mean": 10}[name]
    for each in found[:-1]:
        torch.testing.assert_close(each, found[-1], **EXACT)


def test_an_image_with_several_captions_is_as_good_as_several_images(model: AnyCaptioner):
    batch = whole(model)
    repeated = collate_captions(batch.images[IMAGE_OF], CAPTIONS)
    torch.testing.assert_close(log_probs(model, repeated), log_probs(model, batch), **EXACT)


def test_only_a_blind_model_does_not_look(model: AnyCaptioner):
    batch = whole(model)
    other = replace(batch, images=batch.images.flip(0))
    found = torch.allclose(log_probs(model, other), log_probs(model, batch))
    assert found == (model.settings.encoder == "blind")


def test_pick_reorders_repeats_and_drops_rows(model: AnyCaptioner):
    batch = whole(model)
    _, state = model.step(torch.tensor([2, 2, 2]), model.start(model.encode(batch)))
    rows, last = torch.tensor([2, 0, 0]), torch.tensor([5, 6, 4])
    everything, _ = model.step(last, state)
    picked, after = model.step(last[rows], model.pick(state, rows))
    torch.testing.assert_close(picked, everything[rows], **EXACT)
    again, _ = model.step(torch.tensor([4, 4, 5]), after)
    assert not torch.allclose(again[1], again[2]), "rows that were one can go their own ways"


@pytest.mark.parametrize("name", ATTENDING)
def test_weights_are_a_distribution_over_the_cells_and_listening_changes_nothing(name: str):
    model = built(name)
    batch = whole(model)
    expected = model(batch)
    with capture(model) as heard:
        torch.testing.assert_close(model(batch), expected, **EXACT)
    cross = [layer.weights for layer in heard.layers if layer.kind == "image"]
    assert cross
    for weights in cross:
        assert weights.shape[0] == len(CAPTIONS)
        assert weights.shape[-2:] == (batch.prefix.shape[1], 6)
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:-1], dtype=torch.float64), **EXACT)


def test_what_is_heard_stands_in_the_order_of_the_captions():
    model = built("soft")
    batch = whole(model)
    with capture(model) as heard:
        model(batch)
    (weights,) = [torch.cat(calls, dim=-2)[:, 0] for calls in heard.weights.values()]
    expected = model.learn(batch).weights
    assert expected is not None
    torch.testing.assert_close(weights[batch.target_mask], expected[batch.target_mask], **EXACT)


def test_a_search_scores_as_the_model_does(model: AnyCaptioner):
    pictures = whole(model).images
    found = CaptionEngine(model).describe(pictures, SearchSettings(beam=3, n_best=3, max_length_extra=6))
    for row, several in enumerate(found):
        assert len(several) == 3
        for each in several:
            said = log_probs(model, collate_captions(pictures[row : row + 1], [each.ids]))[0]
            written = [*each.ids, EOS] if each.finished else each.ids
            own = sum(said[place, id].item() for place, id in enumerate(written))
            assert each.log_prob == pytest.approx(own, abs=1e-8)


@pytest.mark.parametrize("name", ATTENDING)
def test_a_trace_has_the_weights_and_log_probabilities_of_the_caption(name: str):
    model = built(name)
    pictures = whole(model).images
    traced = CaptionEngine(model).trace(pictures[:2], CAPTIONS[:2])
    for row, each in enumerate(traced):
        batch = collate_captions(pictures[row : row + 1], [CAPTIONS[row]])
        said = log_probs(model, batch)[0].gather(1, batch.target[0][:, None])[:, 0]
        assert each.token_log_probs == pytest.approx(said.tolist(), abs=1e-10)
        assert all(layer.weights.shape[1:] == (len(CAPTIONS[row]) + 1, 6) for layer in each.layers)
        assert {layer.kind for layer in each.layers} == {"image"}


def test_what_has_no_attention_is_not_traced():
    model = built("mean")
    with pytest.raises(ModelError, match="no attention"):
        CaptionEngine(model).trace(whole(model).images[:1], [[4]])


def test_gradients_are_those_of_central_differences(model: AnyCaptioner):
    """One random direction for every parameter: (L(θ + hv) − L(θ − hv)) / 2h = ∇L · v."""
    learner, batch, h = Learner(model, CaptionLoss()), whole(model), 1e-6
    model.settings = replace(model.settings, reward=0.0)  # choices have no gradient that differences could find

    def loss() -> Tensor:
        return learner(batch)[0]

    loss().backward()
    random = torch.Generator().manual_seed(3)
    for name, parameter in model.named_parameters():
        direction = torch.randn(parameter.shape, generator=random, dtype=torch.float64)
        with torch.no_grad():
            parameter += h * direction
            above = loss()
            parameter -= 2 * h * direction
            below = loss()
            parameter += h * direction
        assert parameter.grad is not None, name
        assert (parameter.grad * direction).sum().item() == pytest.approx(
            ((above - below) / (2 * h)).item(), rel=1e-5, abs=1e-6
        ), name


def test_a_state_of_images_is_that_of_images_alone():
    model = built("soft")
    batch = whole(model)
    torch.testing.assert_close(model.encode(Images(batch.images)).values, model.encode(batch).values, **EXACT)


class Plain(nn.Module):
    """Cells as they are: any module that gives a grid will do."""

    d_image = 8

    def forward(self, images: Tensor) -> Tensor:
        return images


def in_order(random: np.random.Generator, count: int) -> CaptionBatch:
    """Three cells, each with one of five letters and its place, to be named in order: a mean cannot tell the order."""
    letters = random.integers(0, 5, size=(count, 3))
    cells = np.concatenate([np.eye(5)[letters], np.broadcast_to(np.eye(3), (count, 3, 3))], axis=-1)
    return collate_captions(torch.from_numpy(cells[:, None]).float(), list(letters + 4))


@pytest.mark.parametrize(("attention", "least", "most"), [("soft", 0.9, 1.0), ("hard", 0.9, 1.0), ("mean", 0.0, 0.5)])
def test_attention_learns_the_order_that_a_mean_does_not_know(attention: str, least: float, most: float):
    torch.manual_seed(1)
    settings = CaptionerSettings(attention=attention, d_model=32, dropout=0.0, coverage=0.0)  # type: ignore[arg-type]
    model, random = RecurrentCaptioner(settings, Plain(), 9), np.random.default_rng(1)
    learner, optimizer = Learner(model, CaptionLoss()).train(), torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(250):
        batch = in_order(random, 32)
        optimizer.zero_grad()
        (learner(batch)[0] / batch.num_targets).backward()
        optimizer.step()
    test = in_order(random, 100)
    found = CaptionEngine(model).describe(test.images, SearchSettings(beam=1, max_length_extra=5))
    right = [list(each[0].ids) == caption[:3].tolist() for each, caption in zip(found, test.target, strict=True)]
    assert least <= np.mean(right) <= most
