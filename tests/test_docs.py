"""Documentation is executed: the Python blocks of a document run from top to bottom, in one namespace."""

import re
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("README*.md"), *ROOT.glob("docs/**/*.md")])


@pytest.fixture(params=DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def document(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def test_python_blocks_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for example in Sybil([PythonCodeBlockParser(), SkipParser()]).parse(document).examples():
        example.evaluate()


def test_no_block_escapes_execution(document: Path) -> None:
    fences = re.findall(
        r"^ *(?:```|~~~) *(?:pycon|py|python3|doctest)\b.*", document.read_text("utf-8"), re.MULTILINE
    )
    assert fences == [], "write ```python, with >>> where there is output: other fences are not executed"
