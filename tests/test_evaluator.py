"""Evaluation from Python: of files, lists and models, alone or beside each other."""

from pathlib import Path

import pytest

import saccade
from saccade.errors import DataError, OutputExists, SettingsError
from saccade.evaluator import EvaluationReporter, default_name, evaluate

KNOWN = ["Ein Hund läuft durch den Park.", "Zwei Katzen schlafen auf dem Sofa."]
OURS = ["Ein Hund läuft im Park.", "Zwei Katzen schlafen auf dem Sofa."]


def values(found: saccade.Evaluation, name: str) -> dict[str, float]:
    return {score.name: score.value for score in found.comparison.scores[name]}


def test_lists_and_files_are_the_same(tmp_path: Path):
    (tmp_path / "ours.de").write_text("\n".join(OURS) + "\n", "utf-8")
    (tmp_path / "known.de").write_text("\n".join(KNOWN) + "\n", "utf-8")
    lists = evaluate(OURS, reference=KNOWN, language="de")
    files = evaluate(tmp_path / "ours.de", reference=str(tmp_path / "known.de"), language="de")
    assert values(lists, "translations") == values(files, "ours.de")
    assert lists.summary()["systems"][0]["scores"] == files.summary()["systems"][0]["scores"]


def test_several_references_are_lists_or_paths(tmp_path: Path):
    (tmp_path / "known.de").write_text("\n".join(KNOWN) + "\n", "utf-8")
    for references in ([KNOWN, OURS], [tmp_path / "known.de", OURS]):
        assert values(evaluate(OURS, reference=references, language="de"), "translations")["TER"] == 0


def test_a_model_beside_translations(trained: Path):
    told: list[tuple[str, int]] = []

    class Watching(EvaluationReporter):
        def translating(self, system: str, total: int) -> None:
            told.append((system, total))

        def translated(self, count: int) -> None:
            told.append(("done", count))

    translator = saccade.load(trained / "run")
    systems = {"model": translator, "same": trained / "train.de", "directory": str(trained / "run")}
    found = evaluate(
        systems,
        reference=trained / "train.de",
        source=trained / "train.en",
        beam=1,
        attention=True,
        reporter=Watching(),
    )
    assert list(found.submissions) == ["model", "same", "directory"], "the first is what others are compared with"
    assert values(found, "model") == values(found, "directory")
    assert found.submissions["model"].facts["beam"] == 1
    assert found.submissions["model"].gazes is not None
    assert found.comparison.language == "de"
    assert told[0] == ("model", 36)
    assert sum(count for name, count in told if name == "done") == 72


def test_the_report_is_written_once(tmp_path: Path):
    found = evaluate(OURS, reference=KNOWN, language="de")
    found.write_report(tmp_path / "report.html")
    assert "Ein Hund läuft <mark>im</mark> Park." in (tmp_path / "report.html").read_text("utf-8")
    assert found.to_json()["systems"][0]["name"] == "translations"
    with pytest.raises(OutputExists, match=r"report\.html exists already"):
        found.write_report(tmp_path / "report.html")


def test_what_cannot_be_scored(trained: Path):
    with pytest.raises(DataError, match=r"has 2 and .* has 1 lines"):
        evaluate(OURS[:1], reference=KNOWN, language="de")
    with pytest.raises(DataError, match="must hold at least one translation"):
        evaluate([], reference=KNOWN, language="de")
    with pytest.raises(DataError, match="is a model, which needs texts to translate"):
        evaluate(trained / "run", reference=KNOWN)
    with pytest.raises(SettingsError, match="`klingon` is not a language code"):
        evaluate(OURS, reference=KNOWN, language="klingon")


def test_names_are_those_of_files_and_of_what_surrounds_a_run():
    assert default_name("a/b/out.de") == "out.de"
    assert default_name(Path("runs/en-de/run/model")) == "en-de"
    assert default_name(["a line"]) == "translations"
