"""Resident memory of a whole training beside what `--dry-run` promises: `python -m benchmarks.memory RECIPE [OPTION…]`.

The options are those of `saccade train`. Every ten seconds a line: update, resident MiB now
and at most so far. Linux only.
"""

import json
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

from saccade import Recipe

SECONDS = 10.0


def resident_mib(pid: int, field: str) -> float:
    """VmRSS: now; VmHWM: at most so far."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.partition(f"{field}:")[2].split()[0]) / 1024


def last_update(metrics: Path) -> int:
    """What the training logged last."""
    lines = metrics.read_text(encoding="utf-8").splitlines() if metrics.exists() else []
    return json.loads(lines[-1])["update"] if lines else 0


def main(recipe: str, *options: str) -> None:
    """Estimate, then train and watch."""
    command = [sys.executable, "-m", "saccade", "train", recipe, *options]
    print(subprocess.run([*command, "--dry-run"], check=True, stdout=subprocess.PIPE, text=True).stdout)
    overrides = [value for name, value in pairwise(options) if name == "--set"]
    metrics = Recipe.load(recipe, overrides).run / "metrics.jsonl"
    with subprocess.Popen(command) as training:
        while training.poll() is None:
            try:
                figures = [resident_mib(training.pid, "VmRSS"), resident_mib(training.pid, "VmHWM")]
            except (OSError, IndexError):  # it has just ended
                break
            print(f"{last_update(metrics):8,}", *(f"{figure:8,.0f}" for figure in figures), flush=True)
            time.sleep(SECONDS)


if __name__ == "__main__":
    main(*sys.argv[1:])
