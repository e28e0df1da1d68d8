"""How fast a large corpus is prepared, in how much memory, and how soon training on it begins.

The pairs are made up: words by Zipf's law out of a made-up vocabulary, sentences of natural lengths, some duplicates.

    python -m benchmarks.prepare [PAIRS] [DIRECTORY]
"""

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.report import describe_machine

SACCADE = [sys.executable, "-m", "saccade"]
WORDS = 100_000
RECIPE = """
run = "run"

[data]
source_language = "xx"
target_language = "yy"
train = [{ source = "train.xx", target = "train.yy" }]

[model]
kind = "transformer"
preset = "tiny"

[training]
log_every = 1
"""


def write_corpus(directory: Path, num_pairs: int, seed: int = 1) -> None:
    rng = np.random.default_rng(seed)
    vocabularies = [_words(rng, letters) for letters in ("aeiounrtslcdmpg", "aeiouäößrnsthdlgkz")]
    chance = 1 / np.arange(3, WORDS + 3)
    chance = np.cumsum(chance / chance.sum())
    with (directory / "train.xx").open("w") as sources, (directory / "train.yy").open("w") as targets:
        for start in range(0, num_pairs, 10_000):
            lengths = np.clip(rng.gamma(3.0, 5.0, min(10_000, num_pairs - start)), 1, 150).astype(int)
            drawn = np.searchsorted(chance, rng.random(lengths.sum()))
            for file, words in zip((sources, targets), vocabularies, strict=True):
                texts = np.split(words[drawn], np.cumsum(lengths)[:-1])
                file.writelines(f"{' '.join(text).capitalize()}.\n" for text in texts)


def _words(rng: np.random.Generator, letters: str) -> np.ndarray:
    """Frequent words are short."""
    lengths = np.clip(2 + np.log2(np.arange(1, 2 * WORDS + 1)) / 2 + rng.normal(0, 1.5, 2 * WORDS), 1, 20).astype(int)
    drawn = rng.choice(list(letters), lengths.sum())
    words = dict.fromkeys("".join(word) for word in np.split(drawn, np.cumsum(lengths)[:-1]))
    return np.array(list(words)[:WORDS], dtype=object)


def memory(process: int) -> int:
    """Bytes of a process and all below it; what they share is counted once."""
    total = 0
    try:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total = 1024 * int(line.split()[1])
        for task in Path(f"/proc/{process}/task").iterdir():
            total += sum(memory(int(child)) for child in (task / "children").read_text().split())
    except OSError:  # it has ended
        pass
    return total


def baseline() -> int:
    """Bytes of a saccade that does nothing."""
    idle = subprocess.Popen([sys.executable, "-c", "import saccade.cli.main; print(flush=True); input()"],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
    assert idle.stdout is not None
    idle.stdout.readline()
    size = memory(idle.pid)
    idle.communicate(b"\n")
    return size


def prepare(directory: Path, num_pairs: int) -> None:
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = subprocess.Popen([*SACCADE, "prepare", directory / "recipe.toml"])
    peak = 0
    while command.poll() is None:
        peak = max(peak, memory(command.pid))
        time.sleep(0.2)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert command.returncode == 0
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{num_pairs:,} pairs in {seconds:.1f} s: {num_pairs / seconds:,.0f} pairs/s")
    print(f"peak memory above an idle saccade: {(peak - baseline()) / 2**20:,.0f} MiB")
    print(f"CPU: {used:.1f} s, {used / seconds / len(os.sched_getaffinity(0)):.0%} of all cores")


def first_update(directory: Path) -> None:
    metrics = directory / "run" / "metrics.jsonl"
    metrics.unlink(missing_ok=True)
    began = time.perf_counter()
    command = subprocess.Popen([*SACCADE, "train", directory / "recipe.toml"], stderr=subprocess.DEVNULL)
    while command.poll() is None and not (metrics.exists() and metrics.stat().st_size):
        time.sleep(0.01)
    print(f"first update of `saccade train` after {time.perf_counter() - began:.1f} s")
    command.send_signal(signal.SIGKILL)
    command.wait()


def main() -> None:
    num_pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    directory = Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp(prefix="saccade-prepare-"))
    directory.mkdir(parents=True, exist_ok=True)
    print(describe_machine("sentencepiece"))
    if not (directory / "train.yy").exists():
        write_corpus(directory, num_pairs)
        (directory / "recipe.toml").write_text(RECIPE)
    prepare(directory, num_pairs)
    for _ in range(3):
        first_update(directory)
    if len(sys.argv) <= 2:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
