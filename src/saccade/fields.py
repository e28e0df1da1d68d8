"""What a settings class declares: types, bounds, defaults, help, and what may change when a run is resumed.

A field is a `bool`, `int`, `float`, `str`, `Path`, `Literal`, a tuple of such, a settings class, a union of settings
classes told apart by `kind`, or `X | None = None`. `Annotated` adds bounds (annotated-types) and the markers below.
The docstring under a field is its help text.
"""

import ast
import dataclasses
import functools
import inspect
import json
import math
import operator
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, is_dataclass
from itertools import pairwise
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, GroupedMetadata, Gt, Interval, Le, Lt, MaxLen, MinLen, MultipleOf

T = TypeVar("T")


class MayChange:
    """Marks a setting that a run may be resumed with changed: it does not alter what earlier updates have meant."""


class MayBeName:
    """Marks a path that may also be the name of a model on a hub, which is no path and stays as it is."""


@dataclass(frozen=True, eq=False)
class Advice:
    """What to say to people who give a value that does not exist here but that they know from elsewhere."""

    sentences: Mapping[str, str]


Changeable = Annotated[T, MayChange]
ModelPath = Annotated[Path, MayBeName]
Positive = Annotated[int, Ge(1)]
NotNegative = Annotated[int, Ge(0)]
Layers = Annotated[int, Interval(ge=1, le=1000)]
Size = Annotated[int, Interval(ge=1, le=65_536)]
Seed = Annotated[int, Interval(ge=0, le=2**32 - 1)]
Probability = Annotated[float, Ge(0), Lt(1)]
Weight = Annotated[float, Ge(0)]

HUB = "hf:"
"""How the name of a model on a hub begins: `hf:OWNER/NAME`."""
WORDS = {bool: "true or false", int: "an integer", float: "a number", str: "a string", Path: "a path"}
_PRESET_HELP = "Named values that the other settings of this section start from."


class OutOfBounds(ValueError):
    """Values that settings cannot be made with."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(self.problems))


class Checked:
    """Settings that cannot be made with a value out of bounds, nor with values that contradict each other."""

    __slots__ = ()
    RANGES: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Pairs of fields of which the second must not be smaller than the first."""

    def __post_init__(self) -> None:
        own = hints(type(self)).items()
        problems = [f"{name}{problem}" for name, hint in own for problem in bound_problems(hint, getattr(self, name))]
        if problems := problems or [*self._inverted_ranges(), *self.conflicts()]:
            raise OutOfBounds(problems)

    def _inverted_ranges(self) -> Iterator[str]:
        for smaller, larger in self.RANGES:
            few, many = getattr(self, smaller), getattr(self, larger)
            if many < few:
                yield f"{larger} must be at least {smaller} = {few}, not {many}"

    def conflicts(self) -> Iterable[str]:
        """Problems between fields, a clause each. Every field is within its own bounds."""
        return ()


@dataclass(frozen=True, slots=True)
class Field:
    """One setting, as the documentation shows it."""

    path: str
    type: str
    default: str | None
    """As TOML writes it; empty where the setting may stay unset, None where it must be given."""
    help: str
    kind: str = ""
    """Where a section is of one of several kinds: the one that has this setting."""
    may_change: bool = False
    """Whether a run may be resumed with it changed."""


def describe(cls: type[Any]) -> list[Field]:
    """Every setting below `cls`, in order; `[]` in a path stands for each entry of a list."""
    return list(_describe(cls, "", None, False))


def _describe(cls: Any, where: str, section: Any, may_change: bool) -> Iterator[Field]:
    """`section` is the default of the whole section, if it has one: its values go before those of `cls`."""
    if presets := getattr(cls, "PRESETS", None):
        yield Field(join(where, "preset"), either(presets), "", _PRESET_HELP, may_change=may_change)
    for field in dataclasses.fields(cls):
        hint, path = hints(cls)[field.name], join(where, field.name)
        changeable = may_change or MayChange in markers(hint)
        default = default_of(field) if section is None else getattr(section, field.name)
        members, suffix = sections_of(hint)
        for member in members:
            kind = kinds_of(member)[0] if len(members) > 1 else ""
            own = default if isinstance(default, member) else None
            for described in _describe(member, path + suffix, own, changeable):
                yield dataclasses.replace(described, kind=described.kind or kind)
        if not members:
            text = None if default is MISSING else literal(default)
            yield Field(path, named(hint), text, helps(cls).get(field.name, ""), may_change=changeable)


# Bounds


