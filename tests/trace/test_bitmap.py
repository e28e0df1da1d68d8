import base64
import io

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from saccade.trace.bitmap import LEVELS, blend, image_address

RED, CLEAR_BLUE = (255, 0, 0, 255), (0, 0, 255, 0)


def pixels(address):
    kind, data = address.split(",")
    assert kind == "data:image/png;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGBA"))


def test_shares_are_colours_of_the_palette():
    found = pixels(image_address(np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 0.5]]), [RED, (0, 255, 0, 100), CLEAR_BLUE]))
    assert found.shape == (2, 3, 4)
    assert found[0].tolist() == [list(RED), list(CLEAR_BLUE), list(RED)]
    assert found[1, 2].tolist() == [0, 255, 0, 100]


@given(st.integers(1, 70), st.integers(1, 70), st.integers(0, 10))
def test_another_program_reads_what_was_written(rows, columns, seed):
    shares = np.random.default_rng(seed).random((rows, columns))
    found = pixels(image_address(shares, blend((0, 0, 0, 255), (255, 0, 0, 255))))[:, :, 0] / 255
    assert np.abs(found - shares).max() < 1 / LEVELS


def test_a_palette_goes_from_one_colour_to_the_other():
    palette = blend(RED, CLEAR_BLUE)
    assert len(palette) == LEVELS
    assert (palette[0], palette[-1]) == (RED, CLEAR_BLUE)
