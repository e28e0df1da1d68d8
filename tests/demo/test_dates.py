"""The dates task: reproducible, without a second reading, its splits disjoint by the date itself."""

import re
from collections import Counter
from datetime import date

import pytest
from babel.dates import format_date

from saccade.data.corpus import split_of
from saccade.demo import dates
from saccade.demo.dates import LANGUAGES, WORDINGS, examples, showcase, written_dates
from saccade.errors import MissingDependency

SPLITS = ("train", "valid", "test")
FRIDAY = date(2017, 3, 3)


def write(language, family, day):
    """Every text of one family of wordings."""
    return [w.write(day) for w in WORDINGS if (w.language, w.family) == (language, family)]


@pytest.fixture(scope="module")
def many():
    return [written for split in SPLITS for written in written_dates(67_000, seed=7, split=split)]


def test_a_pure_function_of_its_arguments():
    once = examples(500, seed=3, split="train")
    assert once == [written.example for written in written_dates(500, seed=3, split="train")]
    assert once == examples(500, seed=3, split="train")
    assert once[:200] == examples(200, seed=3, split="train")
    assert once != examples(500, seed=4, split="train")
    assert examples(0, seed=3, split="test") == []


def test_the_dates_are_the_same_in_every_process():
    targets = [example.target for example in examples(3, seed=0, split="test")]
    assert targets == ["1954-11-04", "1945-05-12", "2088-04-21"]


def test_splits_share_no_date():
    seen = {split: {written.day for written in written_dates(3_000, seed=1, split=split)} for split in SPLITS}
    for split, days in seen.items():
        assert {split_of(day.isoformat()) for day in days} == {split}
        assert len(days) == 3_000, "no date comes twice before every date came once"


def test_every_date_has_a_split_in_the_stated_shares():
    counts = {split: len(dates._days(split)) for split in SPLITS}
    assert sum(counts.values()) == 73_049  # 200 years, of which 2000 is a leap year and 1900 is not
    assert counts["valid"] / 73_049 == pytest.approx(0.05, abs=0.003)
    assert counts["test"] / 73_049 == pytest.approx(0.05, abs=0.003)


def test_no_text_has_two_targets(many):
    days = {}
    for written in many:
        assert days.setdefault(written.text, written.day) == written.day


def test_no_two_wordings_of_any_date_collide():
    """Every wording of every day of a leap year, also in upper and lower case."""
    days = {}
    for n in range(366):
        day = date.fromordinal(date(2024, 1, 1).toordinal() + n)
        for text in (w.write(day) for w in WORDINGS if w.family != "late" or day.day > 12):
            for variant in {text, text.lower(), text.upper()}:
                assert days.setdefault(variant, day) == day


def test_digits_have_one_reading(many):
    """Read independently: a year has four digits; two more numbers are month and day by order or by size."""
    kinds = Counter()
    for written in many:
        numbers = [int(digits) for digits in re.findall(r"\d+", written.text)]
        day = written.day
        match numbers:
            case []:
                kinds["spelled"] += 1
            case [number, year] if year > 31:
                assert (number, year) == (day.day, day.year)
                kinds["month by name"] += 1
            case [year, month, number] if year > 31:
                assert (year, month, number) == (day.year, day.month, day.day)
                kinds["year first"] += 1
            case [one, two, year]:
                assert max(one, two) > 12, written.text
                assert (year, *sorted((one, two))) == (day.year, *sorted((day.month, day.day)))
                kinds["day past the 12th"] += 1
            case _:
                pytest.fail(f"no reading of {written.text!r}")
    assert all(count > 5_000 for count in kinds.values())
    assert len(kinds) == 4


def test_every_language_and_wording_is_drawn(many):
    assert {written.wording for written in many} == set(WORDINGS)
    languages = Counter(written.wording.language for written in many)
    assert set(languages) == set(LANGUAGES) == {"en", "zh", "de", "fr", "es"}
    assert all(count / len(many) == pytest.approx(0.2, abs=0.02) for count in languages.values())


def test_upper_and_lower_case(many):
    texts = [written.text for written in many if written.wording.language == "en"]
    assert sum(text.isupper() for text in texts) > 5_000
    assert sum(text.islower() for text in texts) > 5_000


def test_plain_text(many):
    """Nothing that normalisation would change (such as narrow spaces), and no {name} left unfilled."""
    for written in many:
        assert " ".join(written.text.split()) == written.text
        assert not re.search(r"[^\S ]|[{}']", written.text)


