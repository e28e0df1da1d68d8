"""Text in, translation out; what the numbers are is in the contracts."""

from pathlib import Path

import numpy as np
import pytest

from saccade.directory import Description, ModelDirectory
from saccade.text.tokenizer import Tokenizer, Tokenizers, TokenizerSettings
from saccade.trace.trace import AttentionTrace, Layer, Tokens
from saccade.translator import Translation


def test_a_notebook_shows_a_translation_as_harmless_text():
    assert Translation("a", "<script>&")._repr_html_() == "<p>&lt;script&gt;&amp;</p>"


def test_a_notebook_shows_the_attention_of_all_that_was_found():
    layer = Layer("decoder.0.cross_attention", "cross", np.ones((1, 1, 1)))
    trace = AttentionTrace(source=Tokens(("eins",)), target=Tokens(("uno",)), layers=(layer,))
    other = AttentionTrace(source=Tokens(("eins",)), target=Tokens(("ichi",)), layers=(layer,))
    shown = Translation("a", "b", attention=trace, alternatives=(Translation("a", "c", attention=other),))._repr_html_()
    assert "uno" in shown
    assert "ichi" in shown


@pytest.mark.parametrize(
    ("path", "name"),
    [("en-de", "en-de"), ("runs/en-de/model", "en-de"), ("my-model/run/model", "my-model"), ("/model", "/")],
)
def test_a_model_is_called_by_the_directory_it_lies_in(path: str, name: str):
    tokenizer = Tokenizer.learn(["a b"], TokenizerSettings(kind="char"), seed=1)
    description = Description(source_language="en", target_language="de", max_tokens=9)
    assert ModelDirectory(Path(path), description, Tokenizers(tokenizer, tokenizer)).name == name
