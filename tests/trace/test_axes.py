import numpy as np
import pytest

from saccade.trace.axes import Axes, axes
from saccade.trace.trace import AttentionTrace, Layer, Picture, Tokens

SOURCE, TARGET = ("a", "b", "c"), ("x", "y")


def trace(kind, looks, looked_at, **more):
    layer = Layer("only", kind, np.full((1, looks, looked_at), 0.1))
    return AttentionTrace(source=Tokens(SOURCE), target=Tokens(TARGET), layers=(layer,), **more)


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("cross", Axes(TARGET, SOURCE, "target", "source")),
        ("encoder", Axes(SOURCE, SOURCE, "source, looking", "source, looked at")),
        ("decoder", Axes(TARGET, ("<s>", *TARGET[:-1]), "target, writing", "target, read so far")),
        ("memory", Axes(TARGET, ("1", "2", "3", "4"), "step", "memory slot")),
    ],
)
def test_each_kind_has_its_sides(kind, found):
    columns = {"cross": 3, "encoder": 3, "decoder": 2, "memory": 4}[kind]
    assert axes(trace(kind, 3 if kind == "encoder" else 2, columns), kind) == found


def test_the_cells_of_an_image_are_counted_row_by_row():
    assert axes(trace("image", 2, 6, image=Picture(2, 3))).columns == ("1.1", "1.2", "1.3", "2.1", "2.2", "2.3")
    assert axes(trace("image", 2, 4)).columns == ("1", "2", "3", "4")
