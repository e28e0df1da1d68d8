"""The exact words a user reads when a settings file or a `--set` is wrong."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pytest
from annotated_types import Interval, MultipleOf

from saccade import __version__, errors, settings
from saccade.fields import Advice, Checked, Probability


@dataclass(frozen=True, kw_only=True, slots=True)
class Search(Checked):
    width: Annotated[int, Interval(ge=1, le=1000)] = 4
    groups: Annotated[int, MultipleOf(2)] | None = None

    def conflicts(self) -> Iterator[str]:
        if self.groups and self.width % self.groups:
            yield f"groups must divide width, which is {self.width}, not {self.groups}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Tokenizer:
    kind: Literal["bpe", "unigram", "char"] = "bpe"
    coverage: float = 1.0
    betas: tuple[Probability, Probability] = (0.9, 0.98)


@dataclass(frozen=True, kw_only=True, slots=True)
class Data:
    language: str
    """The language to translate from, such as `en`."""
    train: tuple[Path, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Recurrent:
    REFUSED: ClassVar[Mapping[str, str]] = {"width": "is set by nobody, for a reason"}

    kind: Literal["recurrent"] = "recurrent"


@dataclass(frozen=True, kw_only=True, slots=True)
class Transformer:
    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {"tiny": {"layers": 2}, "base": {"layers": 6}}

    kind: Literal["transformer"] = "transformer"
    layers: int = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    data: Data
    model: Annotated[Transformer | Recurrent, Advice({"turing": "It needs a [task]."})] = field(
        default_factory=Transformer
    )
    search: Search = field(default_factory=Search)
    tokenizer: Tokenizer = field(default_factory=Tokenizer)


MISSING_LANGUAGE = "data.language is missing and has no default. The language to translate from, such as `en`."


def problems_of(text: str) -> list[str]:
    with pytest.raises(errors.SettingsError) as caught:
        settings.parse(Recipe, tomllib.loads(text), origin="recipe.toml", base=Path("/recipes"))
    return caught.value.problems


def message_of(path: Path, *overrides: str) -> str:
    with pytest.raises(errors.SettingsError) as caught:
        settings.load(Recipe, path, overrides)
    return str(caught.value)


def test_a_kind_without_a_default() -> None:
    @dataclass(frozen=True, kw_only=True, slots=True)
    class Other:
        model: Transformer | Recurrent | None = None

    with pytest.raises(errors.SettingsError) as caught:
        settings.parse(Other, {"model": {"layers": 3}}, origin="recipe.toml", base=Path())
    assert caught.value.problems == ['model.kind is missing. It must be "transformer" or "recurrent".']


def test_all_problems_at_once_in_the_order_of_the_file() -> None:
    table = {"search": {"widht": 4}, "tokenizer": {"coverage": "1,0"}, "data": {"language": "en"}}
    with pytest.raises(errors.SettingsError) as caught:
        settings.parse(Recipe, table, origin="recipe.toml", base=Path())
    assert str(caught.value) == (
        "recipe.toml: 2 problems\n"
        "  search.widht is not a setting, did you mean search.width?\n"
        '  tokenizer.coverage must be a number, not "1,0".'
    )


def test_a_single_problem_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text('data.language = "en"\nsearch.widht = 3')
    assert message_of(path) == f"{path}: search.widht is not a setting, did you mean search.width?"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("widht = 3", "widht is not a setting, known here: data, model, search, tokenizer."),
        ("coverage = 1.0", "coverage is not a setting, did you mean tokenizer.coverage?"),
        ("search.coverage = 1.0", "search.coverage is not a setting, did you mean tokenizer.coverage?"),
        ("search.xyz = 1", "search.xyz is not a setting, known here: width, groups."),
        ("search.width = 0", "search.width must be from 1 to 1,000, not 0."),
        ("search.width = 1001", "search.width must be from 1 to 1,000, not 1001."),
        ("search.width = 99999999999999999999", "search.width must be a number of at most 64 bits, not 99999999999999999999."),
        ("search.groups = 3", "search.groups must be a multiple of 2, not 3."),
        ("search = {groups = 4, width = 6}", "search: groups must divide width, which is 6, not 4"),
        ("tokenizer.coverage = inf", "tokenizer.coverage must be a finite number, not inf."),
        ("tokenizer.coverage = nan", "tokenizer.coverage must be a finite number, not nan."),
        ("tokenizer.betas = [0.5, 1.0]", "tokenizer.betas[1] must be at least 0 and below 1, not 1.0."),
        ("tokenizer.betas = [0.5]", "tokenizer.betas must be a list of 2 values, not [0.5]."),
        ('model.kind = "turing"', 'model.kind must be "transformer" or "recurrent", not "turing". It needs a [task].'),
        ("search.width = 2.5", "search.width must be an integer, not 2.5."),
        ("search.width = true", "search.width must be an integer, not true."),
        ("search = 3", "search must be a table, not 3."),
        ('tokenizer.kind = "bep"', 'tokenizer.kind must be "bpe", "unigram" or "char", not "bep". Did you mean "bpe"?'),
        ("tokenizer.kind = 3", 'tokenizer.kind must be "bpe", "unigram" or "char", not 3.'),
        ('model = {kind = "recurrent", width = 3}', "model.width is set by nobody, for a reason."),
        ('model.kind = "x"', 'model.kind must be "transformer" or "recurrent", not "x".'),
        ("model = 3", "model must be a table, not 3."),
        (
            'model = {kind = "transformer", preset = "bas"}',
            'model.preset must be "tiny" or "base", not "bas". Did you mean "base"?',
        ),
        (
            'model = {kind = "transformer", presets = "base"}',
            "model.presets is not a setting, did you mean model.preset?",
        ),
        (
            'model = {kind = "recurrent", layers = 3}',
            'model.layers is a setting of kind = "transformer", not of kind = "recurrent".',
        ),
        ('model = {kind = "recurrent", lairs = 3}', "model.lairs is not a setting, known here: kind."),
        ('data.train = "a.en"', 'data.train must be a list, not "a.en".'),
        ("data.train = [1]", "data.train[0] must be a path, not 1."),
        ('data.train = [""]', 'data.train[0] must be a path, not "".'),
        ('data.train = ["~nobody-here/a"]', 'data.train[0] must be a path below the home of a known user, not "~nobody-here/a".'),
    ],
)  # fmt: skip
def test_one_problem(text: str, problem: str) -> None:
    language = "" if text.startswith("data") else 'data.language = "en"\n'
    expected = [problem] if language else [problem, MISSING_LANGUAGE]
    assert problems_of(language + text) == expected


def test_a_missing_section_is_told_by_what_it_must_hold() -> None:
    assert problems_of("") == [MISSING_LANGUAGE]


def test_long_values_are_cut() -> None:
    (problem,) = problems_of(f'data.language = "en"\nsearch.width = "{"x" * 100}"')
    assert problem == f'search.width must be an integer, not "{"x" * 75} ....'


def test_an_unset_variable_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SACCADE_DATA", raising=False)
    monkeypatch.delenv("OTHER", raising=False)
    text = 'data.language = "en"\ndata.train = ["$SACCADE_DATA/a.en", "$SACCADE_DATA/b.en", "${OTHER}/c.en"]'
    assert problems_of(text) == [
        "data.train[0] needs the environment variable SACCADE_DATA, which is not set. Set it to the directory "
        "that holds the data sets; docs/data.md says where the public ones come from.",
        "data.train[2] needs the environment variable OTHER, which is not set. Set it, or write the path out.",
    ]


def test_a_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    assert message_of(path) == (
        f"{path}: there is no such file. `saccade init DIR` writes a starter recipe for your data."
    )


def test_a_directory(tmp_path: Path) -> None:
    assert message_of(tmp_path) == f"{tmp_path}: this is a directory. Name the TOML file in it."


def test_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_bytes('name = "Grüße"'.encode("latin-1"))
    assert message_of(path) == f"{path}: the file must be UTF-8, but byte 10 of it is not. Save it as UTF-8."


def test_malformed_toml_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text("[search]\r\n\r\n  width 3\r\n")
    assert message_of(path) == (
        f"{path}: line 3, column 9 is not valid TOML: Expected '=' after a key in a key/value pair. "
        "The line reads: width 3"
    )


def test_malformed_toml_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text("[search")
    assert message_of(path) == (
        f"{path}: end of document is not valid TOML: Expected ']' at the end of a table declaration."
    )


@pytest.mark.parametrize(
    "override", ["search.width", "search.width 3", "=3", "search.width=", "search.width=[3", "a b=3", "x='y"]
)
def test_a_malformed_override(tmp_path: Path, override: str) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text('data.language = "en"')
    assert message_of(path, override) == (
        f"{path}: --set {override} does not give a setting a value. Write NAME=VALUE with the value as in TOML, "
        "for example: --set training.seed=2 or --set model.preset=small"
    )


def test_an_override_is_held_to_the_same_rules(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text('data.language = "en"')
    assert message_of(path, "search.width=wide") == f'{path}: search.width must be an integer, not "wide".'
    assert message_of(path, "search.width.x=3") == f'{path}: search.width must be an integer, not {{"x": 3}}.'


def test_a_value_out_of_bounds_hides_no_other_problem() -> None:
    text = 'data.language = "en"\nsearch = {width = -3, groups = 3}\ntokenizer = {kind = "foo", coverage = nan}'
    problems = problems_of(text)
    assert [problem.partition(" ")[0] for problem in problems] == [
        "search.width",
        "search.groups",
        "tokenizer.kind",
        "tokenizer.coverage",
    ]


def test_what_is_said_of_a_broken_value_is_not_made_up() -> None:
    """The rule between width and groups cannot be judged without a width."""
    assert problems_of('data.language = "en"\nsearch = {width = 0, groups = 6}') == [
        "search.width must be from 1 to 1,000, not 0."
    ]


def test_settings_of_a_newer_version(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text('saccade = "999.0.1"\ndata.language = "en"\nsearch.newthing = 3')
    assert f"written by saccade 999.0.1, newer than this {__version__}" in message_of(path)
    assert "newthing" not in message_of(path)
    path.write_text(f'saccade = "{__version__}"\ndata.language = "en"\nsearch.newthing = 3')
    assert "search.newthing is not a setting" in message_of(path)
    path.write_text('saccade = "999.0.1"\ndata.language = "en"')
    assert settings.load(Recipe, path) == Recipe(data=Data(language="en")), "nothing new is in it"


DEEP = "[" * 20_000


@pytest.mark.parametrize("value", [DEEP, "9" * 5000, "0x" + "f" * 5000, "a." * 5000 + "a = 1"], ids=len)
def test_hostile_values(tmp_path: Path, value: str) -> None:
    path = tmp_path / "recipe.toml"
    separator = "." if value.startswith("a.") else "="
    path.write_text(f'data.language = "en"\nsearch.width{separator}{value}')
    assert len(message_of(path)) < 1000
    path.write_text('data.language = "en"')
    assert len(message_of(path, f"search.width{separator}{value}")) < 1000
