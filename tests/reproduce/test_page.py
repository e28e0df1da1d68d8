"""The page of claims, in both languages, tells of every claim as it stands in the code."""

import tomllib
from pathlib import Path

import pytest

from saccade.reproduce.claims import CLAIMS
from saccade.reproduce.finding import TEXTS

DOCS = Path(__file__).parents[2] / "docs"
CHINESE = tomllib.loads((DOCS / "reproduce.zh-CN.toml").read_text("utf-8"))


@pytest.mark.parametrize("name", CLAIMS)
def test_the_page_has_the_rule_that_judges(name: str):
    page, text = (DOCS / "reproduce.md").read_text("utf-8"), TEXTS[name]
    assert f"\n## {name}\n\n{text['claim']}\n\nHolds if: {text['rule']}\n" in page, "run docs/make_reproduce.py"
    assert f"| [{name}](#{name}) | {CLAIMS[name]} | **" in page
    assert (DOCS / "images" / "reproduce" / f"{name}.png").exists()


def test_the_chinese_page_has_them_all():
    page = (DOCS / "reproduce.zh-CN.md").read_text("utf-8")
    assert list(CHINESE) == list(CLAIMS)
    for name, told in CHINESE.items():
        assert f"\n## {name}\n\n{told['claim']}\n\n判定规则： {told['rule']}\n" in page


def test_both_pages_have_the_same_figures():
    english, chinese = (
        [line for line in (DOCS / f"reproduce{part}.md").read_text("utf-8").splitlines() if line.startswith("| ")]
        for part in ("", ".zh-CN")
    )
    rows = 1 + len(CLAIMS)  # the list of claims is in words
    assert english[rows:] == chinese[rows:]
    assert len(english) > 100
