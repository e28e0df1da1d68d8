"""The documentation teaches stable names only: those that docs/api.md lists."""

import importlib
import re
from pathlib import Path

import pytest

import saccade

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/api.md").read_text("utf-8")
DOCUMENTS = sorted([*ROOT.glob("README*.md"), *ROOT.glob("docs/**/*.md")])
ROW = re.compile(r"^\| `(saccade[\w.]*)` \| (.*) \|$", re.MULTILINE)
IMPORT = re.compile(r"^ *(?:>>> )?from (saccade[\w.]*) import \(?([\w, \n.]+?)\)?$", re.MULTILINE)


def listed(page: str) -> dict[str, set[str]]:
    rows = {module: set(re.findall(r"`(\w+)`", names)) for module, names in ROW.findall(page)}
    return {"saccade": set(saccade.__all__), **rows}


def test_the_page_lists_the_whole_door():
    (door,) = re.findall(r"^\*\*The door\*\*.*$", PAGE, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", door)) == set(saccade.__all__)


def test_what_is_listed_exists():
    for module, names in listed(PAGE).items():
        for name in names:
            assert hasattr(importlib.import_module(module), name) or importlib.import_module(f"{module}.{name}")


def test_both_languages_list_the_same():
    assert listed((ROOT / "docs/api.zh-CN.md").read_text("utf-8")) == listed(PAGE)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_documents_import_stable_names_only(document: Path):
    stable = listed(PAGE)
    blocks = re.findall(r"```python\n(.*?)```", document.read_text("utf-8"), re.DOTALL)
    for module, names in (found for block in blocks for found in IMPORT.findall(block)):
        unlisted = {name.split(" as ")[0].strip() for name in names.split(",")} - stable.get(module, set())
        assert not unlisted, f"{document.name} imports {unlisted} of {module}, which docs/api.md does not list"
