"""Every claim, in small, by the one command; and two of the fastest in full, with their verdicts."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from saccade.reproduce.claims import CLAIMS, reproduce


@pytest.mark.slow
def test_every_claim_runs_and_is_told_and_drawn(tmp_path: Path):
    command = [sys.executable, "-m", "saccade", "reproduce", "all", "--quick", "-d", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    for name, what in CLAIMS.items():
        assert f"{name}: {what}" in ended.stdout
        finding = json.loads((tmp_path / name / "finding.json").read_text("utf-8"))
        assert finding["figures"]
        assert f"Holds if: {finding['rule']}" in (tmp_path / name / "finding.md").read_text("utf-8")
        assert (tmp_path / name / f"{name}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["facets", "length"])
def test_a_claim_that_holds_on_the_page_holds_here(name: str, tmp_path: Path):
    """With one seed of three: one and three minutes of CPU time."""
    finding, report = reproduce(name, tmp_path, seeds=(1,))
    assert finding.holds, report
