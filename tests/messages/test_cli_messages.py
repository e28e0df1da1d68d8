"""What a user reads in the terminal after each mistake: the exact words, exit code 1, no traceback."""

import errno
import os
import re
import shutil
from pathlib import Path

import pytest

from saccade import __version__

RECIPES = Path(__file__).parent.parent.parent / "recipes"
REFUSED = "Check that its directory exists, that you may write there and that the disk is not full."


def message(ended) -> str:
    """The message of a command that ended with a user's mistake and no result; nothing else was said."""
    assert (ended.code, ended.stdout) == (1, "")
    assert ended.stderr.startswith("error: ")
    return ended.stderr.removeprefix("error: ").removesuffix("\n")


@pytest.fixture
def recipe(write_task, tmp_path: Path) -> Path:
    """A sound recipe, to be spoilt."""
    return write_task(tmp_path)


@pytest.fixture
def model(trained: Path, tmp_path: Path) -> Path:
    """A model directory, to be spoilt."""
    return Path(shutil.copytree(trained / "run/model", tmp_path / "model"))


@pytest.fixture
def run(trained: Path, saccade, write_task, tmp_path: Path) -> Path:
    """A run with two checkpoints, those of updates 3 and 6, to be spoilt."""
    settings = ("training.updates=6", "training.checkpoint_every=3", "training.validate_every=6")
    words = [word for setting in settings for word in ("--set", setting)]
    assert saccade("train", write_task(tmp_path), *words).code == 0
    return tmp_path / "run"


# -- recipes --


@pytest.mark.parametrize("verb", ["prepare", "train"])
def test_misspelt_settings(verb: str, saccade, recipe: Path):
    recipe.write_text(recipe.read_text().replace("updates", "udpates"))
    ended = saccade(verb, recipe, "--set", "model.layer=2")
    assert message(ended) == (
        f"{recipe}: 2 problems\n"
        "  model.layer is not a setting, did you mean model.layers?\n"
        "  training.udpates is not a setting, did you mean training.updates?"
    )


def test_no_recipe(saccade, tmp_path: Path):
    assert message(saccade("train", tmp_path / "recipe.toml")) == (
        f"{tmp_path}/recipe.toml: there is no such file. `saccade init DIR` writes a starter recipe for your data."
    )


def test_a_directory_for_a_recipe(saccade, tmp_path: Path):
    assert message(saccade("train", tmp_path)) == f"{tmp_path}: this is a directory. Name the TOML file in it."


