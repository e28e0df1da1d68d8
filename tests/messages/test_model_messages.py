"""The exact words a user reads when the settings of a model do not go together."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from saccade import errors, settings
from saccade.models.settings import ModelSettings, TransformerSettings
from saccade.tasks.translation.settings import TranslationRecipe


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    model: ModelSettings = field(default_factory=TransformerSettings)


def parse(text: str) -> ModelSettings:
    return settings.parse(Recipe, tomllib.loads(text), origin="recipe.toml", base=Path("/recipes")).model


def problems_of(text: str) -> list[str]:
    with pytest.raises(errors.SettingsError) as caught:
        parse(text)
    return caught.value.problems


# Settings that are out of range


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("layers = 0", "layers must be at least 1, not 0"),
        ("d_model = 0", "d_model must be at least 1, not 0"),
        ("d_feedforward = 0", "d_feedforward must be at least 1, not 0"),
        ("num_heads = 0", "num_heads must be at least 1, not 0"),
        ("decoder_layers = 0", "decoder_layers must be at least 1, not 0"),
        ("layers = -3", "layers must be at least 1, not -3"),
        ("dropout = 1", "dropout must be at least 0 and below 1, not 1.0"),
        ("dropout = -0.1", "dropout must be at least 0 and below 1, not -0.1"),
        ("dropout = nan", "dropout must be at least 0 and below 1, not nan"),
        ("attention_dropout = 1.5", "attention_dropout must be at least 0 and below 1, not 1.5"),
        ("activation_dropout = 1.0", "activation_dropout must be at least 0 and below 1, not 1.0"),
        ("d_model = 500", "d_model must be even and a multiple of num_heads, not 500 with 8 heads"),
        ("d_model = 15\nnum_heads = 5", "d_model must be even and a multiple of num_heads, not 15 with 5 heads"),
    ],
)
def test_a_transformer(given: str, problem: str) -> None:
    assert problems_of(f'[model]\nkind = "transformer"\n{given}') == [f"model: {problem}"]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("layers = 0", "layers must be at least 1, not 0"),
        ("d_model = 0", "d_model must be at least 1, not 0"),
        ("dropout = 1.0", "dropout must be at least 0 and below 1, not 1.0"),
        ("d_model = 255", "d_model must be even for a bidirectional encoder, not 255"),
        (
            'attention.positions = "local-m"',
            'attention.positions = "local-m" goes with attend = "after" only: Luong et al. 2015 define local attention for a state that asks after its step',
        ),
        (
            'attend = "before"\nattention.positions = "local-p"',
            'attention.positions = "local-p" goes with attend = "after" only: Luong et al. 2015 define local attention for a state that asks after its step',
        ),
        (
            'attend = "after"\nattention.positions = "hard"',
            'attention.positions = "hard" goes with attend = "before" only: Xu et al. 2015 define it for the state of the previous step',
        ),
        (
            "input_feeding = true",
            'input_feeding = true goes with attend = "after" only: a decoder that attends before its step is fed the context already',
        ),
        (
            'attend = "after"\nreadout = "maxout"',
            'readout = "maxout" goes with attend = "before" only: with "after", tanh(W[c; h]) is the readout',
        ),
        (
            "reverses_source = true",
            "reverses_source = true goes with bidirectional = false only: read in both directions, a source has no order to be reversed",
        ),
    ],
)
def test_a_recurrent_model(given: str, problem: str) -> None:
    assert problems_of(f'[model]\nkind = "recurrent"\n{given}') == [f"model: {problem}"]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("window = 0", "window must be at least 1, not 0"),
        ("num_positions = 0", "num_positions must be at least 1, not 0"),
        ("reward = -0.1", "reward must be at least 0, not -0.1"),
        ("entropy = -1", "entropy must be at least 0, not -1.0"),
        ("entropy = nan", "entropy must be at least 0, not nan"),
        ("sampling = 0", "sampling must be above 0 and at most 1, not 0.0"),
        ("sampling = 1.01", "sampling must be above 0 and at most 1, not 1.01"),
        ("sampling = nan", "sampling must be above 0 and at most 1, not nan"),
        *(
            (
                f'score = "location"\npositions = "{positions}"',
                f'score = "location" goes with positions = "global" only, not "{positions}": it scores positions, not what stands there, and no paper defines this pair (Luong et al. 2015, Table 4, leaves it out)',
            )
            for positions in ("local-m", "local-p", "hard")
        ),
        *(
            (
                f'positions = "hard"\nnormalise = "{normalise}"',
                f'positions = "hard" goes with normalise = "softmax" only, not "{normalise}": Xu et al. 2015 sample from a softmax, and a position of probability zero could never be learned',
            )
            for normalise in ("sparsemax", "entmax")
        ),
        *(
            (
                f'positions = "{positions}"\ngaussian = true',
                f'gaussian = true goes with positions = "local-m" only, not "{positions}": local-p always has the Gaussian, and the others have no window',
            )
            for positions in ("global", "local-p", "hard", "fixed", "none")
        ),
    ],
)
def test_attention(given: str, problem: str) -> None:
    text = f'[model]\nkind = "recurrent"\n[model.attention]\n{given}'
    assert problems_of(text) == [f"model.attention: {problem}"]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("layers = 0", "layers must be at least 1, not 0"),
        ("decoder_layers = 0", "decoder_layers must be at least 1, not 0"),
        ("d_model = 0", "d_model must be at least 1, not 0"),
        ("d_model = 255", "d_model must be even, not 255"),
        ("kernel = -1", "kernel must be at least 1, not -1"),
        ("kernel = 4", "kernel must be odd, so that it has a middle, not 4"),
        ("dropout = 1", "dropout must be at least 0 and below 1, not 1.0"),
    ],
)
def test_a_convolutional_model(given: str, problem: str) -> None:
    assert problems_of(f'[model]\nkind = "convolutional"\n{given}') == [f"model: {problem}"]


# Settings of another kind


def test_attention_of_a_transformer_is_refused_with_the_reason() -> None:
    problem = 'model.attention is a section of kind = "recurrent": a Transformer attends by scaled dot products in every head (Vaswani et al. 2017, eq. 1), and other scores are not defined for it.'
    for kind in ('kind = "transformer"', ""):  # which is the kind of a recipe that names none
        assert problems_of(f'[model]\n{kind}\n[model.attention]\nscore = "dot"') == [problem]


def test_attention_of_a_convolutional_model_is_refused_with_the_reason() -> None:
    assert problems_of('[model]\nkind = "convolutional"\n[model.attention]\nscore = "dot"') == [
        'model.attention is a section of kind = "recurrent": every layer of a convolutional decoder attends by the inner product of Gehring et al. 2017, eq. 1, and other scores are not defined for it.'
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            'model.kind = "recurent"',
            'model.kind must be "transformer", "recurrent" or "convolutional", not "recurent". Did you mean "recurrent"?',
        ),
        (
            'model = {kind = "recurrent", cell = "gur"}',
            'model.cell must be "gru", "lstm" or "rnn", not "gur". Did you mean "gru"?',
        ),
        (
            'model = {kind = "recurrent", attention.score = "concat"}',
            'model.attention.score must be "additive", "dot", "scaled-dot", "general", "cosine" or "location", not "concat".',
        ),
        (
            'model = {kind = "recurrent", attention.positions = "local"}',
            'model.attention.positions must be "global", "local-m", "local-p", "hard", "fixed" or "none", not "local". Did you mean "local-p"?',
        ),
        (
            'model = {kind = "recurrent", attention.windows = 3}',
            "model.attention.windows is not a setting, did you mean model.attention.window?",
        ),
        (
            'model = {kind = "recurrent", num_heads = 3}',
            'model.num_heads is a setting of kind = "transformer", not of kind = "recurrent".',
        ),
        (
            'model = {kind = "recurrent", decoder_layers = 3}',
            'model.decoder_layers is a setting of kind = "transformer" or "convolutional", not of kind = "recurrent".',
        ),
        (
            'model = {kind = "recurrent", score = "dot"}',
            "model.score is not a setting, did you mean model.attention.score?",
        ),
        ('model = {kind = "recurrent", attention = "dot"}', 'model.attention must be a table, not "dot".'),
        (
            'model = {kind = "convolutional", preset = "big"}',
            'model.preset must be "tiny", "small" or "base", not "big".',
        ),
    ],
)
def test_words_that_are_not_known(text: str, problem: str) -> None:
    assert problems_of(text) == [problem]


# What does not go with other sections


def parse_recipe(text: str) -> TranslationRecipe:
    """A whole recipe, with the data that it cannot do without; what is given may go on with them."""
    data = 'run = "run"\n[data]\nsource_language = "en"\ntarget_language = "de"\ntrain = [{file = "pairs.tsv"}]\n'
    return settings.parse(TranslationRecipe, tomllib.loads(data + text), origin="recipe.toml", base=Path("/recipes"))


def recipe_problems(text: str) -> list[str]:
    with pytest.raises(errors.SettingsError) as caught:
        parse_recipe(text)
    return caught.value.problems


@pytest.mark.parametrize("kind", ["transformer", "recurrent", "convolutional"])
def test_one_table_needs_one_vocabulary(kind: str) -> None:
    assert recipe_problems(f'[tokenizer]\nshared = false\n[model]\nkind = "{kind}"') == [
        'model.embeddings = "shared" needs one vocabulary for both languages, but tokenizer.shared is false. Set tokenizer.shared = true, or model.embeddings = "tied"'
    ]


def test_a_location_score_needs_a_position_for_every_token_of_the_longest_source() -> None:
    """19 tokens and their end are 20."""
    text = 'max_tokens = 19\n[model]\nkind = "recurrent"\n[model.attention]\nscore = "location"\nnum_positions = '
    assert recipe_problems(text + "19") == [
        "model.attention.num_positions must be at least 20, the longest source with its end (data.max_tokens + 1), not 19: a location score has no other positions. Raise it, lower data.max_tokens, or set model.attention.truncates = true"
    ]
    assert parse_recipe(text + "20").model.attention.num_positions == 20
    assert parse_recipe(text + "19\ntruncates = true").model.attention.num_positions == 19


# Several at once


def test_all_that_is_wrong_with_a_section_is_told_in_one_line() -> None:
    text = """
        [model]
        kind = "recurrent"
        layers = 0
        d_model = 7
        dropout = 1.0
        input_feeding = true
        reverses_source = true
    """
    assert problems_of(text) == [
        "model: layers must be at least 1, not 0; dropout must be at least 0 and below 1, not 1.0; d_model must be even for a bidirectional encoder, not 7; "
        'input_feeding = true goes with attend = "after" only: a decoder that attends before its step is fed the context already; '
        "reverses_source = true goes with bidirectional = false only: read in both directions, a source has no order to be reversed"
    ]


def test_all_that_is_wrong_with_attention_is_told_in_one_line() -> None:
    text = """
        [model]
        kind = "recurrent"
        [model.attention]
        positions = "hard"
        score = "location"
        normalise = "entmax"
        gaussian = true
        window = 0
    """
    assert problems_of(text) == [
        "model.attention: window must be at least 1, not 0; "
        'score = "location" goes with positions = "global" only, not "hard": it scores positions, not what stands there, and no paper defines this pair (Luong et al. 2015, Table 4, leaves it out); '
        'positions = "hard" goes with normalise = "softmax" only, not "entmax": Xu et al. 2015 sample from a softmax, and a position of probability zero could never be learned; '
        'gaussian = true goes with positions = "local-m" only, not "hard": local-p always has the Gaussian, and the others have no window'
    ]


# What is not refused


@pytest.mark.parametrize(
    "given",
    [
        'attend = "after"\ninput_feeding = true\nattention.positions = "local-m"\nattention.gaussian = true',
        'attend = "after"\nattention.positions = "local-p"\nattention.score = "general"\nattention.normalise = "entmax"',
        'attention.positions = "hard"\nattention.sampling = 1\nattention.reward = 0\nattention.entropy = 0',
        'attention.score = "location"\nattention.num_positions = 1\nattention.truncates = true',
        'attend = "after"\nattention.score = "location"',
        'bidirectional = false\nreverses_source = true\nattention.positions = "none"\nd_model = 7\nlayers = 4',
        'readout = "maxout"\nattention.positions = "fixed"\nattention.score = "location"',
        'attend = "after"\nattention.positions = "none"',
        'dropout = 0\nattention.normalise = "sparsemax"',
    ],
)
def test_these_go_together(given: str) -> None:
    assert parse(f'[model]\nkind = "recurrent"\n{given}').kind == "recurrent"


def test_these_are_at_the_edge() -> None:
    assert parse('model = {kind = "convolutional", kernel = 1, layers = 1, d_model = 2, dropout = 0.0}').kernel == 1
    assert parse("model = {layers = 1, d_model = 2, num_heads = 1, d_feedforward = 1, dropout = 0}").d_model == 2
