import io
import math
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from saccade.trace.metrics import text_width
from saccade.trace.png import png
from saccade.trace.svg import svg
from saccade.trace.trace import AttentionTrace, Layer, Tokens

SVG = "{http://www.w3.org/2000/svg}"


def one_layer(source, target, matrix=None):
    matrix = np.eye(len(target), len(source)) if matrix is None else matrix
    layer = Layer("decoder.0.cross_attention", "cross", np.array([matrix]))
    return AttentionTrace(source=Tokens(tuple(source)), target=Tokens(tuple(target)), layers=(layer,))


def draw(trace, *chosen, **named):
    return ElementTree.fromstring(svg(trace, *chosen, **named))


def cells(picture):
    return [rect for rect in picture.iter(f"{SVG}rect") if "cell" in rect.get("class", "").split()]


def texts(picture):
    return ["".join(text.itertext()) for text in picture.iter(f"{SVG}text")]


def bounds(text):
    """Left, top, right and bottom of a text, as it lies in the picture."""
    size = 18 if "title" in text.get("class", "") else 12 if "quiet" in text.get("class", "") else 14
    width = text_width("".join(text.itertext()), size)
    x, y = float(text.get("x")), float(text.get("y"))
    left = x - {"start": 0, "middle": 0.5, "end": 1}[text.get("text-anchor", "start")] * width
    corners = [(left, y - 0.8 * size), (left + width, y - 0.8 * size), (left, y + 0.2 * size), (left + width, y)]
    if turned := re.fullmatch(r"rotate\(-45 (\S+) (\S+)\)", text.get("transform", "")):
        pivot_x, pivot_y = map(float, turned.groups())
        corners = [
            (
                pivot_x + math.sqrt(0.5) * (x - pivot_x + y - pivot_y),
                pivot_y + math.sqrt(0.5) * (y - pivot_y - x + pivot_x),
            )
            for x, y in corners
        ]
    horizontal, vertical = zip(*corners, strict=True)
    return min(horizontal), min(vertical), max(horizontal), max(vertical)


def assert_nothing_lies_outside(picture):
    left, top, width, height = map(float, picture.get("viewBox").split())
    assert (width, height) == (float(picture.get("width")), float(picture.get("height")))
    for rect in cells(picture):
        assert left < float(rect.get("x")) < left + width - 26
        assert top < float(rect.get("y")) < top + height - 26
    for text in picture.iter(f"{SVG}text"):
        box = bounds(text)
        assert left + 20 < box[0] <= box[2] < left + width - 20, "".join(text.itertext())
        assert top + 20 < box[1] < box[3] < top + height - 20, "".join(text.itertext())


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


def test_tokens_title_caption_sides_and_scale_are_written():
    written = texts(draw(EXAMPLE, title="A dog"))
    for text in ("A dog", "layer 1 of 1, head 1 of 1", "·a", "dog", "·ein", "Hund", ".", "source", "target", "0.80"):
        assert text in written


@pytest.mark.parametrize(
    ("kind", "sides", "tokens"),
    [
        ("encoder", ("source, looking", "source, looked at"), ["s1", "s2", "s3"] * 2),
        ("decoder", ("target, writing", "target, read so far"), ["<s>", "t1", "t1", "t2"]),
        ("memory", ("step", "memory slot"), ["1", "2", "3", "4", "t1", "t2"]),
    ],
)
def test_every_kind_is_drawn_with_its_own_sides(kind, sides, tokens):
    shape = {"encoder": (1, 3, 3), "decoder": (1, 2, 2), "memory": (1, 2, 4)}[kind]
    layers = (Layer("one", "cross", np.full((1, 2, 3), 0.3)), Layer("two", kind, np.full(shape, 0.2)))
    trace = AttentionTrace(source=Tokens(("s1", "s2", "s3")), target=Tokens(("t1", "t2")), layers=layers)
    picture = draw(trace, kind=kind)
    assert len(cells(picture)) == shape[1] * shape[2]
    written = texts(picture)
    assert written[: len(tokens)] == tokens
    assert set(sides) <= set(written)
    assert f"{kind} attention, layer 1 of 1, head 1 of 1" in written


