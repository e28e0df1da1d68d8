"""`saccade train`: from a recipe to a model, in as many goes as it takes."""

import re
import resource
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

FEW = ("--set", "training.updates=4", "--set", "training.validate_every=4")


def test_the_model_is_the_result_and_all_else_is_said_beside_it(saccade, write_task, tmp_path: Path):
    ended = saccade("train", write_task(tmp_path), *FEW)
    assert (ended.code, ended.stdout) == (0, f"{tmp_path}/run/model\n")
    assert "4 updates" in ended.stderr
    assert "update 4: BLEU " in ended.stderr
    assert f"Saved the model (update 4) to {tmp_path}/run/model.\n" in ended.stderr
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        *("checkpoints", "corpus", "metrics.jsonl", "model", "recipe.toml")
    ]


def test_a_dry_run_checks_and_estimates_and_keeps_only_the_corpus(saccade, write_task, tmp_path: Path):
    ended = saccade("train", write_task(tmp_path), "--dry-run", "--set", "training.updates=5000")
    assert ended.code == 0
    assert re.fullmatch(
        r"Settings and data OK\n"
        r"[\d,]+ parameters\n"
        r"5,000 updates, about 5000\.0 epochs\n"
        r"\d+\.\d\d s per update: about \d+\.\d minutes\n"
        r"\d+ validations of at most \d+\.\d s each\n"
        r"\d+\.\d GiB of memory at most\n",
        ended.stdout,
    ), ended.stdout
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["corpus"]


def test_a_dry_run_of_a_run_that_has_begun_leaves_it_alone(saccade, trained: Path):
    before = {path: path.stat().st_mtime_ns for path in (trained / "run").rglob("*")}
    assert saccade("train", trained / "recipe.toml", "--dry-run").code == 0
    assert {path: path.stat().st_mtime_ns for path in (trained / "run").rglob("*")} == before


def test_what_was_asked_for_is_done_already(saccade, trained: Path):
    before = (trained / "run/model/model.safetensors").read_bytes()
    ended = saccade("train", trained / "recipe.toml")
    assert ended.code == 0
    assert "Already finished. Raise training.updates to continue: --set training.updates=200\n" in ended.stderr
    assert (trained / "run/model/model.safetensors").read_bytes() == before


def test_patience_is_told(saccade, write_task, tmp_path: Path):
    """With a learning rate so small, no validation is better than the first."""
    settings = (
        "training.patience=1",
        "training.validate_every=2",
        "training.learning_rate=1e-30",
        "training.best_by=quality",
    )
    ended = saccade("train", write_task(tmp_path), *(word for each in settings for word in ("--set", each)))
    assert ended.code == 0
    assert "Stopped early: no improvement in the last 1 validations (training.patience).\n" in ended.stderr


def test_interrupted_it_saves_and_goes_on(saccade, write_task, tmp_path: Path):
    recipe = write_task(tmp_path)
    words = ["train", str(recipe), "--set", "training.updates=1000000", "--set", "training.log_every=1"]
    process = subprocess.Popen([sys.executable, "-m", "saccade", *words], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if shown := re.match(r"update (\d+)/1,000,000  loss ", line):
            break
    process.send_signal(signal.SIGINT)
    *_, interrupted, advice = process.stderr.read().splitlines()
    process.stderr.close()
    assert process.wait() == 130
    assert advice == f"Saved the run. To resume: saccade {' '.join(words)}"
    update = int(re.fullmatch(r"Interrupted after update ([\d,]+)\.", interrupted)[1].replace(",", ""))  # type: ignore[index]
    assert update >= int(shown[1])

    ended = saccade("train", recipe, "--set", f"training.updates={update + 5}")
    assert ended.code == 0
    assert f"Resuming from update {update:,}.\n" in ended.stderr
    assert f"\n{update + 5:,} updates in " in ended.stderr


def test_a_mistake_in_the_recipe_can_be_put_right(saccade, write_task, tmp_path: Path):
    """What failed before the first checkpoint does not bind the run to its settings."""
    recipe = write_task(tmp_path)
    assert saccade("train", recipe, "--set", "tokenizer.vocabulary=9").code == 1
    assert saccade("train", recipe, *FEW).code == 0


def test_a_full_disk_is_told(saccade, write_task, tmp_path: Path):
    """Here: a limit on the size of a file, which the parameters exceed."""
    recipe = write_task(tmp_path)
    saccade("prepare", recipe)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16 * 1024, hard))
    try:
        ended = saccade("train", recipe, *FEW)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert ended.code == 1
    assert "error: Cannot read or write the output: " in ended.stderr
    assert "File too large" in ended.stderr
    assert not (tmp_path / "run/model").exists()
    assert list((tmp_path / "run").glob(".*")) == [], "nothing half-written stays"


def test_a_warm_start_tells_of_its_base(saccade, write_task, trained: Path, tmp_path: Path):
    """The base's data and licence bind the new model, and the stored recipe has the vocabulary that is used."""
    words = ("--set", f"training.warm_start={trained / 'run'}", "--set", "tokenizer.vocabulary=150")
    assert saccade("train", write_task(tmp_path), *FEW, *words).code == 0
    card = (tmp_path / "run/model/card.md").read_text("utf-8")
    base = (trained / "run/model/card.md").read_text("utf-8")
    assert "## Base model" in card
    assert all(f"> {line}" in card for line in base.splitlines() if line)
    stored = tomllib.loads((tmp_path / "run/recipe.toml").read_text("utf-8"))
    size = tomllib.loads(saccade("info", trained / "run").stdout)["source_vocabulary"]
    assert stored["tokenizer"]["vocabulary"] == size != 150


def test_changed_data_are_refused_before_the_corpus_is_prepared_again(saccade, write_task, tmp_path: Path):
    recipe = write_task(tmp_path)
    assert saccade("train", recipe, *FEW).code == 0
    before = (tmp_path / "run/corpus/prepared.json").stat().st_mtime_ns
    for name in ("train.en", "train.de"):
        with (tmp_path / name).open("a", encoding="utf-8") as file:
            file.write("one more\n")
    ended = saccade("train", recipe, *FEW)
    assert ended.code == 1
    assert "Restore the files to resume it" in ended.stderr
    assert (tmp_path / "run/corpus/prepared.json").stat().st_mtime_ns == before
