"""Language codes: the language that a code such as "zh-CN" or "pt_BR" means, and whether there is one of that name."""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib.resources import files

from saccade.errors import SettingsError

_LISTED = tomllib.loads((files("saccade") / "text" / "languages.toml").read_text(encoding="utf-8"))
_CODES = {name: code for code, name in _LISTED["two_letters"].items()}
_KNOWN = frozenset([*_CODES.values(), *_LISTED["three_letters"].split()])
_COUNTRIES = {"cn": "zh", "jp": "ja", "kr": "ko", "cz": "cs", "gr": "el", "ua": "uk", "dk": "da", "us": "en"}
_FORM = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*")
_LOCAL_USE = re.compile("q[a-t][a-z]")
_HAN, _KANA = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]"), re.compile("[\u3040-\u30ff]")
_SCRIPTS = dict.fromkeys(("zh", "zho", "chi", "cmn", "yue"), "zh") | dict.fromkeys(("ja", "jpn"), "ja")


@dataclass(frozen=True, kw_only=True, slots=True)
class Direction:
    """A language pair, by the codes of both languages."""

    source: str
    """Language that is translated from."""
    target: str
    """Language that is translated to."""
    tag: str = ""
    """The token that asks a model of many directions for the target language; the source begins with it."""

    def __str__(self) -> str:
        return f"{self.source} → {self.target}"


def with_tags(directions: Sequence[Direction]) -> tuple[Direction, ...]:
    """The same; of several, each gets the tag of its target language, written as in OPUS-MT's multilingual models."""
    if len(directions) == 1:
        return tuple(directions)
    return tuple(replace(direction, tag=f">>{direction.target}<<") for direction in directions)


def language_of(code: str) -> str:
    """The language itself, without script or region: `zh` of `zh-CN`, `zh_Hans` and `ZH`."""
    return re.split("[-_]", code.lower())[0]


def is_known(code: str) -> bool:
    """Whether this is a code of ISO 639, perhaps with a script or region; qaa to qtz are for local use."""
    language = language_of(code)
    return bool(_FORM.fullmatch(code) and (language in _KNOWN or _LOCAL_USE.fullmatch(language)))


def check_language(code: str, *, origin: str = "Language") -> str:
    """The code, if it is known; else a SettingsError that names `origin`, such as an option, and suggests a code."""
    if is_known(code):
        return code
    word = code.strip().lower()
    similar = get_close_matches(word, _CODES, n=1, cutoff=0.75)
    suggestion = _COUNTRIES.get(language_of(word)) or (_CODES[similar[0]] if similar else None)
    remedy = f"Did you mean `{suggestion}`?" if suggestion else "Use a code of ISO 639, such as en, de, zh or pt-BR."
    raise SettingsError(origin, [f"`{code}` is not a language code. {remedy}"])


def guess_source(text: str, directions: Sequence[Direction]) -> Direction:
    """The direction whose source language is written in the script of a text; the first where that does not tell."""
    num_letters = sum(map(str.isalpha, text))
    num_han = len(_HAN.findall(text))
    by_script = "ja" if _KANA.search(text) else "zh" if 5 * num_han > num_letters else ""
    suited = [each for each in directions if _SCRIPTS.get(language_of(each.source), "") == by_script]
    return (suited or directions)[0]
