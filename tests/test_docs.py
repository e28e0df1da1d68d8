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


def save_model(path: Path) -> None:
    """What the documents call my-model/run: a model that was never trained, so that it is there at once."""
    from saccade import directory
    from saccade.models.build import build
    from saccade.models.settings import TransformerSettings
    from saccade.text.tokenizer import Tokenizer, Tokenizers, TokenizerSettings

    learned = Tokenizer.learn(["A dog runs.", "Ein Hund rennt."], TokenizerSettings(vocabulary=300), seed=1)
    settings = TransformerSettings(layers=1, d_model=16, d_feedforward=16, num_heads=2)
    model = build(settings, len(learned), len(learned))
    pair = directory.Direction(source="en", target="de")
    directory.save(
        path,
        directory.Description(directions=(pair,), max_tokens=128, model=settings),
        Tokenizers(learned, learned),
        {name: values.detach().numpy() for name, values in model.named_parameters()},
        "# A model for the documentation\n",
    )


def test_python_blocks_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if "my-model/run" in document.read_text("utf-8"):
        save_model(tmp_path / "my-model" / "run" / "model")
    for example in Sybil([PythonCodeBlockParser(), SkipParser()]).parse(document).examples():
        example.evaluate()


def test_no_block_escapes_execution(document: Path) -> None:
    fences = re.findall(r"^ *(?:```|~~~) *(?:pycon|py|python3|doctest)\b.*", document.read_text("utf-8"), re.MULTILINE)
    assert fences == [], "write ```python, with >>> where there is output: other fences are not executed"


PLACES = (ROOT, ROOT / "src" / "saccade")
PATH = re.compile(r"`((?:\w[\w.-]*/)+[\w.-]*)`")
FOLDERS = {path.name for place in PLACES for path in place.iterdir() if path.is_dir()}


def test_files_that_are_named_exist(document: Path) -> None:
    if document.name == "log.md":
        pytest.skip("says what was, with dates")
    paths = PATH.findall(document.read_text("utf-8"))
    named = [path for path in paths if path.endswith(".py") or path.split("/")[0] in FOLDERS]
    missing = [path for path in named if not any((place / path).exists() for place in PLACES)]
    assert missing == [], f"{document.name} names files that are neither here nor below src/saccade"


def test_commands_that_are_shown_exist(document: Path) -> None:
    from typer.main import get_command

    from saccade.cli.main import app

    commands = get_command(app).commands  # type: ignore[attr-defined]  # click's group, which typer hides
    flags = {
        name: {flag for it in command.params for flag in it.opts} | {"--help"} for name, command in commands.items()
    }
    blocks = re.findall(r"^```(?:console|sh|bash)\n(.*?)^```", document.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    shell = "".join(blocks).replace("\\\n", " ")
    for name, rest in re.findall(r"^(?:[^#\n]*[|$] )?(?:\w+=\S+ )*saccade ([a-z]+)\b([^#\n]*)", shell, re.MULTILINE):
        assert name in flags, f"{document.name} shows saccade {name}, which is no command"
        unknown = set(re.findall(r"(?<=\s)--?[a-z][a-z-]*", rest)) - flags[name]
        assert not unknown, f"{document.name} gives saccade {name} {unknown}, which it does not take"
