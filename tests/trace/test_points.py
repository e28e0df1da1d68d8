import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from saccade.trace.png import png
from saccade.trace.points import points_svg

pytestmark = pytest.mark.usefixtures("only_dejavu")

SVG = "{http://www.w3.org/2000/svg}"
POINTS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 1.0], [0.5, 0.25]])


def polygons(picture: str) -> dict[str, list[tuple[float, ...]]]:
    found = ElementTree.fromstring(picture).iter(f"{SVG}polygon")
    return {
        each.get("class"): [tuple(map(float, pair.split(","))) for pair in each.get("points").split()] for each in found
    }


def test_every_point_is_drawn_and_named_and_up_is_up():
    picture = points_svg(POINTS, (0, 1, 2))
    circles = list(ElementTree.fromstring(picture).iter(f"{SVG}circle"))
    assert [circle.find(f"{SVG}title").text for circle in circles] == [
        "1: (0.00, 0.00)",
        "2: (1.00, 0.00)",
        "3: (0.50, 1.00)",
        "4: (0.50, 0.25)",
    ]
    heights = [float(circle.get("cy")) for circle in circles]
    assert heights[2] < heights[3] < heights[0] == heights[1]


def test_the_way_goes_through_its_points_in_order_and_its_steps_are_numbered():
    picture = points_svg(POINTS, (2, 0, 3), (0, 1, 2))
    circles = [(float(c.get("cx")), float(c.get("cy"))) for c in ElementTree.fromstring(picture).iter(f"{SVG}circle")]
    assert polygons(picture) == {
        "right": [circles[at] for at in (0, 1, 2)],
        "way": [circles[at] for at in (2, 0, 3)],
    }
    written = ["".join(text.itertext()) for text in ElementTree.fromstring(picture).iter(f"{SVG}text")]
    assert [text for text in written if text.isdecimal()] == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("right", "caption"),
    [
        ((), "3 of 4 points"),
        ((0, 1, 2), "3 of 4 points, as it should be"),
        ((0, 1, 3), "3 of 4 points, not as it should be"),
    ],
)
def test_the_caption_says_whether_it_is_right(right: tuple[int, ...], caption: str):
    assert f">{caption}<" in points_svg(POINTS, (0, 1, 2), right, title="A <hull>")
    assert (
        ElementTree.fromstring(points_svg(POINTS, (0, 1, 2), right, title="A <hull>")).find(f"{SVG}title").text
        == f"A <hull>: {caption}"
    )


def test_it_can_be_made_a_bitmap():
    assert png(points_svg(POINTS, (0, 1, 2), (0, 1, 2))).startswith(b"\x89PNG")
