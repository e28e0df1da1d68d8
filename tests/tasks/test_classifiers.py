"""The lessons of scenes, glyphs and facets: their data, their models against plain loops, and what they show."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from saccade.data.sampler import Position
from saccade.errors import DataError, ModelError
from saccade.nn.capture import AttentionModule, capture
from saccade.nn.feature_maps import MapAttention
from saccade.search.settings import SearchSettings
from saccade.tasks.facets.settings import FacetsSettings, MultiDimensionalSettings
from saccade.tasks.facets.task import FacetsTask
from saccade.tasks.generated import GeneratedTask
from saccade.tasks.glyphs.settings import FeatureMapSettings, GlyphsSettings
from saccade.tasks.glyphs.task import GlyphsTask, patterns
from saccade.tasks.scenes.settings import CoAttentionSettings, ScenesSettings
from saccade.tasks.scenes.task import ScenesTask, spell

SEARCH = SearchSettings()
LESSONS: dict[str, GeneratedTask[Any, Any, Any]] = {
    **{
        f"scenes {reads}": ScenesTask(ScenesSettings(batch=8), CoAttentionSettings(reads=reads, d_model=16), SEARCH)
        for reads in ("parallel", "alternating", "mean", "image", "question")
    },
    **{
        f"glyphs {attends}": GlyphsTask(
            GlyphsSettings(batch=4, side=24), FeatureMapSettings(attends=attends, d_model=16), SEARCH
        )
        for attends in (True, False)
    },
    **{
        f"facets {pooling}": FacetsTask(
            FacetsSettings(batch=8), MultiDimensionalSettings(pooling=pooling, d_model=8), SEARCH
        )
        for pooling in ("features", "scalar")
    },
}


@pytest.fixture(params=LESSONS)
def lesson(request: pytest.FixtureRequest) -> GeneratedTask[Any, Any, Any]:
    return LESSONS[request.param]


def built(lesson: GeneratedTask[Any, Any, Any]) -> nn.Module:
    torch.manual_seed(1)
    return lesson.build().double().eval()


def as_double(batch: Any) -> Any:
    return replace(batch, image=batch.image.double()) if hasattr(batch, "image") else batch


def row_of(batch: Any, row: int) -> Any:
    """One example by itself."""
    return type(batch)(*(getattr(batch, name)[row : row + 1] for name in batch.__dataclass_fields__))


def test_every_attention_declares_its_kind(lesson: GeneratedTask[Any, Any, Any]):
    layers = [module for module in built(lesson).modules() if isinstance(module, AttentionModule)]
    assert {layer.kind for layer in layers} <= {"cross", "encoder", "image"}


def test_company_changes_nothing(lesson: GeneratedTask[Any, Any, Any]):
    model, batch = built(lesson), as_double(next(iter(lesson.fixed(1, 1))))
    with torch.no_grad():
        together = model(batch)
        for row in range(3):
            torch.testing.assert_close(model(row_of(batch, row))[0], together[row], rtol=0, atol=1e-12)


def test_batches_are_functions_of_their_number(lesson: GeneratedTask[Any, Any, Any]):
    stream = lesson.batches(Position(), 0, 1)
    first, second = next(stream), next(stream)
    again = next(lesson.batches(first.position, 0, 1))
    for name in second.batch.__dataclass_fields__:
        assert torch.equal(getattr(second.batch, name), getattr(again.batch, name))
    other_process = next(lesson.batches(Position(), 1, 2))
    assert torch.equal(other_process.batch.label, second.batch.label)
    assert other_process.position == second.position


@torch.no_grad()
def test_the_loss_is_a_sum_over_targets(lesson: GeneratedTask[Any, Any, Any]):
    model, batch = built(lesson), as_double(next(iter(lesson.fixed(1, 1))))
    wanted, reported = lesson.learner(model)(batch)
    rows = [row_of(batch, row) for row in range(len(batch.label))]
    assert sum(row.num_targets for row in rows) == batch.num_targets
    assert float(wanted) == pytest.approx(sum(float(lesson.learner(model)(row)[0]) for row in rows), rel=1e-9)
    assert float(reported) == pytest.approx(float(wanted))


def test_weights_are_shown_or_refused(lesson: GeneratedTask[Any, Any, Any]):
    model = lesson.build()
    if lesson.model.kind != "multidimensional" and not lesson.model.attends:
        with pytest.raises(ModelError, match="Weights were asked for, but"):
            lesson.show(model, None)
        return
    for layer in lesson.show(model, None)[0].layers:
        np.testing.assert_allclose(layer.weights.sum(axis=-1), 1.0, atol=1e-5)


def test_figures_of_a_model(lesson: GeneratedTask[Any, Any, Any]):
    figures = lesson.evaluate(lesson.build())
    assert set(figures) == {"loss", "accuracy"}
    assert 0 <= figures["accuracy"] <= 1


def test_the_answer_stands_where_the_question_asks():
    batch = ScenesTask(ScenesSettings(side=4), CoAttentionSettings()).draw(np.random.default_rng(1), 100)
    steps = {"left of": (0, -1), "right of": (0, 1), "above": (-1, 0), "below": (1, 0)}
    for row in range(100):
        words = spell(batch, row)
        down, across = steps[words[-2]]
        at = (batch.shapes[row] == int(words[-1].removeprefix("shape"))).nonzero()[0].tolist()
        asked = (at[0] + down, at[1] + across)
        assert batch.label[row] == batch.colours[row][asked]
        assert batch.place[row] == asked[0] * 4 + asked[1]


def test_neither_scene_nor_question_alone_has_the_answer():
    """For the same scene and another question the answer differs, and the other way round."""
    batch = ScenesTask(ScenesSettings(), CoAttentionSettings()).draw(np.random.default_rng(1), 2000)
    by_question: dict[tuple[int, ...], set[int]] = {}
    for question, label in zip(batch.question.tolist(), batch.label.tolist(), strict=True):
        by_question.setdefault(tuple(question), set()).add(label)
    assert all(len(labels) > 1 for labels in by_question.values())
    assert len(set(batch.question[:, 1].tolist())) > 1


def test_a_scene_is_named_by_a_number():
    with pytest.raises(DataError) as error:
        LESSONS["scenes parallel"].show(LESSONS["scenes parallel"].build(), "left")
    assert "number" in str(error.value)
    assert "'left'" in str(error.value)


def test_glyphs_stand_where_they_are_said_to_and_far_apart():
    lesson = GlyphsTask(GlyphsSettings(noise=0.0), FeatureMapSettings())
    batch, known = lesson.draw(np.random.default_rng(1), 50), patterns(lesson.task.num_glyphs)
    for row in range(50):
        for place, other in zip(batch.place[row].tolist(), batch.label[row].flip(0).tolist(), strict=True):
            down, across = (4 * at for at in place)
            patch = batch.image[row, 0, down - 2 : down + 3, across - 2 : across + 3].numpy()
            assert (patch == known[other]).all()  # what stands here is what is to be said there
    distance = (batch.place[:, 1] - batch.place[:, 0]).abs().amin()
    assert 4 * int(distance) > 3 + 2, "a cell sees three pixels on each side, and a glyph has two beyond its middle"


def test_the_facets_are_those_behind_the_markers():
    task = FacetsSettings()
    lesson = FacetsTask(task, MultiDimensionalSettings())
    batch = lesson.draw(np.random.default_rng(1), 100)
    for row, (colour, form) in enumerate(batch.label.tolist()):
        told = lesson.spell(batch, row)
        things = [word for word in told if not word.endswith(":")]
        assert task.min_length <= len(things) <= task.max_length
        behind = {
            marker: next(word for word in told[told.index(marker) :] if not word.endswith(":"))
            for marker in ("colour:", "form:")
        }
        assert behind["colour:"].startswith(f"c{colour}f")
        assert behind["form:"].endswith(f"f{form}")


def map_attention(layer: MapAttention, features: Tensor) -> Tensor:
    """SAGAN's equations in plain loops: β_ji = softmax_i(f(x_i)·g(x_j)), o_j = v(Σ_i β_ji h(x_i)), y = γo + x."""

    def at(convolution: nn.Conv2d, vector: Tensor) -> Tensor:
        return convolution.weight[:, :, 0, 0] @ vector + convolution.bias

    places = [(row, column) for row in range(features.shape[1]) for column in range(features.shape[2])]
    result = features.clone()
    for row, column in places:
        query = at(layer.queries, features[:, row, column])
        scores = [float(at(layer.keys, features[:, down, across]) @ query) for down, across in places]
        exps = np.exp(np.array(scores) - max(scores))
        read = sum(
            float(weight) * at(layer.values, features[:, down, across])
            for weight, (down, across) in zip(exps / exps.sum(), places, strict=True)
        )
        result[:, row, column] += layer.gamma * at(layer.output, read)
    return result


