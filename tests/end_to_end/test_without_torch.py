"""The base install: what needs no torch works without it, and what needs it says so."""

import re
from pathlib import Path

import pytest

from saccade import __version__


def test_it_is_the_base_install(without_torch):
    code = """
from importlib.util import find_spec
base = "ctranslate2 filelock numpy resvg_py rich sacrebleu safetensors sentencepiece typer zstandard"
for name in base.split():
    __import__(name)
for name in ("torch", "entmax", "jaxtyping", "babel", "tensorboardX", "matplotlib", "pytest"):
    print(name, find_spec(name))
"""
    result = without_torch.run_python("-c", code)
    assert result.stderr == ""
    assert (
        result.stdout
        == "torch None\nentmax None\njaxtyping None\nbabel None\ntensorboardX None\nmatplotlib None\npytest None\n"
    )


def test_there_is_no_network(without_torch):
    result = without_torch.run_python("-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:9')")
    assert "no network in this environment" in result.stderr


def test_saccade_is_importable(without_torch):
    result = without_torch.run_python("-c", "import saccade; print(saccade.__version__)")
    assert (result.stderr, result.stdout) == ("", f"{__version__}\n")


MODEL = """
import numpy
from pathlib import Path
from saccade import directory
from saccade.interop.ctranslate2 import parameter_shapes
from saccade.models.settings import RecurrentSettings, TransformerSettings
from saccade.text.tokenizer import Tokenizer, TokenizerSettings, Tokenizers

tokenizer = Tokenizer.learn(["a dog runs"], TokenizerSettings(kind="char", vocabulary=300), seed=1)
settings = TransformerSettings(layers=1, d_model=8, d_feedforward=16, num_heads=2)
random = numpy.random.default_rng(1)
parameters = {
    name: random.normal(size=shape).astype("float32")
    for name, shape in parameter_shapes(settings, len(tokenizer), len(tokenizer)).items()
}
for path, model in (("model", settings), ("recurrent", RecurrentSettings())):
    pair = directory.Direction(source="en", target="de")
    description = directory.Description(directions=(pair,), max_tokens=99, model=model)
    directory.save(Path(path), description, Tokenizers(tokenizer, tokenizer), parameters, card="# A card")
"""
VERBS = [
    "demo",
    "init",
    "clean",
    "prepare",
    "train",
    "translate",
    "evaluate",
    "score",
    "info",
    "export",
    "import",
    "view",
    "reproduce",
]


@pytest.fixture(scope="module")
def work(without_torch, write_task) -> Path:
    """Where the commands run: a task with its recipe, and a model directory."""
    write_task(without_torch.directory)
    made = without_torch.run_python("-c", MODEL)
    assert made.returncode == 0, made.stderr
    return without_torch.directory


LINES = "a dog\n\nruns 🐕\n"


def test_translating_works(without_torch, work: Path):
    """Also in int8, with what was converted before, and from Python."""
    first, again = (without_torch.run("translate", "--model", "model", stdin=LINES) for _ in range(2))
    assert (first.returncode, first.stderr) == (0, "")
    one, blank, other, end = first.stdout.split("\n")  # its bytes may be any character
    assert (blank, end, one == other) == ("", "", False)
    assert again.stdout == first.stdout
    small = without_torch.run("translate", "--model", "model", "--compute", "int8", "--beam", "2", stdin=LINES)
    assert (small.returncode, small.stderr, small.stdout.count("\n")) == (0, "", 3)
    code = """
import saccade
print(saccade.load("model").translate("a dog").text)
"""
    text = without_torch.run_python("-c", code).stdout.rstrip("\n")
    assert _in_a_line(text) == one


def test_translating_loads_only_what_it_needs(without_torch, work: Path):
    """The first translation of a process comes half a second after its start because of it."""
    code = """
import runpy, sys
sys.argv = ["saccade", "translate", "--model", "model"]
try:
    runpy.run_module("saccade", run_name="__main__")
except SystemExit as end:
    heavy = ("sacrebleu", "lxml", "resvg_py", "yaml", "ctranslate2.specs", "ctranslate2.converters")
    print(end.code, [name for name in heavy if name in sys.modules])
"""
    result = without_torch.run_python("-c", code, stdin="a dog\n")
    assert (result.stderr, result.stdout.splitlines()[-1]) == ("", "0 []")