def test_no_variable_for_the_data(saccade, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("SACCADE_DATA", raising=False)
    recipe = RECIPES / "multi30k-en-de.toml"
    assert message(saccade("train", recipe)) == (
        f"{recipe}: data.valid.source needs the environment variable SACCADE_DATA, which is not set. Set it to the "
        "directory that holds the data sets; docs/data.md says where the public ones come from."
    )


def test_no_data_below_the_variable(saccade, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    ended = saccade("prepare", RECIPES / "multi30k-en-de.toml", "--set", f"run={tmp_path}/run")
    assert message(ended) == (
        f"The file {tmp_path}/multi30k/train.en, named by data.train[0].source, must exist, but it does not. Check "
        "the path; in a recipe, relative ones start from the recipe's own directory. docs/data.md says where the "
        "public data sets come from."
    )


def test_a_device_that_is_none(saccade, recipe: Path):
    ended = saccade("train", recipe, "--set", "training.device=gpu")
    assert ended.code == 1
    assert ended.stderr.splitlines()[-1].startswith(
        'error: The recipe: training.device must be a device of this machine, not "gpu". PyTorch says: Expected one of '
    )


# -- corpora --


def test_a_missing_corpus(saccade, recipe: Path, tmp_path: Path):
    (tmp_path / "train.de").unlink()
    for verb in ("prepare", "train"):
        assert message(saccade(verb, recipe)).startswith(
            f"The file {tmp_path}/train.de, named by data.train[0].target, must exist, but it does not. Check the path;"
        )


def test_unequal_line_counts(saccade, recipe: Path, tmp_path: Path):
    with (tmp_path / "train.de").open("a") as file:
        file.write("Hund\nKatze\n")
    assert message(saccade("prepare", recipe)) == (
        f"{tmp_path}/train.en has 36 lines but {tmp_path}/train.de has 38. Line n of one must translate line n of the "
        "other; find the line that is missing or was split in two."
    )
    assert not (tmp_path / "run/corpus").exists()


def test_an_empty_corpus(saccade, recipe: Path, tmp_path: Path):
    for name in ("train.en", "train.de"):
        (tmp_path / name).write_text("")
    assert message(saccade("prepare", recipe)) == (
        f"The training corpus must leave at least one pair to learn from, but {tmp_path}/train.en, {tmp_path}/train.de "
        "leave none: 0 pairs were read. Check that these are the right files and the settings of [data.cleaning]."
    )


def test_a_corpus_that_is_not_utf8(saccade, recipe: Path, tmp_path: Path):
    (tmp_path / "train.de").write_bytes((tmp_path / "train.de").read_text("utf-8").encode("latin-1"))
    path = tmp_path / "train.de"
    assert message(saccade("prepare", recipe)) == (
        f"{path} must be UTF-8 text, but byte 9 of line 6 is 0xF6, which is not. Convert the file from its real "
        "encoding (such as WINDOWS-1252 or GB18030), for example with: "
        f"iconv -f WINDOWS-1252 -t UTF-8 {path} > train.utf8.de"
    )


def test_sentences_too_long_to_learn_from_are_reported(saccade, recipe: Path, tmp_path: Path):
    for name, text in (("train.en", "dog " * 9), ("train.de", "Hund " * 9)):
        with (tmp_path / name).open("a") as file:
            file.write(text + "\n")
    ended = saccade("prepare", recipe)
    assert ended.code == 0
    assert re.search(
        r"a side has too many tokens +│ +1 │ train.en:37: dog dog dog dog dog dog dog dog dog → Hund Hund", ended.stderr
    )


# -- models --


@pytest.mark.parametrize("verb", ["translate", "view", "info", "evaluate"])
def test_no_model_there(verb: str, saccade, tmp_path: Path):
    text = tmp_path / "text"
    text.write_text("dog\n")
    words = {
        "translate": ["--model", tmp_path / "none"],
        "view": ["--model", tmp_path / "none", "dog"],
        "info": [tmp_path / "none"],
        "evaluate": ["--model", tmp_path / "none", "--source", text, "--reference", text],
    }
    assert message(saccade(verb, *words[verb])) == (
        f"{tmp_path}/none must be a model directory, but there is nothing of that name. "
        "`saccade train` writes one below its run directory, as `model`."
    )


def test_a_file_for_a_model(saccade, recipe: Path):
    assert message(saccade("info", recipe)) == (
        f"{recipe} must be a model directory, but there is a file of that name. "
        "`saccade train` writes one below its run directory, as `model`."
    )


def test_a_directory_that_is_no_model(saccade, tmp_path: Path):
    text = message(saccade("translate", "--model", tmp_path))
    assert text.startswith(f"{tmp_path} is not a model directory: it has no settings.toml and no model.safetensors. ")
    assert text.endswith("`saccade train` writes a model directory below its run directory, as `model`.")


def test_a_run_without_a_model_yet(saccade, run: Path):
    shutil.rmtree(run / "model")
    assert message(saccade("translate", "--model", run)) == (
        f"The run in {run} has no model yet: the first is saved at update 6. Let it train longer, or lower "
        "training.validate_every."
    )


def test_the_directory_around_a_run(saccade, trained: Path):
    assert message(saccade("translate", "--model", trained)).endswith(f"Did you mean {trained / 'run'}?")


def test_a_text_in_place_of_a_file(saccade, trained: Path):
    told = message(saccade("translate", "--model", trained / "run", "You need it."))
    assert "echo 'You need it.' | saccade translate" in told


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"PK\x03\x04\x14\x00word/document.xml", "a ZIP archive, such as a Word or Excel document"),
        (b"%PDF-1.7\n", "a PDF document"),
        (b"<!DOCTYPE html>\n<html>", "an HTML page"),
        (b'\xef\xbb\xbf<?xml version="1.0"?>\n<tmx version="1.4">', "a translation memory (TMX)"),
        (b'<?xml version="1.0"?>\n<xliff>', "an XML file"),
    ],
)
def test_what_is_not_a_file_of_lines_is_named(content: bytes, what: str, saccade, trained: Path, tmp_path: Path):
    (tmp_path / "in").write_bytes(content)
    told = message(saccade("translate", "--model", trained / "run", tmp_path / "in"))
    assert told.startswith(f"{tmp_path / 'in'} must be a file of lines, but it is {what}.")


