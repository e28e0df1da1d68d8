"""What a translation is asked to say is in its text, and what it is asked not to say is not: told by the text alone."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import saccade
from saccade import SearchSettings, Wording, directory
from saccade.directory import Description, Direction
from saccade.engines import lexical_constraints
from saccade.models.build import build
from saccade.models.settings import RecurrentSettings
from saccade.text.tokenizer import Tokenizer, Tokenizers, TokenizerSettings
from saccade.training.checkpoint import parameters
from saccade.translator import Translator

TEXTS = ["cat lion", "dog fox", "bee bee", "", "ant cat"]
SEARCHES = {
    "greedy": SearchSettings(beam=1),
    "beam": SearchSettings(beam=4),
    "n best": SearchSettings(beam=5, n_best=3),
    "alternatives": SearchSettings(method="alternatives", beam=2, n_best=3),
}
LINES = [
    "A dog runs through the grass.",
    "Ein Hündchen läuft über die Straße.",
    "一只狗在草地上跑。",
    "你好，世界！",
] * 3


@pytest.fixture(scope="module")
def trained_translator(trained: Path) -> Translator:
    return saccade.load(trained / "run", engine="torch")


def babbling(path: Path, language: str, kind: str) -> Translator:
    """A model that was never trained, and says anything at all."""
    tokenizer = Tokenizer.learn(LINES, TokenizerSettings(kind=kind, vocabulary=420), seed=1)  # type: ignore[arg-type]
    settings = RecurrentSettings(d_model=16)
    torch.manual_seed(3)
    model = build(settings, len(tokenizer), len(tokenizer))
    search = SearchSettings(beam=3, max_length_factor=0.0, max_length_extra=12)
    description = Description(
        directions=(Direction(source="en", target=language),), max_tokens=99, model=settings, search=search
    )
    directory.save(path / "model", description, Tokenizers(tokenizer, tokenizer), parameters(model), "")
    return saccade.load(path)


def everything(translations: list[saccade.Translation]) -> list[saccade.Translation]:
    return [each for best in translations if best.source for each in (best, *best.alternatives)]


@pytest.mark.parametrize("search", SEARCHES)
def test_a_prefix_begins_every_translation(search: str, trained_translator: Translator):
    settings = SEARCHES[search]
    for prefix in ("Hund", "Hund Ka", " Löwe  Löwe "):
        found = trained_translator.translate(TEXTS, search=settings, wording=Wording(prefix=prefix))
        assert found[3].text == ""
        for each in everything(found):
            assert each.text.startswith(" ".join(prefix.split()))
            assert each.notes == ()


def test_the_model_goes_on_from_a_prefix(trained_translator: Translator):
    """With the first word as it would have been, the second is what it would have been."""
    for text in ("cat lion", "fox ant"):
        free = trained_translator.translate(text)
        begun = trained_translator.translate(text, wording=Wording(prefix=free.text.split()[0]))
        assert begun.text == free.text
        assert begun.log_prob == pytest.approx(free.log_prob, abs=1e-4)


@pytest.mark.parametrize("search", SEARCHES)
def test_a_banned_word_is_not_there_however_it_is_spelled(search: str, trained_translator: Translator):
    banned = ["Katze", "Hund"]
    free = trained_translator.translate(TEXTS, search=SEARCHES[search])
    assert any(word in each.text for word in banned for each in everything(free))
    for each in everything(
        trained_translator.translate(TEXTS, search=SEARCHES[search], wording=Wording(banned=banned))
    ):
        assert not {*banned} & {*re.findall(r"\w+", each.text)}
        assert each.notes == ()


def test_what_does_not_have_the_banned_word_stays_as_it_is(trained_translator: Translator):
    free = trained_translator.translate(["fox lion", "bee ant"])
    assert trained_translator.translate(["fox lion", "bee ant"], wording=Wording(banned=["Hund", "Fuch"])) == free


@pytest.mark.parametrize("search", SEARCHES)
def test_a_required_phrase_is_there(search: str, trained_translator: Translator):
    for phrases in (["Hund"], ["Löwe", "Ameise Ameise"], ["Fuchsbiene"]):
        found = trained_translator.translate(TEXTS, search=SEARCHES[search], wording=Wording(required=phrases))
        for each in everything(found):
            assert all(phrase in each.text for phrase in phrases)
            assert each.notes == ()


@pytest.mark.parametrize("kind", ["bpe", "unigram", "char"])
@pytest.mark.parametrize(
    ("language", "phrases"), [("de", ["Hündchen", "die Straße", "(x)"]), ("zh", ["狗", "草地", "跑。", "x"])]
)
def test_a_model_that_says_anything_says_what_is_required(language: str, phrases: list[str], kind: str, tmp_path: Path):
    """Bytes, marks of spaces and pieces of pieces: the text has the phrase, and in Chinese no blank before it."""
    translator = babbling(tmp_path, language, kind)
    for phrase in phrases:
        for each in translator.translate(["A dog", "grass"], wording=Wording(required=[phrase])):
            assert phrase in each.text
            assert each.notes == ()
            assert language == "de" or " " + phrase not in each.text


@pytest.mark.parametrize("kind", ["bpe", "char"])
def test_a_phrase_that_is_there_in_spite_of_all_is_told(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    translator = babbling(tmp_path, "zh", kind)
    free = translator.translate("grass")
    letters = sorted({letter for letter in free.text if letter.isalpha()})
    assert letters
    for letter in letters:
        found = translator.translate("grass", wording=Wording(banned=[letter]))
        assert bool(found.notes) == (letter in found.text)
    monkeypatch.setattr(lexical_constraints, "ROUNDS", 0)
    assert translator.translate("grass", wording=Wording(banned=letters[:1])).notes == (
        f"has {letters[0]!r}, which is banned: no translation without it was found",
    )


def test_what_cannot_be_written_is_told(trained_translator: Translator):
    """This vocabulary has no bytes to spell it in."""
    found = trained_translator.translate("cat lion", wording=Wording(required=["狗"]))
    assert (found.text, found.notes) == (
        "Katze Löwe",
        ("does not have '狗', which is required: no translation with it was found",),
    )
    (remark,) = trained_translator.translate("cat lion", wording=Wording(prefix="狗")).notes
    assert remark == "does not begin with '狗', which has characters that the model cannot write"


def test_no_room_is_told(trained_translator: Translator):
    settings = SearchSettings(beam=2, max_length_factor=0.0, max_length_extra=2)
    wording = Wording(required=["Hund Katze Löwe Fuchs Biene"])
    (remark,) = trained_translator.translate("cat", search=settings, wording=wording).notes
    assert remark.startswith("does not have 'Hund Katze Löwe Fuchs Biene', which is required")


def test_a_glossary_counts_where_its_source_occurs(trained_translator: Translator):
    wording = Wording(glossary={"cat": "Löwe", "bee": "Hund Hund"})
    texts = ["dog cat", "dog catfox", "CAT dog", "ant fox", "bee cat"]
    free = trained_translator.translate(texts)
    found = trained_translator.translate(texts, wording=wording)
    assert "Löwe" in found[0].text
    assert "Löwe" in found[2].text
    assert "Löwe" in found[4].text
    assert "Hund Hund" in found[4].text
    assert (found[1], found[3]) == (free[1], free[3])


def test_each_text_may_have_its_own(trained_translator: Translator):
    wordings = [Wording(prefix="Hund"), Wording(), Wording(banned=["Biene"]), Wording(prefix="x"), Wording()]
    found = trained_translator.translate(TEXTS, wording=wordings)
    assert found[0].text.startswith("Hund")
    assert found[1].text == "Hund Fuchs"
    assert "Biene" not in found[2].text.split()
    assert (found[3].text, found[3].notes) == ("", ())
    assert found[4].text == "Ameise Katze"
    with pytest.raises(saccade.DataError, match=r"there are 5 texts and 2 wordings. Give Wording\(\) to those that"):
        trained_translator.translate(TEXTS, wording=wordings[:2])


def test_a_translator_keeps_a_wording_for_all(trained: Path):
    held = saccade.load(trained / "run", wording=Wording(required=["Löwe"]))
    assert "Löwe" in held.translate("cat dog").text
    assert held.translate("cat dog", wording=Wording()).text == "Katze Hund"


def test_company_changes_nothing(trained_translator: Translator):
    wording = Wording(banned=["Katze"], required=["Hund"])
    for text, together in zip(TEXTS, trained_translator.translate(TEXTS, wording=wording), strict=True):
        alone = trained_translator.translate(text, wording=wording)
        assert alone.text == together.text
        assert alone.score == pytest.approx(together.score, abs=1e-4)


def test_a_score_is_still_the_models_own(trained_translator: Translator):
    for each in trained_translator.translate(["cat lion", "bee ant"], wording=Wording(required=["Hund"])):
        (again,) = trained_translator.score([each.source], [each.text])
        assert each.log_prob == pytest.approx(again, abs=1e-3)


def test_an_engine_that_cannot_is_told_before_it_begins(trained: Path):
    translator = saccade.load(trained / "run", engine="ctranslate2")
    glossary = Wording(glossary={"dog": "Hund"})  # even if the first texts do not have the term
    for wording in (Wording(required=["Katze"]), Wording(banned=["Hund"]), Wording(prefix="Katze"), glossary):
        with pytest.raises(saccade.ModelError, match=r'cannot be used with CTranslate2.* Use engine = "torch"'):
            translator.translate("cat", wording=wording)


def test_required_phrases_need_a_beam(trained_translator: Translator):
    settings = SearchSettings(method="sampling")
    with pytest.raises(saccade.ModelError, match=r'need method = "beam" or .*not "sampling".* use method = "beam"\.$'):
        trained_translator.translate("cat", search=settings, wording=Wording(required=["Katze"]))
    drawn = trained_translator.translate(
        "cat cat", search=replace(settings, n_best=5), wording=Wording(banned=["Katze"])
    )
    assert all("Katze" not in each.text.split() for each in everything([drawn]))