def test_heads_that_read_and_heads_that_write_are_drawn_apart_on_one_scale():
    layers = (
        Layer("machine.reading", "memory", np.full((1, 2, 4), 0.25)),
        Layer("machine.writing", "memory", np.eye(2, 4)[None]),
    )
    trace = AttentionTrace(source=Tokens(()), target=Tokens(("t1", "t2")), layers=layers)
    picture = draw(trace)
    shades = [float(cell.get("fill-opacity")) for cell in cells(picture)]
    assert shades == [0.25] * 8 + [1, 0, 0, 0, 0, 1, 0, 0]
    places = [float(cell.get("y")) for cell in cells(picture)]
    assert max(places[:8]) < min(places[8:])
    assert [text for text in texts(picture) if "head 1 of 1" in text] == [
        "machine.writing, head 1 of 1",
        "machine.reading, head 1 of 1",
    ]
    assert len(cells(draw(trace, layer=1))) == 8


def test_it_needs_nothing_from_elsewhere():
    drawn = svg(EXAMPLE).replace("http://www.w3.org/2000/svg", "")
    for foreign in ("http", "href", "<script", "@import", "@font-face"):
        assert foreign not in drawn


def test_markup_in_tokens_is_text():
    picture = draw(one_layer(["<script>alert(1)</script>", "&amp;"], ['"x" onload="y"']), title="</title><script>")
    assert {element.tag.removeprefix(SVG) for element in picture.iter()} == {
        *("svg", "title", "style", "rect", "pattern", "text", "linearGradient", "stop")
    }
    assert {"<script>alert(1)</scrip…", "&amp;", '"x" onload="y"', "</title><script>"} <= set(texts(picture))


def test_words_from_right_to_left_are_kept_apart_with_their_mark_to_the_right():
    picture = draw(one_layer(["▁שלום."], ["▁abc"]))
    word = next(text for text in picture.iter(f"{SVG}text") if "שלום" in "".join(text.itertext()))
    mark = next(text for text in picture.iter(f"{SVG}text") if text.text == "·")
    assert word.text == "\u2067שלום.\u2069"
    assert "in-hebrew" in word.get("class")
    assert float(mark.get("x")) > float(word.get("x"))


@given(
    st.lists(st.text(min_size=1), min_size=1, max_size=4),
    st.lists(st.text(min_size=1), min_size=1, max_size=4),
    st.text(),
)
def test_whatever_the_tokens_it_is_xml_and_nothing_lies_outside(source, target, title):
    assert_nothing_lies_outside(draw(one_layer(source, target), title=title))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (["a"], ["b"]),
        (["▁" + "w" * 40] * 3, ["▁" + "m" * 40] * 2),
        (["北京大学计算机系"] * 20, ["东京"] * 5),
        (["a", "</s>"] * 30, ["b"]),
        (["▁👨‍👩‍👧‍👦👍🏽🇩🇪", "▁مرحبا"], ["▁नमस्ते" * 3, "e\u0301" * 30]),
    ],
)
@pytest.mark.filterwarnings("ignore:No font on this machine")
@pytest.mark.usefixtures("fonts")
def test_nothing_lies_outside_and_nothing_is_cut(source, target):
    trace = one_layer(source, target)
    assert_nothing_lies_outside(draw(trace, title="A title of some length"))
    pixels = np.asarray(Image.open(io.BytesIO(png(svg(trace, title="A title of some length"), 1))).convert("L"))
    border = np.concatenate(
        [pixels[:12].ravel(), pixels[-12:].ravel(), pixels[:, :12].ravel(), pixels[:, -12:].ravel()]
    )
    assert border.min() == 255, "the border is white"
    assert pixels.min() < 100, "within it there is something"


def test_it_draws_a_hundred_tokens_by_a_hundred_at_once():
    assert len(cells(draw(one_layer(["▁word"] * 100, ["▁Wort"] * 100, np.full((100, 100), 0.01))))) == 10_000
