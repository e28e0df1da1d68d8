"""One model, four directions, really learned: words of three languages, one by one."""

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import WORDS, Ended

import saccade
from saccade.data.prepare import Prepared
from saccade.data.settings import CorpusSettings, DataSettings
from saccade.directory import ModelDirectory
from saccade.recipe import Recipe
from saccade.tasks.build import open_task
from saccade.training.reporter import Reporter

HAN = dict(zip(WORDS, "蚁蜂猫狗狐狮", strict=True))
RECIPE = """\
run = "run"

[data]
hold_out = 12

[[data.train]]
file = "en-de.tsv"
source_language = "en"
target_language = "de"
both_ways = true

[[data.train]]
file = "en-zh.tsv"
source_language = "en"
target_language = "zh"
both_ways = true

[tokenizer]
vocabulary = 200
byte_fallback = false

[model]
layers = 1
d_model = 64
d_feedforward = 128
num_heads = 4
norm = "pre"
dropout = 0.0

[training]
updates = 800
batch_tokens = 1024
learning_rate = 0.003
warmup = 100
schedule = "trapezoidal"
label_smoothing = 0.0
best_by = "loss"
validate_every = 400
checkpoint_every = 400
threads = 1
"""


def _sentences() -> Iterator[tuple[str, str, str]]:
    for length in (1, 2, 3):
        for words in product(WORDS, repeat=length):
            yield " ".join(words), " ".join(WORDS[word] for word in words), "".join(HAN[word] for word in words)


