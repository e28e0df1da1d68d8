"""The base install: what needs no torch works without it, and what needs it says so."""


def test_it_is_the_base_install(without_torch):
    code = """
from importlib.util import find_spec
for name in ("numpy", "rich", "sacrebleu", "safetensors", "sentencepiece", "typer", "zstandard"):
    __import__(name)
for name in ("torch", "jaxtyping", "babel", "tensorboardX", "pytest"):
    print(name, find_spec(name))
"""
    result = without_torch.run_python("-c", code)
    assert result.stderr == ""
    assert result.stdout == "torch None\njaxtyping None\nbabel None\ntensorboardX None\npytest None\n"


def test_there_is_no_network(without_torch):
    result = without_torch.run_python("-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:9')")
    assert "no network in this environment" in result.stderr


def test_saccade_is_importable(without_torch):
    result = without_torch.run_python("-c", "import saccade; print(saccade.__version__)")
    assert (result.stderr, result.stdout) == ("", "0.1.0\n")


def test_load_names_the_remedy(without_torch):
    code = """
import numpy
import saccade
from pathlib import Path
from saccade import directory
from saccade.text.tokenizer import Tokenizer, TokenizerSettings, Tokenizers

tokenizer = Tokenizer.learn(["a dog runs"], TokenizerSettings(kind="char"), seed=1)
description = directory.Description(source_language="en", target_language="de", max_tokens=9)
directory.save(
    Path("model"), description, Tokenizers(tokenizer, tokenizer), {"bias": numpy.zeros(1)}, card=""
)
try:
    saccade.load("model")
except saccade.MissingDependency as error:
    print(error)
"""
    result = without_torch.run_python("-c", code)
    assert result.stdout == (
        'Translating needs PyTorch, which is not installed. Install it with: pip install "saccade[train]"\n'
    ), result.stderr