@pytest.mark.parametrize(
    ("language", "family", "day", "texts"),
    [
        ("en", "weekday", FRIDAY, ["Friday, March 3, 2017", "Fri, Mar 3, 2017", "Fri 3 Mar 2017"]),
        ("en", "month", FRIDAY, ["March 3, 2017", "3 March 2017", "March 3 2017"]),
        ("en", "short", FRIDAY, ["Mar 3, 2017", "3 Mar 2017", "3-Mar-2017"]),
        ("en", "ordinal", FRIDAY, ["March 3rd, 2017", "3rd of March 2017", "Friday the 3rd of March 2017"]),
        ("en", "ordinal", date(2011, 12, 11), ["11th December 2011"]),
        ("en", "ordinal", date(2011, 12, 22), ["the 22nd of December, 2011"]),
        ("en", "spelled", FRIDAY, ["the third of March, two thousand seventeen"]),
        ("en", "spelled", FRIDAY, ["the third of March, two thousand and seventeen"]),
        ("en", "spelled", FRIDAY, ["Friday, March third, twenty seventeen"]),
        ("en", "numeric", FRIDAY, ["2017-03-03"]),
        ("en", "late", date(2017, 3, 31), ["03/31/2017", "3/31/2017", "31/03/2017"]),
        ("zh", "weekday", FRIDAY, ["2017年3月3日星期五", "2017年3月3日 周五", "2017年3月3日礼拜五"]),
        ("zh", "month", FRIDAY, ["2017年3月3日", "2017年03月03日", "2017年3月3号", "公元2017年3月3日"]),
        ("zh", "spelled", FRIDAY, ["二〇一七年三月三日", "二零一七年三月三日", "公元二〇一七年三月三日"]),
        ("zh", "spelled", date(2030, 12, 10), ["二〇三〇年十二月十日星期二"]),
        ("zh", "spelled", date(1999, 10, 21), ["一九九九年十月二十一日"]),
        ("zh", "numeric", FRIDAY, ["2017-03-03", "2017/3/3", "2017.03.03"]),
        ("de", "weekday", FRIDAY, ["Freitag, 3. März 2017", "Freitag, den 3. März 2017"]),
        ("de", "month", FRIDAY, ["3. März 2017", "der 3. März 2017", "am 3. März 2017"]),
        ("de", "short", date(2017, 12, 3), ["3. Dez. 2017"]),
        ("de", "numeric", FRIDAY, ["2017-03-03"]),
        ("de", "late", date(2017, 3, 31), ["31.03.2017", "31.3.2017", "Freitag, 31.03.2017"]),
        ("fr", "weekday", FRIDAY, ["vendredi 3 mars 2017", "le vendredi 3 mars 2017"]),
        ("fr", "month", FRIDAY, ["3 mars 2017", "le 3 mars 2017"]),
        ("fr", "short", date(2017, 12, 3), ["3 déc. 2017"]),
        ("fr", "ordinal", date(2017, 3, 1), ["1er mars 2017", "le 1er mars 2017", "mercredi 1er mars 2017"]),
        ("fr", "ordinal", FRIDAY, ["3 mars 2017"]),
        ("fr", "numeric", FRIDAY, ["2017-03-03"]),
        ("fr", "late", date(2017, 3, 31), ["31/03/2017", "le 31/03/2017"]),
        ("es", "weekday", FRIDAY, ["viernes, 3 de marzo de 2017", "vie, 3 mar 2017"]),
        ("es", "month", FRIDAY, ["3 de marzo de 2017", "el 3 de marzo de 2017", "3 de marzo del 2017"]),
        ("es", "short", FRIDAY, ["3 mar 2017", "3-mar-2017"]),
        ("es", "ordinal", date(2017, 3, 1), ["1.º de marzo de 2017", "el 1.º de marzo de 2017"]),
        ("es", "numeric", FRIDAY, ["2017-03-03"]),
        ("es", "late", date(2017, 3, 31), ["31/03/2017", "31-03-2017"]),
    ],
)
def test_wordings_by_hand(language, family, day, texts):
    assert set(texts) <= set(write(language, family, day))


def test_every_family_is_tested_by_hand():
    (mark,) = (mark for mark in test_wordings_by_hand.pytestmark if mark.name == "parametrize")
    assert {case[:2] for case in mark.args[1]} == {(wording.language, wording.family) for wording in WORDINGS}


def test_patterns_are_written_as_babel_writes_them():
    for wording in (wording for wording in WORDINGS if "{" not in wording.pattern):
        assert wording.write(FRIDAY) == format_date(FRIDAY, wording.pattern, locale=wording.locale)


@pytest.mark.parametrize(
    ("year", "plain", "in_pairs"),
    [
        (1900, "nineteen hundred", "nineteen hundred"),
        (1905, "nineteen oh five", "nineteen oh five"),
        (1987, "nineteen eighty-seven", "nineteen eighty-seven"),
        (2000, "two thousand", "two thousand"),
        (2005, "two thousand five", "twenty oh five"),
        (2010, "two thousand ten", "twenty ten"),
        (2099, "two thousand ninety-nine", "twenty ninety-nine"),
    ],
)
def test_years_in_english(year, plain, in_pairs):
    texts = write("en", "spelled", date(year, 5, 30))
    assert f"May thirtieth, {plain}" in texts
    assert f"the thirtieth of May {in_pairs}" in texts


def test_days_in_english():
    words = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
    words += ["eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth"]
    words += ["eighteenth", "nineteenth", "twentieth", *(f"twenty-{word}" for word in words[:9])]
    words += ["thirtieth", "thirty-first"]
    assert len(words) == 31
    for number, word in enumerate(words, start=1):
        assert f"January {word}, nineteen oh one" in write("en", "spelled", date(1901, 1, number))


def test_showcase_is_held_out_and_written_by_the_task():
    assert len(showcase()) == 6
    languages = set()
    for example in showcase():
        day = date.fromisoformat(example.target)
        assert split_of(day.isoformat()) == "test"
        languages |= {wording.language for wording in WORDINGS if wording.write(day) == example.source}
    assert languages == set(LANGUAGES)


def test_without_babel(monkeypatch):
    monkeypatch.setattr(dates, "find_spec", lambda name: None)
    with pytest.raises(MissingDependency, match=r'needs Babel, .* Install it with: pip install "saccade\[train\]"'):
        examples(1, seed=1, split="train")
