"""`saccade translate`: lines in, as many lines out, in their order."""

import gzip
import io
import json
import os
import pty
import random
import re
import subprocess
import sys
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest
import zstandard

from saccade import SearchSettings, Translation, load
from saccade.line_translation import LineOptions, LineReporter, LineTranslation, chunk_lines
from saccade.search.overrides import adjust_search
from saccade.text.formats.stream import Lines

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


def test_json(saccade, trained: Path):
    words = ("translate", "-m", trained / "run", "--json")
    long = "dog cat dog cat dog cat dog cat dog"
    ended = saccade(*words, "--n-best", "3", stdin=f"fox dog\n\n{long}\n")
    best, blank, cut = map(json.loads, ended.stdout.splitlines())
    assert list(best) == ["text", "score", "alternatives", "notes"]
    assert (best["text"], best["notes"]) == ("Fuchs Hund", [])
    assert [best["score"], *(other["score"] for other in best["alternatives"])] == sorted(
        [best["score"], *(other["score"] for other in best["alternatives"])], reverse=True
    )
    assert len(best["alternatives"]) == 2
    assert (blank["text"], blank["alternatives"], blank["notes"]) == ("", [], [])
    assert "was translated in 2 parts" in cut["notes"][0]
    assert ended.stderr == "", "notes are told once"
    assert json.loads(saccade(*words, stdin="fox dog\n").stdout)["alternatives"] == []


def test_json_is_one_line_whatever_a_text_has():
    translation = Translation("a", "x\u2028y\x85z\n")
    (line,) = LineTranslation(CountsOneByOne(), LineOptions(as_json=True))._written(translation)  # type: ignore[arg-type]
    assert len(line.splitlines()) == 1
    assert json.loads(line)["text"] == translation.text


@pytest.mark.parametrize(("suffix", "opened"), [("gz", gzip.open), ("zst", zstandard.open)])
def test_a_compressed_output_and_one_that_was_resumed(suffix: str, opened, saccade, trained: Path, tmp_path: Path):
    source = (trained / "train.en").read_bytes()
    (tmp_path / "in.en").write_bytes(source)
    words = ("translate", "-m", trained / "run", tmp_path / "in.en", "-o")
    assert saccade(*words, tmp_path / f"whole.{suffix}").code == 0
    with opened(tmp_path / f"whole.{suffix}", "rt", encoding="utf-8") as file:
        assert file.read() == (trained / "train.de").read_text("utf-8")
    begin = source.index(b"\n", len(source) // 2) + 1
    (tmp_path / "in.en").write_bytes(source[:begin] + b"\xff\n")
    assert saccade(*words, tmp_path / f"resumed.{suffix}").code == 1
    (tmp_path / "in.en").write_bytes(source)
    assert saccade(*words, tmp_path / f"resumed.{suffix}").code == 0
    with opened(tmp_path / f"resumed.{suffix}", "rt", encoding="utf-8") as file:
        assert file.read() == (trained / "train.de").read_text("utf-8")


def test_an_empty_output_is_a_valid_compressed_file(saccade, trained: Path, tmp_path: Path):
    assert saccade("translate", "-m", trained / "run", "-o", tmp_path / "out.gz", stdin="").code == 0
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()) == b""
    assert (tmp_path / "out.gz").stat().st_size > 0


def test_an_output_in_another_compression_is_refused(saccade, trained: Path, tmp_path: Path):
    ended = saccade("translate", "-m", trained / "run", "-o", tmp_path / "out.xz", stdin="fox\n")
    assert ended.code == 1
    assert f"{tmp_path / 'out.xz'} must be plain text, .gz or .zst" in ended.stderr
    assert not list(tmp_path.iterdir())


def test_a_device_that_is_not_there(saccade, trained: Path):
    for verb, words in (
        ("translate", ()),
        ("score", (trained / "valid.en", trained / "valid.de")),
        ("view", ("fox dog",)),
    ):
        ended = saccade(verb, "-m", trained / "run", *words, "--device", "cuda:99", stdin="fox\n")
        assert (ended.code, ended.stdout) == (1, "")
        assert '"cuda:99" is not' in ended.stderr


