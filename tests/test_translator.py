"""Text in, translation out; what the numbers are is in the contracts."""

import math
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import CHRF

import saccade
from saccade import MinimumRisk, SearchSettings, Wording
from saccade.aligner import weigh_words
from saccade.directory import Description, Direction, ModelDirectory
from saccade.engines.engine import Traced
from saccade.errors import ModelError
from saccade.search.hypothesis import Hypothesis
from saccade.text.normalize import normalize
from saccade.text.tokenizer import Tokenizer, Tokenizers, TokenizerSettings
from saccade.trace.alignment import HeadSelection
from saccade.trace.trace import AttentionTrace, Layer, Tokens
from saccade.translation import Translation, Translations
from saccade.translator import Translator


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
    description = Description(directions=(Direction(source="en", target="de"),), max_tokens=9)
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


def test_a_stream_leaves_what_translate_leaves(translator: Translator):
    for text in ("😀", " ?! ", ""):
        pieces, value = drained(translator.stream(text))
        assert "".join(pieces) == value.text == translator.translate(text).text


def test_a_stream_begins_as_its_translator_has_it(trained: Path):
    translator = saccade.load(trained / "run", engine="torch", wording=Wording(prefix="Hund"))
    assert "".join(translator.stream("cat lion")).startswith("Hund")


@pytest.mark.parametrize(
    ("held", "what"),
    [
        ({"wording": Wording(glossary={"cat": "Hund"})}, "constrains the words"),
        ({"wording": Wording(banned=["Hund"])}, "constrains the words"),
        ({"mbr": MinimumRisk()}, "compares translations"),
    ],
)
def test_what_is_known_at_the_end_only_is_not_streamed(held: dict[str, object], what: str, trained: Path):
    with pytest.raises(ModelError) as told:
        next(saccade.load(trained / "run", engine="torch", **held).stream("cat lion"))
    assert what in str(told.value)
    assert "Use translate, or load the model without mbr" in str(told.value)


def test_a_single_text_to_score_is_refused(translator: Translator):
    """Not taken for a list of its letters."""
    with pytest.raises(saccade.DataError) as told:
        translator.score("cat", "dog")
    assert "two lists of strings" in str(told.value)
    assert "Write score([source], [target])." in str(told.value)


def test_a_wording_that_is_none_is_refused(translator: Translator):
    with pytest.raises(saccade.DataError) as told:
        translator.translate(["cat"], wording={"cat": "Katze"})
    assert str(told.value) == (
        "wording must be a Wording, or a list with one for each text, but there is 'cat'. "
        'Write, for example, Wording(glossary={"dog": "Hund"}).'
    )


# -- what can be asked for, and how --


def test_any_iterable_of_texts_is_translated(translator: Translator):
    texts = ["cat lion", "", "dog"]
    expected = translator.translate(texts)
    assert isinstance(expected, Translations)
    for several in (tuple(texts), (text for text in texts), iter(texts), dict.fromkeys(texts)):
        assert translator.translate(several) == expected
    assert translator.translate([]) == []


def test_beam_and_n_best_override_the_search(translator: Translator):
    text, usual = "lionfox dog", SearchSettings(length_penalty=0.5)
    several = translator.translate(text, search=usual, n_best=3, beam=2)
    assert several == translator.translate(text, search=replace(usual, beam=3, n_best=3)), "the beam is widened"
    assert len(several.alternatives) == 2
    assert translator.translate(text, beam=1) == translator.translate(text, search=replace(translator.search, beam=1))
    few = translator.translate(text, search=SearchSettings(beam=5, n_best=5), beam=2)
    assert few == translator.translate(text, search=SearchSettings(beam=2, n_best=2)), "no more than a given beam has"


def test_a_glossary_is_short_for_a_wording(translator: Translator):
    glossary = {"cat": "Hund"}
    found = translator.translate(["cat lion", "fox"], glossary=glossary)
    assert found == translator.translate(["cat lion", "fox"], wording=Wording(glossary=glossary))
    assert "Hund" in found[0].text


