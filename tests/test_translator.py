"""Text in, translation out; what the numbers are is in the contracts."""

import math
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sacrebleu.metrics import CHRF

import saccade
from saccade import MinimumRisk, SearchSettings, Wording
from saccade.aligner import align
from saccade.directory import Description, ModelDirectory
from saccade.text.tokenizer import Tokenizer, Tokenizers, TokenizerSettings
from saccade.trace.alignment import Reading
from saccade.trace.trace import AttentionTrace, Layer, Tokens
from saccade.translator import Translation, Translator


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


@pytest.fixture(scope="module")
def translator(trained: Path) -> Translator:
    return saccade.load(trained / "run", engine="torch")


# -- streams --


def drained(stream: Generator[str, None, Translation]) -> tuple[list[str], Translation]:
    """The pieces, and the generator's value."""
    pieces = []
    while True:
        try:
            pieces.append(next(stream))
        except StopIteration as end:
            return pieces, end.value


@pytest.mark.parametrize(
    "settings",
    [SearchSettings(beam=1), SearchSettings(beam=1, min_length=4), SearchSettings(method="sampling", seed=5)],
    ids=["greedy", "long", "sampling"],
)
@pytest.mark.parametrize("prefix", ["", "Hund", "Löwe Ka"])
def test_the_pieces_of_a_stream_are_the_translation(translator: Translator, settings: SearchSettings, prefix: str):
    for text in ("cat lion", "dog", "  ", "bee ant fox"):
        expected = translator.translate(text, search=settings, wording=Wording(prefix=prefix))
        pieces, value = drained(translator.stream(text, search=settings, prefix=prefix))
        assert "".join(pieces) == value.text == expected.text
        assert (value.tokens, value.notes) == (expected.tokens, expected.notes)
        assert value.log_prob == pytest.approx(expected.log_prob, abs=1e-4)
        assert all(pieces)


def test_a_stream_is_greedy_unless_told_otherwise(trained: Path):
    translator = saccade.load(trained / "run")
    assert (
        "".join(translator.stream("cat lion")) == translator.translate("cat lion", search=SearchSettings(beam=1)).text
    )
    with pytest.raises(saccade.ModelError, match="Tokens are streamed by greedy search and by sampling only"):
        next(translator.stream("cat lion", search=SearchSettings(beam=4)))


def test_a_stream_does_not_wait_for_the_end(translator: Translator):
    stream = translator.stream("cat lion")
    assert next(stream) == "Katze"
    assert next(stream) == " Löwe"


# -- minimum Bayes risk --


def by_a_plain_loop(texts: list[str], weights: list[float]) -> dict[str, float]:
    metric = CHRF()
    return {
        text: sum(
            weight * metric.sentence_score(text, [other]).score for other, weight in zip(texts, weights, strict=True)
        )
        / sum(weights)
        for text in texts
    }


def test_what_a_beam_has_found_is_ranked_by_its_risk(translator: Translator):
    settings = SearchSettings(beam=6, n_best=6)
    for text in ("cat lion", "lionfox", "bee dog ant"):
        found = translator.translate(text, search=settings)
        several = [found, *found.alternatives]
        expected = by_a_plain_loop([each.text for each in several], [math.exp(each.log_prob) for each in several])
        best = translator.translate(text, search=settings, mbr=MinimumRisk())
        ranked = [best, *best.alternatives]
        assert [each.score for each in ranked] == pytest.approx(sorted(expected.values(), reverse=True))
        assert all(each.score == pytest.approx(expected[each.text]) for each in ranked)
        log_probs = {each.text: each.log_prob for each in reversed(several)}
        assert all(each.log_prob == pytest.approx(log_probs[each.text], abs=1e-4) for each in ranked)
        (one,) = (translator.translate(text, search=replace(settings, n_best=1), mbr=MinimumRisk()),)
        assert (one.text, one.alternatives) == (best.text, ())


def test_samples_count_as_often_as_they_were_drawn(translator: Translator):
    drawing = SearchSettings(method="sampling", n_best=30, temperature=2.0, top_k=3)
    found = translator.translate("lionfox dog", search=drawing)
    texts = [each.text for each in (found, *found.alternatives)]
    assert len({*texts}) < len(texts) == 30
    expected = by_a_plain_loop(texts, [1.0] * 30)
    mbr = MinimumRisk(samples=30)
    best = translator.translate("lionfox dog", search=replace(drawing, n_best=4), mbr=mbr)
    assert [best.score, *(each.score for each in best.alternatives)] == pytest.approx(
        sorted(expected.values(), reverse=True)[:4]
    )


def test_samples_are_drawn_whatever_the_search_is_otherwise(translator: Translator):
    """What belongs to a beam is of no use to them."""
    for settings in (
        SearchSettings(),
        SearchSettings(method="diverse", beam=4, groups=2),
        SearchSettings(stopping="exact"),
    ):
        found = translator.translate(["cat lion", ""], search=settings, mbr=MinimumRisk(samples=5, utility="bleu"))
        assert [each.text for each in found] == ["Katze Löwe", ""]


def test_a_translator_keeps_its_risk_for_all(trained: Path):
    loaded = saccade.load(trained / "run")
    found = saccade.load(trained / "run", mbr=MinimumRisk()).translate("cat lion")
    assert found == loaded.translate("cat lion", mbr=MinimumRisk())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"samples": 1}, "samples must be 0, or at least 2 to be compared, not 1"),
        ({"samples": -2}, "samples must be 0, or at least 2 to be compared, not -2"),
        ({"utility": "ter"}, "utility must be chrf or bleu, not ter"),
    ],
)
def test_a_risk_that_is_none_is_refused(given: dict[str, object], message: str):
    with pytest.raises(ValueError, match=f"^{message}$"):
        MinimumRisk(**given)


# -- alignment --


def test_words_are_aligned_if_attention_was_asked_for(translator: Translator):
    """By hand, from the same trace: a word gets the sum of its tokens' weights, and gives the mean of them."""
    assert translator.translate("cat lion").alignment is None
    for text in ("cat lion", "catdog fox"):
        found = translator.translate(text, attention=True)
        assert found.alignment is not None
        (pair,) = align(translator, [text.split()], [found.text.split()])
        assert found.alignment == tuple(pair.links(Reading()))
        assert [target for _, target in found.alignment] == list(range(len(found.text.split())))