def test_lines_of_an_old_mac(saccade, trained: Path, tmp_path: Path):
    (tmp_path / "in").write_bytes(b"fox dog\rdog fox\rcat cat\r")
    assert "they end in CR alone" in message(saccade("translate", "--model", trained / "run", tmp_path / "in"))


def test_a_model_of_a_newer_format(saccade, model: Path):
    settings = (model / "settings.toml").read_text("utf-8")
    newer = settings.replace("format = 2", "format = 3").replace(f'saccade = "{__version__}"', 'saccade = "9.0"')
    (model / "settings.toml").write_text(newer, "utf-8")
    assert message(saccade("info", model)) == (
        f"{model}/settings.toml has format 3, written by saccade 9.0, but this saccade ({__version__}) reads format 2. "
        "Use that version."
    )


def test_a_model_of_an_older_format(saccade, model: Path):
    settings = (model / "settings.toml").read_text("utf-8")
    (model / "settings.toml").write_text(settings.replace("format = 2", "format = 1"), "utf-8")
    told = message(saccade("info", model))
    assert "has format 1" in told
    assert told.endswith("Train or import it again.")


@pytest.mark.parametrize("size", [0, 100, -1])
def test_a_model_cut_short(size: int, saccade, model: Path):
    file = model / "model.safetensors"
    os.truncate(file, size if size >= 0 else file.stat().st_size + size)
    for words in (["info", model], ["translate", "--model", model]):
        told = message(saccade(*words))
        assert told.startswith(f"{file} must be a whole safetensors file, but cannot be read (")
        assert told.endswith(
            "). It was probably cut short while being copied: copy it again, or train the model again."
        )


def test_tokenizers_of_another_model(saccade, model: Path, recipe: Path, tmp_path: Path):
    saccade("prepare", recipe, "--set", "tokenizer.kind=unigram")
    shutil.copy(tmp_path / "run/corpus/tokenizer.spm", model)
    for words in (["info", model], ["translate", "--model", model]):
        told = message(saccade(*words))
        assert told.startswith(f"{model} must hold the files that the model was saved with, but tokenizer.spm ")
        assert "Copy the whole model directory again." in told


def test_a_model_without_its_tokenizers(saccade, model: Path):
    (model / "tokenizer.spm").unlink()
    told = message(saccade("info", model))
    assert told.startswith(f"{model} must hold ")
    assert "tokenizer.spm is missing" in told


def test_parameters_of_another_model(saccade, model: Path):
    settings = (model / "settings.toml").read_text("utf-8")
    (model / "settings.toml").write_text(settings.replace("d_feedforward = 64", "d_feedforward = 48"), "utf-8")
    told = message(saccade("translate", "--model", model, stdin="dog cat\n"))
    assert told.startswith(f"The parameters of {model} must fit its settings and vocabulary, but decoder.")
    assert " must have shape (48,), not (64,); " in told
    assert told.endswith("Its files do not belong together: copy the whole model directory again.")


# -- checkpoints --


def test_the_newest_checkpoint_cut_short(saccade, run: Path):
    file = run / "checkpoints/update-00000006/model.safetensors"
    os.truncate(file, 1000)
    ended = saccade("train", run.parent / "recipe.toml", "--set", "training.updates=8")
    assert ended.code == 0
    assert (
        f"warning: {file} must have the checksum that checkpoint.json names, but has another: the file was cut short "
        "or damaged. Skipping it.\n"
    ) in ended.stderr
    assert "\nResuming from update 3.\n" in ended.stderr
    assert "\n8 updates in " in ended.stderr


def test_no_sound_checkpoint_left(saccade, run: Path):
    for path in (run / "checkpoints").iterdir():
        (path / "checkpoint.json").unlink()
    before = sorted(run.rglob("*"))
    ended = saccade("train", run.parent / "recipe.toml", "--set", "training.updates=2")
    assert ended.code == 1
    told = ended.stderr.partition("error: ")[2]
    for update in (6, 3):
        assert (
            f"{run}/checkpoints/update-0000000{update} must be a whole checkpoint, but checkpoint.json cannot be read"
            in told
        )
    assert told.endswith(f"or remove {run}/checkpoints to begin anew.\n")
    assert sorted(run.rglob("*")) == before


