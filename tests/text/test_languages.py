import pytest

from saccade.errors import SettingsError
from saccade.text.languages import (
    Direction,
    check_language,
    guess_source,
    is_known,
    language_of,
    scripts_of,
    uses_script,
    with_tags,
)


@pytest.mark.parametrize("code", ["zh", "ZH", "zh-CN", "zh_CN", "zh-Hans-CN", "zh_hant"])
def test_script_region_and_case_do_not_matter(code: str):
    assert language_of(code) == "zh"
    assert is_known(code)
    assert check_language(code) == code


@pytest.mark.parametrize("code", ["en", "pt-BR", "deu", "cmn_Hans", "yue", "es-419", "qaa", "mul"])
def test_codes_of_iso_639_are_known(code: str):
    assert is_known(code)


@pytest.mark.parametrize(
    "code", ["", "xx", "yy", "e", "english", "en-", "-en", "en--US", "en US", "klingon", "q", "qzz"]
)
def test_others_are_not(code: str):
    assert not is_known(code)


@pytest.mark.parametrize(
    ("code", "suggestion"),
    [
        ("english", "`en`"),
        ("German", "`de`"),
        ("chinesse", "`zh`"),
        (" french ", "`fr`"),
        ("cn", "`zh`"),
        ("jp", "`ja`"),
        ("xx", "ISO 639"),
        ("klingon", "ISO 639"),
    ],
)
def test_a_refusal_names_the_code_and_suggests_another(code: str, suggestion: str):
    with pytest.raises(SettingsError) as refused:
        check_language(code, origin="--to")
    assert str(refused.value).startswith(f"--to: `{code}` is not a language code.")
    assert suggestion in str(refused.value)


def test_all_of_iso_639_1_is_there():
    """183 codes, and sh, which was withdrawn but names many corpora."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    assert sum(is_known(first + second) for first in letters for second in letters) == 184


INTO_ENGLISH = [Direction(source=code, target="en") for code in ("de", "zh", "ja")]


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("Hund", "de"),
        ("狗", "zh"),
        ("犬が走る", "ja"),
        ("MP3 播放器", "zh"),
        ("123", "de"),
        ("", "de"),
        ("Die 猫 heißt Mimi", "de"),
    ],
)
def test_the_script_of_a_text_tells_its_language(text: str, source: str):
    assert guess_source(text, INTO_ENGLISH).source == source


def test_a_script_that_nobody_writes_leaves_the_first():
    assert guess_source("狗", INTO_ENGLISH[:1]).source == "de"


def test_several_directions_get_tags_and_one_needs_none():
    assert [each.tag for each in with_tags(INTO_ENGLISH)] == [">>en<<"] * 3
    assert with_tags(INTO_ENGLISH[:1]) == (INTO_ENGLISH[0],)


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        ("en", "Ärger 7", True),
        ("en", "12:30", False),
        ("zh-CN", "OK", False),
        ("zh-CN", "OK 好", True),
        ("ja", "ありがとう", True),
        ("ru", "Moscow", False),
        ("sr", "Beograd", True),
        ("sr_Cyrl", "Београд", True),
        ("qaa", "12:30", True),
    ],
)
def test_letters_of_a_languages_scripts_are_known(code: str, text: str, expected: bool):
    assert uses_script(text, scripts_of(code)) is expected
