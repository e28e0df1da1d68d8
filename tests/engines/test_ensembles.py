"""Several model directories, loaded to translate together; what they then say is in the contracts."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import saccade
from saccade import directory
from saccade.directory import ModelDirectory
from saccade.engines.automatic import load_ensemble
from saccade.engines.engine import Engine
from saccade.models.build import build
from saccade.models.settings import RecurrentSettings
from saccade.text.tokenizer import Tokenizer, Tokenizers, TokenizerSettings
from saccade.training.checkpoint import parameters

TEXTS = ["lion fox", "", "bee ant", "cat lion dog"]


@pytest.fixture(scope="module")
def models(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The trained model; one shaken; one of another kind; one that cuts its sources into letters; strangers."""
    there = tmp_path_factory.mktemp("models")
    own = ModelDirectory.open(trained / "run")
    rng = np.random.default_rng(1)
    shaken = {
        name: (value + 0.1 * rng.normal(size=value.shape)).astype(value.dtype)
        for name, value in own.parameters().items()
    }
    directory.save(there / "shaken", own.description, own.tokenizers, shaken, "")

    def save(name: str, tokenizers: Tokenizers, **changes: object) -> None:
        settings = RecurrentSettings(d_model=16, embeddings="tied")
        torch.manual_seed(1)
        model = build(settings, len(tokenizers.source), len(tokenizers.target))
        description = replace(own.description, model=settings, max_tokens=4, **changes)
        directory.save(there / name, description, tokenizers, parameters(model), "")

    letters = Tokenizer.learn(["ant bee cat dog fox lion"], TokenizerSettings(kind="char", byte_fallback=False), seed=1)
    save("recurrent", own.tokenizers)
    save("letters", Tokenizers(letters, own.tokenizers.target))
    save("stranger", Tokenizers(own.tokenizers.source, letters))
    save("french", own.tokenizers, directions=(directory.Direction(source="fr", target="de"),))
    named = {name: there / name for name in ("shaken", "recurrent", "letters", "stranger", "french")}
    return {"trained": trained / "run", **named}


def alone(path: Path, text: str, target: str) -> list[float]:
    """What one model says of each token, asked by itself."""
    (traced,) = (saccade.load(path, engine="torch").trace([text], [target]),)
    return list(traced[0].token_log_probs or ())


@pytest.mark.parametrize("others", [["shaken"], ["recurrent"], ["letters"], ["shaken", "recurrent", "letters"]])
def test_a_score_is_that_of_the_mean_probabilities(models: dict[str, Path], others: list[str]):
    paths = [models[name] for name in ("trained", *others)]
    translator = saccade.load(paths)
    assert isinstance(translator.engine, Engine)
    for text, target in (("lion fox", "Löwe Fuchs"), ("bee cat", "Katze"), ("dog", "Hund Hund Ameise")):
        said = np.array([alone(path, text, target) for path in paths])
        assert translator.score([text], [target])[0] == pytest.approx(np.log(np.exp(said).mean(axis=0)).sum(), abs=1e-4)


def test_translations_are_scored_as_they_were_found(models: dict[str, Path]):
    translator = saccade.load([models["trained"], models["shaken"], models["letters"]])
    found = translator.translate(TEXTS)
    assert found[1].text == ""
    assert found[0].text == "Löwe Fuchs"
    again = translator.score([each.source for each in found], [each.text for each in found])
    for place in (0, 2, 3):
        assert found[place].log_prob == pytest.approx(again[place], abs=1e-4)


def test_one_directory_in_a_list_is_that_model(models: dict[str, Path]):
    assert saccade.load([models["trained"]]).translate(TEXTS) == saccade.load(models["trained"]).translate(TEXTS)


def test_the_same_model_twice_says_the_same(models: dict[str, Path]):
    twice = saccade.load([models["trained"]] * 2).translate(TEXTS)
    once = saccade.load(models["trained"], engine="torch").translate(TEXTS)
    for one, two in zip(once, twice, strict=True):
        assert one.text == two.text
        assert one.log_prob == pytest.approx(two.log_prob, abs=1e-5)


