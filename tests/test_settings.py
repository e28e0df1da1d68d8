from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pytest
from annotated_types import Gt, Interval, Le, MinLen, MultipleOf
from hypothesis import given
from hypothesis import strategies as st

from saccade import settings
from saccade.errors import SettingsError
from saccade.fields import Changeable, ModelPath, Positive, describe


@dataclass(frozen=True, kw_only=True, slots=True)
class Recurrent:
    kind: Literal["recurrent"] = "recurrent"
    cell: Literal["gru", "lstm"] = "gru"
    """What the recurrence
    is made of."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Transformer:
    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {"tiny": {"layers": 2, "d_model": 64}, "base": {}}

    kind: Literal["transformer"] = "transformer"
    layers: int = 6
    """How many layers."""
    d_model: int = 512

    def __post_init__(self) -> None:
        if self.layers < 1:
            raise ValueError(f"layers must be at least 1, not {self.layers}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Corpus:
    source: Path
    target: Path | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Data:
    language: str
    """The language to translate from, such as `en`."""
    train: tuple[Corpus, ...] = ()
    valid: Corpus | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Training:
    seed: int = 1
    rate: float = 0.5
    betas: tuple[float, float] = (0.9, 0.98)
    average: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    data: Data
    model: Transformer | Recurrent = field(default_factory=lambda: Transformer(layers=3))
    training: Training = field(default_factory=Training)


def load(tmp_path: Path, text: str, *overrides: str) -> Recipe:
    path = tmp_path / "recipe.toml"
    path.write_text(text, "utf-8")
    return settings.load(Recipe, path, overrides)


def test_what_is_absent_has_its_default(tmp_path: Path) -> None:
    assert load(tmp_path, 'data.language = "no"') == Recipe(data=Data(language="no"))


def test_whole_numbers_are_numbers_but_booleans_are_not(tmp_path: Path) -> None:
    recipe = load(tmp_path, 'data.language = "en"\n[training]\nrate = 1\nbetas = [0, 1]')
    assert (recipe.training.rate, recipe.training.betas) == (1.0, (0.0, 1.0))
    assert type(recipe.training.rate) is float
    with pytest.raises(SettingsError):
        load(tmp_path, 'data.language = "en"\ntraining.seed = true')
    with pytest.raises(SettingsError):
        load(tmp_path, 'data.language = "en"\ntraining.average = 1')


def test_a_union_is_chosen_by_kind(tmp_path: Path) -> None:
    recipe = load(tmp_path, 'data.language = "en"\n[model]\ncell = "lstm"\nkind = "recurrent"')
    assert recipe.model == Recurrent(cell="lstm")


def test_a_preset_goes_below_what_is_written(tmp_path: Path) -> None:
    recipe = load(tmp_path, 'data.language = "en"\n[model]\nd_model = 96\nkind = "transformer"\npreset = "tiny"')
    assert recipe.model == Transformer(layers=2, d_model=96)


def test_overrides_go_above_the_file_and_later_ones_above_earlier(tmp_path: Path) -> None:
    overrides = ["training.seed=2", "training.seed = 3", "training.notes=['a', 'b']", "data.language=no"]
    recipe = load(tmp_path, 'data.language = "en"\ntraining.rate = 0.25', *overrides)
    assert recipe.training == Training(seed=3, rate=0.25, notes=("a", "b"))
    assert recipe.data.language == "no"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("word", "word"),
        ("a/b-c.d", "a/b-c.d"),
        ('"1"', "1"),
        ("C:\\d", "C:\\d"),
        ("it's", "it's"),
        ("x=y", "x=y"),
    ],
)
def test_an_override_needs_no_quotes_around_a_word(tmp_path: Path, written: str, meant: str) -> None:
    assert load(tmp_path, "", f"data.language={written}").data.language == meant


def test_a_kind_that_is_not_given_is_that_of_the_default(tmp_path: Path) -> None:
    assert load(tmp_path, 'data.language = "en"\n[model]\nd_model = 96').model == Transformer(d_model=96)


def test_an_override_can_choose_another_kind(tmp_path: Path) -> None:
    text = 'data.language = "en"\n[model]\nkind = "transformer"'
    assert load(tmp_path, text, "model.kind=recurrent").model == Recurrent()


def test_relative_paths_refer_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    (tmp_path / "recipe.toml").write_text('data.language = "en"\ndata.valid = {source = "a.en"}')
    recipe = settings.load(Recipe, Path("../recipe.toml"))
    assert recipe.data.valid is not None
    assert recipe.data.valid.source.is_absolute()
    assert recipe.data.valid.source.resolve() == (tmp_path / "a.en").resolve()


def test_paths_know_the_home_and_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("CORPORA", "/corpora")
    monkeypatch.setenv("LANGUAGE_PAIR", "en-de")

    def read(text: str) -> Path:
        return settings.parse(Corpus, {"source": text}, origin="test", base=tmp_path).source

    assert read("~/a.en") == Path("/home/ada/a.en")
    assert read("$CORPORA/${LANGUAGE_PAIR}/a.en") == Path("/corpora/en-de/a.en")
    assert read("$$CORPORA/a.en") == tmp_path / "$CORPORA/a.en"
    assert read("b/$LANGUAGE_PAIR") == tmp_path / "b/en-de"


def test_a_relative_variable_refers_to_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CORPORA", "corpora")
    corpus = settings.parse(Corpus, {"source": "$CORPORA/a"}, origin="test", base=Path("/recipes"))
    assert corpus.source == tmp_path / "corpora/a"


def test_a_model_may_be_named_instead(tmp_path: Path) -> None:
    """Where a model is asked for; elsewhere such a name is a path like any other."""

    @dataclass(frozen=True, kw_only=True)
    class Start:
        model: ModelPath | None = None
        file: Path | None = None

    def read(table: dict[str, str]) -> Start:
        return settings.parse(Start, table, origin="test", base=tmp_path)

    named = read({"model": "hf:owner/name@refs/pr/4", "file": "hf:owner"})
    assert named == Start(model=Path("hf:owner/name@refs/pr/4"), file=tmp_path / "hf:owner")
    assert read(settings.table(named)) == named
    assert read({"model": "name"}).model == tmp_path / "name"


def test_a_byte_order_mark_is_not_a_statement(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_bytes(b'\xef\xbb\xbfdata.language = "en"\r\ntraining.seed = 7\r\n')
    assert settings.load(Recipe, path).training.seed == 7


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
paths = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1, max_size=8)
corpora = st.builds(Corpus, source=paths.map(lambda name: Path("/") / name), target=st.none())
recipes = st.builds(
    Recipe,
    data=st.builds(Data, language=texts, train=st.lists(corpora, max_size=3).map(tuple), valid=st.none() | corpora),
    model=st.builds(Transformer, layers=st.integers(1, 9)) | st.builds(Recurrent, cell=st.just("lstm")),
    training=st.builds(
        Training,
        seed=st.integers(-(2**63), 2**63 - 1),
        rate=st.floats(allow_nan=False, allow_infinity=False),
        average=st.booleans(),
        notes=st.lists(texts, max_size=2).map(tuple),
    ),
)


@given(recipe=recipes)
def test_what_is_dumped_loads_as_the_same(tmp_path_factory: pytest.TempPathFactory, recipe: Recipe) -> None:
    path = tmp_path_factory.getbasetemp() / "round_trip.toml"
    path.write_bytes(settings.dump(recipe).encode())
    assert settings.load(Recipe, path) == recipe
    assert settings.parse(Recipe, settings.table(recipe), origin="test", base=path.parent) == recipe


def test_describe_lists_every_setting_with_its_help() -> None:
    preset = "Named values that the other settings of this section start from."
    assert [astuple(field)[:-1] for field in describe(Recipe)] == [
        ("data.language", "a string", None, "The language to translate from, such as `en`.", ""),
        ("data.train[].source", "a path", None, "", ""),
        ("data.train[].target", "a path", "", "", ""),
        ("data.valid.source", "a path", None, "", ""),
        ("data.valid.target", "a path", "", "", ""),
        ("model.preset", '"tiny" or "base"', "", preset, "transformer"),
        ("model.kind", '"transformer"', '"transformer"', "", "transformer"),
        ("model.layers", "an integer", "3", "How many layers.", "transformer"),
        ("model.d_model", "an integer", "512", "", "transformer"),
        ("model.kind", '"recurrent"', '"recurrent"', "", "recurrent"),
        ("model.cell", '"gru" or "lstm"', '"gru"', "What the recurrence is made of.", "recurrent"),
        ("training.seed", "an integer", "1", "", ""),
        ("training.rate", "a number", "0.5", "", ""),
        ("training.betas", "a list of 2 values", "[0.9, 0.98]", "", ""),
        ("training.average", "true or false", "false", "", ""),
        ("training.notes", "a list", "[]", "", ""),
    ]


def test_describe_names_bounds_and_what_may_change() -> None:
    @dataclass(frozen=True, kw_only=True, slots=True)
    class Bounded:
        updates: Changeable[Positive] = 3
        rate: Annotated[float, Gt(0), Le(1)] | None = None
        names: Annotated[tuple[str, ...], MinLen(1)]
        side: Annotated[int, Interval(ge=4, le=1000), MultipleOf(4)] = 4

    described = {field.path: (field.type, field.may_change) for field in describe(Bounded)}
    assert described == {
        "updates": ("an integer, at least 1", True),
        "rate": ("a number, above 0 and at most 1", False),
        "names": ("a list with a length of at least 1", False),
        "side": ("an integer, from 4 to 1,000 and a multiple of 4", False),
    }


def test_differences_name_what_changed_and_nothing_else() -> None:
    before = Recipe(data=Data(language="en", train=(Corpus(source=Path("/a")),)))
    after = replace(
        before,
        data=Data(language="en", train=(Corpus(source=Path("/b"), target=Path("/c")),)),
        training=Training(seed=2, betas=(0.9, 0.99)),
    )
    assert settings.differences(before, before) == []
    assert list(map(str, settings.differences(before, after))) == [
        'data.train[0].source: "/a" -> "/b"',
        'data.train[0].target: not set -> "/c"',
        "training.seed: 1 -> 2",
        "training.betas: [0.9, 0.98] -> [0.9, 0.99]",
    ]


def test_differences_of_whole_sections_name_only_what_was_written() -> None:
    before = Recipe(data=Data(language="en"))
    corpus = Corpus(source=Path("/a"))
    after = replace(before, data=Data(language="en", train=(corpus,), valid=corpus), model=Recurrent(cell="lstm"))
    assert list(map(str, settings.differences(before, after))) == [
        'data.train[0]: not set -> { source = "/a" }',
        'data.valid: not set -> { source = "/a" }',
        'model.kind: "transformer" -> "recurrent"',
    ]


def test_what_may_change_is_said_by_the_field_or_by_its_section() -> None:
    @dataclass(frozen=True, kw_only=True, slots=True)
    class Run:
        training: Changeable[Training] = Training()
        updates: Changeable[int] = 3
        layers: int = 2

    changes = settings.differences(Run(), Run(training=Training(seed=2), updates=4, layers=5))
    assert [(change.path, change.may_change) for change in changes] == [
        ("training.seed", True),
        ("updates", True),
        ("layers", False),
    ]


def test_paths_of_overrides_refer_to_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "there/recipe.toml").write_text(
        'data = {language = "en", train = [{source = "a"}], valid.source = "b"}'
    )
    path = Path("../there/recipe.toml")
    data = settings.load(Recipe, path, ["data.valid.source=c"]).data
    assert data.valid is not None
    assert data.valid.source == tmp_path / "here/c"
    assert data.train[0].source.resolve() == tmp_path / "there/a"
    data = settings.load(Recipe, path, ["data.train=[{source='d'}]"]).data
    assert data.train[0].source == tmp_path / "here/d"