@pytest.mark.parametrize(
    ("ask", "facts"),
    [
        (lambda load: load.translate(None), ["iterable of strings", "not None"]),
        (lambda load: load.translate(["a", None]), ["number 2 is None", "empty string"]),
        (lambda load: load.translate(b"abc"), ["bytes (b'abc')", "Decode it first"]),
        (lambda load: load.translate(7), ["iterable of strings", "int (7)"]),
        (lambda load: list(load.stream(["a"])), ["one string", "list (['a'])"]),
        (lambda load: load.stream("a", search={"beam": 1}), ["SearchSettings", "dict"]),
        (lambda load: load.translate("A", search={"beam": 3}), ["SearchSettings", "dict", "beam=3"]),
        (lambda load: load.translate("A", beam="3"), ["beam must be an integer", "str ('3')"]),
        (lambda load: load.translate("A", beam=0), ["beam", "0"]),
        (lambda load: load.translate("A", n_best=-1), ["n_best", "-1"]),
        (lambda load: load.translate("A", mbr=5), ["MinimumRisk", "int (5)"]),
        (lambda load: load.translate("A", glossary="terms.tsv"), ["mapping from strings to strings", "terms.tsv"]),
        (lambda load: load.translate("A", glossary={"a": 1}), ["mapping from strings to strings"]),
        (lambda load: load.translate("A", glossary={}, wording=Wording()), ["must not both be given"]),
        (lambda load: load.trace("a", ["b"]), ["two lists of strings"]),
    ],
)
def test_what_is_given_in_a_wrong_form_is_refused(ask, facts: list[str], translator: Translator):
    with pytest.raises(saccade.SaccadeError) as told:
        ask(translator)
    assert all(fact in str(told.value) for fact in facts), str(told.value)


def test_a_notebook_shows_several_translations_in_a_table():
    shown = Translations([Translation("a", "<b>"), Translation("c", "d")])._repr_html_()
    assert shown.count("<tr>") == 2
    assert "&lt;b&gt;" in shown


def test_a_notebook_shows_the_attention_of_several_texts(translator: Translator):
    shown = translator.translate(["cat lion", "dog"], attention=True)._repr_html_()
    assert shown.count("<details>") == shown.count("<iframe") == 2
    assert "Katze" in shown
    assert "Hund" in shown


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
    drawn = translator.translate("lionfox dog", search=drawing, mbr=MinimumRisk())
    assert drawn.score == pytest.approx(max(expected.values())), "also if the search itself is by chance"
    mbr = MinimumRisk(samples=30)
    best = translator.translate("lionfox dog", search=replace(drawing, n_best=4), mbr=mbr)
    assert [best.score, *(each.score for each in best.alternatives)] == pytest.approx(
        sorted(expected.values(), reverse=True)[:4]
    )


def test_samples_are_drawn_whatever_the_search_is_otherwise(translator: Translator):
    """What belongs to a beam is of no use to them."""
    for search in (
        SearchSettings(),
        SearchSettings(method="diverse", beam=4, groups=2),
        SearchSettings(stopping="exact"),
    ):
        found = translator.translate(["cat lion", ""], search=search, mbr=MinimumRisk(samples=5, utility="bleu"))
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
        (pair,) = weigh_words(translator, [text.split()], [found.text.split()])
        assert found.alignment == tuple(pair.links(HeadSelection()))
        assert [target for _, target in found.alignment] == list(range(len(found.text.split())))


class Shouting:
    """An engine that writes back what it reads, but in its own way: see `ranks`. Its log-probabilities are known."""

    def __init__(self) -> None:
        self.read: list[int] = []

    def translate(self, sources, settings, *, constraints=None, advanced=lambda _: None):
        self.read += [len(source) for source in sources]
        advanced(len(sources))
        ranks = range(settings.n_best)
        return [
            [Hypothesis((*source, *source[:1] * rank), -1.0 - rank, -9.0, True) for rank in ranks] for source in sources
        ]

    def need_attention(self) -> None: ...
    def need_constraints(self, what) -> None: ...
    def stream(self, source, settings, *, constraints=None): ...
    def score(self, sources, targets): ...
    def token_log_probs(self, sources, targets): ...

    def trace(self, sources, targets, **_):
        def layer(source, target) -> Layer:
            return Layer("cross_attention", "cross", np.full((1, len(target) + 1, len(source) + 1), 0.5))

        pairs = zip(sources, targets, strict=True)
        return [Traced((-1.0,) * (len(target) + 1), (layer(source, target),)) for source, target in pairs]


def copier(target_language: str = "de", longest: int = 4) -> Translator:
    """One token a word, or a mark."""
    tokenizer = Tokenizer.learn(["One Two Three . !"] * 9, TokenizerSettings(vocabulary=300), seed=1)
    description = Description(directions=(Direction(source="en", target=target_language),), max_tokens=longest)
    return Translator(ModelDirectory(Path("copier"), description, Tokenizers(tokenizer, tokenizer)), Shouting())


