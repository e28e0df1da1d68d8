import base64
import io
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from PIL import Image

from saccade.errors import SaccadeError
from saccade.trace.grid import PALETTE, head_grid
from saccade.trace.png import png
from saccade.trace.trace import AttentionTrace, Layer, Tokens

pytestmark = pytest.mark.usefixtures("only_dejavu")

SVG = "{http://www.w3.org/2000/svg}"


def trace(*layers, source=4, target=3):
    return AttentionTrace(source=Tokens(("s",) * source), target=Tokens(("t",) * target), layers=layers)


def random_layers(count, heads, looks, looked_at, kind="cross"):
    random = np.random.default_rng(0)
    shape = (heads, looks)
    return [Layer(f"{kind}.{at}", kind, random.dirichlet(np.ones(looked_at), shape)) for at in range(count)]


def panels(text):
    return list(ElementTree.fromstring(text).iter(f"{SVG}image"))


def shares(panel, rows, columns):
    """The weights of a panel, read off its middle pixels."""
    data = base64.b64decode(panel.get("href").removeprefix("data:image/png;base64,"))
    image = np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)
    times = image.shape[0] // rows
    middles = image[times // 2 :: times, times // 2 :: times]
    assert middles.shape == (rows, columns, 3)
    palette = np.array(PALETTE)[:, :3]
    nearest = np.abs(middles[:, :, None] - palette).sum(axis=-1).argmin(axis=-1)
    return (nearest / (len(PALETTE) - 1)) ** 2


def test_every_head_is_a_panel_that_shows_its_weights():
    layers = random_layers(2, 3, 3, 4)
    drawn = panels(head_grid(trace(*layers)))
    assert [panel.find(f"{SVG}title").text for panel in drawn] == [
        f"layer {layer}, head {head}" for layer in (1, 2) for head in (1, 2, 3)
    ]
    weights = np.concatenate([layer.weights for layer in layers])
    for panel, wanted in zip(drawn, weights / weights.max(), strict=True):
        assert np.abs(shares(panel, 3, 4) - wanted).max() < 0.02


def test_layers_are_rows_and_heads_columns():
    drawn = panels(head_grid(trace(*random_layers(3, 2, 3, 4))))
    assert len({panel.get("y") for panel in drawn}) == 3
    assert len({panel.get("x") for panel in drawn}) == 2
    assert [panel.get("y") for panel in drawn[:2]] == [drawn[0].get("y")] * 2


def test_heads_sides_and_scale_are_written():
    text = head_grid(trace(*random_layers(2, 3, 4, 4, kind="encoder")), kind="encoder", title="A <dog>")
    written = ["".join(each.itertext()) for each in ElementTree.fromstring(text).iter(f"{SVG}text")]
    for words in ("A <dog>", "encoder attention, 2 layers of 3 heads", "head", "layer", "1", "2", "3", "weight"):
        assert words in written
    assert "within each: source, looking" in written


def test_layers_may_have_different_numbers_of_heads():
    assert len(panels(head_grid(trace(*random_layers(1, 2, 3, 4), *random_layers(1, 5, 3, 4))))) == 7


@pytest.mark.parametrize(("num_layers", "heads", "most"), [(6, 8, 1_000_000), (12, 16, 2_000_000)])
def test_the_heads_of_long_sentences_stay_small(num_layers, heads, most):
    text = head_grid(trace(*random_layers(num_layers, heads, 60, 60), source=60, target=60))
    assert len(text) < most


@pytest.mark.parametrize(("looks", "looked_at"), [(1, 1), (1, 50), (50, 1), (60, 60)])
def test_any_form_can_be_drawn_and_nothing_lies_outside(looks, looked_at):
    text = head_grid(trace(*random_layers(2, 2, looks, looked_at), source=looked_at, target=looks))
    picture = ElementTree.fromstring(text)
    left, top, width, height = map(float, picture.get("viewBox").split())
    for panel in panels(text):
        x, y, wide, high = (float(panel.get(name)) for name in ("x", "y", "width", "height"))
        assert left + 20 < x < x + wide < left + width - 20
        assert top + 20 < y < y + high < top + height - 20
        assert min(wide, high) >= 20
    pixels = np.asarray(Image.open(io.BytesIO(png(text, 1))).convert("L"))
    border = np.concatenate(
        [pixels[:12].ravel(), pixels[-12:].ravel(), pixels[:, :12].ravel(), pixels[:, -12:].ravel()]
    )
    assert border.min() == 255


def test_panels_are_drawn_by_the_renderer():
    weights = np.zeros((1, 2, 2))
    weights[0, 0, 1] = 1
    layer = Layer("only", "cross", weights)
    text = head_grid(trace(layer, source=2, target=2))
    panel = panels(text)[0]
    left, top, *_ = map(float, ElementTree.fromstring(text).get("viewBox").split())
    pixels = np.asarray(Image.open(io.BytesIO(png(text, 1))).convert("L")).astype(int)
    x, y = (round(float(panel.get(name)) - corner) for name, corner in (("x", left), ("y", top)))
    side = round(float(panel.get("width")) / 4)
    assert pixels[y + side, x + 3 * side] < 80, "a full weight is dark"
    assert pixels[y + side, x + side] > 220
    assert pixels[y + 3 * side, x + 3 * side] > 220


def test_weights_of_nothing_can_be_drawn():
    assert len(panels(head_grid(trace(Layer("only", "cross", np.zeros((1, 3, 4))))))) == 1


def test_a_kind_that_is_not_there_is_refused():
    with pytest.raises(SaccadeError, match="There is no memory attention in this trace"):
        head_grid(trace(*random_layers(1, 1, 3, 4)), kind="memory")
