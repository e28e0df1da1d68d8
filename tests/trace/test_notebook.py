from html.parser import HTMLParser

import pytest

from saccade.trace.notebook import FRAMES, Shown, repr_html, repr_html_list
from saccade.trace.page import page


class Frame(HTMLParser):
    """The attributes of the one element there is."""

    def __init__(self, html):
        super().__init__()
        self.found = []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def test_a_trace_shows_itself_as_the_page_in_a_frame_that_cannot_touch_the_notebook(translation_trace):
    trace = translation_trace(["a", '"><script>'], ["x"], layers=1, heads=1)
    ((tag, attributes),) = Frame(trace._repr_html_()).found
    assert tag == "iframe"
    assert attributes["sandbox"] == "allow-scripts"
    assert attributes["srcdoc"] == page([trace])


def test_it_works_within_a_notebook_offline(opened, translation_trace):
    traces = [translation_trace(["▁a", "▁dog"], target, layers=1, heads=1) for target in (["▁ein"], ["▁Hund", "!"])]
    view = opened(f"<!doctype html><title>Notebook</title><p>Out[1]:{repr_html(traces, title='A & B')}")
    frame = view.frame_locator("iframe")
    assert frame.locator("h1").text_content() == "A & B"
    frame.locator("input[name=hypothesis]").nth(1).check(force=True)
    frame.locator(".matrix").press("ArrowRight")
    assert frame.locator("#readout").text_content().startswith("·Hund ← ·a 0.")


@pytest.mark.parametrize("width", [620, 760, 1100])
@pytest.mark.parametrize("size", [4, 14, 40])
def test_the_frame_shows_matrix_and_controls_without_scrolling(opened, translation_trace, size, width):
    trace = translation_trace(["▁word"] * size, ["▁Wort"] * size, layers=6, heads=8)
    view = opened(f"<!doctype html><title>Notebook</title>{repr_html([trace])}", width=width)
    frame = view.frame_locator("iframe")
    frame.locator("html[data-ready]").wait_for()
    parts = ("#layer", "#heads", "#play") if width < 700 else ("#layer", "#heads", "#play", "#stage", "#foot")
    outer = view.locator("iframe").bounding_box()
    for part in parts:
        box = frame.locator(part).bounding_box()
        assert outer["y"] <= box["y"] < box["y"] + box["height"] <= outer["y"] + outer["height"], part


def test_a_list_has_a_line_for_each_which_opens_its_page(opened, translation_trace):
    trace = translation_trace(["▁a", "▁dog"], ["▁ein", "▁Hund"], layers=1, heads=2)
    entries = [Shown("a <dog>", "ein Hund", [trace]), Shown("a cat", "eine Katze")]
    html = repr_html_list(entries)
    assert "a &lt;dog&gt;" in html
    assert "eine Katze" in html
    view = opened(f"<!doctype html><title>Notebook</title>{html}")
    assert not view.locator("iframe").is_visible()
    view.locator("summary").click()
    frame = view.frame_locator("iframe")
    frame.locator(".matrix").press("ArrowRight")
    assert frame.locator("#readout").text_content().startswith("·ein ← ·a 0.")


def test_a_long_list_does_not_hold_the_weights_of_all(translation_trace):
    trace = translation_trace(["a"], ["x"], layers=1, heads=1)
    html = repr_html_list([Shown("a", f"text {number}", [trace]) for number in range(FRAMES + 5)])
    assert html.count("<iframe") == FRAMES
    assert f"text {FRAMES + 4}" in html
