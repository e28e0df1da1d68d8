"""Dates as people write them, in five languages, to ISO: "3rd of March 2017" -> "2017-03-03".

No text can be read as two dates. The splits share no date: a held-out one was never seen in any wording.
"""

import random
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from importlib.resources import files
from importlib.util import find_spec

from saccade.data.corpus import Example, Split, split_of
from saccade.errors import MissingDependency

FIRST, LAST = date(1900, 1, 1), date(2099, 12, 31)


@dataclass(frozen=True, slots=True)
class Wording:
    """One way to write a date: a CLDR pattern; quoted '{names}' in it stand for words CLDR does not have."""

    language: str
    family: str
    locale: str
    pattern: str

    def write(self, day: date) -> str:
        text = _compiled(self.locale, self.pattern)(day)
        return text.format_map(_WORDS[self.language](day)) if "{" in text else text


@dataclass(frozen=True, slots=True)
class WrittenDate:
    """A date in one wording; accuracy can be broken down by `wording.language` and `wording.family`."""

    text: str
    day: date
    wording: Wording

    @property
    def example(self) -> Example:
        return Example(self.text, self.day.isoformat())


def examples(num: int, *, seed: int, split: Split) -> list[Example]:
    """`num` examples of a split; a pure function, and fewer of them are the beginning of more of them."""
    return [written.example for written in written_dates(num, seed=seed, split=split)]


def written_dates(num: int, *, seed: int, split: Split) -> list[WrittenDate]:
    """The same examples with their wordings. No date comes twice before every date of the split came once."""
    if find_spec("babel") is None:
        raise MissingDependency(
            'The dates task needs Babel, which is not installed. Install it with: pip install "saccade[train]"'
        )
    rng = random.Random(f"dates {split} {seed}")
    days = _shuffled_forever(_days(split), rng)
    return [_draw(next(days), rng) for _ in range(num)]


def showcase() -> list[Example]:
    """A handful in five languages to show; their dates are in the test split."""
    return [
        Example("Friday the 3rd of March 2023", "2023-03-03"),
        Example("二〇〇八年八月八日星期五", "2008-08-08"),
        Example("Dienstag, den 14. Februar 2023", "2023-02-14"),
        Example("le 1er juillet 1997", "1997-07-01"),
        Example("viernes, 1 de abril de 2022", "2022-04-01"),
        Example("the twenty-fifth of December, two thousand and twenty-three", "2023-12-25"),
    ]


@cache
def _compiled(locale: str, pattern: str) -> Callable[[date], str]:
    """Babel's format_date for one pattern; looking pattern and locale up each time takes twice as long."""
    from babel import Locale
    from babel.dates import parse_pattern

    names = Locale.parse(locale)
    parsed = names.date_formats.get(pattern) or parse_pattern(pattern)
    return lambda day: parsed.apply(day, names)


@cache
def _days(split: Split) -> tuple[date, ...]:
    every = (FIRST + timedelta(days=n) for n in range((LAST - FIRST).days + 1))
    return tuple(day for day in every if split_of(day.isoformat()) == split)


def _shuffled_forever(days: tuple[date, ...], rng: random.Random) -> Iterator[date]:
    while True:
        yield from rng.sample(days, len(days))


def _draw(day: date, rng: random.Random) -> WrittenDate:
    language = rng.choice(LANGUAGES)
    wording = rng.choice((_LATE if day.day > 12 else _EARLY)[language])
    change_case = rng.choice(_CASES)
    return WrittenDate(change_case(wording.write(day)), day, wording)


# Words that CLDR does not have

_ONES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"]
_ONES += ["twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
_TENS = ["", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_ORDINALS = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth"}
_ORDINALS |= {"nine": "ninth", "twelve": "twelfth", "twenty": "twentieth", "thirty": "thirtieth"}
_HAN_DIGITS = "〇一二三四五六七八九"


def _number(n: int) -> str:
    """An English number below one hundred: 21 is "twenty-one"."""
    if n < 20:
        return _ONES[n]
    tens, ones = divmod(n, 10)
    return f"{_TENS[tens]}-{_ONES[ones]}" if ones else _TENS[tens]


def _ordinal(n: int) -> str:
    """An English ordinal below one hundred: 21 is "twenty-first"."""
    tens, hyphen, last = _number(n).rpartition("-")
    return tens + hyphen + _ORDINALS.get(last, last + "th")


def _year(year: int, joint: str = " ") -> str:
    """1917 is "nineteen seventeen", 1905 "nineteen oh five", 2017 "two thousand" + joint + "seventeen"."""
    if year < 2000:
        return _year_in_pairs(year)
    return f"two thousand{joint}{_number(year - 2000)}" if year > 2000 else "two thousand"


def _year_in_pairs(year: int) -> str:
    """2017 is "twenty seventeen", 1900 "nineteen hundred"."""
    century, rest = divmod(year, 100)
    if rest == 0:
        return "two thousand" if year == 2000 else f"{_number(century)} hundred"
    return f"{_number(century)} {'oh ' if rest < 10 else ''}{_number(rest)}"


def _suffix(day: int) -> str:
    return "th" if day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def _han_number(n: int) -> str:
    """A Chinese number below one hundred: 23 is 二十三, 10 is 十."""
    tens, ones = divmod(n, 10)
    head = ("" if tens == 1 else _HAN_DIGITS[tens]) + "十" if tens else ""
    return head + (_HAN_DIGITS[ones] if ones or not tens else "")


def _english_words(day: date) -> dict[str, str]:
    return {
        "nth": f"{day.day}{_suffix(day.day)}",
        "day": _ordinal(day.day),
        "year": _year(day.year),
        "year_with_and": _year(day.year, " and "),
        "year_in_pairs": _year_in_pairs(day.year),
    }


def _chinese_words(day: date) -> dict[str, str]:
    year = "".join(_HAN_DIGITS[int(digit)] for digit in str(day.year))
    return {
        "year": year,
        "year_with_零": year.replace("〇", "零"),
        "day": _han_number(day.day),
        "weekday": "礼拜" + "一二三四五六天"[day.weekday()],
    }


_WORDS: Mapping[str, Callable[[date], Mapping[str, str]]] = {
    "en": _english_words,
    "zh": _chinese_words,
    "fr": lambda day: {"nth": "1er" if day.day == 1 else str(day.day)},
    "es": lambda day: {"nth": "1.º" if day.day == 1 else str(day.day)},
}


_TABLE = tomllib.loads((files("saccade") / "demo" / "wordings.toml").read_text(encoding="utf-8"))
WORDINGS = tuple(
    Wording(locale.partition("_")[0], family, locale, pattern)
    for locale, families in _TABLE.items()
    for family, patterns in families.items()
    for pattern in patterns
)
LANGUAGES = tuple(dict.fromkeys(wording.language for wording in WORDINGS))
_LATE = {language: [w for w in WORDINGS if w.language == language] for language in LANGUAGES}
_EARLY = {language: [w for w in wordings if w.family != "late"] for language, wordings in _LATE.items()}

# Three times in five as the wording has it.
_CASES: tuple[Callable[[str], str], ...] = (str, str, str, str.lower, str.upper)