def test_evaluating_a_model_works(without_torch, work: Path):
    result = without_torch.run("evaluate", "-m", "model", "--source", "valid.en", "--reference", "valid.de")
    assert (result.returncode, result.stderr) == (0, "")
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["BLEU", "chrF2", "TER", "ppl"]


def test_exporting_works(without_torch, work: Path):
    result = without_torch.run("export", "--model", "model", "--to", "ctranslate2", "exported", "--quantize", "int8")
    assert (result.returncode, result.stdout, result.stderr) == (0, "exported\n", "")
    assert (work / "exported/model.bin").is_file()


def test_attention_names_the_remedy(without_torch, work: Path):
    code = """
import saccade
try:
    saccade.load("model").translate("a dog", attention=True)
except saccade.MissingDependency as error:
    print(error)
"""
    result = without_torch.run_python("-c", code)
    assert result.stdout == (
        'Looking at attention needs PyTorch, which is not installed. Install it with: pip install "saccade[train]"\n'
    ), result.stderr


@pytest.mark.parametrize("words", [["--version"], ["--help"], *([verb, "--help"] for verb in VERBS)])
def test_version_and_help_work(words: list[str], without_torch):
    result = without_torch.run(*words)
    assert (result.returncode, result.stderr) == (0, "")
    assert "saccade" in result.stdout


def test_init_and_prepare_work(without_torch, work: Path):
    result = without_torch.run(
        "init", "new", "--source", "train.en", "--target", "train.de", "--from", "en", "--to", "de"
    )
    assert (result.returncode, result.stdout) == (0, "new/recipe.toml\n"), result.stderr
    result = without_torch.run(
        "prepare", "new/recipe.toml", "--set", "data.hold_out=9", "--set", "tokenizer.vocabulary=400"
    )
    assert result.returncode == 0, result.stderr
    assert (work / "new/run/corpus/tokenizer.spm").is_file()


def test_evaluating_files_works(without_torch, work: Path):
    result = without_torch.run("evaluate", "--hypotheses", "valid.de", "--reference", "valid.de", "--language", "de")
    assert (result.returncode, result.stderr) == (0, "")
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["BLEU", "chrF2", "TER"]


def test_info_works(without_torch, work: Path):
    result = without_torch.run("info", "model")
    assert (result.returncode, result.stderr) == (0, "")
    assert 'kind = "transformer"\n' in result.stdout
    assert "# # A card\n" in result.stdout


TRACE = """
import numpy
from pathlib import Path
from saccade.trace.file import save
from saccade.trace.trace import AttentionTrace, Layer, Tokens

tokens = Tokens(("▁dog", "s", "</s>"), "dogs", ((0, 3), (3, 4), (4, 4)))
layer = Layer("decoder.0.cross_attention", "cross", numpy.full((2, 3, 3), 1 / 3))
save(AttentionTrace(source=tokens, target=tokens, layers=(layer,)), Path("trace.json"))
"""


def test_viewing_a_stored_trace_works(without_torch, work: Path):
    made = without_torch.run_python("-c", TRACE)
    assert made.returncode == 0, made.stderr
    result = without_torch.run("view", "--from", "trace.json", "--words", "-o", "trace.svg")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("dogs\nlayer 1 of 1, mean of 2 heads\n")
    assert "dogs" in (work / "trace.svg").read_text("utf-8")


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("`saccade demo`", ["demo"]),
        ("`saccade train`", ["train", "recipe.toml"]),
        ("`saccade train`", ["train", "recipe.toml", "--dry-run"]),
        ('Running a model of kind = "recurrent" with torch', ["translate", "--model", "recurrent"]),
        ('Running a model of kind = "transformer" with torch', ["translate", "--model", "model", "--engine", "torch"]),
        ("--glossary", ["translate", "--model", "model", "--glossary", "terms.tsv"]),
        ("Looking at attention", ["view", "--model", "model", "A dog runs."]),
        ("`saccade reproduce`", ["reproduce", "length"]),
    ],
)
def test_what_needs_torch_names_the_remedy(what: str, words: list[str], without_torch, work: Path):
    without_torch.run("translate", "--model", "model")  # converts it, as any first use does
    before = sorted(work.rglob("*"))
    result = without_torch.run(*words, stdin="A dog runs.\n")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        f'error: {what} needs PyTorch, which is not installed. Install it with: pip install "saccade[train]"\n'
    )
    assert sorted(work.rglob("*")) == before, "nothing is left behind"


def _in_a_line(text: str) -> str:
    """As the command writes it: whatever bytes the model has spelled, a translation is a line."""
    return re.sub("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", " ", text)
