"""Kill a training again and again, by chance and where it hurts most, and see that it ends as if nothing had happened.

python tests/training/crash.py --kills 100 --seed 1
"""

import argparse
import json
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from signal import Signals

RECIPE = """\
run = "run"

[data]
source_language = "en"
target_language = "en"
train = [{ file = "pairs.tsv" }]
hold_out = 20

[tokenizer]
kind = "char"
vocabulary = 12
byte_fallback = false

[model]
layers = 1
d_model = 16
d_feedforward = 32
num_heads = 2

[training]
updates = 703
batch_tokens = 160
learning_rate = 0.01
warmup = 10
validate_every = 14
best_by = "loss"
checkpoint_every = 7
keep = 2
keep_best = 2
keep_every = 210
average = 3
log_every = 2
device = "cpu"
threads = 1
"""


class Broken(Exception):
    """A training that did not end as it should have."""


@dataclass(frozen=True)
class Moment:
    """When to end a process, and how."""

    name: str
    delay: float
    signal: Signals = signal.SIGKILL

    def comes(self, run: Path) -> Callable[[], bool]:
        """Whether it has come, asked again and again; the delay comes on top."""
        drafts = {"preparing": ".corpus*", "checkpoint": "checkpoints/.update-*", "model": ".model.*"}
        match self.name:
            case "at once":
                return lambda: True
            case "training":
                return _grows(run / "metrics.jsonl")
            case name:
                known = set(run.glob(drafts[name]))
                return lambda: not known.issuperset(run.glob(drafts[name]))


def write_task(directory: Path, updates: int = 703) -> Path:
    """Pairs such as `abcd`, `dcba`, and a recipe that learns them in a few seconds."""
    draw = random.Random(1)
    sources = sorted({"".join(draw.choices("abcdef", k=draw.randint(3, 7))) for _ in range(400)})
    (directory / "pairs.tsv").write_text("".join(f"{source}\t{source[::-1]}\n" for source in sources), "utf-8")
    (directory / "recipe.toml").write_text(RECIPE.replace("703", str(updates)), "utf-8")
    return directory / "recipe.toml"


def train(recipe: Path, run: Path, moment: Moment | None = None) -> tuple[int, str]:
    """`saccade train`, ended by a signal unless it ends before; its exit code and what it said."""
    comes = moment.comes(run) if moment else None
    command = [sys.executable, "-m", "saccade", "train", str(recipe), "--set", f"run={run}"]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
        try:
            if moment and comes:
                while process.poll() is None and not comes():
                    time.sleep(0.0002)
                time.sleep(moment.delay)
                process.send_signal(moment.signal)
            code = process.wait(timeout=300)
        finally:
            process.kill()
        said.seek(0)
        return code, said.read()


def survive(recipe: Path, run: Path, moments: Iterator[Moment]) -> int:
    """Train, end it at each of these moments, and start it again until it has ended; how often it was killed."""
    kills = 0
    for moment in moments:
        code, said = train(recipe, run, moment)
        if code == 0:
            return kills
        _check_end(moment, code, said)
        kills += moment.signal == signal.SIGKILL
    code, said = train(recipe, run)
    if code != 0:
        raise Broken(f"left alone, it ended with {code}:\n{said}")
    return kills


def _check_end(moment: Moment, code: int, said: str) -> None:
    """A kill is a kill. Who asks politely is answered with 130, and once it trains, with a checkpoint."""
    if moment.signal == signal.SIGKILL:
        as_it_should = code == -signal.SIGKILL
    elif moment.name in ("training", "checkpoint", "model"):
        as_it_should = code == 130 and "Saved the run" in said
    else:
        as_it_should = code in (130, -moment.signal)
    if not as_it_should:
        raise Broken(f"{moment} ended it with {code}:\n{said}")


def contents(run: Path) -> dict[str, str | bytes]:
    """All that a run has left, but for the times, the checksum of the card, which has one, and its own name."""
    return {
        str(path.relative_to(run)): _timeless(path, run)
        for path in run.rglob("*")
        if path.is_file() and path.name != "manifest.json"
    }


def _timeless(path: Path, run: Path) -> str | bytes:
    if path.suffix not in (".json", ".jsonl", ".toml", ".md"):
        return path.read_bytes()
    text = path.read_text("utf-8").replace(str(run), "run")
    text = re.sub(r'("seconds": )[\d.]+|("checksum": )"\w+"', r"\1\2", text)
    return re.sub(r"after [\d.]+ minutes", "", text)


def compare(run: Path, undisturbed: Path) -> None:
    """Refuse a run that has not left the very same files with the very same bits, or whose figures jump back."""
    found, expected = contents(run), contents(undisturbed)
    if extra := sorted(found.keys() ^ expected.keys()):
        raise Broken(f"only one of {run} and {undisturbed} has {extra}")
    if unlike := sorted(name for name in found if found[name] != expected[name]):
        raise Broken(f"{run} and {undisturbed} differ in {unlike}")
    if empty := [path for path in run.rglob("*") if path.is_dir() and not any(path.iterdir())]:
        raise Broken(f"empty directories are left: {empty}")
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text("utf-8").splitlines()]
    for figure in ("seconds", "tokens"):
        figures = [line[figure] for line in lines if figure in line]
        if figures != sorted(figures):
            raise Broken(f"{figure} jump back in {run / 'metrics.jsonl'}")


def by_chance(draw: random.Random, count: int) -> Iterator[Moment]:
    """Moments of all kinds, the first while the corpus is prepared; one in six is a request, not a kill."""
    yield Moment("preparing", draw.uniform(0, 0.05))
    longest = {"at once": 4.0, "training": 1.2, "checkpoint": 0.02, "model": 0.02}
    for _ in range(count - 1):
        name = draw.choices(list(longest), [2, 3, 4, 3])[0]
        kind = draw.choices([signal.SIGKILL, signal.SIGTERM, signal.SIGINT], [10, 1, 1])[0]
        yield Moment(name, draw.uniform(0, longest[name]), kind)


def _grows(path: Path) -> Callable[[], bool]:
    """Whether a file has become larger since the question was last asked."""
    size = _size(path)

    def grows() -> bool:
        nonlocal size
        before, size = size, _size(path)
        return size > before

    return grows


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--directory", type=Path, help="where to train; kept, unlike the temporary one")
    asked = parser.parse_args()
    draw = random.Random(asked.seed)
    with tempfile.TemporaryDirectory() as temporary:
        directory = asked.directory or Path(temporary)
        directory.mkdir(exist_ok=True)
        recipe = write_task(directory)
        began = time.perf_counter()
        survive(recipe, directory / "undisturbed", iter(()))
        print(f"undisturbed: {time.perf_counter() - began:.1f} s", flush=True)
        kills = 0
        for number in range(1, 1 + asked.kills):
            run = directory / f"run-{number}"
            began = time.perf_counter()
            killed = survive(recipe, run, by_chance(draw, min(12, asked.kills - kills)))
            compare(run, directory / "undisturbed")
            kills += killed
            print(f"{run.name}: killed {killed} times, the same in {time.perf_counter() - began:.1f} s", flush=True)
            if kills >= asked.kills:
                break
    print(f"{kills} kills survived")


if __name__ == "__main__":
    main()