def _write(directory: Path) -> Path:
    english, german, chinese = zip(*_sentences(), strict=True)
    for name, targets in (("en-de", german), ("en-zh", chinese)):
        pairs = zip(english, targets, strict=True)
        (directory / f"{name}.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in pairs), "utf-8")
    (directory / "recipe.toml").write_text(RECIPE, "utf-8")
    return directory / "recipe.toml"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    recipe = _write(tmp_path_factory.mktemp("directions"))
    saccade.train(recipe)
    return recipe.parent / "run"


@pytest.fixture(scope="module")
def translator(run: Path) -> saccade.Translator:
    return saccade.load(run)


CASES = [
    ("cat dog", "de", "Katze Hund"),
    ("cat dog", "zh", "猫狗"),
    ("Katze Hund", "en", "cat dog"),
    ("猫狗", "en", "cat dog"),
]


@pytest.mark.parametrize(("source", "to", "target"), CASES)
def test_every_direction_is_learned(translator: saccade.Translator, source: str, to: str, target: str):
    assert translator.translate(source, to=to).text == target
    assert translator.toward(to).translate(source).text == target


def test_it_says_what_it_translates(translator: saccade.Translator):
    assert [str(direction) for direction in translator.directions] == ["en → de", "de → en", "en → zh", "zh → en"]
    assert {direction.tag for direction in translator.directions} == {">>de<<", ">>en<<", ">>zh<<"}
    assert "zh → en" in repr(translator)


@pytest.mark.parametrize(("source", "to", "target"), CASES)
def test_both_engines_translate_alike(run: Path, source: str, to: str, target: str):
    fast, torch = (saccade.load(run, engine=engine, to=to).translate(source) for engine in ("ctranslate2", "torch"))
    assert fast.text == torch.text == target
    assert fast.log_prob == pytest.approx(torch.log_prob, abs=1e-4)


def test_texts_of_several_languages_keep_their_places(translator: saccade.Translator):
    texts = ["猫狗", "Katze Hund", "", "狐蜂", "Fuchs Biene"]
    together = translator.translate(texts, to="en", beam=2)
    assert [each.text for each in together] == ["cat dog", "cat dog", "", "fox bee", "fox bee"]
    alone = [translator.translate(text, to="en", beam=2) for text in texts]
    assert [each.text for each in alone] == [each.text for each in together]
    assert [each.score for each in alone] == pytest.approx([each.score for each in together], abs=1e-4)


def test_scores_are_those_of_the_search(translator: saccade.Translator):
    bound = translator.toward("de")
    found = bound.translate("lion ant")
    assert bound.score(["lion ant"], [found.text]) == pytest.approx([found.log_prob], abs=1e-4)


def test_the_tag_is_seen_in_the_trace(translator: saccade.Translator):
    trace = translator.translate("cat dog", to="zh", attention=True).attention
    assert trace is not None
    assert trace.source.tokens[0] == ">>zh<<"
    assert trace.source.spans is not None
    assert trace.source.spans[0] == (0, 0)
    forced = translator.toward("zh").trace("cat dog", "猫狗")
    assert np.allclose(trace.matrix(), forced.matrix(), atol=1e-5)


def test_a_stream_has_a_direction_too(translator: saccade.Translator):
    assert "".join(translator.toward("de").stream("cat dog")) == "Katze Hund"


def test_long_texts_are_cut_with_the_tag_before_every_part(run: Path):
    directory = ModelDirectory.open(run)
    longest = directory.description.max_tokens
    text = " ".join(["cat dog."] * longest)
    translation = saccade.load(run, to="de").translate(text)
    assert translation.num_parts > 1
    assert f"at most {longest}" in translation.notes[0]


def test_a_direction_that_it_has_not_is_refused(translator: saccade.Translator, run: Path):
    with pytest.raises(saccade.ModelError, match=r"does not translate to fr\. It translates en → de"):
        translator.translate("cat", to="fr")
    with pytest.raises(saccade.ModelError, match="does not translate from zh to de"):
        translator.translate("猫", to="de", source="zh")
    with pytest.raises(saccade.ModelError, match=r'name the language to translate to \("de" or "en" or "zh"\)'):
        translator.translate("cat")
    with pytest.raises(saccade.ModelError, match="does not translate to fr"):
        saccade.load(run, to="fr")


def test_a_code_without_region_stands_for_any(translator: saccade.Translator):
    assert translator.translate("cat dog", to="zh-CN").text == "猫狗"


def test_commands_choose_a_direction(saccade: Callable[..., Ended], run: Path, tmp_path: Path):
    assert saccade("translate", "--model", run, "--to", "zh", stdin="cat dog\n\nfox bee\n").stdout == "猫狗\n\n狐蜂\n"
    refused = saccade("translate", "--model", run, stdin="cat\n")
    assert refused.code == 1
    assert "--to" in refused.stderr
    for name, line in (("a.en", "cat dog"), ("a.zh", "猫狗")):
        (tmp_path / name).write_text(f"{line}\n", "utf-8")
    scored = saccade("score", "--model", run, "--to", "zh", tmp_path / "a.en", tmp_path / "a.zh")
    assert float(scored.stdout.split()[0]) > -0.5
    evaluated = saccade(
        "evaluate", "--model", run, "--to", "zh", "--source", tmp_path / "a.en", "--reference", tmp_path / "a.zh"
    )
    assert "100.00" in evaluated.stdout
    assert "Katze" in saccade("view", "--model", run, "--to", "de", "cat dog").stdout
    assert "de → en" in saccade("info", run).stdout


def test_validation_is_of_each_direction(run: Path):
    prepared = Prepared.open(run / "corpus")
    assert [(str(direction), len(examples)) for direction, examples in prepared.valid.items()] == [
        ("en → de", 6),
        ("de → en", 6),
        ("en → zh", 6),
        ("zh → en", 6),
    ]
    task = open_task(Recipe.load(run / "recipe.toml"))
    task.prepare(Reporter())
    model = task.build()
    validation = task.validate(model, 1)
    assert list(validation.parts) == ["en → de", "de → en", "en → zh", "zh → en"]
    assert validation.quality == pytest.approx(np.mean(list(validation.parts.values())))
    assert "valid_bleu zh → en" in validation.logged
    assert set(task.evaluate(model)) == {"loss", "BLEU", *(f"BLEU {name}" for name in validation.parts)}


def test_what_is_held_out_is_learned_in_no_direction(run: Path):
    prepared = Prepared.open(run / "corpus")
    decode = prepared.tokenizers.source.decode
    learned = {tuple(map(decode, prepared.train[row])) for row in range(len(prepared.train))}
    for example in prepared.valid_examples:
        assert (example.source, example.target) not in learned
        assert (example.target, example.source) not in learned
    assert len(prepared.train) == 2 * 2 * (len(list(_sentences())) - 6)


def test_a_warm_start_keeps_tags_and_directions(run: Path, tmp_path: Path):
    recipe = _write(tmp_path)
    recipe.write_text(
        RECIPE[: RECIPE.index('[[data.train]]\nfile = "en-zh.tsv"')].replace("both_ways = true\n", "")
        + RECIPE[RECIPE.index("[tokenizer]") :].replace("updates = 800", f'updates = 2\nwarm_start = "{run}"'),
        "utf-8",
    )
    saccade.train(recipe)
    tuned = saccade.load(tmp_path / "run")
    assert set(tuned.directions) == set(saccade.load(run).directions)
    assert tuned.translate("cat dog", to="zh").text == "猫狗"


# -- settings --


def test_a_corpus_needs_languages():
    corpus = CorpusSettings(file=Path("a.tsv"))
    with pytest.raises(ValueError, match=r"train\[0\] has none"):
        DataSettings(train=(corpus,), source_language="en")


def test_validation_is_of_a_direction_that_is_learned():
    corpus = CorpusSettings(file=Path("a.tsv"), target_language="de")
    other = CorpusSettings(file=Path("b.tsv"), target_language="zh")
    with pytest.raises(ValueError, match="no corpus of train is en → zh"):
        DataSettings(train=(corpus,), valid=(other,), source_language="en")


def test_one_vocabulary_serves_all_directions(tmp_path: Path):
    recipe = _write(tmp_path)
    with pytest.raises(saccade.SettingsError, match=r"Set tokenizer\.shared = true"):
        Recipe.load(recipe, ["tokenizer.shared=false"])
