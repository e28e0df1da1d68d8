"""Every claim, in small, by the one command."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from saccade.reproduce.claims import CLAIMS


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
