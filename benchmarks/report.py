"""What all benchmarks print: the machine they ran on, Markdown tables, medians with their spread."""

import os
import platform
import subprocess
import time
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from saccade import __version__


def describe_machine(*programs: str) -> str:
    """Processor, load, versions of the programs that are installed, our commit and the date."""
    policy = os.environ.get("OMP_WAIT_POLICY", "PASSIVE")
    installed = ", ".join(f"{name} {version(name)}" for name in programs if find_spec(name))
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return (
        f"{_processor()}, {os.cpu_count()} cores{load}; {installed}; OMP_WAIT_POLICY={policy}; "
        f"saccade {_commit()}; {time.strftime('%-d %B %Y')}"
    )


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of figures are aligned right."""
    figures = [all(row[index][:1].isdigit() for row in rows) for index in range(1, len(columns))]
    rule = ["---", *("---:" if right else "---" for right in figures)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (columns, rule, *rows))


def format_spread(ratios: Sequence[float]) -> str:
    """The median, and the least and the greatest in brackets."""
    return f"{median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"


def _commit() -> str:
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return __version__


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