@pytest.mark.parametrize(
    ("wording", "what"),
    [(Wording(glossary={"a": "b"}), "glossary"), (Wording(prefix="b"), "prefix"), (Wording(banned=["b"]), "banned")],
)
def test_an_engine_is_told_what_was_asked_for(wording: Wording, what: str, monkeypatch: pytest.MonkeyPatch):
    translator, asked = copier(), []
    monkeypatch.setattr(translator.engine, "need_constraints", asked.append)
    translator.translate("One", wording=wording)
    assert asked == [what]


def test_what_fits_is_read_whole_and_in_one_go():
    translator = copier()
    found = translator.translate(["One . Two", "", "Three"])
    assert [each.text for each in found] == ["One . Two", "", "Three"]
    assert translator.engine.read == [3, 1]
    assert all(each.num_parts == 1 and not each.notes for each in found)


def test_what_is_too_long_is_read_in_parts_and_this_is_told():
    translator, done = copier(), []
    long, short = translator.translate(["One Two .  Three ! One", "Two"], advanced=done.append)
    assert (long.text, long.source, long.num_parts) == ("One Two .  Three ! One",) * 2 + (2,)
    assert long.notes == (
        "has 6 tokens, but the model was trained on at most 4: it was translated in 2 parts, cut between sentences",
    )
    assert (short.text, short.notes, sum(done)) == ("Two", (), 2)
    assert translator.engine.read == [3, 3, 1]
    assert long.tokens == ("▁One", "▁Two", "▁.", "▁Three", "▁!", "▁One")


def test_the_log_probability_of_parts_is_their_sum_and_ranked_like_any_other():
    long = copier().translate("One Two . Three ! One", search=SearchSettings(length_penalty=1.0))
    assert long.log_prob == -2.0
    assert long.score == pytest.approx(-2.0 / 8), "six tokens and two ends"


def test_the_next_best_has_the_next_best_of_every_part():
    long = copier().translate("One Two . 😀 ! Three ! One", search=SearchSettings(n_best=2, beam=2))
    assert long.text == "One Two . 😀 ! Three ! One"
    assert [each.text for each in long.alternatives] == ["One Two . One 😀 ! Three ! One Three"]
    assert long.alternatives[0].log_prob == -4.0


def test_sentences_are_joined_as_the_target_writes():
    assert copier("zh").translate("One Two . Three ! Two .").text == "One Two .Three ! Two ."


def test_always_or_never():
    translator = copier()
    apart = translator.translate("One . Two\n\nOne", split="sentences")
    assert (apart.text, apart.num_parts, apart.notes) == ("One . Two\n\nOne", 3, ())
    whole = translator.translate("One Two . Three !", split="never")
    assert whole.notes == (
        "has 5 tokens, but the model was trained on at most 4: check this translation, or split the text into "
        "sentences",
    )
    assert translator.engine.read == [2, 1, 1, 5]


def test_what_has_neither_letter_nor_digit_is_left_as_it_is():
    translator = copier()
    found = translator.translate(["😀 🎉", " ?! ", "\x00\u2028\r", "\ud83d", "👩\u200d🔬"])
    assert [each.text for each in found] == ["😀 🎉", "?!", "", "\ufffd", "👩\u200d🔬"]
    assert translator.engine.read == []
    assert translator.translate("?!", split="never").text == "?!"
    assert translator.engine.read, "unless the model is to read everything"


def test_attention_is_that_of_one_reading():
    translator = copier()
    seen = translator.translate("One Two . Three !", attention=True)
    assert seen.attention is not None
    assert seen.num_parts == 1
    assert seen.notes == translator.translate("One Two . Three !", split="never").notes
    assert translator.translate("!", attention=True).attention is not None
    with pytest.raises(ModelError, match="available only for unsplit text"):
        translator.translate("One", attention=True, split="sentences")


@settings(max_examples=40)
@given(st.lists(st.text(st.sampled_from(list("One Two.!\n\x00\ud83d😀")) | st.characters(), max_size=60), max_size=5))
def test_a_copier_copies_whatever_it_is_given(texts: list[str]):
    """Bytes spell what no piece does, and no part is lost, doubled or out of order."""
    translator = copier(longest=24)
    for text, found in zip(texts, translator.translate(texts), strict=True):
        assert "".join(found.text.split()) == "".join(normalize(text).split())
