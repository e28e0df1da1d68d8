"""The tasks of scenes, glyphs and facets: their data, and their models against plain loops."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from saccade.data.sampler import Position
from saccade.errors import DataError
from saccade.nn.capture import capture
from saccade.nn.feature_maps import MapAttention
from saccade.search.settings import SearchSettings
from saccade.tasks.facets.settings import FacetsSettings, MultiDimensionalSettings
from saccade.tasks.facets.task import FacetsTask
from saccade.tasks.glyphs.settings import FeatureMapSettings, GlyphsSettings
from saccade.tasks.glyphs.task import GlyphsTask, patterns
from saccade.tasks.scenes.settings import CoAttentionSettings, ScenesSettings
from saccade.tasks.scenes.task import ScenesTask, spell

SEARCH = SearchSettings()


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
    task = ScenesTask(ScenesSettings(), CoAttentionSettings(d_model=8), SEARCH)
    with pytest.raises(DataError) as error:
        task.show(task.build(), "left")
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
