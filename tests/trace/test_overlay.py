import base64
import io
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from PIL import Image

from saccade.errors import SaccadeError
from saccade.trace.overlay import enlarge, overlay
from saccade.trace.png import png
from saccade.trace.trace import AttentionTrace, Layer, Picture, Tokens

SVG = "{http://www.w3.org/2000/svg}"


def address(colour, kind="PNG"):
    data = io.BytesIO()
    Image.new("RGB", (60, 40), colour).save(data, kind)
    return f"data:image/{kind.lower()};base64," + base64.b64encode(data.getvalue()).decode()


def caption(words, weights, image):
    layer = Layer("look", "image", np.asarray(weights, dtype=float)[None])
    return AttentionTrace(source=Tokens(()), target=Tokens(tuple(words)), layers=(layer,), image=image)


def at(cell, cells=6):
    return np.eye(cells)[cell]


RED = caption(["▁a", "<b>"], [at(0), at(5)], Picture(2, 3, address((255, 0, 0))))


def test_there_is_one_copy_of_the_image_for_each_word_and_one_without_a_mask():
    picture = ElementTree.fromstring(overlay(RED, title="A & B"))
    assert len(list(picture.iter(f"{SVG}use"))) == 3
    images = list(picture.iter(f"{SVG}image"))
    assert len(images) == 3, "the image itself and two masks"
    assert [image.find(f"{SVG}title").text for image in images[1:]] == [
        "·a: most, 1.000, in row 1, column 1",
        "<b>: most, 1.000, in row 2, column 3",
    ]
    written = ["".join(text.itertext()) for text in picture.iter(f"{SVG}text")]
    assert {"A & B", "·a", "<b>"} <= set(written)


def test_the_image_is_stored_once():
    many = caption(["w"] * 30, [at(0)] * 30, RED.image)
    assert overlay(many).count(RED.image.data) == 1


@pytest.mark.usefixtures("only_dejavu")
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_what_is_looked_at_is_bright_and_the_rest_dark(kind):
    trace = caption(["x"], [at(0)], Picture(2, 3, address((255, 0, 0), kind)))
    text = overlay(trace)
    picture = ElementTree.fromstring(text)
    left, top, *_ = map(float, picture.get("viewBox").split())
    mask = list(picture.iter(f"{SVG}image"))[1]
    x, y, width, height = (float(mask.get(name)) for name in ("x", "y", "width", "height"))
    pixels = np.asarray(Image.open(io.BytesIO(png(text, 1))).convert("RGB")).astype(int)

    def red(across, down):
        return pixels[round(y - top + down * height), round(x - left + across * width), 0]

    assert red(0.05, 0.05) > 230
    assert red(0.95, 0.95) < 110
    assert red(0.05, 0.05) > red(0.33, 0.5) > red(0.95, 0.95), "it fades smoothly"
    assert pixels[round(y - top + height / 2), round(width / 2 - left), 0] > 230, "the first copy is without a mask"


@pytest.mark.parametrize(("form", "expected"), [(None, (168, 112)), (4 / 3, (168, 126)), (0.5, (84, 168))])
def test_an_image_keeps_its_form(form, expected):
    picture = ElementTree.fromstring(overlay(caption(["x"], [at(0)], Picture(2, 3, address((9, 9, 9)), form))))
    for image in picture.iter(f"{SVG}image"):
        assert (float(image.get("width")), float(image.get("height"))) == expected


def test_a_grid_without_an_image_is_drawn_in_grey():
    assert "<rect id=" in overlay(caption(["x"], [at(0)], Picture(2, 3)))


def test_images_have_names_of_their_own_in_one_page():
    blue = caption(["x"], [at(0)], Picture(2, 3, address((0, 0, 255))))
    names = [next(iter(ElementTree.fromstring(overlay(each)).iter(f"{SVG}use"))).get("href") for each in (RED, blue)]
    assert names[0] != names[1]


@pytest.mark.parametrize(
    "data",
    [
        "https://example.org/dog.png",
        "/etc/passwd",
        "data:text/html;base64,PHNjcmlwdD4=",
        "data:image/svg+xml;base64,PHN2Zz4=",
        'data:image/png;base64,AAAA"/><script>',
    ],
)
def test_nothing_but_an_image_inside_the_trace_is_drawn(data):
    with pytest.raises(SaccadeError, match="must be a data: address of a PNG, JPEG, GIF or WebP image"):
        overlay(caption(["x"], [at(0)], Picture(2, 3, data)))


def test_other_attention_is_refused():
    layer = Layer("only", "cross", np.ones((1, 1, 1)))
    with pytest.raises(SaccadeError, match=r"this trace has cross attention and no image\. Draw it as a matrix"):
        overlay(AttentionTrace(source=Tokens(("a",)), target=Tokens(("b",)), layers=(layer,)))


def test_enlarged_weights_are_smooth_and_keep_their_place():
    weights = np.zeros((4, 5))
    weights[1, 3] = 0.7
    found = enlarge(weights)
    assert found.shape == (32, 40)
    assert found.max() == 1
    row, column = np.unravel_index(found.argmax(), found.shape)
    assert (row // 8, column // 8) == (1, 3)
    assert np.abs(np.diff(found, axis=0)).max() < 0.25
    assert np.allclose(enlarge(np.full((2, 2), 0.25)), 1), "looking everywhere alike leaves the image as it is"
    assert not enlarge(np.zeros((2, 2))).any()


@pytest.mark.filterwarnings("ignore:No font on this machine")
@pytest.mark.usefixtures("fonts")
def test_a_sheet_of_many_long_words_stays_inside():
    words = ["▁" + "Donaudampfschifffahrt" * 3, "北京大学" * 6, *"abcdefghijk"]
    text = overlay(caption(words, [at(0, 8)] * len(words), Picture(8, 1, address((9, 9, 9)))))
    pixels = np.asarray(Image.open(io.BytesIO(png(text, 1))).convert("L"))
    border = np.concatenate(
        [pixels[:12].ravel(), pixels[-12:].ravel(), pixels[:, :12].ravel(), pixels[:, -12:].ravel()]
    )
    assert border.min() == 255
