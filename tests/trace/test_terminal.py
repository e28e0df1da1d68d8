import io
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.style import Style

from saccade.trace.terminal import heatmap
from saccade.trace.trace import AttentionTrace, Layer, Tokens


def one_layer(source, target, matrix):
    layer = Layer("decoder.0.cross_attention", "cross", np.array([matrix]))
    return AttentionTrace(source=Tokens(tuple(source)), target=Tokens(tuple(target)), layers=(layer,))


def draw(trace, width=80, colours=None, **chosen):
    file = io.StringIO()
    Style._add.cache_clear()  # sums of styles keep the codes of the terminal that they were first drawn on
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
        "down: target; across: source",
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
    written = "".join(line for line in lines[:-3] if set(line) <= set(" 0123456789"))
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


def plain(drawn):
    return [line.rstrip() for line in re.sub(r"\x1b\[[\d;]*m", "", drawn).splitlines()]


@pytest.mark.parametrize(
    ("kind", "shape", "first", "last"),
    [
        ("encoder", (1, 3, 3), "s1", "down: source, looking; across: source, looked at"),
        ("decoder", (1, 2, 2), "t1", "down: target, writing; across: target, read so far"),
        ("memory", (1, 2, 5), "t1", "down: step; across: memory slot"),
    ],
)
def test_every_kind_is_drawn_with_its_own_sides(kind, shape, first, last):
    layers = (Layer("one", "cross", np.full((1, 2, 3), 0.3)), Layer("two", kind, np.full(shape, 0.2)))
    trace = AttentionTrace(source=Tokens(("s1", "s2", "s3")), target=Tokens(("t1", "t2")), layers=layers)
    lines = plain(draw(trace, kind=kind))
    assert lines[0] == f"{kind} attention, layer 1 of 1, head 1 of 1"
    assert f"{first} " + "██" * shape[2] in lines
    assert lines[-1] == last


@pytest.mark.parametrize(("colours", "code", "weight"), [("256", "48;5;", 0.61), ("truecolor", "48;2;", 0.63)])
def test_colours_are_those_that_the_terminal_has(colours, code, weight):
    """Each with a weight of its own, as rich keeps styles in the colours of the first terminal that they met."""
    assert code in draw(one_layer("ab", "x", [[1, weight]]), colours=colours)


def test_who_wants_no_colour_gets_shades(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    drawn = draw(one_layer("ab", "xy", [[1, 0], [0, 1]]), colours="truecolor")
    assert "█" in drawn
    assert "48;" not in drawn


def test_emoji_flags_and_marks_line_up():
    rows = ["▁👨‍👩‍👧‍👦", "🇩🇪", "👍🏽", "e\u0301te\u0301", "東京", "1️⃣", "\u202eab", "\u200b"]
    trace = one_layer(rows, rows, np.eye(len(rows)))
    lines = plain(draw(trace))
    body = lines[lines.index("") + 1 : -3]
    for at, line in enumerate(body[-len(rows) :]):
        assert cell_len(line[: line.index("█")]) == 7 + 2 * at
    shown = [line.split("█")[0].strip() for line in body[-len(rows) :]]
    assert shown == ["·👨", "DE", "👍", "e\u0301te\u0301", "東京", "1", "\ufffdab", "U+200B"]


def test_cells_stay_in_their_columns_beside_words_from_right_to_left():
    lines = plain(draw(one_layer(["▁של", "x"], ["▁מה", "y"], [[0.5, 0.5], [0.2, 0.8]])))
    assert "·מה\u200e ▒▒▒▒" in lines
    assert any(line.strip() == "ש\u200e" for line in lines), "also in the header"


def test_a_terminal_without_unicode_gets_ascii():
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    Console(file=file, width=60).print(heatmap(one_layer(["▁a", "京"], ["▁ein", "Straße"], [[0.8, 0.2], [0, 0.4]])))
    file.flush()
    lines = plain(file.buffer.getvalue().decode("ascii"))
    assert "  _ein ##.." in lines
    assert "Stra?e   ::" in lines


@given(st.lists(st.text(min_size=1), min_size=1, max_size=5), st.sampled_from([20, 40, 120]))
def test_whatever_the_tokens_every_line_fits_and_every_row_is_as_wide(tokens, width):
    lines = draw(one_layer(tokens, tokens, np.ones((len(tokens), len(tokens)))), width).splitlines()
    assert max(map(cell_len, lines)) <= width
    assert len({cell_len(line) for line in lines if "██" in line and not line.startswith("weight")}) == 1
