"""Strict TOML to frozen dataclasses (see fields.py) and back: unknown names are refused, all problems told at once."""

import dataclasses
import difflib
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import MISSING, dataclass, is_dataclass
from itertools import zip_longest
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import tomli_w

from saccade import __version__, fields
from saccade.errors import SettingsError

T = TypeVar("T")
Choose = Callable[[Mapping[str, Any]], type[T]]

_VARIABLE = re.compile(r"\$(?:(?P<dollar>\$)|(?P<name>\w+)|\{(?P<braced>\w+)\})")
_REMEDIES = {
    "SACCADE_DATA": "Set it to the directory that holds the data sets; "
    "docs/data.md says where the public ones come from."
}
_LARGEST = 2**63  # TOML's integers have 64 bits


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting that two recipes disagree about; its text is such as "training.seed: 1 -> 2"."""

    path: str
    before: str
    after: str
    may_change: bool
    """Whether a run may be resumed with it changed."""

    def __str__(self) -> str:
        return f"{self.path}: {self.before or 'not set'} -> {self.after or 'not set'}"


def load(cls: type[T], path: Path, overrides: Sequence[str] = ()) -> T:
    """Read `cls` from a TOML file, with overrides such as "model.layers=4" on top.

    Relative paths in the file refer to its directory, those of overrides to the current directory.
    """
    return load_chosen(lambda table: cls, path, overrides)


def load_chosen(choose: Choose[T], path: Path, overrides: Sequence[str] = ()) -> T:
    """The same, where the table itself, with the overrides on top, decides which class it is read as."""
    return _build(choose, read(path), overrides, str(path), path.absolute().parent)


def kinds(cls: type[Any], section: str) -> dict[str, type[Any]]:
    """The settings classes that a section of `cls` may be of, by kind."""
    members, _ = fields.sections_of(fields.hints(cls)[section])
    return {kind: member for member in members for kind in fields.kinds_of(member)}


def override(settings: T, overrides: Sequence[str], *, origin: str) -> T:
    """The same settings with overrides such as "search.beam=4" on top. `origin` heads the error message."""
    return _build(lambda _: type(settings), table(settings), overrides, origin, Path.cwd())


def parse(cls: type[T], table: Mapping[str, Any], *, origin: str, base: Path) -> T:
    """Read `cls` from a plain table. `origin` heads the error message; relative paths refer to `base`."""
    return _build(lambda _: cls, table, (), origin, base)


def dump(settings: Any) -> str:
    """The resolved settings as TOML: loading it gives equal settings."""
    return tomli_w.dumps(table(settings))


def table(settings: Any) -> dict[str, Any]:
    """The resolved settings as a plain table: parsing it gives equal settings. What is None is left out."""
    values = {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)}
    return {name: _plain(value) for name, value in values.items() if value is not None}


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return table(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Path):
        is_name = value.as_posix().startswith(fields.HUB)
        return (value.as_posix() if is_name else str(value.absolute())).replace("$", "$$")
    return value


def differences(a: Any, b: Any) -> list[Difference]:
    """What changed from settings `a` to `b`. A section that only one of them has is one difference."""
    return list(_compare(a, b, "", False))


def _compare(a: Any, b: Any, where: str, may_change: bool) -> Iterator[Difference]:
    if is_dataclass(a) and type(a) is type(b):
        for name, hint in fields.hints(type(a)).items():
            changeable = may_change or fields.MayChange in fields.markers(hint)
            yield from _compare(getattr(a, name), getattr(b, name), fields.join(where, name), changeable)
    elif is_dataclass(a) and is_dataclass(b):  # of two kinds, whose settings cannot be compared
        yield from _compare(getattr(a, "kind", None), getattr(b, "kind", None), fields.join(where, "kind"), may_change)
    elif isinstance(a, tuple) and isinstance(b, tuple) and any(map(is_dataclass, a + b)):
        for number, pair in enumerate(zip_longest(a, b)):
            yield from _compare(*pair, f"{where}[{number}]", may_change)
    elif a != b:
        yield Difference(where, _written(a), _written(b), may_change)


def _written(value: Any) -> str:
    """A value as TOML writes it; of a section, what is not the default."""
    if not is_dataclass(value):
        return fields.literal(_plain(value))
    values = {field.name: (getattr(value, field.name), fields.default_of(field)) for field in dataclasses.fields(value)}
    return f"{{ {', '.join(f'{name} = {_written(own)}' for name, (own, other) in values.items() if own != other)} }}"


# Files and overrides


def read(path: Path) -> dict[str, Any]:
    """A TOML file as a plain table."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        return tomllib.loads(text)
    except FileNotFoundError:
        problem = "there is no such file. `saccade init DIR` writes a starter recipe for your data."
    except IsADirectoryError:
        problem = "this is a directory. Name the TOML file in it."
    except OSError as error:
        problem = f"the file cannot be read: {error.strerror}."
    except UnicodeDecodeError as error:
        problem = f"the file must be UTF-8, but byte {error.start} of it is not. Save it as UTF-8."
    except tomllib.TOMLDecodeError as error:
        problem = _explain_toml(str(error), text)
    except (RecursionError, ValueError) as error:
        problem = _explain_limit(error)
    raise SettingsError(str(path), [problem])


