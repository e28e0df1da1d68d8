"""Our scores are sacreBLEU's, with the tokenisation that the target language needs."""

import json
import logging
import subprocess
import sys

import pytest

from saccade.errors import DataError
from saccade.evaluation import scores
from saccade.evaluation.scores import Score, bleu, bleu_tokenization, check, metrics, warn_of_tokenized

GERMAN = [
    "Ein Hund rennt über die nasse Wiese.",
    "Zwei Kinder spielen am Strand.",
    "Eine Frau liest, er schläft.",
]
GERMAN_REFERENCE = [
    "Ein Hund läuft über die nasse Wiese.",
    "Zwei Kinder spielen Ball am Strand.",
    "Sie liest.",
]
CHINESE = ["一只狗在草地上奔跑。", "两个孩子在海边玩。"]
CHINESE_REFERENCE = ["一只狗在湿草地上跑。", "两个孩子在沙滩上玩耍。"]


def all_scores(hypotheses: list[str], references: list[str], language: str) -> dict[str, Score]:
    """Every metric of the language, by its name."""
    return {
        name: Score(name, metric.corpus_score(hypotheses, [references]).score, metric.get_signature().format())
        for name, metric in metrics(language).items()
    }


@pytest.mark.parametrize(
    ("language", "hypotheses", "references", "options"),
    [
        ("de", GERMAN, GERMAN_REFERENCE, []),
        ("zh", CHINESE, CHINESE_REFERENCE, ["-tok", "zh", "--ter-normalized", "--ter-asian-support"]),
    ],
)
def test_equal_to_the_sacrebleu_command(tmp_path, language, hypotheses, references, options):
    for name, lines in (("hypotheses", hypotheses), ("references", references)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "sacrebleu",
        "references",
        "-i",
        "hypotheses",
        "-m",
        "bleu",
        "chrf",
        "ter",
    ]
    command += ["--width", "10", "--format", "json", *options]
    output = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, encoding="utf-8").stdout

    theirs = [(score["name"], score["score"], score["signature"]) for score in json.loads(output)]
    ours = list(all_scores(hypotheses, references, language).values())
    assert [(score.name, round(score.value, 10), score.signature) for score in ours] == theirs
    assert all(0 < score.value < 100 for score in ours)


def test_default_signatures():
    signatures = {name: score.signature for name, score in all_scores(GERMAN, GERMAN_REFERENCE, "de").items()}
    assert "case:mixed|eff:no|tok:13a|smooth:exp" in signatures["BLEU"]
    assert "nc:6|nw:0" in signatures["chrF2"]
    assert "tok:tercom|norm:no|punct:yes|asian:no" in signatures["TER"]


@pytest.mark.parametrize("language", ["zh", "zh-CN", "zho_Hans", "ZH_tw"])
def test_chinese_is_compared_by_characters(language):
    by_name = all_scores(CHINESE, CHINESE_REFERENCE, language)
    assert "tok:zh" in by_name["BLEU"].signature
    assert "norm:yes|punct:yes|asian:yes" in by_name["TER"].signature


def test_ter_of_chinese_by_hand():
    """Four characters and a full stop against the same with one exchanged: one edit in five."""
    assert all_scores(["今天下雪。"], ["今天下雨。"], "zh")["TER"].value == pytest.approx(100 / 5)


def test_perfect_is_100_and_nothing_to_edit():
    for language, lines in (("de", GERMAN), ("zh", CHINESE)):
        values = {name: score.value for name, score in all_scores(lines, lines, language).items()}
        assert values == pytest.approx({"BLEU": 100, "chrF2": 100, "TER": 0})
        assert bleu(lines, lines, language) == pytest.approx(100)


def test_bleu_alone_is_the_same_number():
    for language, ours, reference in (("de", GERMAN, GERMAN_REFERENCE), ("zh", CHINESE, CHINESE_REFERENCE)):
        assert bleu(ours, reference, language) == all_scores(ours, reference, language)["BLEU"].value


@pytest.mark.parametrize(
    ("language", "with_mecab", "without"),
    [
        ("ja", "ja-mecab", "char"),
        ("jpn_Jpan", "ja-mecab", "char"),
        ("ko-KR", "ko-mecab", "char"),
        ("jv", "13a", "13a"),
        ("kok", "13a", "13a"),
        ("de", "13a", "13a"),
    ],
)
def test_tokenization_by_language(monkeypatch, language, with_mecab, without):
    monkeypatch.setattr(scores, "find_spec", lambda name: name)
    assert bleu_tokenization(language) == with_mecab
    monkeypatch.setattr(scores, "find_spec", lambda name: None)
    assert bleu_tokenization(language) == without


def test_blank_translations_are_scored():
    assert bleu(["", ""], GERMAN_REFERENCE[:2], "de") == 0


@pytest.mark.parametrize("score", [check, lambda a, b: bleu(a, b, "de")])
def test_unequal_and_empty(score):
    with pytest.raises(DataError, match=r"there are 3 translations and 2 references\. Give files with"):
        score(GERMAN, GERMAN_REFERENCE[:2])
    with pytest.raises(DataError, match=r"at least one translation .* there are none\. Check that the files"):
        score([], [])


def test_tokenized_translations_of_plain_references_are_reported(caplog):
    """Noise where the references are tokenised as well; a real problem where they are not."""
    tokenized, plain = ["Ein Hund rennt ."] * 100, ["Ein Hund rennt."] * 100
    with caplog.at_level(logging.WARNING):
        warn_of_tokenized(tokenized, tokenized)
        warn_of_tokenized(plain, tokenized)
        bleu(tokenized, plain, "de")
        assert caplog.messages == []
        warn_of_tokenized(tokenized, plain)
    (message,) = caplog.messages
    assert message.startswith("100 translations end in a detached full stop (' .') but only 0 references do.")


def test_sacrebleu_is_imported_only_when_scoring():
    """Its import takes about 0.15 s, which `saccade --help` must not pay."""
    code = "import sys, saccade.evaluation.scores; sys.exit(bool({'sacrebleu', 'torch'} & sys.modules.keys()))"
    subprocess.run([sys.executable, "-c", code], check=True)
