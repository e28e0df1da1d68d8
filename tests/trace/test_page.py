import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.trace.file import from_json, to_json
from saccade.trace.page import SCRIPTS, page
from saccade.trace.trace import AttentionTrace, Layer, Picture, Tokens

SOURCE = ("▁The", "▁dog", "▁runs", "▁home", ".", "</s>")
TARGET = ("▁Der", "▁Hund", "▁läuft", "▁nach", "▁Hause", "!", "</s>")
OTHER = ("▁Ein", "▁Köter", "▁rennt", "</s>")
HOSTILE = ("<script>alert(1)</script>", "</script>", "<!--", "<img src=x onerror=alert(2)>", "&amp;", "{{x}}$data")
WORLD = ("👩‍👩‍👧‍👦", "▁مرحبا", "▁שלום", "▁北京大学", "\u202eabc", "a\u2028b", "\x00", "\ud800", "")


class Parsed(HTMLParser):
    """The elements of a page, and what stands in its scripts and its style."""

    def __init__(self, html):
        super().__init__()
        self.names, self.texts, self.policy, self.inside = [], {"style": []}, "", None
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.names.append(tag)
        self.inside = dict(attributes).get("id", tag)
        if tag in ("script", "style"):
            self.texts[self.inside] = ""
        if tag == "meta" and dict(attributes).get("http-equiv") == "Content-Security-Policy":
            self.policy = dict(attributes)["content"]

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside in self.texts:
            self.texts[self.inside] += data

    @property
    def traces(self):
        """As files hold them: each with its weights in their place."""
        tables = json.loads(self.texts["data"])["traces"]
        for layer in chain.from_iterable(table["layers"] for table in tables):
            layer["weights"] = self.texts[layer["weights"]]
        return tables


def by_hand(matrix, source=None, target=None, kind="cross"):
    matrix = np.asarray(matrix, dtype=np.float32)
    source = source or tuple(f"s{at}" for at in range(matrix.shape[1]))
    target = target or tuple(f"t{at}" for at in range(matrix.shape[0]))
    layer = Layer("decoder.0.cross_attention", kind, matrix[None])
    return AttentionTrace(source=Tokens(source), target=Tokens(target), layers=(layer,))


@pytest.fixture(scope="module")
def hypotheses(translation_trace):
    """Two translations of the same sentence: three layers of four heads, of three kinds."""
    return [
        translation_trace(SOURCE, TARGET, layers=3, heads=4, score=-0.25),
        translation_trace(SOURCE, OTHER, layers=3, heads=4, score=-1.5, seed=1),
    ]


def read(view):
    return view.text_content("#readout")


def choose(view, group, value):
    view.locator(f"input[name={group}][value='{value}']").check(force=True)


def slide(view, name, value):
    view.locator(f"#{name}").fill(str(value))


def stored(trace):
    """The trace as the page has it: its weights are float16."""
    return from_json(to_json(trace))


def shown(token):
    return token.replace("▁", "·")


def hover_cells(view, trace, matrix, kind="cross", count=60):
    """Point at many places of the matrix; what is read there, as (row, column), has the right number each time."""
    rows = [shown(token) for token in (trace.source if kind == "encoder" else trace.target).tokens]
    columns = [shown(token) for token in (trace.read if kind == "decoder" else trace.source.tokens)]
    box, random, found = view.locator(".matrix").bounding_box(), np.random.default_rng(0), set()
    for x, y in random.uniform((0.25, 0.15), (0.75, 1), (count, 2)):
        view.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
        if pair := re.fullmatch(r"(\S+) ← (\S+) (\d\.\d{4})", read(view)):
            row, column = rows.index(pair[1]), columns.index(pair[2])
            assert float(pair[3]) == pytest.approx(matrix[row, column], abs=6e-5)
            found.add((row, column))
    return found


# What it is made of


