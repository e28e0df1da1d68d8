"""Strict TOML to frozen dataclasses and back: unknown names are refused, and all problems are told at once.

The docstring under a field is its help text. A field is a `bool`, `int`, `float`, `str`, `Path`, `Literal`,
a tuple of such, a settings class, a union of settings classes told apart by `kind`, or `X | None = None`.
"""

import ast
import dataclasses
import difflib
import functools
import inspect
import json
import os
import re
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, is_dataclass
from itertools import pairwise
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import tomli_w

from saccade.errors import SettingsError

T = TypeVar("T")

_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", Path: "a path"}
_VARIABLE = re.compile(r"\$(?:(?P<dollar>\$)|(?P<name>\w+)|\{(?P<braced>\w+)\})")
_REMEDIES = {
    "SACCADE_DATA": "Set it to the directory that holds the data sets; "
    "docs/data.md says where the public ones come from."
}
_PRESET_HELP = "Named values that the other settings of this section start from."


@dataclass(frozen=True, slots=True)
class Field:
    """One setting, as the documentation and a starter recipe show it."""

    path: str
    type: str
    default: str | None
    """As TOML writes it; empty where the setting may stay unset, None where it must be given."""
    help: str
    kind: str = ""
    """Where a section is of one of several kinds: the one that has this setting."""


def load(cls: type[T], path: Path, overrides: Sequence[str] = ()) -> T:
    """Read `cls` from a TOML file, with overrides such as "model.layers=4" on top."""
    return load_chosen(lambda table: cls, path, overrides)


def load_chosen(choose: Callable[[Mapping[str, Any]], type[T]], path: Path, overrides: Sequence[str] = ()) -> T:
    """The same, where the table itself decides which class it is read as."""
    problems: list[str] = []
    table = _overridden(read(path), overrides, problems)
    return _build(choose(table), table, str(path), path.absolute().parent, problems)


def kinds(cls: type[Any], section: str) -> dict[str, type[Any]]:
    """The settings classes that a section of `cls` may be of, by kind."""
    return {kind: member for member in _sections(get_type_hints(cls)[section])[0] for kind in _kinds(member)}


def override(settings: T, overrides: Sequence[str], *, origin: str) -> T:
    """The same settings with overrides such as "search.beam=4" on top. `origin` heads the error message."""
    problems: list[str] = []
    return _build(type(settings), _overridden(table(settings), overrides, problems), origin, Path.cwd(), problems)


def parse(cls: type[T], table: Mapping[str, Any], *, origin: str, base: Path) -> T:
    """Read `cls` from a plain table. `origin` heads the error message; relative paths refer to `base`."""
    return _build(cls, table, origin, base, [])


def dump(settings: Any) -> str:
    """The resolved settings as TOML: loading it gives equal settings."""
    return tomli_w.dumps(table(settings))


def table(settings: Any) -> dict[str, Any]:
    """The resolved settings as a plain table: parsing it gives equal settings. What is None is left out."""
    values = {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)}
    return {name: _plain(value) for name, value in values.items() if value is not None}


def describe(cls: type[Any]) -> list[Field]:
    """Every setting below `cls`, in order; `[]` in a path stands for each entry of a list."""
    return list(_describe(cls, "", None))


def differences(a: Any, b: Any) -> list[str]:
    """What changed from settings `a` to `b`, such as "training.seed: 1 -> 2"."""
    before, after = dict(_leaves(table(a), "")), dict(_leaves(table(b), ""))
    return [
        f"{path}: {before.get(path, 'not set')} -> {after.get(path, 'not set')}"
        for path in before | after
        if before.get(path) != after.get(path)
    ]


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
    raise SettingsError(str(path), [problem])


def _explain_toml(message: str, text: str) -> str:
    """tomllib ends its message with "(at line 3, column 5)" or "(at end of document)"."""
    reason, _, position = message.removesuffix(")").rpartition(" (at ")
    explained = f"{position} is not valid TOML: {reason}."
    if line := re.match(r"line (\d+)", position):
        lines = text.split("\n")
        explained += f" The line reads: {lines[int(line[1]) - 1].strip()}"
    return explained


def _overridden(table: Mapping[str, Any], overrides: Sequence[str], problems: list[str]) -> Mapping[str, Any]:
    for override in overrides:
        try:
            table = _merged(table, _parse_override(override))
        except ValueError as error:
            problems.append(str(error))
    return table


