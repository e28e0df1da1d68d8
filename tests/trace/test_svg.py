import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.trace.svg import svg
from saccade.trace.trace import AttentionTrace, Layer, Tokens

SVG = "{http://www.w3.org/2000/svg}"


def one_layer(source, target, matrix):
    layer = Layer("decoder.0.cross_attention", "cross", np.array([matrix]))
    return AttentionTrace(source=Tokens(tuple(source)), target=Tokens(tuple(target)), layers=(layer,))


def draw(trace, **chosen):
    return ElementTree.fromstring(svg(trace, **chosen))


def cells(picture):
    return [rect for rect in picture.iter(f"{SVG}rect") if "cell" in rect.get("class", "").split()]


def texts(picture):
    return ["".join(text.itertext()) for text in picture.iter(f"{SVG}text")]


EXAMPLE = one_layer(["▁a", "dog"], ["▁ein", "Hund", "."], [[0.8, 0.2], [0.0, 0.4], [0.0, 0.0]])


def test_every_weight_is_a_cell_as_strong_as_it_is_large_with_its_value_to_point_at():
    drawn = cells(draw(EXAMPLE))
    assert [float(cell.get("fill-opacity")) for cell in drawn] == [1, 0.25, 0, 0.5, 0, 0]
    assert drawn[1].find(f"{SVG}title").text == "·ein ← dog: 0.200"


def test_the_largest_weight_of_a_row_has_a_border():
    assert ["strongest" in cell.get("class") for cell in cells(draw(EXAMPLE))] == [
        True,
        False,
        False,
        True,
        False,
        False,
    ]


def test_tokens_title_caption_and_scale_are_written():
    written = texts(draw(EXAMPLE, title="A dog"))
    for text in (
        "A dog",
        "layer 1 of 1, head 1 of 1",
        "·a",
        "dog",
        "·ein",
        "Hund",
        ".",
        "source →",
        "target ↓",
        "0.80",
    ):
        assert text in written


def test_it_needs_nothing_from_elsewhere():
    drawn = svg(EXAMPLE).replace("http://www.w3.org/2000/svg", "")
    assert "http" not in drawn
    assert "href" not in drawn
    assert "<script" not in drawn


@given(st.text(min_size=1), st.text(min_size=1), st.text())
def test_whatever_the_tokens_it_is_xml(source, target, title):
    draw(one_layer([source], [target], [[1.0]]), title=title)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (["a"], ["b"]),
        (["▁" + "w" * 40] * 3, ["▁" + "m" * 40] * 2),
        (["北京大学计算机系"] * 20, ["东京"] * 5),
        (["a", "</s>"] * 30, ["b"]),
    ],
)
def test_nothing_lies_outside(source, target):
    picture = draw(one_layer(source, target, np.ones((len(target), len(source)))), title="A title of some length")
    width, height = float(picture.get("width")), float(picture.get("height"))
    for cell in cells(picture):
        assert 0 < float(cell.get("x")) < width - 26
        assert 0 < float(cell.get("y")) < height - 26
    for text in picture.iter(f"{SVG}text"):
        x, y, length = float(text.get("x")), float(text.get("y")), 14 * 0.55 * len("".join(text.itertext()))
        if text.get("text-anchor") == "end":
            assert x - length > 0
        elif text.get("transform"):
            assert x + 0.7 * length < width
            assert y - 0.7 * length > 60
        assert 0 < y < height


def test_it_draws_a_hundred_tokens_by_a_hundred_at_once():
    assert len(cells(draw(one_layer(["▁word"] * 100, ["▁Wort"] * 100, np.full((100, 100), 0.01))))) == 10_000
