"""The page in a real browser, from a file and without a network: Playwright with the system's own Chromium."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from saccade.evaluation.comparison import compare
from saccade.evaluation.page.page import page
from saccade.evaluation.report import Report, Submission, report

EVIL = "<script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">"


@pytest.fixture(scope="module")
def found(test_set) -> Report:
    systems = {name: [EVIL, "", *lines[2:]] for name, lines in test_set.systems.items()}
    compared = compare(systems, [test_set.references], language="de", samples=20)
    handed_in = {name: Submission(lines) for name, lines in systems.items()}
    return report(compared, handed_in, [test_set.references], sources=[EVIL, *test_set.references[1:]])


@pytest.fixture
def opened(browser, found: Report, tmp_path: Path) -> Iterator[Any]:
    """The page as a phone shows it; what the console says and what is asked of the network is an error."""
    (tmp_path / "report.html").write_text(page(found, version="1"), "utf-8")
    context = browser.new_context(viewport={"width": 390, "height": 800}, offline=True, locale="en-US")
    shown = context.new_page()
    complaints: list[str] = []
    shown.on("console", lambda each: complaints.append(each.text))
    shown.on("pageerror", lambda each: complaints.append(str(each)))
    shown.on("request", lambda each: None if each.url.startswith("file:") else complaints.append(each.url))
    shown.goto((tmp_path / "report.html").as_uri())
    yield shown
    assert complaints == []
    assert shown.title() == "saccade evaluate: worse, better", "no sentence has become a script"
    context.close()


def rows(shown: Any) -> list[int]:
    """The sentences that are listed and not hidden, in the order of the page."""
    script = (
        "Array.from(document.querySelectorAll('.cards.all > li:not([hidden])'), (card) => Number(card.dataset.row))"
    )
    return list(shown.evaluate(script))


def test_nothing_is_wider_than_a_phone(opened):
    assert opened.evaluate("document.documentElement.scrollWidth") <= 390
    assert opened.locator("#section-scores").inner_text().startswith("Scores")


def test_the_language_is_switched(opened):
    opened.get_by_text("中文", exact=True).click()
    assert opened.locator("h2").first.inner_text() == "分数"
    assert opened.evaluate("document.documentElement.lang") == "zh-CN"
    opened.get_by_text("English", exact=True).click()
    assert opened.locator("h2").first.inner_text() == "Scores"


def test_sentences_are_sorted_and_filtered(opened, found):
    worse, better = ([sentence.chrf for sentence in system.sentences] for system in found.systems)
    opened.locator("#section-all summary").click()
    assert rows(opened) == list(range(50))
    opened.locator("[data-sort='1']").click()
    assert [round(better[row], 2) for row in rows(opened)] == sorted(round(value, 2) for value in better)
    opened.locator("[data-sort='difference']").click()
    assert rows(opened)[0] == max(range(50), key=lambda row: abs(worse[row] - better[row]))
    opened.locator("[data-show='odd']").click()
    assert 0 < len(rows(opened)) < 50
    assert 1 in rows(opened), "the empty one"
    opened.locator("[data-show='any']").click()
    opened.locator("#find").fill("DOCUMENT.TITLE")
    assert rows(opened) == [0]


def test_without_its_script_everything_is_there(browser, found, tmp_path):
    (tmp_path / "report.html").write_text(page(found, version="1"), "utf-8")
    context = browser.new_context(java_script_enabled=False, offline=True)
    shown = context.new_page()
    shown.goto((tmp_path / "report.html").as_uri())
    shown.get_by_text("中文", exact=True).click()
    assert shown.locator("h2").first.inner_text() == "分数"
    shown.locator("#section-all summary").click()
    assert shown.locator(".cards.all > li").count() == 50
    assert not shown.locator(".tools").is_visible()
    context.close()
