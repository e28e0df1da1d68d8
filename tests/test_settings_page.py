"""The page of settings says what the settings classes say."""

import runpy
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def test_the_page_is_up_to_date() -> None:
    page = runpy.run_path(str(DOCS / "make_settings.py"))["page"]
    written = (DOCS / "settings.md").read_text("utf-8")
    assert written == page(), "docs/settings.md is out of date; write it again with: make docs"