def _parse_override(override: str) -> dict[str, Any]:
    key, _, value = (part.strip() for part in override.partition("="))
    spellings = [f"{key} = {value}"]
    if value and value[0] not in "\"'[{":
        spellings.append(f"{key} = '''{value}'''")  # a word without quotes, as one types it in a shell
    for spelling in spellings:
        with suppress(tomllib.TOMLDecodeError):
            return tomllib.loads(spelling)
    raise ValueError(
        f"--set {override} does not give a setting a value. Write NAME=VALUE with the value as in TOML, "
        "for example: --set training.seed=2 or --set model.preset=small"
    )


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Both tables in one; where both have a value, that of `over`."""
    result = dict(under)
    for key, value in over.items():
        below = result.get(key)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            value = _merged(below, value)
        result[key] = value
    return result


# From tables to dataclasses


def _build(cls: type[T], table: Mapping[str, Any], origin: str, base: Path, problems: list[str]) -> T:
    settings: T = _Reader(cls, base, problems, set()).section(cls, table, "")
    if problems:
        raise SettingsError(origin, problems)
    return settings


@dataclass(frozen=True, slots=True)
class _Reader:
    """Turns values into what a type hint asks for; what cannot be turned becomes None and a problem."""

    root: type[Any]
    base: Path
    problems: list[str]
    unset: set[str]

    def section(self, cls: Any, table: Any, where: str) -> Any:
        if not isinstance(table, Mapping):
            return self.refuse(table, where, "a table")
        num_problems = len(self.problems)
        table, hints, values = self.with_preset(cls, table, where), _hints(cls), {}
        for key, value in table.items():
            if key in hints:
                values[key] = self.value(hints[key], _with_kind(cls, key, value), _join(where, key))
            else:
                self.problems.append(self.unknown(cls, key, where))
        for field in dataclasses.fields(cls):
            if field.name not in table and _default(field) is MISSING:
                values[field.name] = self.missing(cls, field.name, _join(where, field.name))
        if len(self.problems) > num_problems:
            return None
        try:
            return cls(**values)
        except ValueError as error:
            self.problems.append(f"{where}: {error}" if where else str(error))

    def value(self, hint: Any, value: Any, where: str) -> Any:
        origin, args = get_origin(hint), get_args(hint)
        if origin in (Union, UnionType):
            return self.union([arg for arg in args if arg is not NoneType], value, where)
        if origin is Literal:
            return self.choice(args, value, where)
        if origin is tuple:
            return self.sequence(args, value, where)
        if is_dataclass(hint):
            return self.section(hint, value, where)
        if hint is Path:
            return self.path(value, where)
        if hint is float and type(value) is int:
            return float(value)
        # By type(), because a bool is an instance of int.
        return value if type(value) is hint else self.refuse(value, where, _WORDS[hint])

    def union(self, members: list[Any], value: Any, where: str) -> Any:
        if len(members) == 1:
            return self.value(members[0], value, where)
        if not isinstance(value, Mapping):
            return self.refuse(value, where, "a table")
        kinds = {kind: cls for cls in members for kind in _kinds(cls)}
        if "kind" not in value:
            self.problems.append(f"{where}.kind is missing. It must be {_either(kinds)}.")
            return None
        kind = self.choice(tuple(kinds), value["kind"], f"{where}.kind")
        return None if kind is None else self.section(kinds[kind], value, where)

    def choice(self, choices: Sequence[Any], value: Any, where: str) -> Any:
        if any(value == choice and type(value) is type(choice) for choice in choices):
            return value
        near = difflib.get_close_matches(str(value), map(str, choices), n=1)
        return self.refuse(value, where, _either(choices), f' Did you mean "{near[0]}"?' if near else "")

    def sequence(self, hints: tuple[Any, ...], values: Any, where: str) -> Any:
        if not isinstance(values, list):
            return self.refuse(values, where, "a list")
        if hints[-1] is ...:
            hints = (hints[0],) * len(values)
        elif len(hints) != len(values):
            return self.refuse(values, where, f"a list of {len(hints)} values")
        return tuple(self.value(hints[i], value, f"{where}[{i}]") for i, value in enumerate(values))

    def path(self, text: Any, where: str) -> Any:
        if not isinstance(text, str) or not text:
            return self.refuse(text, where, "a path")
        values = {match[0]: self.variable(match, where) for match in _VARIABLE.finditer(text)}
        first = _VARIABLE.match(text)
        # A variable's value was written for the directory of the shell, not of the recipe.
        anchor = Path.cwd() if first and not first["dollar"] else self.base
        try:
            return anchor / Path(_VARIABLE.sub(lambda match: values[match[0]], text)).expanduser()
        except RuntimeError:
            return self.refuse(text, where, "a path below the home of a known user")

    def variable(self, match: re.Match[str], where: str) -> str:
        """The value of `$NAME`; `$$` is a dollar. What is not set is told once, not for each file."""
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
        name = self.choice(tuple(presets), table["preset"], _join(where, "preset"))
        return _merged(presets.get(name, {}), {key: table[key] for key in table if key != "preset"})

    def refuse(self, value: Any, where: str, wanted: str, advice: str = "") -> None:
        came = _literal(value)
        came = came if len(came) <= 80 else f"{came[:76]} ..."
        self.problems.append(f"{where} must be {wanted}, not {came}.{advice}")

    def missing(self, cls: Any, name: str, where: str) -> Any:
        hint = _hints(cls)[name]
        if is_dataclass(hint):
            return self.section(hint, {}, where)  # tells what the absent section must hold
        self.problems.append(f"{where} is missing and has no default. {_helps(cls).get(name, '')}".rstrip())

    def unknown(self, cls: Any, key: str, where: str) -> str:
        names = [*_hints(cls), *(["preset"] if hasattr(cls, "PRESETS") else [])]
        path, described = _join(where, key), describe(self.root)
        if reason := getattr(cls, "REFUSED", {}).get(key):
            return f"{path} {reason}."
        if kinds := [field.kind for field in described if field.path == path]:
            return f"{path} is a setting of kind = {_either(kinds)}, not of kind = {_either(_kinds(cls))}."
        near = [field.path for field in described if field.path.endswith(f".{key}")]
        near += [_join(where, name) for name in difflib.get_close_matches(key, names, n=1)]
        advice = f"did you mean {near[0]}?" if near else f"known here: {', '.join(names)}."
        return f"{path} is not a setting, {advice}"


# From dataclasses to text


def _describe(cls: Any, where: str, section: Any) -> Iterator[Field]:
    """`section` is the default of the whole section, if it has one: its values go before those of `cls`."""
    if presets := getattr(cls, "PRESETS", None):
        yield Field(_join(where, "preset"), _either(presets), "", _PRESET_HELP)
    for field in dataclasses.fields(cls):
        hint, path = _hints(cls)[field.name], _join(where, field.name)
        default = _default(field) if section is None else getattr(section, field.name)
        members, suffix = _sections(hint)
        for member in members:
            kind = _kinds(member)[0] if len(members) > 1 else ""
            for described in _describe(member, path + suffix, default if isinstance(default, member) else None):
                yield dataclasses.replace(described, kind=described.kind or kind)
        if not members:
            text = None if default is MISSING else _literal(default)
            yield Field(path, _named(hint), text, _helps(cls).get(field.name, ""))


def _sections(hint: Any) -> tuple[list[Any], str]:
    """The settings classes a hint speaks of, and "[]" where it asks for a list of them."""
    if get_origin(hint) is tuple:
        return _sections(get_args(hint)[0])[0], "[]"
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return [member for member in members if is_dataclass(member)], ""


def _named(hint: Any) -> str:
    """A hint in a user's words."""
    args = get_args(hint)
    if get_origin(hint) is Literal:
        return _either(args)
    if get_origin(hint) is tuple:
        return "a list" if args[-1] is ... else f"a list of {len(args)} values"
    return " or ".join(_named(arg) for arg in args if arg is not NoneType) or _WORDS[hint]


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return table(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Path):
        return str(value.absolute()).replace("$", "$$")
    return value


