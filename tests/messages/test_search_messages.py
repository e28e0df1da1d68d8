"""The exact words a user reads when a search cannot be made as it is asked for."""

import re
import tomllib
from pathlib import Path

import pytest
from tests.contracts.models import taught_model

from saccade import errors, settings
from saccade.engines import automatic
from saccade.engines.ctranslate2 import CTranslate2Engine, beyond, refusal
from saccade.engines.torch import TorchEngine
from saccade.search.constraints import FREE, Constraints
from saccade.search.settings import SearchSettings
from saccade.tasks.translation.settings import TranslationRecipe

RECIPE = '[data]\nsource_language = "en"\ntarget_language = "de"\ntrain = [{ file = "a.tsv" }]\n'


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("min_length = -1", "min_length must be from 0 to 100,000, not -1"),
        ("no_repeat_ngram = -2", "no_repeat_ngram must be from 0 to 100,000, not -2"),
        ("max_repeats = -1", "max_repeats must be from 0 to 100,000, not -1"),
        ("coverage_penalty = -0.1", "coverage_penalty must be from 0 to 1,000, not -0.1"),
        ('method = "diverse"\ngroups = 3', "groups must be a divisor of beam, 5, not 3"),
        ('method = "diverse"\ndiversity = inf', "diversity must be from 0 to 1,000, not inf"),
        ('method = "sampling"\ntemperature = 0', "temperature must be from 0.001 to 1,000, not 0.0"),
        ('method = "sampling"\ntop_k = -1', "top_k must be from 0 to 1,000,000,000, not -1"),
        ('method = "sampling"\ntop_p = 1.5', "top_p must be above 0 and at most 1, not 1.5"),
        ('method = "sampling"\nn_best = 0', "n_best must be from 1 to 10,000, not 0"),
        ("temperature = 0.7", 'temperature goes with method = "sampling" only, not with "beam"'),
        ("groups = 5", 'groups goes with method = "diverse" only, not with "beam"'),
        (
            'method = "sampling"\nstopping = "exact"',
            'stopping goes with method = "beam" or "diverse" or "alternatives" only, not with "sampling"',
        ),
        (
            'method = "diverse"\ncoverage_penalty = 0.2',
            'coverage_penalty goes with method = "beam" only, not with "diverse"',
        ),
        (
            'stopping = "exact"\ncoverage_penalty = 0.2',
            'coverage_penalty goes with stopping = "ctranslate2" only: it ranks what a search has found, '
            "and so cannot tell it when to stop",
        ),
    ],
)
def test_settings(given: str, problem: str) -> None:
    table = tomllib.loads(f'run = "run"\n{RECIPE}[search]\n{given}')
    with pytest.raises(errors.SettingsError) as caught:
        settings.parse(TranslationRecipe, table, origin="recipe.toml", base=Path("/recipes"))
    assert caught.value.problems in ([f"search.{problem}."], [f"search: {problem}"])


@pytest.mark.parametrize("name", ["banned", "required"])
def test_an_empty_phrase(name: str) -> None:
    message = f"{name} must be phrases of at least one token each, but one of them is empty"
    with pytest.raises(ValueError, match=f"^{message}$"):
        Constraints(**{name: ((4,), ())})


CHANGED = "is kept by CTranslate2 before the softmax, which changes the probabilities of all other tokens"


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (
            SearchSettings(method="sampling"),
            'search.method = "sampling" finds other translations with CTranslate2, if it knows of it at all. '
            'Use method = "beam", or engine = "torch".',
        ),
        (
            SearchSettings(stopping="exact"),
            'search.stopping = "exact" is not known to CTranslate2, which has a rule of its own. '
            'Use stopping = "ctranslate2", or engine = "torch".',
        ),
        (
            SearchSettings(coverage_penalty=0.2),
            "search.coverage_penalty = 0.2 is counted by CTranslate2 without the end of the source. "
            'Use coverage_penalty = 0.0, or engine = "torch".',
        ),
        (SearchSettings(min_length=3), f'search.min_length = 3 {CHANGED}. Use min_length = 0, or engine = "torch".'),
        (
            SearchSettings(no_repeat_ngram=2),
            f'search.no_repeat_ngram = 2 {CHANGED}. Use no_repeat_ngram = 0, or engine = "torch".',
        ),
        (
            SearchSettings(unknown=False),
            "search.unknown = false is kept by CTranslate2 before the softmax, which changes the probabilities of all other tokens. "
            'Use unknown = true, or engine = "torch".',
        ),
        (
            SearchSettings(max_repeats=2),
            'search.max_repeats = 2 is not known to CTranslate2. Use max_repeats = 0, or engine = "torch".',
        ),
    ],
    ids=lambda asked: "" if isinstance(asked, str) else str(beyond(asked)),
)
def test_what_ctranslate2_cannot_search(asked: SearchSettings, reason: str) -> None:
    assert refusal(asked) == reason
    assert refusal(asked, [Constraints(prefix=(4,))]) == reason


