"""`saccade translate`: lines in, as many lines out, in their order."""

import gzip
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

LINES = ["lion fox", "", "bee ant", "   ", "cat lion", "", ""]
TRANSLATIONS = ["Löwe Fuchs", "", "Biene Ameise", "", "Katze Löwe", "", ""]


def text(lines: list[str], end: str = "\n") -> str:
    return "".join(line + end for line in lines)


def test_standard_input(saccade, trained: Path):
    ended = saccade("translate", "--model", trained / "run", stdin=text(LINES))
    assert (ended.code, ended.stdout, ended.stderr) == (0, text(TRANSLATIONS), "")


@pytest.mark.parametrize(
    "stdin",
    [
        pytest.param(text(LINES, "\r\n").encode(), id="Windows lines"),
        pytest.param(text(LINES).encode("utf-8-sig"), id="byte order mark"),
        pytest.param("lion fox\n\nbee\u2028ant\n\u2029\ncat\x85lion\n\x0c\n\x1c\n".encode(), id="no line ends but one"),
    ],
)
def test_what_does_not_change_the_lines(stdin: bytes, saccade, trained: Path, tmp_path: Path):
    """Only a line feed ends a line, in a file as on standard input."""
    (tmp_path / "in.en").write_bytes(stdin)
    for ended in (
        saccade("translate", "-m", trained / "run", stdin=stdin),
        saccade("translate", "-m", trained / "run", tmp_path / "in.en"),
    ):
        assert (ended.code, ended.stdout) == (0, text(TRANSLATIONS))


def test_a_last_line_without_its_end(saccade, trained: Path):
    assert saccade("translate", "-m", trained / "run", stdin="dog cat").stdout == "Hund Katze\n"
    assert saccade("translate", "-m", trained / "run", stdin="").stdout == ""


def test_files_one_after_another_plain_or_compressed(saccade, trained: Path, tmp_path: Path):
    (tmp_path / "a.en").write_text("fox lion\n")
    (tmp_path / "b.en.gz").write_bytes(gzip.compress(b"ant dog\n\n"))
    (tmp_path / "c.en.zst").write_bytes(zstandard.compress(b"bee bee\n"))
    ended = saccade("translate", "-m", trained / "run", *sorted(tmp_path.iterdir()))
    assert ended.stdout == "Fuchs Löwe\nAmeise Hund\n\nBiene Biene\n"


def test_all_pairs_of_words_in_their_order(saccade, trained: Path):
    """Also: whatever the beam, and whatever is translated together."""
    for beam in ("1", "3"):
        ended = saccade("translate", "-m", trained / "run", trained / "train.en", "--beam", beam)
        assert ended.stdout == (trained / "train.de").read_text("utf-8")


def test_several_translations_each_with_its_score(saccade, trained: Path):
    ended = saccade("translate", "-m", trained / "run", "--n-best", "3", "--beam", "2", stdin="fox dog\n")
    rows = [line.split("\t") for line in ended.stdout.splitlines()]
    scores = [float(score) for score, _ in rows]
    assert len(rows) == 3
    assert rows[0][1] == "Fuchs Hund"
    assert scores == sorted(scores, reverse=True)
    assert len({translation for _, translation in rows}) == 3


def test_blank_lines_stay_in_place_among_several_translations(saccade, trained: Path):
    ended = saccade("translate", "-m", trained / "run", "--n-best", "2", stdin="fox dog\n\ndog fox\n")
    texts = [line.split("\t")[1] for line in ended.stdout.splitlines()]
    assert len(texts) == 6, "as many for a blank line as for any other"
    assert texts[0] == "Fuchs Hund"
    assert texts[2:4] == ["", ""]
    assert texts[4] == "Hund Fuchs"