class CountsOneByOne:
    """A translator that calls back after every line."""

    search, mbr = SearchSettings(), None

    def translate(self, texts, *, advanced, **_):
        for _ in texts:
            advanced(1)
        return [Translation(text, text) for text in texts]


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_the_bar_is_where_the_translation_is(suffix: str, tmp_path: Path):
    """Of equal lines, the share of the bar and that of the lines it names are the same at every moment."""
    random.seed(1)
    content = "".join(f"{random.getrandbits(400):0101x}\n" for _ in range(20_000)).encode()
    (tmp_path / f"in{suffix}").write_bytes(gzip.compress(content) if suffix else content)
    seen: list[tuple[float, float]] = []

    class Watching(LineReporter):
        def advanced(self, read_bytes: float, done: int) -> None:
            seen.append((read_bytes / lines.num_bytes * 100, done / 20_000 * 100))

    with closing(Lines([tmp_path / f"in{suffix}"])) as lines:
        for _ in LineTranslation(CountsOneByOne(), reporter=Watching()).translate(lines):  # type: ignore[arg-type]
            pass
    assert len(seen) > 20_000
    assert max(abs(bar - done) for bar, done in seen) < 1.0
    assert seen[-1] == (100.0, 100.0)


def test_an_output_file(saccade, trained: Path, tmp_path: Path):
    ended = saccade("translate", "-m", trained / "run", trained / "valid.en", "-o", tmp_path / "out.de")
    assert (ended.code, ended.stdout) == (0, "")
    assert re.fullmatch(
        r"6 lines, 12 tokens written, \d+\.\d s: [\d,]+\.\d sentences/s, [\d,]+ tokens/s\n", ended.stderr
    )
    assert [path.name for path in tmp_path.iterdir()] == ["out.de"]
    assert (tmp_path / "out.de").read_bytes() == (trained / "valid.de").read_bytes()


def test_an_output_cut_short_is_reported_and_resumed(saccade, trained: Path, tmp_path: Path):
    (tmp_path / "in.en").write_bytes(b"fox dog\ncat cat\n\xff\n")
    out, part = tmp_path / "out.de", tmp_path / "out.de.part"
    words = ("translate", "-m", trained / "run", tmp_path / "in.en", "-o", out)
    ended = saccade(*words)
    assert ended.code == 1
    assert re.match(f"{part} .*2 lines.*same command", ended.stderr)
    assert f"\nerror: {tmp_path / 'in.en'} must be UTF-8 text, but byte 1 of line 3 is 0xFF" in ended.stderr
    assert part.read_text("utf-8") == "Fuchs Hund\nKatze Katze\n"
    assert not out.exists()
    (tmp_path / "in.en").write_bytes(b"fox dog\ncat cat\nbee ant\ndog dog\n")
    ended = saccade(*words)
    assert ended.code == 0
    assert ended.stderr.startswith(f"Resuming after line 2, the last one in {part}.\n2 lines, 4 tokens written, ")
    assert out.read_text("utf-8") == "Fuchs Hund\nKatze Katze\nBiene Ameise\nHund Hund\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.en", "out.de"]


def test_an_output_that_would_be_empty_is_not_left_behind(saccade, trained: Path, tmp_path: Path):
    (tmp_path / "in.en").write_bytes(b"\xff\n")
    assert saccade("translate", "-m", trained / "run", tmp_path / "in.en", "-o", tmp_path / "out.de").code == 1
    assert [path.name for path in tmp_path.iterdir()] == ["in.en"]


def of(content: bytes) -> Lines:
    return Lines([], io.BytesIO(content))


def test_on_a_screen_each_line_is_answered_before_the_next_is_read(trained: Path):
    translator = load(trained / "run")
    lines = of(b"fox dog\ndog fox\n")
    answers = LineTranslation(translator).translate(lines, most=1)
    assert (next(answers), lines.num_lines) == ("Fuchs Hund\n", 1)
    assert (next(answers), lines.num_lines) == ("Hund Fuchs\n", 2)


