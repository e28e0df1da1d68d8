"""`saccade align`, on a toy that is really learned: three words, translated and turned round."""

import json
from itertools import product
from pathlib import Path

import pytest

WORDS = {"ant": "Ameise", "bee": "Biene", "cat": "Katze", "dog": "Hund", "fox": "Fuchs", "lion": "Löwe"}
GOLD = "0-2 1-1 2-0"
RECIPE = """\
run = "{source}-{target}"

[data]
source_language = "{source}"
target_language = "{target}"
train = [{{ source = "train.{source}", target = "train.{target}" }}]
hold_out = 20

[tokenizer]
vocabulary = 200
byte_fallback = false

[model]
layers = 1
d_model = 32
d_feedforward = 64
num_heads = 2
dropout = 0.0

[training]
updates = 200
batch_tokens = 256
learning_rate = 0.01
warmup = 30
validate_every = 200
best_by = "loss"
checkpoint_every = 200
average = 1
threads = 1
"""


@pytest.fixture(scope="module")
def toy(saccade, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models of both directions, en-de and de-en; test and dev sentences with their links, each three to three."""
    directory = tmp_path_factory.mktemp("toy")
    triples = list(product(WORDS, repeat=3))
    sides = {
        "en": [" ".join(words) for words in triples],
        "de": [" ".join(WORDS[word] for word in reversed(words)) for words in triples],
    }
    for name, rows in (("train", slice(None)), ("test", slice(5, None, 9)), ("dev", slice(2, None, 9))):
        for language, lines in sides.items():
            (directory / f"{name}.{language}").write_text("".join(line + "\n" for line in lines[rows]), "utf-8")
        (directory / f"{name}.gold").write_text(f"{GOLD}\n" * len(triples[rows]), "utf-8")
    for source, target in (("en", "de"), ("de", "en")):
        recipe = directory / f"{source}-{target}.toml"
        recipe.write_text(RECIPE.format(source=source, target=target), "utf-8")
        ended = saccade("train", recipe)
        assert ended.code == 0, ended.stderr
    return directory


def files(directory: Path, name: str = "test") -> list[str | Path]:
    return ["-m", directory / "en-de", directory / f"{name}.en", directory / f"{name}.de"]


def dev(directory: Path) -> list[str | Path]:
    return ["--choose", directory / "dev.en", directory / "dev.de", directory / "dev.gold"]


def test_links_are_lines_of_pharaoh(saccade, toy: Path):
    ended = saccade("align", *files(toy))
    assert (ended.code, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    assert len(lines) == len((toy / "test.en").read_text().splitlines())
    assert all(
        [part.split("-")[1] for part in sorted(line.split(), key=lambda part: part[2:])] == ["0", "1", "2"]
        for line in lines
    )


def test_chosen_heads_find_the_words_and_beat_the_diagonal(saccade, toy: Path):
    """Three words turned round: the diagonal has the middle one only, an error rate of 2/3."""
    ended = saccade("align", *files(toy), *dev(toy), "--gold", toy / "test.gold", "--json")
    assert ended.code == 0
    assert ended.stderr.startswith("Chosen: --heads 1:")
    found = json.loads(ended.stdout)
    assert found["this_model"]["error_rate"] < 0.1
    assert found["diagonal"]["error_rate"] == pytest.approx(2 / 3)
    assert found["gain"]["low"] > 0.5
    assert found["selections"][0]["error_rate"] <= found["selections"][-1]["error_rate"]


def test_what_was_chosen_can_be_said(saccade, toy: Path):
    chosen = saccade("align", *files(toy), *dev(toy))
    said = saccade("align", *files(toy), *chosen.stderr.removeprefix("Chosen: ").split())
    assert (said.code, said.stderr) == (0, "")
    assert said.stdout == chosen.stdout


def test_scores_for_people(saccade, toy: Path):
    ended = saccade("align", *files(toy), *dev(toy), "--gold", toy / "test.gold")
    assert "Alignment of 24 sentence pairs" in ended.stdout
    assert "The diagonal's error rate is higher by 0." in ended.stdout
    names = [line.split("│")[0].strip() for line in ended.stdout.splitlines() if "│" in line]
    assert names == ["this model", "diagonal", "layer 1", "layer 1, head 1", "layer 1, head 2"]


@pytest.mark.parametrize("method", ["intersection", "grow-diag", "grow-diag-final-and", "union"])
def test_two_directions_choose_by_agreement(method: str, saccade, toy: Path):
    ended = saccade(
        *("align", *files(toy), "--reverse", toy / "de-en", "--method", method, "--gold", toy / "test.gold", "--json")
    )
    assert ended.code == 0
    assert "; and for the reverse model --heads " in ended.stderr
    assert json.loads(ended.stdout)["this_model"]["error_rate"] < 0.15


def test_two_directions_chosen_on_held_out_files(saccade, toy: Path):
    ended = saccade("align", *files(toy), *dev(toy), "--reverse", toy / "de-en", "--method", "intersection")
    assert ended.code == 0
    lines = ended.stdout.splitlines()
    assert lines.count(GOLD) > 0.8 * len(lines)


def test_a_gold_with_the_target_first(saccade, toy: Path, tmp_path: Path):
    """Sentence pairs of two and three words tell the directions apart."""
    (tmp_path / "a.en").write_text("cat dog\n")
    (tmp_path / "a.de").write_text("ein Hund Katze\n")
    (tmp_path / "gold").write_text("2-0 1-1\n")
    arguments = ["-m", toy / "en-de", tmp_path / "a.en", tmp_path / "a.de", "--gold", tmp_path / "gold"]
    assert saccade("align", *arguments, "--flip").code == 0
    ended = saccade("align", *arguments)
    assert (ended.code, ended.stdout) == (1, "")
    assert ended.stderr == (
        f"error: {tmp_path}/gold, line 1: words are counted from 0, source first, but 2-0 is outside a pair of 2 "
        "source and 3 target words. If they have the target first, turn them (`--flip`); if they are counted from 1, "
        "subtract 1.\n"
    )


def test_blank_lines_have_no_links_and_others_keep_their_place(saccade, toy: Path, tmp_path: Path):
    (tmp_path / "a.en").write_text("cat dog fox\n\nbee ant ant\nlion\n\u200b\n", "utf-8")
    (tmp_path / "a.de").write_text("Fuchs Hund Katze\nBiene\n \nLöwe\nHund\n", "utf-8")
    (tmp_path / "gold").write_text("0-2\n\n\n0-0\n\n")
    arguments = ["-m", toy / "en-de", tmp_path / "a.en", tmp_path / "a.de"]
    lines = saccade("align", *arguments).stdout.split("\n")
    assert lines[1:] == ["", "", "0-0", "", ""]
    assert len(lines[0].split()) == 3
    assert saccade("align", *arguments, "--gold", tmp_path / "gold").code == 0


def test_a_threshold(saccade, toy: Path):
    everything = saccade("align", *files(toy), "--threshold", "0").stdout.splitlines()
    assert all(line == "0-0 0-1 0-2 1-0 1-1 1-2 2-0 2-1 2-2" for line in everything)
    strict = saccade("align", *files(toy), *dev(toy), "--threshold", "0.5").stdout.splitlines()
    assert strict.count(GOLD) > 0.7 * len(strict)


def test_links_into_a_file(saccade, toy: Path, tmp_path: Path):
    ended = saccade("align", *files(toy), "--output", tmp_path / "links")
    assert (ended.code, ended.stdout) == (0, "")
    assert (tmp_path / "links").read_text() == saccade("align", *files(toy)).stdout
    again = saccade("align", *files(toy), "--output", tmp_path / "links")
    assert again.code == 1
    assert "links exists already. Remove it or name another file; nothing was aligned." in again.stderr


def test_files_of_different_lengths_are_refused(saccade, toy: Path):
    ended = saccade("align", "-m", toy / "en-de", toy / "test.en", toy / "train.de")
    assert (ended.code, ended.stdout) == (1, "")
    assert ended.stderr == (
        f"error: {toy}/test.en has 24 lines but {toy}/train.de has 216. Line n of one must translate line n of "
        "the other; find the line that is missing or was split in two.\n"
    )


def test_empty_files_are_refused(saccade, toy: Path, tmp_path: Path):
    (tmp_path / "none").write_text("")
    ended = saccade("align", "-m", toy / "en-de", tmp_path / "none", tmp_path / "none")
    assert ended.stderr == f"error: {tmp_path}/none must hold at least one sentence, but it is empty.\n"


def test_a_reverse_model_of_the_same_direction_is_refused(saccade, toy: Path):
    ended = saccade("align", *files(toy), "--reverse", toy / "en-de")
    assert (ended.code, ended.stdout) == (1, "")
    assert f"must translate the other way round, de → en, but {toy}/en-de/model translates en → de." in ended.stderr


def test_a_head_that_is_not_there_is_refused(saccade, toy: Path):
    assert saccade("align", *files(toy), "--heads", "1:3").stderr == (
        "error: There are 2 heads, counted from 0, but head 2 was asked for.\n"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--heads", "1:1", "--reverse", "m"], "--heads, --rows and --balance say what --choose or --reverse"),
        (
            ["--rows", "reads", "--choose", "a", "b", "c"],
            "--heads, --rows and --balance say what --choose or --reverse",
        ),
        (["--json"], "--json prints scores, which need --gold"),
    ],
)
def test_wrong_usage(options: list[str], message: str, saccade, tmp_path: Path):
    ended = saccade("align", "-m", "m", "a", "b", *options)
    assert ended.code == 2
    assert message in ended.stderr