def test_a_glossary(saccade, trained: Path, tmp_path: Path):
    (tmp_path / "terms.tsv").write_text("cat\tLöwe\nbee\t狗\n", "utf-8")
    ended = saccade(
        "translate", "-m", trained / "run", "--glossary", tmp_path / "terms.tsv", stdin="cat fox\n\nbee fox\n"
    )
    first, blank, last = ended.stdout.splitlines()
    assert "Löwe" in first
    assert (blank, last) == ("", "Biene Fuchs")
    assert ended.stderr == "line 3 does not have '狗', which is required: no translation with it was found\n"


@pytest.mark.parametrize("n_best", [1, 3])
def test_the_least_risk_among_samples(saccade, trained: Path, n_best: int):
    words = ("translate", "-m", trained / "run", "--mbr", "20", "--n-best", str(n_best))
    ended = saccade(*words, stdin="fox dog\n\n")
    lines = ended.stdout.splitlines()
    assert (ended.code, len(lines)) == (0, 2 * n_best)
    assert lines[0].split("\t")[-1] == "Fuchs Hund"
    assert saccade(*words, stdin="fox dog\n\n") == ended, "chance is the same each time"


def test_an_output_file(saccade, trained: Path, tmp_path: Path):
    ended = saccade("translate", "-m", trained / "run", trained / "valid.en", "-o", tmp_path / "out.de")
    assert (ended.code, ended.stdout, ended.stderr) == (0, "", "")
    assert (tmp_path / "out.de").read_bytes() == (trained / "valid.de").read_bytes()


def test_an_output_cut_short_is_told(saccade, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("saccade.cli.translate.CHUNK", 2)
    (tmp_path / "in.en").write_bytes(b"fox dog\ncat cat\n\xff\n")
    out = tmp_path / "out.de"
    ended = saccade("translate", "-m", trained / "run", tmp_path / "in.en", "-o", out)
    assert ended.code == 1
    assert ended.stderr.startswith(f"{out} is not complete: it has 2 lines.\nerror: {tmp_path / 'in.en'} must be UTF-8")
    assert out.read_text("utf-8") == "Fuchs Hund\nKatze Katze\n"


def test_an_output_that_would_be_empty_is_not_left_behind(saccade, trained: Path, tmp_path: Path):
    (tmp_path / "in.en").write_bytes(b"\xff\n")
    assert saccade("translate", "-m", trained / "run", tmp_path / "in.en", "-o", tmp_path / "out.de").code == 1
    assert not (tmp_path / "out.de").exists()


def test_on_a_screen_each_line_is_answered_before_the_next_is_read(trained: Path):
    from saccade import load
    from saccade.cli.translate import translated

    read: list[str] = []
    lines = (read.append(line) or line for line in ["fox dog", "dog fox"])
    translator = load(trained / "run")
    answers = translated(translator, lines, translator.search, onto_screen=True)
    assert next(answers) == "Fuchs Hund"
    assert read == ["fox dog"]


def test_a_pipe_as_a_file(saccade, trained: Path):
    """As the shell's `<(…)` gives it."""
    reading, writing = os.pipe()
    os.write(writing, b"fox dog\n")
    os.close(writing)
    ended = saccade("translate", "-m", trained / "run", f"/dev/fd/{reading}")
    os.close(reading)
    assert (ended.code, ended.stdout) == (0, "Fuchs Hund\n")


def test_a_reader_that_has_seen_enough(trained: Path, tmp_path: Path):
    """`saccade translate … | head -1` under a bare locale, someone watching: results go to stdout all the same."""
    (tmp_path / "in.en").write_text("lion fox\n" * 8000)
    screen, stderr = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "saccade", "translate", "-m", trained / "run", tmp_path / "in.en", "--beam", "1"],
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=os.environ | {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "TERM": "xterm"},
    )
    os.close(stderr)
    assert process.stdout is not None
    assert process.stdout.readline() == "Löwe Fuchs\n".encode()
    process.stdout.close()
    shown = b""
    try:
        while chunk := os.read(screen, 1 << 16):
            shown += chunk
    except OSError:  # how a screen ends on Linux
        pass
    os.close(screen)
    assert process.wait() == 0
    assert b"translating" in shown
    assert b"Traceback" not in shown
    assert b"Error" not in shown