def test_chunks_are_few_lines_at_first_and_never_too_many(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("saccade.line_translation.FIRST", 2)
    sizes = [len(chunk) for chunk in chunk_lines(of(b"x\n" * 50), 16, waits=True)]
    assert sizes == [2, 2, 4, 8, 16, 16, 2]
    monkeypatch.setattr("saccade.line_translation.CHARACTERS", 6)
    sizes = [len(chunk) for chunk in chunk_lines(of(b"12345\n" * 5 + b"x\n" * 7), 4, waits=True)]
    assert sizes == [2, 2, 2, 4, 2], "long lines are fewer"


@pytest.mark.parametrize("stop", [1, 2, 5, 17])
def test_chunks_are_the_same_after_a_break(stop: int):
    content = b"".join(b"x" * (line % 7) + b"\n" for line in range(100))
    lines = of(content)
    ends = [lines.num_lines for _ in chunk_lines(lines, 16, waits=True)]
    lines = of(content)
    for _ in islice(chunk_lines(lines, 16, waits=True), stop):
        mark = lines.mark
    again = of(content)
    assert again.skip(mark)
    assert [again.num_lines for _ in chunk_lines(again, 16, waits=True)] == ends[stop:]


def test_a_program_that_waits_for_each_answer_gets_it(model: Path):
    """Line by line through pipes, as an editor or a script would talk to it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "saccade", "translate", "-m", model, "--beam", "1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for line in ("😀", "?!", "", "…"):
        process.stdin.write(line + "\n")
        process.stdin.flush()
        assert process.stdout.readline() == line + "\n"
    rest, told = process.communicate()
    assert (process.returncode, rest, told) == (0, "", "")


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
    assert b"0%" in shown
    assert b"Traceback" not in shown
    assert b"Error" not in shown


def adversarial(count: int) -> list[str]:
    """Lines that no corpus has: any characters at all, control characters, markup, both directions, far too long."""
    rng = random.Random(1)
    ranges = [(0x20, 0x7F), (0, 0x20), (0x80, 0x250), (0x590, 0x700), (0x900, 0xE80), (0x2000, 0x2070), (0x300, 0x370)]
    ranges += [(0x4E00, 0x9FFF), (0xFFF0, 0x10000), (0x1F300, 0x1F700), (0xE000, 0xE100), (0x10000, 0x110000)]

    def character() -> str:
        return chr(rng.randrange(*rng.choice(ranges)))

    odd = [
        "",
        " ",
        "\t",
        "\x00",
        "\r",
        "\r\r",
        "\u2028",
        "\x85\x1c",
        "\ufeff",
        "\ufffe",
        "😀",
        "?!",
        "7",
        "a",
        "½",
        "...",
        "▁",
    ]
    odd += [
        "</s>",
        "<unk> <pad>",
        "<b>bold</b> &amp; <br/>",
        "{{x}} %s $1 \\n",
        "a\u200fب\u202eb\u202c",
        "e" + "\u0301" * 300,
    ]
    odd += ["'; DROP TABLE lines; --", "http://example.org/" + "a" * 200, "<0x0A>", "\U0010ffff", ">>deu<< a"]
    made = ["".join(character() for _ in range(rng.randrange(40))) for _ in range(count - len(odd))]
    return [line.replace("\n", " ") for line in odd + made]


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("auto", ()),
        ("auto", ("--split", "sentences", "--n-best", "2")),
        ("torch", ()),
    ],
)
def test_whatever_comes_in_as_many_lines_go_out(engine: str, words: tuple[str, ...], saccade, model: Path):
    lines = adversarial(2000)
    if engine == "auto" and not words:
        lines += ["a dog. " * 700, "漢" * 1000, "x" * 1000, " " * 100_000, "😀" * 100_000]
    short = ("--beam", "1", "--set", "search.max_length_factor=0.05", "--set", "search.max_length_extra=3")
    ended = saccade(
        "translate", "-m", model, "--engine", engine, *short, *words, stdin="\n".join(lines).encode() + b"\n"
    )
    assert ended.code == 0
    found = ended.stdout.split("\n")
    assert len(found) == len(lines) * (2 if words else 1) + 1
    assert len(ended.stdout.splitlines()) == len(found) - 1, "however one counts lines"
    if not words:
        assert [found[lines.index(line)] for line in ("", "\t", "😀", "?!", "...")] == ["", "", "😀", "?!", "..."]


def test_bytes_that_are_no_text_are_replaced_if_asked(saccade, model: Path):
    ended = saccade("translate", "-m", model, "--encoding-errors", "replace", stdin=b"?\xff!\n\xf0\x9f\n")
    assert (ended.code, ended.stdout) == (0, "?\ufffd!\n\ufffd\n")


def test_search_settings_of_the_command_line(saccade, trained: Path):
    short = saccade("translate", "-m", trained / "run", "--set", "search.max_length_factor=0", "--set",
                    "search.max_length_extra=1", stdin="fox dog\n")  # fmt: skip
    assert (short.code, short.stdout) == (0, "Fuchs\n")
    several = saccade("translate", "-m", trained / "run", "--set", "search.n_best=2", stdin="fox dog\n")
    assert several.stdout.split("\n")[0].endswith("\tFuchs Hund")
    assert len(several.stdout.splitlines()) == 2


def test_a_paragraph_in_its_sentences(saccade, trained: Path):
    """The toy has learned two words; a full stop it has not, but ends are found all the same."""
    ended = saccade("translate", "-m", trained / "run", "--split", "sentences", stdin="fox dog  !!!  Bee ant\n")
    assert ended.code == 0
    assert ended.stdout.startswith("Fuchs Hund")
    assert ended.stderr == ""


def test_notes_do_not_flood(saccade, trained: Path):
    ended = saccade("translate", "-m", trained / "run", stdin="dog cat dog cat dog cat dog cat dog\n" * 30)
    told = ended.stderr.splitlines()
    assert len(told) == 21
    assert told[19].startswith(
        "line 20 has 9 tokens, but the model was trained on at most 8: it was translated in 2 parts"
    )
    assert told[20] == "10 more lines had such notes."
    assert ended.stdout == "Hund Katze Hund Katze Hund Katze Hund Katze Hund\n" * 30 or ended.stdout.count("\n") == 30


def test_alternatives_are_as_many_as_asked_for_whatever_the_beam():
    own = SearchSettings(beam=2)
    asked = adjust_search(own, None, 4, ["search.method=alternatives"], origin="here")
    assert (asked.beam, asked.n_best) == (2, 4), "each is completed by a beam of its own"
    assert adjust_search(own, None, 4, origin="here").beam == 4
    assert adjust_search(own, 6, None, ["search.method=diverse", "search.groups=3"], origin="here").beam == 6


def test_fewer_translations_than_asked_for_stay_in_their_order():
    """Of a line with two, four are written: the last is repeated, so that the best come first."""
    found = Translation("a", "eins", score=-1.0, alternatives=(Translation("a", "zwei", score=-2.0),))
    work = LineTranslation(CountsOneByOne(), LineOptions(n_best=4))  # type: ignore[arg-type]
    assert [line.split("\t")[1] for line in work._written(found)] == ["eins", "zwei", "zwei", "zwei"]


def test_a_job_that_met_bytes_that_are_no_text_goes_on_with_them_replaced(saccade, trained: Path, tmp_path: Path):
    """What could be read before is the same either way; but what was replaced is not what is read strictly."""
    (tmp_path / "in").write_bytes(b"fox dog\n?\xff!\n")
    words = ("translate", "-m", trained / "run", tmp_path / "in", "-o", tmp_path / "out")
    assert saccade(*words).code == 1
    assert saccade(*words, "--encoding-errors", "replace").code == 0
    assert (tmp_path / "out").read_text("utf-8") == "Fuchs Hund\n?\ufffd!\n"


def test_draws_that_are_compared_take_the_settings_of_sampling(saccade, trained: Path):
    ended = saccade("translate", "-m", trained / "run", "--mbr", "4", "--set", "search.top_p=0.5", stdin="fox dog\n")
    assert (ended.code, ended.stdout, ended.stderr) == (0, "Fuchs Hund\n", "")