def _explain_toml(message: str, text: str) -> str:
    """tomllib ends its message with "(at line 3, column 5)" or "(at end of document)"."""
    reason, _, position = message.removesuffix(")").rpartition(" (at ")
    lines, line = text.split("\n"), re.match(r"line (\d+)", position)
    shown = f" The line reads: {lines[int(line[1]) - 1].strip()}" if line else ""
    return f"{position} is not valid TOML: {reason}.{shown}"


def _explain_limit(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "values must not be nested this deeply. No setting needs more than three levels."
    return "an integer has too many digits. The largest is 9223372036854775807."


def _parse_override(override: str) -> dict[str, Any]:
    key, _, value = (part.strip() for part in override.partition("="))
    spellings = [f"{key} = {value}"]
    if value and value[0] not in "\"'[{":
        spellings.append(f"{key} = '''{value}'''")  # a word without quotes, as one types it in a shell
    for spelling in spellings:
        with suppress(ValueError, RecursionError):  # tomllib's own error is a ValueError
            return tomllib.loads(spelling)
    raise ValueError(
        f"--set {_cut(override)} does not give a setting a value. Write NAME=VALUE with the value as in TOML, "
        "for example: --set training.seed=2 or --set model.preset=small"
    )


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Both tables in one; where both have a value, that of `over`."""
    both = [key for key in over if isinstance(over[key], Mapping) and isinstance(under.get(key), Mapping)]
    return {**under, **over, **{key: _merged(under[key], over[key]) for key in both}}


def _paths(value: Any, where: str) -> Iterator[str]:
    """Where the values of a table are."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _paths(item, fields.join(where, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _paths(item, f"{where}[{number}]")
    else:
        yield where


# From tables to dataclasses


def _build(choose: Choose[T], table: Mapping[str, Any], overrides: Sequence[str], origin: str, base: Path) -> T:
    """`saccade` at the top of any file is the version that wrote it."""
    problems: list[str] = []
    typed: set[str] = set()
    writer = table.get("saccade")
    try:
        for override in overrides:
            try:
                values = _parse_override(override)
            except ValueError as error:
                problems.append(str(error))
            else:
                table = _merged(table, values)
                typed |= set(_paths(values, ""))
        cls = choose(table)
        known = {key: value for key, value in table.items() if key != "saccade" or key in fields.hints(cls)}
        settings: T = _Reader(cls, base, problems, typed, set()).section(cls, known, "")
    except RecursionError as error:
        problems = [_explain_limit(error)]
    if problems and isinstance(writer, str) and _version(writer) > _version(__version__):
        newer = f"it was written by saccade {writer}, newer than this {__version__}."
        problems = [f"{newer} Upgrade with: pip install --upgrade saccade"]
    if problems:
        raise SettingsError(origin, problems)
    return settings


def _version(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d{1,9}", text)[:3]]


@dataclass(frozen=True, slots=True)
class _Reader:
    """Turns values into what a type hint asks for; what cannot be turned becomes None and a problem."""

    root: type[Any]
    base: Path
    problems: list[str]
    typed: set[str]
    """Where values came from the command line."""
    unset: set[str]

    def section(self, cls: Any, table: Any, where: str) -> Any:
        if not isinstance(table, Mapping):
            return self.refuse(table, where, "a table")
        table, known, sound = self.with_preset(cls, table, where), fields.hints(cls), {}
        required = [field.name for field in dataclasses.fields(cls) if fields.default_of(field) is MISSING]
        for key in [*table, *(name for name in required if name not in table)]:
            count, path = len(self.problems), fields.join(where, key)
            if key not in known:
                self.problems.append(self.unknown(cls, key, where))
            elif key not in table:
                sound[key] = self.missing(cls, key, path)
            else:
                sound[key] = self.value(known[key], _with_kind(cls, key, table[key]), path)
                if len(self.problems) == count:
                    beyond = fields.bound_problems(known[key], sound[key])
                    self.problems.extend(f"{path}{problem}." for problem in beyond)
            if len(self.problems) > count:
                sound.pop(key, None)
        if table.keys() <= known.keys() and sound.keys() >= set(required):
            return self.checked(cls, sound, table.keys() - sound.keys(), where)

    def checked(self, cls: Any, sound: Mapping[str, Any], broken: Set[str], where: str) -> Any:
        """The section, if nothing of it is broken. What speaks of sound values alone is reported in any case."""
        try:
            section = cls(**sound)
        except ValueError as error:
            clauses = getattr(error, "problems", [str(error)])
            clauses = [text for text in clauses if not any(re.search(rf"\b{name}\b", text) for name in broken)]
            if clauses:
                self.problems.append(f"{where}: {'; '.join(clauses)}" if where else "; ".join(clauses))
        else:
            return None if broken else section

    def value(self, hint: Any, value: Any, where: str) -> Any:
        advice = next((marker.sentences for marker in fields.markers(hint) if isinstance(marker, fields.Advice)), {})
        may_be_name, hint = fields.MayBeName in fields.markers(hint), fields.strip(hint)
        origin, args = get_origin(hint), get_args(hint)
        if origin in (Union, UnionType):
            return self.union([arg for arg in args if arg is not NoneType], value, where, advice)
        if origin is Literal:
            return self.choice(args, value, where, advice)
        if origin is tuple:
            return self.sequence(args, value, where)
        if is_dataclass(hint):
            return self.section(hint, value, where)
        if hint is Path:
            is_name = may_be_name and isinstance(value, str) and value.startswith(fields.HUB)
            return Path(value) if is_name else self.path(value, where)
        if type(value) is int and not -_LARGEST <= value < _LARGEST:
            return self.refuse(value, where, "a number of at most 64 bits")
        if hint is float and type(value) is int:
            return float(value)
        # By type(), because a bool is an instance of int.
        return value if type(value) is hint else self.refuse(value, where, fields.WORDS[hint])

    def union(self, members: list[Any], value: Any, where: str, advice: Mapping[str, str]) -> Any:
        if len(members) == 1:
            return self.value(members[0], value, where)
        if not isinstance(value, Mapping):
            return self.refuse(value, where, "a table")
        kinds = {kind: cls for cls in members for kind in fields.kinds_of(cls)}
        if "kind" in value:
            kind = self.choice(tuple(kinds), value["kind"], f"{where}.kind", advice)
            return None if kind is None else self.section(kinds[kind], value, where)
        self.problems.append(f"{where}.kind is missing. It must be {fields.either(kinds)}.")

    def choice(self, choices: Sequence[Any], value: Any, where: str, advice: Mapping[str, str]) -> Any:
        if any(value == choice and type(value) is type(choice) for choice in choices):
            return value
        near = difflib.get_close_matches(str(value), map(str, choices), n=1)
        remark = advice.get(value.lower()) if isinstance(value, str) else None
        remark = remark or (f'Did you mean "{near[0]}"?' if near else "")
        return self.refuse(value, where, fields.either(choices), f" {remark}".rstrip())

    def sequence(self, entries: tuple[Any, ...], values: Any, where: str) -> Any:
        if isinstance(values, Mapping) and is_dataclass(entries[0]):  # one of several sections
            return (self.section(entries[0], values, where),)
        if not isinstance(values, list):
            return self.refuse(values, where, "a list")
        if entries[-1] is ...:
            entries = (entries[0],) * len(values)
        elif len(entries) != len(values):
            return self.refuse(values, where, f"a list of {len(entries)} values")
        return tuple(self.value(entries[i], value, f"{where}[{i}]") for i, value in enumerate(values))

    def path(self, text: Any, where: str) -> Any:
        if not isinstance(text, str) or not text:
            return self.refuse(text, where, "a path")
        values = {match[0]: self.variable(match, where) for match in _VARIABLE.finditer(text)}
        first = _VARIABLE.match(text)
        # A variable's value was written for the directory of the shell, not of the recipe.
        in_shell = where in self.typed or (first and not first["dollar"])
        try:
            expanded = Path(_VARIABLE.sub(lambda match: values[match[0]], text)).expanduser()
        except RuntimeError:
            return self.refuse(text, where, "a path below the home of a known user")
        return (Path.cwd() if in_shell else self.base) / expanded

    def variable(self, match: re.Match[str], where: str) -> str:
        """The value of `$NAME`; `$$` is a dollar. What is not set is reported once, not for each file."""
        if match["dollar"]:
            return "$"
        name = match["name"] or match["braced"]
        value = os.environ.get(name, "")
        if not value and name not in self.unset:
            self.unset.add(name)
            remedy = _REMEDIES.get(name, "Set it, or write the path out.")
            self.problems.append(f"{where} needs the environment variable {name}, which is not set. {remedy}")
        return value

    def with_preset(self, cls: Any, table: Mapping[str, Any], where: str) -> Mapping[str, Any]:
        presets: Mapping[str, Mapping[str, Any]] = getattr(cls, "PRESETS", {})
        if not presets or "preset" not in table:
            return table
        name = self.choice(tuple(presets), table["preset"], fields.join(where, "preset"), {})
        return _merged(presets.get(name, {}), {key: table[key] for key in table if key != "preset"})

    def refuse(self, value: Any, where: str, wanted: str, advice: str = "") -> None:
        self.problems.append(f"{where} must be {wanted}, not {_cut(fields.literal(value))}.{advice}")

    def missing(self, cls: Any, name: str, where: str) -> Any:
        hint = fields.strip(fields.hints(cls)[name])
        if is_dataclass(hint):
            return self.section(hint, {}, where)  # reports what the absent section must hold
        self.problems.append(f"{where} is missing and has no default. {fields.helps(cls).get(name, '')}".rstrip())

    def unknown(self, cls: Any, key: str, where: str) -> str:
        names = [*fields.hints(cls), *(["preset"] if hasattr(cls, "PRESETS") else [])]
        path, described = fields.join(where, key), fields.describe(self.root)
        if reason := getattr(cls, "REFUSED", {}).get(key):
            return f"{path} {reason}."
        if kinds := [field.kind for field in described if field.path == path]:
            known, given = fields.either(kinds), fields.either(fields.kinds_of(cls))
            return f"{path} is a setting of kind = {known}, not of kind = {given}."
        near = [field.path for field in described if field.path.endswith(f".{key}")]
        near += [fields.join(where, name) for name in difflib.get_close_matches(key, names, n=1)]
        advice = f"did you mean {near[0]}?" if near else f"known here: {', '.join(names)}."
        return f"{path} is not a setting, {advice}"


def _cut(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:76]} ..."


def _with_kind(cls: Any, name: str, value: Any) -> Any:
    """A section of one of several kinds, with the default's kind where none is given."""
    if not isinstance(value, Mapping) or len(fields.sections_of(fields.hints(cls)[name])[0]) < 2:
        return value
    default = next(fields.default_of(field) for field in dataclasses.fields(cls) if field.name == name)
    return value if default in (None, MISSING) else {"kind": default.kind, **value}
