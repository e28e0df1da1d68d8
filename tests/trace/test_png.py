import io
import sys
import types

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from saccade.errors import MissingDependency, SaccadeError
from saccade.trace.png import _draw, png
from saccade.trace.svg import svg
from saccade.trace.trace import AttentionTrace, Layer, Tokens

SQUARE = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"><rect x="10" width="10" height="30"/></svg>'


def trace(source, target):
    layer = Layer("only", "cross", np.eye(len(target), len(source))[None])
    return AttentionTrace(source=Tokens(tuple(source)), target=Tokens(tuple(target)), layers=(layer,))


def pixels(data):
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGBA"))


@pytest.mark.parametrize("scale", [0.5, 1, 2.0, 3])
def test_a_picture_has_as_many_pixels_as_asked_for(scale):
    found = pixels(png(SQUARE, scale))
    assert found.shape == (30 * scale, 40 * scale, 4)
    assert found[:, int(10 * scale) : int(20 * scale), 3].min() == 255
    assert found[:, : int(10 * scale), 3].max() == 0


@pytest.mark.usefixtures("only_dejavu")
def test_what_is_written_is_drawn():
    picture = pixels(png(svg(trace(["▁the", "dog"], ["▁der", "Hund"]), title="The dog"), 2))
    title = picture[30:90, 30:300, :3]
    assert (title.min(axis=2) < 100).sum() > 200


@pytest.mark.usefixtures("system_fonts")
@pytest.mark.parametrize("character", ["中", "の", "한", "م", "ש", "न", "ไ", "😀"])
def test_scripts_are_drawn_where_a_font_has_them(character):
    picture = svg(trace([character], ["x"]))
    drawn = png(picture)
    assert drawn != png(picture.replace(character, "\u0378")), "it is no box"


@pytest.mark.usefixtures("only_dejavu")
def test_a_missing_script_is_named_with_the_remedy():
    picture = svg(trace(["北京", "の", "a"], ["c"]))
    with pytest.warns(UserWarning, match=r"has 北の or .*apt-get install fonts-noto-core fonts-noto-cjk"):
        assert png(picture).startswith(b"\x89PNG")


@pytest.mark.usefixtures("no_fonts")
@pytest.mark.parametrize("written", ["A dog", "7", "北京"])
def test_without_any_font_a_picture_with_labels_is_refused_with_the_remedy(written):
    labelled = SQUARE.replace("</svg>", f"<text>{written}</text></svg>")
    with pytest.raises(SaccadeError, match=r"apt-get install fonts-noto-core fonts-noto-cjk.*SVG"):
        png(labelled)


@pytest.mark.usefixtures("no_fonts")
def test_without_any_font_a_picture_without_labels_is_drawn():
    assert png(SQUARE).startswith(b"\x89PNG")


def test_a_missing_renderer_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(MissingDependency, match=r"needs resvg-py, which is not installed\. Install it with: pip "):
        png(SQUARE)


def test_what_is_no_picture_is_refused():
    with pytest.raises(SaccadeError, match="must be SVG, but this cannot be read as such"):
        png("<html>no</html>")
    for scale in (0, -1, 1000, float("nan")):
        with pytest.raises(SaccadeError, match=r"0\.1 to 20 times as large"):
            png(SQUARE, scale)


def test_a_failing_renderer_is_an_error_of_ours():
    class PanicException(BaseException):
        pass

    def fail(**_):
        raise PanicException("removal index should be < len")

    with pytest.raises(SaccadeError, match="resvg failed at this picture: removal index"):
        _draw(types.SimpleNamespace(svg_to_bytes=fail), SQUARE, 1)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=6))
@pytest.mark.usefixtures("fonts")
@pytest.mark.filterwarnings("ignore:No font on this machine")
def test_any_tokens_can_be_drawn(tokens):
    assert png(svg(trace(tokens, ["▁" + token for token in tokens])), 1).startswith(b"\x89PNG")