def test_what_ctranslate2_can() -> None:
    assert refusal(SearchSettings(), [FREE, Constraints()]) is None
    assert refusal(SearchSettings(beam=1, n_best=1, length_penalty=0.3, max_length_extra=4)) is None


def test_constraints_with_ctranslate2() -> None:
    message = refusal(SearchSettings(), [FREE, Constraints(prefix=(4,))])
    assert message is not None
    assert message.startswith("Constraints cannot be used with CTranslate2")
    assert CHANGED in message
    assert message.endswith('Use engine = "torch".')


def test_streaming_with_ctranslate2() -> None:
    message = (
        "CTranslate2 hands out translations when they are done. To have tokens as they are written, load the model "
        'with engine = "torch", or "auto", which takes torch for this alone.'
    )
    with pytest.raises(errors.ModelError, match=f"^{re.escape(message)}$"):
        CTranslate2Engine.stream(object.__new__(CTranslate2Engine), [4], SearchSettings(beam=1))


def test_what_auto_needs_torch_for(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = object.__new__(automatic.Automatic)
    monkeypatch.setattr(errors.importlib.util, "find_spec", lambda name: None)
    needs = 'needs PyTorch, which is not installed. Install it with: pip install "saccade[train]"'
    with pytest.raises(errors.MissingDependency, match=re.escape(f"Searching with min_length = 2 {needs}")):
        engine.translate([[4]], SearchSettings(min_length=2))
    with pytest.raises(errors.MissingDependency, match=re.escape(f"Searching with constraints {needs}")):
        engine.translate([[4]], SearchSettings(), constraints=[Constraints(prefix=(4,))])
    with pytest.raises(errors.MissingDependency, match=re.escape(f"glossary {needs}")):
        engine.need_constraints("glossary")
    with pytest.raises(errors.MissingDependency, match=re.escape(f"Streaming tokens {needs}")):
        engine.stream([4], SearchSettings())


def message_of(name: str, source: list[int], search: SearchSettings, constraints: Constraints, streams: bool) -> str:
    engine = TorchEngine(taught_model(name))

    def ask() -> object:
        if streams:
            return engine.stream(source, search, constraints=constraints)
        return engine.translate([source], search, constraints=[constraints])

    with pytest.raises(errors.SaccadeError) as caught:
        ask()
    return str(caught.value)


@pytest.mark.parametrize("method", ["sampling", "diverse"])
def test_required_phrases_without_a_beam(method: str) -> None:
    search = SearchSettings(method=method)
    message = message_of("bahdanau", [4], search, Constraints(required=((5,),)), streams=False)
    assert message.startswith('Required phrases and glossaries need method = "beam"')
    assert f'not "{method}"' in message
    assert message.endswith('use method = "beam".')


@pytest.mark.parametrize(
    ("search", "told"),
    [(SearchSettings(), "beam = 5"), (SearchSettings(method="diverse"), 'method = "diverse"')],
    ids=["beam", "diverse"],
)
def test_streaming_a_beam(search: SearchSettings, told: str) -> None:
    message = message_of("bahdanau", [4], search, FREE, streams=True)
    assert message.startswith(f"Tokens are streamed by greedy search and by sampling only, not with {told}")
    assert message.endswith('Use beam = 1 or method = "sampling", or do not stream.')


def test_streaming_several() -> None:
    search = SearchSettings(method="sampling", n_best=3)
    assert message_of("bahdanau", [4], search, FREE, streams=True) == (
        "One translation is streamed at a time, so n_best must be 1, not 3."
    )


def test_streaming_required_phrases() -> None:
    assert message_of("bahdanau", [4], SearchSettings(beam=1), Constraints(required=((5,),)), streams=True) == (
        "Required phrases need a beam, which knows no token before the end, and so cannot be streamed. "
        "Do not stream, or leave them out."
    )


def test_coverage_without_attention() -> None:
    assert message_of("fixed vector", [4], SearchSettings(coverage_penalty=0.2), FREE, streams=False) == (
        "search.coverage_penalty = 0.2 ranks translations by attention weights, but "
        "this model has no attention: its decoder reads the source as one vector. Use coverage_penalty = 0."
    )


def test_constraints_that_are_not_aligned() -> None:
    with pytest.raises(errors.DataError) as caught:
        TorchEngine(taught_model("bahdanau")).translate([[4], [5]], SearchSettings(), constraints=[FREE])
    assert str(caught.value) == (
        "Every source must have constraints of its own, but there are 2 sources and 1 constraints. "
        "Give Constraints() to those that are free."
    )