def bound_problems(hint: Any, value: Any) -> Iterator[str]:
    """How a value of the right type breaks its bounds, such as " must be at least 1, not 0"; "[1] must…" in a list."""
    bare, args = strip(hint), get_args(strip(hint))
    if not all(_holds(bound, value) for bound in _bounds(hint)):
        yield f" must be {_phrase(hint)}, not {literal(value) or None}"
    elif bare is float and not math.isfinite(value):
        yield f" must be a finite number, not {value}"
    elif get_origin(bare) in (Union, UnionType):
        for member in args if value is not None else ():
            yield from bound_problems(member, value)
    elif get_origin(bare) is tuple:
        entries = (args[0],) * len(value) if args[-1] is ... else args
        if len(entries) != len(value):
            yield f" must be {named(bare)}, not {literal(value)}"
        for number, (entry, item) in enumerate(zip(entries, value, strict=False)):
            yield from (f"[{number}]{problem}" for problem in bound_problems(entry, item))


def _bounds(hint: Any) -> list[Any]:
    grouped = [[*marker] if isinstance(marker, GroupedMetadata) else [marker] for marker in markers(hint)]
    return [bound for group in grouped for bound in group if type(bound) in _BOUNDS]


def _holds(bound: Any, value: Any) -> bool:
    try:
        return bool(_BOUNDS[type(bound)][1](value, *dataclasses.astuple(bound)))
    except TypeError:  # of another type altogether
        return False


def _phrase(hint: Any) -> str:
    """What the bounds of a hint ask for, such as "from 1 to 1,000"; empty without bounds."""
    bounds = {type(bound): _number(*dataclasses.astuple(bound)) for bound in _bounds(hint)}
    span = [f"from {bounds.pop(Ge)} to {bounds.pop(Le)}"] if Ge in bounds and Le in bounds else []
    return " and ".join([*span, *(f"{_BOUNDS[kind][0]} {number}" for kind, number in bounds.items())])


_BOUNDS: dict[type[Any], tuple[str, Callable[[Any, Any], bool]]] = {
    Ge: ("at least", operator.ge),
    Gt: ("above", operator.gt),
    Le: ("at most", operator.le),
    Lt: ("below", operator.lt),
    MultipleOf: ("a multiple of", lambda value, step: value % step == 0),
    MinLen: ("a list with a length of at least", lambda value, least: len(value) >= least),
    MaxLen: ("a list with a length of at most", lambda value, most: len(value) <= most),
}


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


# What a class says of itself


def hints(cls: Any) -> dict[str, Any]:
    """The type of every field, with its markers."""
    return _hints(cls)


@functools.cache
def _hints(cls: Any) -> dict[str, Any]:
    known = get_type_hints(cls, include_extras=True)
    return {field.name: known[field.name] for field in dataclasses.fields(cls)}


def strip(hint: Any) -> Any:
    """A type without its markers."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def markers(hint: Any) -> tuple[Any, ...]:
    """What `Annotated` adds to a type."""
    return get_args(hint)[1:] if get_origin(hint) is Annotated else ()


def default_of(field: "dataclasses.Field[Any]") -> Any:
    """The default of a field; MISSING if it must be given."""
    return field.default if field.default_factory is MISSING else field.default_factory()


def kinds_of(cls: Any) -> tuple[str, ...]:
    """What tells this class from the others of a union."""
    return get_args(strip(hints(cls)["kind"]))


def sections_of(hint: Any) -> tuple[list[Any], str]:
    """The settings classes of a type, and "[]" where it asks for a list of them."""
    hint = strip(hint)
    if get_origin(hint) is tuple:
        return sections_of(get_args(hint)[0])[0], "[]"
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return [member for member in map(strip, members) if is_dataclass(member)], ""


@functools.cache
def helps(cls: Any) -> dict[str, str]:
    """The docstrings under the fields, which only the source knows; none where there is no source."""
    texts: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-1]):
        with suppress(OSError):
            definition = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
            assert isinstance(definition, ast.ClassDef)
            for pair in pairwise(definition.body):
                match pair:
                    case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                        texts[name] = " ".join(text.split())
    return texts


# In a user's words


def named(hint: Any) -> str:
    """A type and its bounds."""
    bare, args = strip(hint), get_args(strip(hint))
    if get_origin(bare) is Literal:
        return either(args)
    if get_origin(bare) is tuple:
        return _phrase(hint) or ("a list" if args[-1] is ... else f"a list of {len(args)} values")
    word = " or ".join(named(arg) for arg in args if arg is not NoneType) or WORDS[bare]
    return ", ".join(filter(None, [word, _phrase(hint)]))


def literal(value: Any) -> str:
    """A value as TOML writes it; nothing for None."""
    if isinstance(value, float):
        return str(value)  # json would write NaN and Infinity
    try:
        return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
    except ValueError:  # Python writes no integers of over 4,300 digits
        return "a number with too many digits"


def either(choices: Any) -> str:
    """Choices as a list: "a", "b" or "c"."""
    *most, last = map(literal, choices)
    return f"{', '.join(most)} or {last}" if most else last


def join(where: str, name: str) -> str:
    """The path of a setting in a section."""
    return f"{where}.{name}" if where else name
