"""The whole family on Multi30k en→de, at an equal budget of updates: who translates how well, and how long it learns.

Every model has about two million parameters, the same data, tokenizer, batches, learning rate and number of updates. A
run that was interrupted goes on; one that is done is not repeated. Validation and test are scored with beam 5; nothing
is chosen on the test set.

    SACCADE_DATA=~/data python -m benchmarks.family [NAME ...]      # trains what is missing, then prints the table
    python -m benchmarks.family --speed                             # times an update of each, on a machine at rest
    python -m benchmarks.family --list
"""

import json
import os
import statistics
import subprocess
import sys
import tomllib
from itertools import islice
from pathlib import Path
from typing import Any

import tomli_w

from saccade import Recipe, Reporter
from saccade.data.sampler import Position
from saccade.directory import ModelDirectory
from saccade.tasks.build import open_task
from saccade.training.loop import Training
from saccade.training.run import Run

ROOT = Path(__file__).parent.parent
RUNS = ROOT / "runs" / "family"
TEST = {"val": "val", "test": "test_2016_flickr"}
TRAINING = {
    "updates": 3000,
    "validate_every": 1000,
    "checkpoint_every": 250,
    "average": 4,
    "threads": 1,  # so that two can learn side by side on two cores
}


def recurrent(attention: dict[str, Any], **settings: Any) -> dict[str, Any]:
    return {"kind": "recurrent", "d_model": 256, "dropout": 0.2, **settings, "attention": attention}


def luong(score: str, positions: str = "global") -> dict[str, Any]:
    return recurrent({"score": score, "positions": positions}, attend="after", input_feeding=True)


FAMILY: dict[str, dict[str, Any]] = {
    "fixed-vector": recurrent({"positions": "fixed"}),
    "bahdanau": recurrent({"positions": "global"}),
    "luong-dot": luong("dot"),
    "luong-general": luong("general"),
    "luong-concat": luong("additive"),
    "luong-local-m": luong("general", "local-m"),
    "luong-local-p": luong("general", "local-p"),
    "convolutional": {"kind": "convolutional", "layers": 5, "d_model": 128, "dropout": 0.2},
    "transformer": {"kind": "transformer", "preset": "tiny", "norm": "pre", "dropout": 0.2},
}


def recipe(name: str) -> Path:
    """The Multi30k recipe with another model and this budget, written beside its run."""
    table = tomllib.loads((ROOT / "recipes" / "multi30k-en-de.toml").read_text(encoding="utf-8"))
    table |= {"run": name, "model": FAMILY[name], "training": table["training"] | TRAINING}
    RUNS.mkdir(parents=True, exist_ok=True)
    path = RUNS / f"{name}.toml"
    path.write_text(tomli_w.dumps(table), encoding="utf-8")
    return path


def saccade(*words: str | Path) -> str:
    command = [sys.executable, "-m", "saccade", *map(str, words)]
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def scored(name: str) -> dict[str, Any]:
    """Figures of a finished run, evaluated once."""
    run, data = RUNS / name, Path(os.environ["SACCADE_DATA"]) / "multi30k"
    kept = run / "scores.json"
    if not kept.is_file():
        figures: dict[str, Any] = {}
        for part, file in TEST.items():
            words = ("--source", data / f"{file}.en", "--reference", data / f"{file}.de", "--json")
            figures[part] = json.loads(saccade("evaluate", "--model", run, *words))["systems"][0]
        newest = max((run / "checkpoints").glob("update-*/checkpoint.json"))
        figures["minutes"] = json.loads(newest.read_text(encoding="utf-8"))["progress"]["seconds"] / 60
        figures["parameters"] = ModelDirectory.open(run).num_parameters
        kept.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    found: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
    return found


def measure_speed() -> None:
    """Milliseconds of an update, the median of three rounds in which the models take turns; kept beside the runs."""
    chosen = {name: Recipe.load(recipe(name)) for name in FAMILY}
    trainings = {}
    for name, own in chosen.items():
        task = open_task(own)
        task.prepare(Reporter())
        trainings[name] = Training(Run(own.run, own), task)
    rounds = [
        {name: training.trial(list(islice(training.batches(Position()), 20))) for name, training in trainings.items()}
        for _ in range(3)
    ]
    medians = {name: statistics.median(each[name] for each in rounds) * 1000 for name in FAMILY}
    (RUNS / "speed.json").write_text(json.dumps(medians, indent=1), encoding="utf-8")
    print("\n".join(f"{name:<15} {milliseconds:6.0f} ms" for name, milliseconds in medians.items()))


def table(names: list[str]) -> str:
    speed: dict[str, float] = {}
    if (RUNS / "speed.json").is_file():
        speed = json.loads((RUNS / "speed.json").read_text(encoding="utf-8"))
    lines = ["| model | parameters | ms an update | minutes | val BLEU | val perplexity | test BLEU | test chrF2 |"]
    lines.append("|---" * 8 + "|")
    for name in names:
        if not (RUNS / name / "scores.json").is_file():
            continue
        figures = scored(name)
        val, test = ({each["name"]: each["value"] for each in figures[part]["scores"]} for part in TEST)
        lines.append(
            f"| {name} | {figures['parameters']:,} | {speed.get(name, float('nan')):.0f} | "
            f"{figures['minutes']:.1f} | {val['BLEU']:.2f} | "
            f"{figures['val']['perplexity']:.2f} | {test['BLEU']:.2f} | {test['chrF2']:.2f} |"
        )
    return "\n".join(lines)


def main(words: list[str]) -> None:
    if "--list" in words:
        print("\n".join(FAMILY))
        return
    if "SACCADE_DATA" not in os.environ:
        sys.exit("SACCADE_DATA must name the directory with multi30k in it; docs/data.md says where it comes from.")
    if "--speed" in words:
        measure_speed()
        return
    unknown = [word for word in words if word not in FAMILY]
    if unknown:
        sys.exit(f"{', '.join(unknown)}: not in the family, which is {', '.join(FAMILY)}")
    for name in words or FAMILY:
        saccade("train", recipe(name))
        scored(name)
    print(table(list(FAMILY)))


if __name__ == "__main__":
    main(sys.argv[1:])