def test_other_settings_for_a_run(saccade, run: Path):
    told = message(saccade("train", run.parent / "recipe.toml", "--set", "model.d_model=64"))
    assert told == (
        f"The run in {run} was started with other settings. Undo these changes to resume it, or give the new recipe "
        "a `run` directory of its own: model.d_model: 32 -> 64"
    )


# -- text to translate --


def test_standard_input_that_is_not_utf8(saccade, trained: Path):
    """What came before it is translated."""
    ended = saccade("translate", "-m", trained / "run", stdin="dog\nStraße\n".encode("latin-1"))
    assert (ended.code, ended.stdout.count("\n")) == (1, 1)
    assert message(ended._replace(stdout="")) == (
        "Standard input must be UTF-8 text, but byte 5 of line 2 is 0xDF, which is not. "
        "Convert it first, for example with: iconv -f WINDOWS-1252 -t UTF-8"
    )


def test_a_file_to_translate_that_is_not_utf8(saccade, trained: Path, tmp_path: Path):
    path = tmp_path / "in.en"
    path.write_text("dog cat\n", "utf-16")
    assert message(saccade("translate", "-m", trained / "run", path)) == (
        f"{path} must be UTF-8 text, but byte 1 of line 1 is 0xFF, which is not. Convert the file from UTF-16, "
        f"for example with: iconv -f UTF-16 -t UTF-8 {path} > in.utf8.en"
    )


@pytest.mark.parametrize("words", [["none.en"], ["train.en", "none.en"]])
def test_a_missing_file_to_translate(words: list[str], saccade, trained: Path, tmp_path: Path):
    """Known before anything is translated."""
    ended = saccade("translate", "-m", trained / "run", *(trained / word for word in words), "-o", tmp_path / "out.de")
    assert message(ended).startswith(f"The file {trained}/none.en must exist, but it does not. Check the path;")
    assert not (tmp_path / "out.de").exists()


def test_a_line_longer_than_those_learned_from_is_translated_in_parts_and_told(saccade, trained: Path):
    given = "dog cat\n\n" + "dog " * 30 + "\ncat dog\n" + "fox" * 20 + "\n"
    ended = saccade("translate", "-m", trained / "run", stdin=given)
    assert ended.code == 0
    told = ended.stderr.splitlines()
    assert told[0] == (
        "line 3 has 30 tokens, but the model was trained on at most 8: it was translated in 4 parts, cut between words"
    )
    assert told[1].startswith("line 5 has ")
    assert told[1].endswith(" parts, cut within words")
    lines = ended.stdout.split("\n")
    assert (lines[0], lines[1], bool(lines[2]), lines[3]) == ("Hund Katze", "", True, "Katze Hund")


def test_a_line_longer_than_those_learned_from_that_is_read_whole(saccade, trained: Path):
    ended = saccade("translate", "-m", trained / "run", "--split", "never", stdin="dog " * 30 + "\n")
    assert ended.code == 0
    assert ended.stderr == (
        "line 1 has 30 tokens, but the model was trained on at most 8: check this translation, or split the text into "
        "sentences\n"
    )


