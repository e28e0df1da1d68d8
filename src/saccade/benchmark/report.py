"""The results in words and figures: Markdown for people, JSON for machines."""

import os
import platform
import subprocess
import time
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from saccade import __version__
from saccade.benchmark.race import Result
from saccade.benchmark.work import DROPS, Work

COLUMNS = ("", "dropout", "tokens/s", "× plain", "tokens/update", "peak MiB", "× plain", "of sgemm peak")
TRICK_COLUMNS = ("without", "tokens/s", "gain of having it", "peak MiB", "memory saved, MiB")


def machine(*programs: str) -> str:
    """What was measured, and on what; with the versions of these programs where they are installed."""
    policy = os.environ.get("OMP_WAIT_POLICY", "PASSIVE")
    installed = ", ".join(f"{name} {version(name)}" for name in programs if find_spec(name))
    return (
        f"{_processor()}, {os.cpu_count()} cores{_load()}; {installed}; OMP_WAIT_POLICY={policy}; "
        f"saccade {commit()}; {time.strftime('%-d %B %Y')}"
    )


def commit() -> str:
    """Which saccade this is: its commit where it runs from a repository, else its version."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return __version__
    return ended.stdout.strip()


def training_table(results: Sequence[Result], work: Work, peak: float) -> str:
    """Each contestant beside the first one, the plain loop."""
    plain = results[0]
    rows = []
    for result in results:
        rate = median(turn.rate for turn in result.turns)
        rows.append(
            (
                result.name,
                DROPS[result.drops],
                f"{rate:,.0f}",
                spread(result, plain),
                tokens_per_update(result),
                f"{result.turns[-1].peak:,.0f}",
                f"{result.turns[-1].peak / plain.turns[-1].peak:.2f}",
                f"{rate * work.flops_per_token / peak:.1%}",
            )
        )
    return "\n".join([heading(work, results, peak), "", markdown(COLUMNS, rows)])


def tricks_table(results: Sequence[Result], work: Work, peak: float) -> str:
    """What each trick gains: the first result has all of them, each other one lacks one."""
    whole = results[0]
    rows = []
    for result in results:
        rows.append(
            (
                "(all there)" if result is whole else result.name,
                f"{median(turn.rate for turn in result.turns):,.0f}",
                spread(whole, result),
                f"{result.turns[-1].peak:,.0f}",
                f"{result.turns[-1].peak - whole.turns[-1].peak:,.0f}",
            )
        )
    return "\n".join([heading(work, results, peak), "", markdown(TRICK_COLUMNS, rows)])


def heading(work: Work, results: Sequence[Result], peak: float) -> str:
    """What the figures of a table are about."""
    model = work.model
    return (
        f"### {work.size}: {model.layers} + {model.layers} layers, {model.d_model}/{model.d_feedforward}, "
        f"{model.num_heads} heads, dropout {model.dropout}\n\n"
        f"{work.corpus}, vocabulary {work.vocabulary:,}, batches of {work.batch_tokens:,} target tokens, "
        f"{work.threads} threads; "
        f"{len(results[0].turns)} windows of about {results[0].turns[0].seconds:.0f} s, medians, least to greatest in "
        f"brackets; {work.flops_per_token / 1e6:.1f} MFLOP a target token, sgemm peak {peak / 1e9:.0f} GFLOP/s."
    )


def ratios(result: Result, other: Result) -> list[float]:
    """How many times as fast as another, window by window of the same rounds."""
    return [turn.rate / beside.rate for turn, beside in zip(result.turns, other.turns, strict=True)]


def spread(result: Result, other: Result) -> str:
    found = ratios(result, other)
    return f"{median(found):.2f} ({min(found):.2f}–{max(found):.2f})"


def tokens_per_update(result: Result) -> str:
    updates = sum(turn.updates for turn in result.turns)
    return f"{sum(turn.tokens for turn in result.turns) / updates:,.0f}" if updates else "not told"


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; figures stand to the right."""
    rule = ["---"] + ["---:" if row_is_figures(rows, index) else "---" for index in range(1, len(columns))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (columns, rule, *rows))


def row_is_figures(rows: Sequence[Sequence[str]], index: int) -> bool:
    return all(row[index][:1].isdigit() for row in rows)


def as_table(results: Sequence[Result], work: Work, peak: float) -> dict[str, Any]:
    """Everything that was measured, window by window."""
    baseline = results[0]
    return {
        "size": work.size,
        "corpus": work.corpus,
        "flops_per_token": work.flops_per_token,
        "sgemm_peak": peak,
        "contestants": [
            {
                "name": result.name,
                "dropout": DROPS[result.drops],
                "tokens_per_second": [round(turn.rate, 1) for turn in result.turns],
                "ratio_to_first": [round(ratio, 4) for ratio in ratios(result, baseline)],
                "updates": sum(turn.updates for turn in result.turns),
                "peak_mib": round(result.turns[-1].peak),
            }
            for result in results
        ],
    }


def _processor() -> str:
    """The processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _load() -> str:
    """How busy it was just before, where the system tells it."""
    return f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