def _leaves(value: Any, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, _join(where, key))
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for i, item in enumerate(value):
            yield from _leaves(item, f"{where}[{i}]")
    else:
        yield where, _literal(value)


def _literal(value: Any) -> str:
    """A value as TOML writes it; nothing for None."""
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)


def _either(choices: Any) -> str:
    *most, last = map(_literal, choices)
    return f"{', '.join(most)} or {last}" if most else last


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


# What a class says of itself


@functools.cache
def _hints(cls: Any) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


def _default(field: "dataclasses.Field[Any]") -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _kinds(cls: Any) -> tuple[str, ...]:
    """What tells this class from the others of a union."""
    return get_args(_hints(cls)["kind"])


def _with_kind(cls: Any, name: str, value: Any) -> Any:
    """A section of one of several kinds, with the default's kind where none is given."""
    if not isinstance(value, Mapping) or len(_sections(_hints(cls)[name])[0]) < 2:
        return value
    default = next(_default(field) for field in dataclasses.fields(cls) if field.name == name)
    return value if default in (None, MISSING) else {"kind": default.kind, **value}


@functools.cache
def _helps(cls: Any) -> dict[str, str]:
    """The docstrings under the fields, which only the source knows; none where there is no source."""
    helps: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-1]):
        with suppress(OSError):
            definition = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
            assert isinstance(definition, ast.ClassDef)
            for pair in pairwise(definition.body):
                match pair:
                    case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                        helps[name] = " ".join(text.split())
    return helps