def test_a_line_without_end(saccade, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("saccade.text.formats.stream.LONGEST", 1000)
    path = tmp_path / "in.en"
    path.write_text("x" * 1001)
    assert message(saccade("translate", "-m", trained / "run", path)) == (
        f"A line must have at most 1,000 bytes, but line 1 of {path} has more. Is it text, with a newline after each "
        "paragraph? Put some in, for example with: fold -s -w 1000"
    )


def test_settings_of_the_search_that_are_none(saccade, trained: Path):
    told = message(saccade("translate", "-m", trained / "run", "--set", "search.beem=3", "--set", "search.n_best=0"))
    assert "search.beem is not a setting, did you mean search.beam?" in told
    assert "search.n_best must be from 1 to 10,000, not 0." in told
    assert message(saccade("translate", "-m", trained / "run", "--set", "search.n_best=9")) == (
        "The command line: search: n_best must be at most beam, which is 5, not 9"
    )
    assert message(saccade("translate", "-m", trained / "run", "--set", "beam")) == (
        "The command line: --set beam does not give a setting a value. Write NAME=VALUE with the value as in TOML, for "
        "example: --set training.seed=2 or --set model.preset=small"
    )
    assert message(saccade("translate", "-m", trained / "run", "--set", "model.layers=2")) == (
        "The command line: model is not a setting, known here: search."
    )


def test_sentences_and_attention_at_once(trained: Path):
    from saccade import ModelError, load

    with pytest.raises(ModelError) as raised:
        load(trained / "run").translate("dog", attention=True, split="sentences")
    assert 'attention is available only for unsplit text, but split = "sentences"' in str(raised.value)
    assert "Leave one of them out" in str(raised.value)
    with pytest.raises(ModelError) as raised:
        load(trained / "run").translate("dog", split="always")
    assert str(raised.value) == "split must be one of auto, sentences, never, not always."


# -- a job that was interrupted --


@pytest.fixture
def begun(saccade, trained: Path, tmp_path: Path) -> list[str | Path]:
    """The words of a command that was interrupted after two lines."""
    (tmp_path / "in.en").write_bytes(b"fox dog\ncat cat\n\xff\n")
    words = ["translate", "-m", trained / "run", tmp_path / "in.en", "-o", tmp_path / "out.de"]
    ended = saccade(*words)
    assert re.match(rf"{tmp_path}/out\.de\.part .*2 lines.*same command.*\nerror: ", ended.stderr)
    (tmp_path / "in.en").write_bytes(b"fox dog\ncat cat\nbee ant\n")
    return words


def test_a_job_gone_on_with_in_another_way(saccade, begun: list[str | Path], tmp_path: Path):
    part = tmp_path / "out.de.part"
    before = part.read_bytes()
    refused = message(saccade(*begun, "--beam", "2", "--split", "never"))
    assert refused.startswith(f"{part} was made with other settings")
    assert 'split: "auto" -> "never"; search.beam: 5 -> 2. Undo these changes' in refused
    assert refused.endswith(f"or remove {part} to start over.")
    assert part.read_bytes() == before


def test_a_job_gone_on_with_by_another_model(saccade, begun: list[str | Path], trained: Path, tmp_path: Path):
    shutil.copytree(trained / "run/model", tmp_path / "other")
    settings = tmp_path / "other/settings.toml"
    settings.write_text(settings.read_text("utf-8").replace("dropout = 0.0", "dropout = 0.5"), "utf-8")
    begun[2] = tmp_path / "other"
    told = message(saccade(*begun))
    assert re.search(r"must not mix two: model: \"[0-9a-f]{64}\" -> \"[0-9a-f]{64}\"\. Undo these changes", told)


def test_a_job_gone_on_with_for_another_input(saccade, begun: list[str | Path], tmp_path: Path):
    part = tmp_path / "out.de.part"
    (tmp_path / "in.en").write_bytes(b"fox dog\ncat dog\nbee ant\n")
    refused = message(saccade(*begun))
    assert refused.startswith(f"{part} holds the translations of 2 lines, but the input does not begin with the same")
    assert refused.endswith(f"Give the same input to resume, or remove {part} to start over.")


def test_a_job_whose_output_was_changed(saccade, begun: list[str | Path], tmp_path: Path):
    part = tmp_path / "out.de.part"
    os.truncate(part, 5)
    refused = message(saccade(*begun))
    assert refused.startswith(f"{part} must have at least 23 bytes, but it has 5")
    assert refused.endswith(f"or remove {part} to start over.")
    part.unlink()
    assert saccade(*begun).code == 0, "as the message says"


def test_a_part_of_someone_else(saccade, begun: list[str | Path], tmp_path: Path):
    part = tmp_path / "out.de.part"
    part.with_name("out.de.part.toml").unlink()
    refused = message(saccade(*begun))
    assert refused.startswith(f"{part} exists already, and out.de.part.toml")
    assert "is missing. Remove it or name another output" in refused


def test_two_processes_for_one_output(saccade, begun: list[str | Path], tmp_path: Path):
    from saccade.files import lock

    with lock(tmp_path / ".out.de.part.lock", AssertionError()):
        refused = message(saccade(*begun))
    assert f"one process at a time may write to {tmp_path}/out.de.part" in refused
    assert "Wait for it, or name another output" in refused
    assert saccade(*begun).code == 0, "the lock is gone with its holder"


# -- scores --


def test_unequal_line_counts_of_scores(saccade, trained: Path):
    files = [trained / name for name in ("valid.de", "train.en", "train.de")]
    ended = saccade("evaluate", "--hypotheses", files[2], "-r", files[0], "-l", "de")
    assert message(ended) == (
        f"Line n of every file must belong to line n of the others, but {files[0]} has 6 and {files[2]} has 36 lines. "
        "Find the line that is missing or was split in two; a blank line counts as a line."
    )
    ended = saccade("evaluate", "-m", trained / "run", "--hypotheses", files[2], "-s", files[1], "-r", files[0])
    assert message(ended) == (
        f"Line n of every file must belong to line n of the others, but {files[0]} has 6, {files[1]} has 36 and "
        f"{files[2]} has 36 lines. Find the line that is missing or was split in two; a blank line counts as a line."
    )


@pytest.mark.parametrize(
    ("option", "what"),
    [("--reference", "known translation"), ("--source", "text to translate"), ("--hypotheses", "translation")],
)
def test_nothing_to_score(option: str, what: str, saccade, trained: Path, tmp_path: Path):
    (tmp_path / "empty").write_text("")
    given = {
        "--hypotheses": trained / "train.de",
        "--source": trained / "train.en",
        "--reference": trained / "train.de",
    }
    words = [word for pair in (given | {option: tmp_path / "empty"}).items() for word in pair]
    assert message(saccade("evaluate", *words, "-l", "de")) == (
        f"{tmp_path}/empty must hold at least one {what}, but it is empty."
    )


def test_two_systems_of_one_name(saccade, trained: Path, tmp_path: Path):
    (tmp_path / "train.de").write_text("x\n")
    files = (trained / "train.de", tmp_path / "train.de")
    words = [word for path in files for word in ("--hypotheses", path)]
    assert message(saccade("evaluate", *words, "-r", trained / "train.de", "-l", "de")) == (
        f"Every system must have a name of its own, but {files[0]} and {files[1]} are both called train.de. Give names, "
        "such as: --hypotheses old=FILE --hypotheses new=FILE"
    )


def test_models_into_different_languages(saccade, trained: Path, tmp_path: Path):
    shutil.copytree(trained / "run/model", tmp_path / "other")
    settings = tmp_path / "other/settings.toml"
    settings.write_text(settings.read_text("utf-8").replace('target = "de"', 'target = "nl"'), "utf-8")
    words = ("-m", f"one={trained / 'run'}", "-m", tmp_path / "other", "-s", trained / "train.en")
    told = message(saccade("evaluate", *words, "-r", trained / "train.de"))
    assert "one into de, other into nl." in told
    assert "must translate into one language" in told


# -- where the results go --


@pytest.mark.parametrize("verb", ["translate", "evaluate"])
def test_an_output_that_exists(verb: str, saccade, trained: Path, tmp_path: Path):
    out = tmp_path / "out.de"
    out.write_text("mine")
    words = {
        "translate": [trained / "train.en"],
        "evaluate": ["--source", trained / "train.en", "--reference", trained / "train.de"],
    }
    ended = saccade(verb, "-m", trained / "run", *words[verb], "-o", out)
    assert message(ended) == f"{out} exists already. Remove it or name another file; nothing was translated."
    assert out.read_text() == "mine"


def test_a_report_that_exists(saccade, trained: Path, tmp_path: Path):
    out = tmp_path / "report.html"
    out.write_text("mine")
    words = ("--hypotheses", trained / "train.de", "-r", trained / "train.de", "--report", out)
    assert message(saccade("evaluate", *words)) == (
        f"{out} exists already. Remove it or name another file; nothing was evaluated."
    )
    assert out.read_text() == "mine"


def test_a_run_directory_that_is_something_else(saccade, recipe: Path, tmp_path: Path):
    (tmp_path / "run/corpus").mkdir(parents=True)
    (tmp_path / "run/corpus/thesis.tex").write_text("mine")
    assert message(saccade("prepare", recipe)) == (
        f"{tmp_path}/run/corpus must be new, empty or a prepared corpus, which is then replaced, but it is none of "
        "these. Choose another path or remove it."
    )


def test_an_output_directory_that_is_none(saccade, recipe: Path, trained: Path, tmp_path: Path):
    for verb in ("prepare", "train"):
        assert message(saccade(verb, recipe, "--set", f"run={tmp_path}/train.en/run")) == (
            f"Cannot read or write {tmp_path}/train.en/run: Not a directory. {REFUSED}"
        )
    files = ("--source", tmp_path / "train.en", "--target", tmp_path / "train.de")
    assert message(saccade("init", recipe, *files)) == f"Cannot read or write {recipe}: File exists. {REFUSED}"
    out = tmp_path / "none/out.de"
    assert message(saccade("translate", "-m", trained / "run", trained / "train.en", "-o", out)) == (
        f"Cannot read or write {out}: No such file or directory. {REFUSED}"
    )


def test_an_output_directory_that_may_not_be_written(
    saccade, recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Played, as root, whom tests may run as, may write anywhere."""

    def locked(path: Path, mode: int = 0) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(os, "mkdir", locked)
    for verb in ("prepare", "train"):
        assert message(saccade(verb, recipe)) == (f"Cannot read or write {tmp_path}/run: Permission denied. {REFUSED}")


def test_a_run_that_another_training_is_writing_to(saccade, trained, tmp_path):
    from saccade.training.run import lock_run

    shutil.copytree(trained, tmp_path / "copy")
    with lock_run(tmp_path / "copy" / "run"):
        ended = saccade("train", tmp_path / "copy" / "recipe.toml")
    assert ended.code == 1
    refused = " ".join(ended.stderr.split())
    assert refused.startswith(f"error: Only one training at a time may write to {tmp_path}/copy/run")
    assert "a `run` directory of its own" in refused
    assert saccade("train", tmp_path / "copy" / "recipe.toml").code == 0, "the lock is gone with its holder"


# -- scoring --


def test_files_to_score_of_unequal_length(saccade, trained: Path, tmp_path: Path):
    """Said before anything is scored."""
    (tmp_path / "a.en").write_text("dog\ncat\n")
    (tmp_path / "a.de").write_text("Hund\n")
    assert message(saccade("score", "-m", trained / "run", tmp_path / "a.en", tmp_path / "a.de")) == (
        f"{tmp_path}/a.en has 2 lines but {tmp_path}/a.de has 1. Line n of one must translate line n of the other; "
        "find the line that is missing or was split in two."
    )


def test_a_missing_file_to_score(saccade, trained: Path, tmp_path: Path):
    (tmp_path / "a.en").write_text("dog\n")
    assert message(saccade("score", "-m", trained / "run", tmp_path / "a.en", tmp_path / "a.de")).startswith(
        f"The file {tmp_path}/a.de must exist, but it does not. Check the path;"
    )


def test_a_glossary_and_samples_do_not_go_together(saccade, trained: Path, tmp_path: Path):
    (tmp_path / "terms.tsv").write_text("dog\tHund\n")
    words = ("-m", trained / "run", "--glossary", tmp_path / "terms.tsv", "--mbr", "4")
    told = message(saccade("translate", *words, stdin="dog\n"))
    assert "glossaries need a beam" in told
    assert "4 samples" in told
    assert message(saccade("translate", *words, stdin="cat\n")) == told, "said before the first term is met"


def test_a_beam_that_the_groups_do_not_divide(saccade, trained: Path):
    """However its width was given."""
    words = ("-m", trained / "run", "--set", "search.method=diverse", "--set", "search.groups=5")
    for width in (("--beam", "4"), ("--set", "search.beam=4")):
        assert message(saccade("translate", *words, *width, stdin="dog\n")) == (
            "The command line: search: groups must be a divisor of beam, 4, not 5"
        )


def test_a_job_gone_on_with_by_another_glossary(saccade, begun: list[str | Path], tmp_path: Path):
    (tmp_path / "terms.tsv").write_text("dog\tHund\n")
    told = message(saccade(*begun, "--glossary", tmp_path / "terms.tsv"))
    assert re.search(r"must not mix two: glossary: \"\" -> \"[0-9a-f]{64}\"\. Undo these changes", told)
