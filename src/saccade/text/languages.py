"""Language codes: the language that a code such as "zh-CN" or "pt_BR" means, and whether there is one of that name."""

import re
import tomllib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib.resources import files

from saccade.errors import SettingsError

_LISTED = tomllib.loads((files("saccade") / "text" / "languages.toml").read_text(encoding="utf-8"))
_CODES = {name: code for code, name in _LISTED["two_letters"].items()}
_KNOWN = frozenset([*_CODES.values(), *_LISTED["three_letters"].split()])
_SCRIPTS = {script: frozenset(codes.split()) for script, codes in _LISTED["scripts"].items()}
_COUNTRIES = {"cn": "zh", "jp": "ja", "kr": "ko", "cz": "cs", "gr": "el", "ua": "uk", "dk": "da", "us": "en"}
_FORM = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*")
_LOCAL_USE = re.compile("q[a-t][a-z]")


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


def scripts_of(code: str) -> tuple[str, ...]:
    """The scripts of a language, as the Unicode names of their letters begin; none if they are not known."""
    language = language_of(code)
    listed = tuple(script for script, languages in _SCRIPTS.items() if language in languages)
    return listed or (("LATIN",) if language in _CODES.values() else ())


def uses_script(text: str, scripts: tuple[str, ...]) -> bool:
    """Whether there is a letter of one of these scripts in a text; of no script, always."""
    return not scripts or any(unicodedata.name(letter, "").startswith(scripts) for letter in text if letter.isalpha())


def guess_source(text: str, directions: Sequence[Direction]) -> Direction:
    """The direction whose source language has most letters of a text in its scripts; the first of equals."""
    names = [unicodedata.name(letter, "") for letter in text if letter.isalpha()]

    def num_letters(direction: Direction) -> int:
        scripts = scripts_of(direction.source)
        return sum(name.startswith(scripts) for name in names) if scripts else 0

    return max(directions, key=num_letters)