def test_it_holds_the_traces_as_files_do(hypotheses):
    tables = Parsed(page(hypotheses)).traces
    assert tables == [json.loads(json.dumps(to_json(trace))) for trace in hypotheses]


def test_nothing_but_its_own_script_and_style_may_run_and_nothing_be_loaded(hypotheses):
    parsed = Parsed(page(hypotheses))
    hashes = [
        "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
        for text in (parsed.texts["script"], parsed.texts["style"])
    ]
    assert parsed.policy == (
        f"default-src 'none'; script-src {hashes[0]}; style-src {hashes[1]}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    types = re.findall("<script([^>]*)>", page(hypotheses))
    assert types.count("") == 1, "every other one is data"
    assert all(" type=" in attributes for attributes in types if attributes)
    assert "http:" not in page(hypotheses)
    assert "https:" not in page(hypotheses)


def test_every_script_of_the_package_is_in_it():
    folder = files("saccade") / "web" / "attention"
    assert sorted(f"{name}.js" for name in SCRIPTS) == sorted(
        each.name for each in folder.iterdir() if each.name.endswith(".js")
    )


def test_what_is_shown_first_stands_before_the_script_and_what_hypotheses_share_is_there_once(hypotheses):
    shared = [replace(each, layers=(*each.of("cross"), *hypotheses[0].of("encoder"))) for each in hypotheses]
    parsed = Parsed(page(shared))
    tables = json.loads(parsed.texts["data"])["traces"]
    first = [layer["weights"] for layer in tables[0]["layers"] if layer["kind"] == "cross"]
    assert list(parsed.texts) == ["style", "data", *first, "script", *(f"weights-{at}" for at in range(3, 9))]
    assert [trace["layers"][3]["weights"] for trace in tables] == ["weights-3"] * 2


@given(st.text(), st.text(), st.text())
def test_no_token_and_no_title_can_leave_its_place(source, target, title):
    parsed = Parsed(page([by_hand([[1.0]], (source,), (target,))], title=title))
    plain = Parsed(page([by_hand([[1.0]])]))
    assert parsed.names == plain.names
    (table,) = parsed.traces
    assert table["source"]["tokens"] == [source]
    assert table["target"]["tokens"] == [target]


def test_what_json_cannot_say_is_left_out():
    trace = replace(by_hand([[1.0]]), score=-np.inf, log_prob=np.nan, token_log_probs=(-np.inf,))
    (table,) = Parsed(page([trace])).traces
    assert (table["score"], table["log_prob"], table["token_log_probs"]) == (None, None, [None])


def test_no_trace_is_no_page():
    with pytest.raises(ValueError, match="A page needs at least one trace, but got none"):
        page([])


# In a browser


def test_pointing_at_a_cell_reads_its_weight(opened, hypotheses):
    trace = stored(hypotheses[0])
    view = opened(page(hypotheses))
    assert len(hover_cells(view, trace, trace.matrix())) > 10
    slide(view, "layer", 2)
    view.dblclick("#heads button:nth-child(3)")
    assert view.text_content("#caption") == "layer 2 of 3 · head 3 of 4"
    assert len(hover_cells(view, trace, trace.matrix(1, 2))) > 10


def test_the_number_is_that_of_the_cell_under_the_pointer(opened):
    permutation = [3, 0, 4, 1, 2]
    view = opened(page([by_hand(np.eye(5)[permutation])]))
    box = view.locator(".matrix").bounding_box()
    dark = view.evaluate(
        """() => {
          const canvas = document.querySelector(".matrix canvas"), context = canvas.getContext("2d");
          const {data, width} = context.getImageData(0, 0, canvas.width, canvas.height), found = [];
          for (let at = 0; at < data.length; at += 4)
            if (data[at] < 60 && data[at + 2] > 150 && data[at + 3] === 255)
              found.push([(at / 4) % width, Math.floor(at / 4 / width)]);
          return found;
        }"""
    )
    pairs = set()
    for x, y in dark[:: len(dark) // 60]:
        view.mouse.move(box["x"] + x + 0.5, box["y"] + y + 0.5)
        assert read(view).endswith("1.0000")
        pairs.add(read(view))
    assert pairs == {f"t{row} ← s{column} 1.0000" for row, column in enumerate(permutation)}


def test_pointing_at_a_token_of_the_matrix_reads_what_it_looks_at_most(opened):
    trace = by_hand([[0.125, 0.625, 0.25], [0.5, 0.5, 0.0]])
    view = opened(page([replace(trace, token_log_probs=(float(np.log(0.5)), -1.0))]))
    box = view.locator(".matrix").bounding_box()
    seen = set()
    # Down through the tokens at the left of the cells, and across through those above them.
    places = [(250, y) for y in range(30, int(box["height"]), 6)] + [(x, 30) for x in range(200, 700, 6)]
    for x, y in places:
        view.mouse.move(box["x"] + x, box["y"] + y)
        seen.add(re.sub(r"\s+", " ", read(view)).strip())
    assert "t0 ← s1 0.6250 s2 0.2500 s0 0.1250 probability 0.500" in seen
    assert "s0 → t1 0.5000 t0 0.1250" in seen


def test_lines_isolate_the_token_pointed_at(opened, hypotheses):
    trace = stored(hypotheses[0])
    view = opened(page(hypotheses))
    choose(view, "view", "lines")
    view.hover(".right button >> text=Hund")
    row = trace.matrix()[1]
    best = np.argsort(-row)[:3]
    expected = " ".join(f"{shown(SOURCE[at])} {row[at]:.4f}" for at in best)
    assert re.sub(r"\s+", " ", read(view)).startswith(f"·Hund ← {expected}")
    beside = view.locator(".left .weight").all_text_contents()
    assert beside == [f"{weight:.2f}" if weight >= 0.01 else "" for weight in row]
    view.hover(".left button >> text=dog")
    assert re.sub(r"\s+", " ", read(view)).startswith("·dog → ")
    view.mouse.move(5, 5)
    assert read(view).startswith("Point at a token")


def test_a_click_keeps_a_token_and_another_click_lets_it_go(opened, hypotheses):
    trace = stored(hypotheses[0])
    view = opened(page(hypotheses))
    choose(view, "view", "lines")
    token = view.locator(".right button", has_text="Hund")
    token.click()
    view.hover(".left button >> text=runs")
    assert read(view) == f"·Hund ← ·runs {trace.matrix()[1, 2]:.4f}"
    assert token.get_attribute("aria-pressed") == "true"
    token.click()
    view.mouse.move(5, 5)
    assert token.get_attribute("aria-pressed") == "false"
    assert read(view).startswith("Point at a token")


def ink(view, selector="canvas"):
    """How much is drawn: the sum of all opacities."""
    return view.locator(selector).first.evaluate(
        """canvas => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height)
            .data.reduce((sum, value, at) => sum + (at % 4 === 3 ? value : 0), 0)"""
    )


def test_fewer_heads_and_a_higher_threshold_draw_fewer_lines(opened, hypotheses):
    view = opened(page(hypotheses))
    choose(view, "view", "lines")
    every = ink(view)
    view.click("#heads button:nth-child(1)")
    assert 0 < ink(view) < every
    view.click("#heads button:nth-child(1)")
    assert ink(view) == every
    slide(view, "threshold", 0.4)
    assert ink(view) < every
    slide(view, "threshold", 1)
    assert ink(view) == 0


def test_heads_are_toggled_and_their_mean_is_shown(opened, hypotheses):
    trace = stored(hypotheses[0])
    view = opened(page(hypotheses))
    slide(view, "layer", 1)
    view.click("#heads button:nth-child(2)")
    assert view.text_content("#caption") == "layer 1 of 3 · mean of 3 of 4 heads"
    pressed = [button.get_attribute("aria-pressed") for button in view.locator("#heads button").all()]
    assert pressed == ["true", "false", "true", "true"]
    assert hover_cells(view, trace, trace.of("cross")[0].weights[[0, 2, 3]].mean(axis=0))
    view.click("#all-heads")
    assert view.text_content("#caption") == "layer 1 of 3 · mean of 4 heads"
    assert hover_cells(view, trace, trace.matrix(0))


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_another_kind_of_attention_can_be_chosen(opened, hypotheses, kind):
    trace = stored(hypotheses[0])
    view = opened(page(hypotheses))
    choose(view, "kind", kind)
    assert len(hover_cells(view, trace, trace.matrix(kind=kind), kind)) > 10


def test_another_hypothesis_can_be_chosen(opened, hypotheses):
    trace = stored(hypotheses[1])
    view = opened(page(hypotheses))
    assert view.locator(".hypothesis").all_text_contents() == [
        "1Der Hund läuft nach Hause!−0.250",
        "2Ein Köter rennt−1.500",
    ]
    choose(view, "hypothesis", 1)
    assert len(hover_cells(view, trace, trace.matrix())) > 10
    choose(view, "view", "lines")
    assert view.locator(".right bdi").all_text_contents() == [shown(token) for token in OTHER]


def test_a_head_is_opened_from_the_overview(opened, hypotheses):
    trace = stored(hypotheses[0])
    view = opened(page(hypotheses))
    choose(view, "view", "grid")
    assert view.locator(".thumb").count() == 12
    view.click("[aria-label='Layer 3, Head 2']")
    assert view.text_content("#caption") == "layer 3 of 3 · head 2 of 4"
    assert len(hover_cells(view, trace, trace.matrix(2, 1))) > 10


def test_the_overview_draws_each_head(opened):
    weights = np.zeros((2, 3, 3), np.float32)
    weights[0, :, 0] = weights[1, :, 2] = 1
    trace = AttentionTrace(
        source=Tokens(tuple("abc")), target=Tokens(tuple("xyz")), layers=(Layer("a", "cross", weights),)
    )
    view = opened(page([trace]))
    choose(view, "view", "grid")
    drawn = [
        thumb.evaluate("canvas => Array.from(canvas.getContext('2d').getImageData(0, 1, 3, 1).data)")
        for thumb in view.locator(".thumb canvas").all()
    ]
    full, empty = [43, 60, 166, 255], [240, 242, 248, 255]
    assert drawn == [full + empty + empty, empty + empty + full]


def test_one_head_alone_needs_no_overview(opened):
    assert opened(page([by_hand(np.eye(2))])).locator("#views label").all_text_contents() == ["Matrix", "Lines"]


def test_it_speaks_english_and_chinese(opened, hypotheses):
    view = opened(page(hypotheses), locale="zh-CN")
    assert view.locator("html").get_attribute("lang") == "zh-CN"
    assert view.text_content("h1") == "注意力"
    view.click("#language")
    assert view.locator("html").get_attribute("lang") == "en"
    assert view.text_content("h1") == "Attention"
    assert view.locator("#views label").all_text_contents() == ["Matrix", "Lines", "Heads"]
    view.click("#language")
    assert view.locator("#views label").all_text_contents() == ["矩阵", "连线", "各头"]
    assert "undefined" not in view.inner_text("body")


def test_both_languages_say_the_same_things():
    words = (files("saccade") / "web" / "attention" / "words.js").read_text("utf-8")
    english, chinese = words.split("  zh: {")
    names = [re.findall(r"(\w+): (?=[\"(])", half) for half in (english, chinese)]
    assert names[0] == names[1]
    assert len(set(names[0])) == len(names[0]) > 40


def test_it_is_dark_where_the_system_is_and_can_be_switched(opened, hypotheses):
    background = "getComputedStyle(document.body).backgroundColor"
    light, dark = (opened(page(hypotheses), scheme=scheme) for scheme in ("light", "dark"))
    colours = [view.evaluate(background) for view in (light, dark)]
    assert colours[0] != colours[1]
    dark.click("#theme")
    assert dark.evaluate(background) == colours[0]
    light.emulate_media(color_scheme="dark")
    light.wait_for_function(f"{background} === '{colours[1]}'")


# By keyboard


def focused(view):
    return view.evaluate("document.activeElement.id || document.activeElement.name || document.activeElement.className")


def test_the_keyboard_reaches_everything_in_the_order_it_stands_in(opened, hypotheses):
    view = opened(page(hypotheses))
    reached = []
    for _ in range(40):
        view.keyboard.press("Tab")
        if (name := focused(view)) and name not in reached:
            reached.append(name)
    assert reached == [
        *("language", "theme", "hypothesis", "view", "kind", "matrix scroller"),
        *("layer", "head", "step", "back", "play", "forward"),
    ]


def test_arrow_keys_move_from_cell_to_cell(opened, hypotheses):
    trace = stored(hypotheses[0])
    view = opened(page(hypotheses))
    view.focus(".matrix")
    keys = ("Down", "Down", "Right", "End", "Right", "Up", "Left", "Home")
    weights, expected = trace.matrix(), [(0, 0), (1, 0), (1, 1), (1, 5), (1, 5), (0, 5), (0, 4), (0, 0)]
    for key, (row, column) in zip(keys, expected, strict=True):
        view.keyboard.press(key if key in ("End", "Home") else f"Arrow{key}")
        assert read(view) == f"{shown(TARGET[row])} ← {shown(SOURCE[column])} {weights[row, column]:.4f}"
    view.keyboard.press("Escape")
    assert read(view).startswith("Point at a cell")
    assert view.locator("#readout").get_attribute("aria-live") == "polite"


def test_arrow_keys_move_from_token_to_token(opened, hypotheses):
    view = opened(page(hypotheses))
    choose(view, "view", "lines")
    view.keyboard.press("Tab")
    view.focus(".left li:nth-child(1) button")
    for key, token in (("ArrowDown", "·dog →"), ("ArrowRight", "·Hund ←"), ("ArrowUp", "·Der ←"), ("End", "</s> ←")):
        view.keyboard.press(key)
        assert read(view).startswith(token)
    view.keyboard.press("Enter")
    assert view.locator(".right [aria-pressed=true]").all_text_contents() == ["</s>"]


def test_arrow_keys_move_through_the_overview_and_enter_opens(opened, hypotheses):
    view = opened(page(hypotheses))
    choose(view, "view", "grid")
    view.focus(".thumb[tabindex='0']")
    for key in ("ArrowRight", "ArrowDown", "ArrowDown", "ArrowLeft"):
        view.keyboard.press(key)
    assert read(view) == "Layer 3, Head 1"
    view.keyboard.press("Enter")
    assert view.text_content("#caption") == "layer 3 of 3 · head 1 of 4"


# Step by step


def test_steps_go_through_the_target(opened, hypotheses):
    view = opened(page(hypotheses))
    assert view.text_content("#step-value") == "all"
    for _ in range(2):
        view.click("#forward")
    assert view.text_content("#step-value") == "2 of 7"
    assert read(view).startswith("·Hund ← ")
    assert view.locator(".at.on").all_text_contents() == ["Hund"]
    view.click("#back")
    assert read(view).startswith("·Der ← ")
    view.focus("#step")
    view.keyboard.press("End")
    assert read(view).startswith("</s> ← ")
    view.click("#whole")
    assert view.text_content("#step-value") == "all"


def test_it_plays_to_the_end_and_pauses(opened, hypotheses):
    view = opened(page(hypotheses))
    view.clock.install()
    view.click("#play")
    steps = [view.text_content("#step-value")]
    for _ in range(8):
        view.clock.run_for(750)
        steps.append(view.text_content("#step-value"))
    assert steps == [f"{min(step, 7)} of 7" for step in range(1, 10)]
    assert view.get_attribute("#play", "aria-label") == "Play"
    view.click("#play")
    view.clock.run_for(750)
    assert view.get_attribute("#play", "aria-label") == "Pause"
    view.click("#play")
    view.clock.run_for(5000)
    assert view.text_content("#step-value") == "2 of 7"


def test_while_stepping_what_comes_later_is_not_drawn(opened):
    view = opened(page([by_hand(np.eye(4))]))
    dark = """() => { const canvas = document.querySelector(".matrix canvas");
        return canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data
            .filter((value, at, all) => at % 4 === 0 && value < 60 && all[at + 2] > 150).length; }"""
    whole = view.evaluate(dark)
    slide(view, "step", 2)
    assert view.evaluate(dark) == pytest.approx(whole / 2, rel=0.05)


# Whatever the tokens


def test_tokens_are_text_whatever_they_say(opened):
    tokens = HOSTILE + WORLD
    weights = np.full((2, len(tokens), len(tokens)), 1 / len(tokens), np.float32)
    layers = (Layer("decoder.0.cross_attention", "cross", weights),)
    trace = AttentionTrace(source=Tokens(tokens), target=Tokens(tokens), layers=layers)
    view = opened(page([trace, trace], title="<b>&amp;</b></script><script>alert(3)</script>"))
    assert view.text_content("h1") == "<b>&amp;</b></script><script>alert(3)</script>"
    choose(view, "view", "lines")
    expected = [*HOSTILE, "👩‍👩‍👧‍👦", "·مرحبا", "·שלום", "·北京大学", "\u202eabc", "a\u2028b", "\ufffd", "\ufffd", ""]
    assert view.locator(".left bdi").all_text_contents() == expected
    view.hover(".right li:nth-child(1) button")
    assert read(view).startswith("<script>alert(1)</script> ← ")
    for name in ("grid", "matrix"):
        choose(view, "view", name)
    assert view.locator("script:not([type])").count() == 1
    assert view.locator("img, iframe, object, b").count() == 0


def test_tokens_of_another_direction_keep_to_themselves(opened):
    view = opened(page([by_hand(np.full((2, 2), 0.5), ("▁مرحبا", "b"), ("▁שלום", "x"))]))
    choose(view, "view", "lines")
    direction = "element => getComputedStyle(element).direction + ' ' + getComputedStyle(element).unicodeBidi"
    found = [each.evaluate(direction) for each in view.locator(".left bdi, .right bdi").all()]
    assert found == ["rtl isolate", "ltr isolate"] * 2


def test_the_text_is_marked_where_its_spans_say(opened):
    source = Tokens(("▁😀", "▁öl", "<0xE4>", "<0xB8>", "</s>"), "😀 öl 丸", ((0, 1), (2, 4), (5, 6), (5, 6), (6, 6)))
    trace = replace(by_hand(np.eye(5), source.tokens, tuple("vwxyz")), source=source)
    view = opened(page([trace]))
    assert view.text_content("#source") == "😀 öl 丸"
    view.focus(".matrix")
    marked = []
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight"):
        view.keyboard.press(key)
        marked.append(view.locator("#source .at.on").all_text_contents())
    assert marked == [["😀"], ["öl"], ["丸"], []]


# Images and memories


def test_the_focus_moves_over_the_image(opened, caption_trace):
    words = ("▁a", "▁sun", "▁over", "▁hills")
    trace = caption_trace(words)
    weights = np.zeros((1, 4, 70), np.float32)
    corners = (0, 9, 60, 69)
    weights[0, range(4), corners] = 1
    trace = replace(trace, layers=(Layer("look", "image", weights),), image=Picture(7, 10, ""))
    view = opened(page([trace]))
    light = """canvas => { const draw = canvas.getContext("2d"), {width, height} = canvas;
        return [[5, 5], [width - 5, 5], [5, height - 5], [width - 5, height - 5]]
            .map(([x, y]) => draw.getImageData(x, y, 1, 1).data[0]); }"""
    for at, word in enumerate(words):
        view.locator(".frame").nth(at).click()
        brightness = view.locator(".large").evaluate(light)
        assert np.argmax(brightness) == at
        assert sorted(brightness)[-2] < 100 < max(brightness)
        assert read(view).startswith(
            f"{shown(word)} ← row {1 + corners[at] // 10}, column {1 + corners[at] % 10} 1.0000"
        )


def test_pointing_at_the_image_reads_its_cells(opened, caption_trace):
    trace = caption_trace(("▁a", "▁sun"))
    view = opened(page([trace]))
    view.wait_for_function("document.querySelector('.large').clientWidth > 300")
    box, matrix = view.locator(".large").bounding_box(), stored(trace).matrix()
    for row, column in ((0, 0), (3, 7), (6, 9)):
        view.mouse.move(box["x"] + (column + 0.5) / 10 * box["width"], box["y"] + (row + 0.5) / 7 * box["height"])
        assert read(view) == f"·a ← row {row + 1}, column {column + 1} {matrix[0, 10 * row + column]:.4f}"


def test_the_memory_of_a_machine_is_a_matrix(opened):
    view = opened(page([replace(by_hand(np.eye(3, 5), kind="memory"), source=Tokens(()))]))
    view.focus(".matrix")
    view.keyboard.press("ArrowRight")
    assert read(view) == "t0 ← slot 1 1.0000"
    assert not view.locator("#source-text").is_visible()


def test_what_reads_a_memory_is_not_mixed_with_what_writes_to_it(opened):
    reading, writing = by_hand(np.eye(3, 5), kind="memory"), by_hand(np.eye(3, 5)[::-1], kind="memory")
    both = replace(reading, source=Tokens(()), layers=reading.layers + writing.layers)
    view = opened(page([both]))
    assert view.locator("#layer").input_value() == "1"
    view.focus(".matrix")
    view.keyboard.press("ArrowRight")
    assert read(view) == "t0 ← slot 1 1.0000"


# Wherever it is looked at


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_nothing_lies_outside_of_a_phone(opened, hypotheses, caption_trace, locale):
    for traces in (hypotheses, [caption_trace(("▁a", "▁sun", "▁over", "▁hills") * 3)]):
        view = opened(page(traces), width=360, height=780, locale=locale)
        for name in [each.get_attribute("value") for each in view.locator("input[name=view]").all()]:
            choose(view, "view", name)
            assert view.evaluate("document.documentElement.scrollWidth") <= 360


def test_two_hundred_tokens_by_two_hundred_work(opened, translation_trace):
    source, target = ([f"▁{side}{at}" for at in range(200)] for side in "st")
    trace = translation_trace(source, target, layers=2, heads=2)
    view, matrix = opened(page([trace])), stored(trace).matrix()
    assert len(hover_cells(view, trace, matrix)) > 10
    for _ in range(4):
        view.click("#zoom-in")
    assert len(hover_cells(view, trace, matrix)) > 10
    view.focus(".matrix")
    view.keyboard.press("End")
    assert "← ·s199 " in read(view)
    choose(view, "view", "lines")
    view.focus(".right li:nth-child(200) button")
    view.keyboard.press("ArrowUp")
    assert read(view).startswith("·t198 ← ")
    slide(view, "step", 60)
    assert read(view).startswith("·t59 ← ")
    token, frame = (view.locator(each).bounding_box() for each in (".right li:nth-child(60)", ".lines .scroller"))
    assert frame["y"] <= token["y"] <= frame["y"] + frame["height"] - token["height"]
