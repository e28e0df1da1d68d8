import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.errors import SaccadeError
from saccade.trace.trace import AttentionTrace, Layer, Picture, Tokens
from saccade.trace.words import word_spans, words

# "The pump," in four pieces and "也好😀" with a token of two characters and one spelled in bytes
SOURCE = Tokens(("▁The", "▁p", "ump", ",", "</s>"), "The pump,", ((0, 3), (3, 5), (5, 8), (8, 9), (9, 9)))
TARGET = Tokens(
    ("▁", "也好", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>", "</s>"),
    "也好😀",
    ((0, 0), (0, 2), (2, 2), (2, 2), (2, 2), (2, 3), (3, 3)),
)


def example(source=SOURCE, target=TARGET, heads=2):
    random = np.random.default_rng(1)
    sizes = {"cross": (len(target), len(source)), "encoder": (len(source),) * 2, "decoder": (len(target),) * 2}
    layers = tuple(Layer(kind, kind, random.dirichlet(np.ones(n), (heads, m))) for kind, (m, n) in sizes.items())
    log_probs = tuple(-random.random(len(target)))
    return AttentionTrace(source=source, target=target, layers=layers, token_log_probs=log_probs, model="toy", score=-1)


def in_words(text, **options):
    return [text[start:end] for start, end in word_spans(text, **options)]


def test_words_stand_between_spaces_and_chinese_ones_are_characters():
    assert in_words("The  pump,\u3000don't") == ["The", "pump,", "don't"]
    assert in_words("我喜欢 saccade。真的") == ["我", "喜", "欢", "saccade。", "真", "的"]
    assert in_words("カタカナと葛\U000e0100") == ["カ", "タ", "カ", "ナ", "と", "葛\U000e0100"]
    assert in_words("한국어 문장") == ["한국어", "문장"]
    assert in_words("") == []


def test_punctuation_can_be_split_off_the_ends_of_words():
    assert in_words("(state-of-the-art): don't...", punctuation=True) == ["(", "state-of-the-art", "):", "don't", "..."]
    assert in_words("«…» हिन्दी।", punctuation=True) == ["«…»", "हिन्दी", "।"]
    assert in_words("我来。", punctuation=True) == ["我", "来", "。"]


def test_tokens_become_words_with_their_spans():
    merged = words(example())
    assert merged.source == Tokens(("The", "pump,", "</s>"), "The pump,", ((0, 3), (4, 9), (9, 9)))
    assert merged.target == Tokens(("也", "好", "😀", "</s>"), "也好😀", ((0, 1), (1, 2), (2, 3), (3, 3)))
    assert (merged.model, merged.score) == ("toy", -1)
    split = words(example(), punctuation=True)
    assert split.source.tokens == ("The", "pump", ",", "</s>")


def test_looked_at_is_summed_who_looks_is_averaged_and_tokens_are_shared_out():
    trace = example()
    cross, merged = trace.of("cross")[0].weights, words(trace).of("cross")[0].weights
    by_columns = np.stack([cross[..., 0], cross[..., 1:4].sum(-1), cross[..., 4]], axis=-1)
    # 也 has the mark, which begins it, and half of its token; 好 the other half alone.
    assert np.allclose(merged[:, 0], (by_columns[:, 0] + 0.5 * by_columns[:, 1]) / 1.5)
    assert np.allclose(merged[:, 1], by_columns[:, 1])
    assert np.allclose(merged[:, 2], by_columns[:, 2:6].mean(axis=1))
    assert np.allclose(merged[:, 3], by_columns[:, 6])
    decoder, merged = trace.of("decoder")[0].weights, words(trace).of("decoder")[0].weights
    # Columns are what was read: <s>, the mark with half of 也好, its other half, then four bytes.
    assert np.allclose(merged[:, 3, 0], decoder[:, 6, 0])
    assert np.allclose(merged[:, 3, 1], decoder[:, 6, 1] + decoder[:, 6, 2] / 2)
    assert np.allclose(merged[:, 3, 2], decoder[:, 6, 2] / 2)
    assert np.allclose(merged[:, 3, 3], decoder[:, 6, 3:].sum(axis=-1))
    assert words(trace).read == ("<s>", "也", "好", "😀")
    assert words(trace).token_log_probs[3] == trace.token_log_probs[6]
    assert sum(words(trace).token_log_probs) == pytest.approx(sum(trace.token_log_probs))


@st.composite
def sides(draw):
    """Any text, cut anywhere: tokens of several words, of spaces alone and of nothing."""
    text = draw(st.text(st.sampled_from("ab ,。我好\u3000😀"), max_size=9))
    ends = [*sorted(draw(st.lists(st.integers(0, len(text)), max_size=6))), len(text)]
    spans = [*zip([0, *ends[:-1]], ends, strict=True), (len(text), len(text))]
    tokens = [text[start:end] or draw(st.sampled_from(["▁", "<0xE4>"])) for start, end in spans[:-1]]
    return Tokens((*tokens, "</s>"), text, tuple(spans))


@given(sides(), sides(), st.booleans())
def test_rows_sum_to_what_they_did(source, target, punctuation):
    trace = example(source, target)
    merged = words(trace, punctuation=punctuation)
    for layer in merged.layers:
        assert np.allclose(layer.weights.sum(axis=-1), 1)
    for side in (merged.source, merged.target):
        assert side.tokens[-1] == "</s>"
        shown = [side.text[start:end] for start, end in side.spans]
        assert [word for word in shown if word.strip()] == [
            side.text[slice(*s)] for s in word_spans(side.text, punctuation=punctuation)
        ]
    assert sum(merged.token_log_probs) == pytest.approx(sum(trace.token_log_probs))


def test_words_can_be_given():
    merged = words(example(), source=[(0, 8), (8, 9)], target=[(0, 2), (2, 3)])
    assert merged.source.tokens == ("The pump", ",", "</s>")
    assert merged.target.tokens == ("也好", "😀", "</s>")
    with pytest.raises(SaccadeError, match="that from 9 to 12 has none"):
        words(example(), source=[(0, 9), (9, 12)])


def test_what_has_no_spans_stays_as_it_is():
    plain = example(source=Tokens(("p0", "p1")), target=Tokens(("a", "b")))
    merged = words(plain)
    assert (merged.source, merged.target) == (plain.source, plain.target)
    assert np.array_equal(merged.matrix(), plain.matrix())


def test_cells_of_images_are_no_words():
    layer = Layer("look", "image", np.random.default_rng(2).dirichlet(np.ones(6), (1, len(TARGET))))
    trace = AttentionTrace(source=Tokens(()), target=TARGET, layers=(layer,), image=Picture(2, 3))
    assert words(trace).matrix().shape == (4, 6)
    assert np.allclose(words(trace).matrix().sum(axis=1), 1)