def test_attention_over_a_map_is_that_of_the_paper():
    torch.manual_seed(1)
    layer, features = MapAttention(16).double(), torch.randn(2, 16, 3, 4, dtype=torch.float64)
    torch.testing.assert_close(layer(features), features, rtol=0, atol=0)  # γ starts at 0
    with torch.no_grad():
        layer.gamma.fill_(0.7)
        for row, found in enumerate(layer(features)):
            torch.testing.assert_close(found, map_attention(layer, features[row]), rtol=0, atol=1e-10)
        with capture(layer) as heard:
            layer(features)
    assert heard.weights[""][0].shape == (2, 1, 12, 12)


def test_gradients_of_attention_over_a_map():
    torch.manual_seed(1)
    layer = MapAttention(8).double()
    with torch.no_grad():
        layer.gamma.fill_(0.5)
    features = torch.randn(1, 8, 2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(layer, (features,))


def test_a_network_without_attention_sees_its_field_only():
    """What stands in a cell far away has no gradient; with attention, every cell has one."""
    for attends in (False, True):
        lesson = GlyphsTask(GlyphsSettings(), FeatureMapSettings(attends=attends), SEARCH)
        torch.manual_seed(1)
        model = lesson.build()
        if attends:
            nn.init.ones_(model.attention.gamma)
        batch = next(iter(lesson.fixed(1, 1)))
        image = batch.image.requires_grad_()
        model(replace(batch, image=image))[:, :, 1, 1].sum().backward()
        far = image.grad[:, :, 14:, 14:]
        assert bool((far != 0).any()) is attends


def test_facets_are_learned():
    """In a few seconds; guessing both is right in one of 36."""
    lesson = FacetsTask(
        FacetsSettings(min_length=2, max_length=4, num_values=3), MultiDimensionalSettings(d_model=16), SEARCH
    )
    torch.manual_seed(1)
    model = lesson.build()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _, loaded in zip(range(200), lesson.batches(Position(), 0, 1), strict=False):
        optimizer.zero_grad()
        (lesson.learner(model)(loaded.batch)[0] / loaded.batch.num_targets).backward()
        optimizer.step()
    assert lesson.evaluate(model)["accuracy"] > 0.8