def test_the_shortest_training_counts_for_notes(models: dict[str, Path]):
    text = "lion fox bee ant dog cat"
    assert saccade.load(models["trained"]).translate(text).notes == ()
    (remark,) = saccade.load([models["trained"], models["recurrent"]]).translate(text).notes
    assert "at most 4" in remark


def test_the_command_line_takes_several(models: dict[str, Path], saccade):
    words = [word for name in ("trained", "shaken") for word in ("--model", models[name])]
    ended = saccade("translate", *words, stdin="lion fox\n\nbee ant\n")
    assert (ended.code, ended.stdout) == (0, "Löwe Fuchs\n\nBiene Ameise\n")


REFUSED = {
    "vocabularies": (
        ["trained", "stranger"],
        {},
        "Models that translate together must write with the same target vocabulary, but those of {trained}/model and "
        "{stranger} differ. Train both on one prepared corpus, such as with another seed or another kind of model; "
        "sources may be cut in different ways.",
    ),
    "languages": (
        ["trained", "french"],
        {},
        "Models that translate together must translate the same languages, but {trained}/model translates en → de and "
        "{french} fr → de. Leave one of them out.",
    ),
    "CTranslate2": (
        ["trained", "shaken"],
        {"engine": "ctranslate2"},
        'engine = "ctranslate2" translates with one model at a time, but 2 are to translate together: CTranslate2 '
        'cannot mix what they say at each step. Use engine = "torch", or "auto", and leave compute out.',
    ),
    "int8": (
        ["trained", "shaken"],
        {"compute": "int8"},
        'compute = "int8" translates with one model at a time, but 2 are to translate together: CTranslate2 '
        'cannot mix what they say at each step. Use engine = "torch", or "auto", and leave compute out.',
    ),
    "none": ([], {}, "load needs at least one model directory, but an empty list was given."),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_translate_together_is_refused(what: str, models: dict[str, Path]):
    names, options, message = REFUSED[what]
    with pytest.raises(saccade.ModelError, match="^" + re.escape(message.format(**models)) + "$"):
        saccade.load([models[name] for name in names], **options)


def test_weights_are_refused(models: dict[str, Path]):
    translator = saccade.load([models["trained"], models["shaken"]])
    message = (
        "Weights were asked for, but 2 models translate together here, and each attends by itself. "
        "Load one of them alone to see where it looks."
    )
    for ask in (lambda: translator.translate("lion", attention=True), lambda: translator.trace("lion", "Löwe")):
        with pytest.raises(saccade.ModelError, match="^" + re.escape(message) + "$"):
            ask()


def test_a_coverage_penalty_is_refused(models: dict[str, Path]):
    translator = saccade.load([models["trained"], models["shaken"]])
    message = (
        "search.coverage_penalty = 0.2 ranks translations by attention weights, but 2 models translate together here, "
        "and each attends by itself. Use coverage_penalty = 0."
    )
    with pytest.raises(saccade.ModelError, match="^" + re.escape(message) + "$"):
        translator.translate("lion", search=saccade.SearchSettings(coverage_penalty=0.2))


def test_every_search_works_together(models: dict[str, Path]):
    translator = saccade.load([models["trained"], models["letters"]])
    assert (
        "".join(translator.stream("lion fox"))
        == translator.translate("lion fox", search=saccade.SearchSettings(beam=1)).text
    )
    assert "Hund" in translator.translate("lion fox", wording=saccade.Wording(required=["Hund"])).text
    assert translator.translate("lion fox", mbr=saccade.MinimumRisk(samples=8)).score > 0


def test_no_torch_is_told(models: dict[str, Path], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    directories = [ModelDirectory.open(models[name]) for name in ("trained", "shaken")]
    with pytest.raises(saccade.MissingDependency, match=r"^Translating with several models together needs PyTorch"):
        load_ensemble(directories, "auto")
