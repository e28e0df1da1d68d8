import io
import re

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

from saccade.trace.terminal import heatmap
from saccade.trace.trace import AttentionTrace, Layer, Tokens


def one_layer(source, target, matrix):
    layer = Layer("decoder.0.cross_attention", "cross", np.array([matrix]))
    return AttentionTrace(source=Tokens(tuple(source)), target=Tokens(tuple(target)), layers=(layer,))


def draw(trace, width=80, colours=None, **chosen):
    file = io.StringIO()
    console = Console(file=file, width=width, color_system=colours, force_terminal=colours is not None)
    console.print(heatmap(trace, **chosen))
    return file.getvalue()


def test_without_colour_it_is_drawn_in_shades():
    trace = one_layer(["▁a", "dog", "</s>"], ["▁ein", "Hund", "."], [[0.8, 0.2, 0], [0, 0.6, 0.4], [0, 0, 0.1]])
    assert [line.rstrip() for line in draw(trace).splitlines()] == [
        "layer 1 of 1, head 1 of 1",
        "",
        "         <",
        "       d /",
        "     · o s",
        "     a g >",
        "·ein ██░░",
        "Hund   ▓▓▒▒",
        "   .     ░░",
        "",
        "weight 0   ░░▒▒▓▓██ 0.80",
    ]


def test_wide_characters_stand_over_their_columns():
    trace = one_layer(["▁", "三", "月", "</s>"], ["März", "三月"], [[0, 0.5, 0.5, 0], [0, 0, 1, 0]])
    lines = [line.rstrip() for line in draw(trace).splitlines()]
    assert lines[5:8] == ["     · 三月>", "März   ▒▒▒▒", "三月     ██"]
    assert {cell_len(line) for line in lines[6:8]} == {11}


def test_in_colour_the_largest_weight_of_a_row_is_written_in_percent():
    trace = one_layer("ab", "xyz", [[1.0, 0.0], [0.257, 0.743], [0.0, 0.0]])
    coloured = draw(trace, colours="truecolor")
    rows = re.sub(r"\x1b\[[\d;]*m", "", coloured).splitlines()[3:6]
    assert rows == ["x 99  ", "y   74", "z     "]
    assert "48;2;250;240;165" in coloured, "the strongest weight has the lightest background"


@pytest.mark.parametrize("colours", [None, "standard"])
def test_few_colours_are_no_colours(colours):
    assert "█" in draw(one_layer("ab", "xy", [[1, 0], [0, 1]]), colours=colours)


@pytest.mark.parametrize("width", [20, 41, 80])
@pytest.mark.parametrize("colours", [None, "truecolor"])
def test_wide_matrices_are_cut_into_blocks_that_fit(width, colours):
    count = 57
    source = [f"▁s{number}" for number in range(count)]
    trace = one_layer(source, ["▁Donaudampfschiff", "x"], np.eye(2, count) + np.eye(2, count, count - 2))
    lines = re.sub(r"\x1b\[[\d;]*m", "", draw(trace, width, colours)).splitlines()
    assert max(map(cell_len, lines)) <= width
    written = "".join(line for line in lines[:-2] if set(line) <= set(" 0123456789"))
    assert sum(character.isdecimal() for character in written) >= count, "every source token is there"


def test_one_layer_and_head_can_be_chosen():
    weights = {f"decoder.{n}.cross_attention": np.full((2, 1, 2), 0.5) for n in range(2)}
    weights["decoder.1.cross_attention"][1] = [[0.0, 1.0]]
    layers = tuple(Layer(name, "cross", each) for name, each in weights.items())
    drawn = draw(AttentionTrace(source=Tokens(("a", "b")), target=Tokens(("x",)), layers=layers), layer=1, head=1)
    assert drawn.startswith("layer 2 of 2, head 2 of 2")
    assert "x   ██" in drawn


def test_weights_of_nothing_can_be_drawn():
    assert "0.00" in draw(one_layer("a", "x", [[0.0]]))
