"""A starter recipe fits the data and the time, whatever their size."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade import Recipe
from saccade.data.settings import CorpusSettings
from saccade.errors import DataError, SettingsError
from saccade.starter import FEWEST_PAIRS, MAX_EPOCHS, CorpusSize, measure_corpus, plan_training, starter_recipe
from saccade.text.tokenizer import Tokenizer, TokenizerSettings

SPEED = 180e9  # two cores of a laptop

corpora = st.builds(
    CorpusSize,
    pairs=st.integers(FEWEST_PAIRS, 100_000_000),
    bytes_per_pair=st.floats(1, 1000),
    num_characters=st.integers(2, 8000),
)


@given(corpus=corpora, minutes=st.floats(1, 100_000), speed=st.floats(1e9, 1e15))
def test_a_plan_fits_data_and_time(corpus: CorpusSize, minutes: float, speed: float):
    plan = plan_training(corpus, minutes, speed)
    assert 1 <= plan.hold_out < corpus.pairs / 2
    assert plan.vocabulary >= 260 + corpus.num_characters
    assert plan.epochs <= MAX_EPOCHS
    assert plan.minutes <= minutes or plan.updates == 10
    assert 1 <= plan.warmup <= plan.updates
    assert 1 <= plan.validate_every <= plan.updates
    assert 512 <= plan.batch_tokens <= 4096


@pytest.mark.parametrize(
    ("pairs", "minutes", "preset", "vocabulary"),
    [
        (450, 60, "tiny", 1000),
        (2000, 60, "tiny", 1000),
        (30_000, 60, "tiny", 8000),
        (5_000_000, 60, "tiny", 8000),
        (5_000_000, 3000, "small", 16_000),
        (5_000_000, 60_000, "base", 32_000),
    ],
)
def test_plans_of_common_sizes(pairs: int, minutes: int, preset: str, vocabulary: int):
    plan = plan_training(CorpusSize(pairs, 70, 90), minutes, SPEED)
    assert (plan.preset, plan.vocabulary) == (preset, vocabulary)
    assert plan.hold_out == min(1000, pairs // 10)
    if pairs <= 2000:
        assert plan.minutes < 15, "what is small is done soon, however much time there is"
    else:
        assert plan.minutes > 0.8 * minutes


@given(factor=st.floats(1, 100), pairs=st.integers(FEWEST_PAIRS, 10_000_000))
def test_more_time_never_learns_less(factor: float, pairs: int):
    corpus = CorpusSize(pairs, 70, 90)
    small, large = (plan_training(corpus, minutes, SPEED) for minutes in (60, 60 * factor))
    assert large.vocabulary >= small.vocabulary
    assert large.preset != small.preset or large.updates >= small.updates


@pytest.mark.parametrize("line", ["a b", "他说：好。", "The dog {} runs over the {} meadow."])
def test_the_vocabulary_is_attainable(line: str, tmp_path: Path):
    lines = [line.format(number, number**2) for number in range(FEWEST_PAIRS)]
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"{text}\t{text}\n" for text in lines), "utf-8")
    plan = plan_training(measure_corpus(CorpusSettings(file=path)), 60, SPEED)
    assert len(Tokenizer.learn(lines, TokenizerSettings(vocabulary=plan.vocabulary), 1)) <= plan.vocabulary


def test_a_corpus_of_many_characters_has_a_vocabulary_for_them(tmp_path: Path):
    ideographs = [chr(0x4E00 + number) for number in range(3000)]
    (tmp_path / "a.zh").write_text("".join(f"{character * 3}\n" for character in ideographs), "utf-8")
    (tmp_path / "a.en").write_text("a word\n" * 3000, "utf-8")
    text, plan = starter_recipe(directory=tmp_path, source=tmp_path / "a.en", target=tmp_path / "a.zh")
    assert plan.vocabulary > 3260
    assert "character_coverage = 0.9995" in text


def write_pair(directory: Path, source: str, target: str, lines: int = 450) -> tuple[Path, Path]:
    directory.mkdir(exist_ok=True)
    for name in (source, target):
        content = "".join(f"{name} says that {number} is more than {number - 1}.\n" for number in range(lines))
        packed = gzip.compress(content.encode()) if name.endswith("gz") else content.encode()
        (directory / name).write_bytes(packed)
    return directory / source, directory / target


@pytest.mark.parametrize(
    ("names", "languages"),
    [
        (("a.fr", "a.en"), ("fr", "en")),
        (("corpus.de-en.en.gz", "corpus.de-en.de.gz"), ("en", "de")),
        (("train_en.txt", "train_pt.txt"), ("en", "pt")),
        (("ui.en-US", "ui.zh_CN"), ("en-US", "zh_CN")),
        (("en-de.train.en.gz", "en-de.train.de.gz"), ("en", "de")),
    ],
)
def test_languages_are_taken_from_names(names: tuple[str, str], languages: tuple[str, str], tmp_path: Path):
    source, target = write_pair(tmp_path, *names)
    text, plan = starter_recipe(directory=tmp_path, source=source, target=target)
    (tmp_path / "recipe.toml").write_text(text, "utf-8")
    data = Recipe.load(tmp_path / "recipe.toml").data
    assert (data.source_language, data.target_language) == languages
    assert plan.pairs == 450


@pytest.mark.parametrize("name", ["memory.en-de.tsv", "en_de.tsv", "corpus-en-de-v2.tsv.gz"])
def test_languages_of_a_table(name: str, tmp_path: Path):
    (tmp_path / name).write_text("a\tb\n" * 30)
    text, _ = starter_recipe(directory=tmp_path, file=tmp_path / name)
    assert 'source_language = "en"\ntarget_language = "de"' in text


@pytest.mark.parametrize("names", [("source.txt", "target.txt"), ("a.en", "b.en"), ("my-file", "a.de")])
def test_languages_that_no_name_tells_are_asked_for(names: tuple[str, str], tmp_path: Path):
    source, target = write_pair(tmp_path, *names)
    with pytest.raises(SettingsError, match=r"--from"):
        starter_recipe(directory=tmp_path, source=source, target=target)
    starter_recipe(directory=tmp_path, source=source, target=target, source_language="en", target_language="de")


def test_a_language_that_is_none_is_refused(tmp_path: Path):
    source, target = write_pair(tmp_path, "a.en", "a.de")
    with pytest.raises(SettingsError, match=r"--from.*`english`.*`en`"):
        starter_recipe(directory=tmp_path, source=source, target=target, source_language="english")


def test_files_that_cannot_be_learned_from_are_refused(tmp_path: Path):
    source, target = write_pair(tmp_path, "a.en", "a.de")
    with pytest.raises(DataError, match=r"b\.de.*exist"):
        starter_recipe(directory=tmp_path, source=source, target=tmp_path / "b.de")
    with pytest.raises(SettingsError, match="two files"):
        starter_recipe(directory=tmp_path, source=source, target=source, source_language="en", target_language="de")
    target.write_text("too\nshort\n")
    with pytest.raises(DataError, match=r"450 lines but .* has 2"):
        starter_recipe(directory=tmp_path, source=source, target=target)
    source.write_text("too\nshort\n")
    with pytest.raises(DataError, match=f"at least {FEWEST_PAIRS} pairs"):
        starter_recipe(directory=tmp_path, source=source, target=target)


def test_paths_are_relative_where_recipe_and_files_lie_together(tmp_path: Path):
    source, target = write_pair(tmp_path / "data", "a.en", "a.de")
    near, _ = starter_recipe(directory=tmp_path / "model", source=source, target=target)
    assert 'source = "../data/a.en"' in near
    far, _ = starter_recipe(directory=tmp_path / "b/c/model", source=source, target=target)
    assert f'source = "{source.resolve().as_posix()}"' in far
