"""Tune a model on 500, 5,000 and 28,000 pairs of Multi30k: what is gained there, what is lost elsewhere, in how long.

The base must never have seen Multi30k. It is tuned with the guard that `saccade tune` chooses by itself, without any,
and in other ways; judged on the validation set of Multi30k, and on everyday sentences of Tatoeba. A run that was
interrupted goes on; one that is done is not repeated.

    SACCADE_DATA=~/data python -m benchmarks.tune --model runs/everyday     # tunes what is missing, prints the table
    SACCADE_DATA=~/data python -m benchmarks.tune                           # with a small base that is trained first
    SACCADE_DATA=~/data python -m benchmarks.tune --sizes 500 --ways guard unguarded
"""

import argparse
import json
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import saccade
from benchmarks.command import note, run_command, show
from saccade.errors import SaccadeError
from saccade.text.formats.opening import open_text

ROOT = Path(__file__).parent.parent
SIZES = (500, 5000, 28_000)
WAYS: dict[str, tuple[str, ...]] = {
    "guard": (),
    "unguarded": ("training.start_share=0",),
    "pull": ("training.start_share=0", "training.pull=300"),
    "replay": (),
    "lora": ("training.lora.rank=16",),
    "lora unguarded": ("training.lora.rank=16", "training.start_share=0"),
}
"""Settings of each way; replay is also given other text."""
REPLAYED = ("tatoeba", "europarl-short-300k")
BASE = """
run = "base"

[data]
source_language = "en"
target_language = "de"
hold_out = 1000
train = [{ file = "tatoeba.tsv" }, { file = "europarl-short-300k.tsv", weight = 0.3 }]

[tokenizer]
vocabulary = 8000

[model]
layers = 3
d_model = 192
d_feedforward = 768
num_heads = 4
norm = "pre"
dropout = 0.1

[training]
updates = 3200
batch_tokens = 2048
learning_rate = 0.0015
warmup = 500
schedule = "linear"
validate_every = 1600
validation_sentences = 300
checkpoint_every = 100
keep = 1
average = 0
threads = 1

[search]
beam = 5
"""


def write_text(data: Path, output: Path) -> None:
    """Other text than Multi30k, by its origin, and memories of all sizes, each with those before it."""
    output.mkdir(parents=True, exist_ok=True)
    if not (output / f"{REPLAYED[0]}.tsv").exists():
        files = {name: (output / f".{name}.tsv").open("w", encoding="utf-8") for name in REPLAYED}
        parts = (open_text(data / "parallel" / f"en-de.train.{part}.gz") for part in ("en", "de", "origin"))
        for source, target, origin in zip(*parts, strict=True):
            if origin in files and "\t" not in source + target:
                files[origin].write(f"{source}\t{target}\n")
        for name, file in files.items():
            file.close()
            (output / f".{name}.tsv").rename(output / f"{name}.tsv")
    captions = [(data / "multi30k" / f"train.{code}").read_text("utf-8").split("\n") for code in ("en", "de")]
    pairs = [f"{source}\t{target}\n" for source, target in zip(*captions, strict=True) if source and target]
    random.Random(1).shuffle(pairs)
    for size in SIZES:
        if not (output / f"memory-{size}.tsv").exists():
            (output / f"memory-{size}.tsv").write_text("".join(pairs[:size]), "utf-8")


def tune(base: Path, size: int, way: str, output: Path, data: Path) -> dict[str, Any]:
    """The figures of one tuning, which is done unless it has been."""
    run = output / base.parent.name / f"{size}-{way.replace(' ', '-')}"
    kept = run / "judged.json"
    if not kept.exists():
        note(f"{size:,} pairs, {way}")
        result = saccade.tune(
            base,
            output / f"memory-{size}.tsv",
            run,
            general=(data / "parallel" / "en-de.tatoeba-dev.en", data / "parallel" / "en-de.tatoeba-dev.de"),
            replay=[output / f"{name}.tsv" for name in REPLAYED] if way == "replay" else None,
            direction=("en", "de"),
            overrides=[*WAYS[way], "training.threads=1"],
        )
        if result.interrupted:
            sys.exit(130)
        models = {"before": saccade.load(base, to="de"), "after": saccade.load(run, to="de")}
        val = [data / "multi30k" / f"val.{code}" for code in ("en", "de")]
        judged = saccade.evaluate(models, source=val[0], reference=val[1])
        figures: dict[str, Any] = {
            "multi30k": judged.summary(),
            "general": result.evaluations["general"].summary(),
            "held out": result.evaluations["in-domain"].summary(),
            "minutes": result.training.seconds / 60,
            "updates": result.training.update,
            "best update": result.training.best_update,
        }
        kept.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    found: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
    return found


def row(size: int, way: str, figures: dict[str, Any]) -> str:
    cells = [f"{size:,}", way]
    for name in ("multi30k", "general"):
        before, after = (system["scores"][0] for system in figures[name]["systems"])
        change = after["value"] - before["value"]
        sure = "*" if after["p_value"] < 0.05 else ""
        cells += [
            f"{before['value']:.2f}",
            f"{after['value']:.2f} ± {after['interval']['margin']:.2f}",
            f"{change:+.2f}{sure}",
        ]
    cells += [f"{figures['minutes']:.1f}", f"{figures['updates']:,}"]
    return f"| {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="the base, which translates en → de; a small one unless given")
    parser.add_argument("--output", type=Path, default=ROOT / "runs" / "tune", help="where all runs go")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, choices=SIZES)
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    options = parser.parse_args(arguments)
    if "SACCADE_DATA" not in os.environ:
        raise SaccadeError("SACCADE_DATA must name the directory with multi30k and parallel in it; see docs/data.md.")
    data = Path(os.environ["SACCADE_DATA"])
    write_text(data, options.output)
    base = options.model
    if base is None:
        (options.output / "base.toml").write_text(BASE, "utf-8")
        base = saccade.train(options.output / "base.toml").model
    show("| pairs | way | Multi30k val before | after | change | Tatoeba before | after | change | minutes | updates |")
    show("|---" * 10 + "|")
    for size in options.sizes:
        for way in options.ways:
            show(row(size, way, tune(base, size, way, options.output, data)))
    show("\n* p < 0.05 in a paired bootstrap test against the base")


if __name__ == "__main__":
    run_command(main)
