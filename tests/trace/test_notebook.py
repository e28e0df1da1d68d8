from html.parser import HTMLParser

from saccade.trace.notebook import repr_html
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
