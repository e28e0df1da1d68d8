"""Convolutional layers against plain loops of Gehring et al. 2017, with the constants of its §3.4."""

import math

import pytest
import torch
from tests.nn import plain
from tests.nn.padding import padding_mask
from torch import nn

from saccade.nn.attention import Memory
from saccade.nn.convolution import (
    ConvolutionalDecoderLayer,
    ConvolutionalEncoderLayer,
    ConvolutionShape,
    GatedConvolution,
    convolutional_memory,
)

D_MODEL, SOURCE, TARGET = 4, 7, 5
LENGTHS = [7, 4, 0]
KERNELS = [1, 3, 5]
CLOSE = {"rtol": 0.0, "atol": 1e-12}
ROOT = math.sqrt(0.5)


def double(numbers: list) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def draw(*shape: int, seed: int = 2) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def shaken(layer: nn.Module) -> nn.Module:
    """In float64, with biases that are not zero, so that none can be left out unnoticed."""
    layer.double()
    for name, parameter in layer.named_parameters():
        if "bias" in name:
            nn.init.normal_(parameter, std=0.5)
    return layer


def made(kind: type, kernel: int = 3) -> nn.Module:
    torch.manual_seed(1)
    return shaken(kind(ConvolutionShape(d_model=D_MODEL, kernel=kernel, dropout=0.0)))


def real() -> torch.Tensor:
    return padding_mask(torch.tensor(LENGTHS), SOURCE)


# In plain Python


def gated_by_hand(convolution: GatedConvolution, window: plain.Matrix) -> list[float]:
    """v([A B]) = A ⊗ σ(B) of [A B] = W[x₁; …; x_k] + b (§3.2), for the k vectors of one window."""
    joined = [number for vector in window for number in vector]
    both = plain.product(joined, convolution.window.weight.tolist(), convolution.window.bias.tolist())
    return [both[i] * plain.sigmoid(both[D_MODEL + i]) for i in range(D_MODEL)]


def plus(*vectors: plain.Vector) -> list[float]:
    return [sum(numbers) for numbers in zip(*vectors, strict=True)]


def times(number: float, vector: plain.Vector) -> list[float]:
    return [number * each for each in vector]


def linear_by_hand(layer: nn.Linear, vector: plain.Vector) -> list[float]:
    return plain.product(vector, layer.weight.tolist(), layer.bias.tolist())


def encoded_by_hand(layer: ConvolutionalEncoderLayer, states: plain.Matrix, kernel: int) -> plain.Matrix:
    """(v(W[h_{i-k/2} … h_{i+k/2}] + b) + h_i) · √½, with zeros on both sides of the source."""
    side, nothing = kernel // 2, [0.0] * D_MODEL
    padded = [nothing] * side + list(states) + [nothing] * side
    return [
        times(ROOT, plus(gated_by_hand(layer.convolution, padded[place : place + kernel]), state))
        for place, state in enumerate(states)
    ]


def decoded_by_hand(
    layer: ConvolutionalDecoderLayer,
    states: plain.Matrix,
    embedded: plain.Matrix,
    source: tuple[plain.Matrix, plain.Matrix],
    past: plain.Matrix,
    kernel: int,
) -> plain.Matrix:
    """h = v(W[h_{i-k+1} … h_i] + b); d = (W_d h + b_d + g)√½ (eq. 1); a = softmax(d · z);
    c = √m Σ a (z + e)√½ (eq. 2), after which ((h + W_o c + b_o)√½ + x)√½ goes to the next layer.
    """
    keys, words = source
    seen, after = list(past) + list(states), []
    for place, state in enumerate(states):
        convolved = gated_by_hand(layer.convolution, seen[place : place + kernel])
        asked = times(ROOT, plus(linear_by_hand(layer.query, convolved), embedded[place]))
        weights = plain.softmax([plain.dot(asked, key) for key in keys], [True] * len(keys))
        context = [0.0] * D_MODEL
        for weight, key, word in zip(weights, keys, words, strict=True):
            context = plus(context, times(weight * ROOT, plus(key, word)))
        m = len(keys)
        context = times(m * math.sqrt(1 / m) if m else 0.0, context)
        read = linear_by_hand(layer.output, context)
        after.append(times(ROOT, plus(times(ROOT, plus(convolved, read)), state)))
    return after


# Layers


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_gated_convolution_is_the_plain_loop(kernel: int):
    convolution, states = made(GatedConvolution, kernel), draw(2, SOURCE, D_MODEL)
    found = convolution(states)
    assert found.shape == (2, SOURCE - kernel + 1, D_MODEL)
    for row in range(2):
        for place in range(SOURCE - kernel + 1):
            expected = gated_by_hand(convolution, states[row, place : place + kernel].tolist())
            torch.testing.assert_close(found[row, place], double(expected), **CLOSE)


@pytest.mark.parametrize("kernel", KERNELS)
def test_an_encoder_layer_is_the_plain_loop(kernel: int):
    """Each source by its own length: beyond its end are zeros, whatever the padding holds."""
    layer, states = made(ConvolutionalEncoderLayer, kernel), draw(3, SOURCE, D_MODEL)
    found = layer(states, real())
    for row, length in enumerate(LENGTHS):
        expected = encoded_by_hand(layer, states[row, :length].tolist(), kernel)
        torch.testing.assert_close(found[row, :length], double(expected).view(length, D_MODEL), **CLOSE)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_decoder_layer_is_the_plain_loop(kernel: int):
    layer, states, embedded = (
        made(ConvolutionalDecoderLayer, kernel),
        draw(3, TARGET, D_MODEL),
        draw(3, TARGET, D_MODEL, seed=3),
    )
    keys, words, past = (
        draw(3, SOURCE, D_MODEL, seed=4),
        draw(3, SOURCE, D_MODEL, seed=5),
        draw(3, kernel - 1, D_MODEL, seed=6),
    )
    found, inputs = layer(states, embedded, convolutional_memory(keys, words, real()), past)
    for row, length in enumerate(LENGTHS):
        source = keys[row, :length].tolist(), words[row, :length].tolist()
        expected = decoded_by_hand(
            layer, states[row].tolist(), embedded[row].tolist(), source, past[row].tolist(), kernel
        )
        torch.testing.assert_close(found[row], double(expected), **CLOSE)
    assert inputs.shape == (3, kernel - 1, D_MODEL)
    assert torch.equal(inputs, torch.cat([past, states], dim=1)[:, TARGET:])


def test_a_memory_has_states_as_keys_and_scaled_sums_as_values():
    """(z + e) √½ · m√(1/m), with m the length of each source, not of the longest."""
    states, embedded = draw(3, SOURCE, D_MODEL), draw(3, SOURCE, D_MODEL, seed=3)
    memory = convolutional_memory(states, embedded, real())
    assert memory.keys is states
    assert torch.equal(memory.mask, real())
    for row, m in enumerate(LENGTHS[:2]):
        for place in range(SOURCE):
            both = plus(states[row, place].tolist(), embedded[row, place].tolist())
            expected = times(m * math.sqrt(1 / m) * ROOT, both)
            torch.testing.assert_close(memory.values[row, place], double(expected), **CLOSE)
    assert not memory.values[2].any(), "of no states at all"


def test_constants_by_hand():
    """With all parameters zero, GLU and context are zero: an encoder layer leaves x · √½, a decoder layer as well."""
    states = draw(1, TARGET, D_MODEL)
    memory = Memory(states, states)
    for layer in (made(ConvolutionalEncoderLayer), made(ConvolutionalDecoderLayer)):
        for parameter in layer.parameters():
            nn.init.zeros_(parameter)
        if isinstance(layer, ConvolutionalEncoderLayer):
            found = layer(states, torch.ones(1, TARGET, dtype=torch.bool))
        else:
            found, _ = layer(states, states, memory, torch.zeros(1, 2, D_MODEL, dtype=torch.float64))
        torch.testing.assert_close(found, states * ROOT, **CLOSE)


# Who sees whom


@pytest.mark.parametrize("kernel", KERNELS)
def test_an_encoder_layer_sees_its_neighbours_on_both_sides_and_no_further(kernel: int):
    layer, states = made(ConvolutionalEncoderLayer, kernel), draw(1, SOURCE, D_MODEL)
    mask = torch.ones(1, SOURCE, dtype=torch.bool)
    before = layer(states, mask)
    for place in range(SOURCE):
        changed = states.clone()
        changed[:, place] += 1
        moved = ~torch.isclose(layer(changed, mask), before).all(dim=-1)[0]
        assert moved.tolist() == [abs(other - place) <= kernel // 2 for other in range(SOURCE)]


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_decoder_layer_sees_only_what_came_before(kernel: int):
    layer, states, embedded = (
        made(ConvolutionalDecoderLayer, kernel),
        draw(1, TARGET, D_MODEL),
        draw(1, TARGET, D_MODEL),
    )
    source = convolutional_memory(draw(1, SOURCE, D_MODEL), draw(1, SOURCE, D_MODEL, seed=3), real()[:1])
    past = torch.zeros(1, kernel - 1, D_MODEL, dtype=torch.float64)
    before, _ = layer(states, embedded, source, past)
    for place in range(TARGET):
        changed = states.clone()
        changed[:, place] += 1
        after, _ = layer(changed, embedded, source, past)
        assert torch.equal(after[:, :place], before[:, :place])
        moved = ~torch.isclose(after, before).all(dim=-1)[0]
        assert moved.tolist() == [0 <= other - place < kernel for other in range(TARGET)]


def test_padding_of_the_source_changes_nothing():
    encoder, decoder = made(ConvolutionalEncoderLayer), made(ConvolutionalDecoderLayer)
    states, words, past = draw(3, SOURCE, D_MODEL), draw(3, TARGET, D_MODEL, seed=3), draw(3, 2, D_MODEL, seed=4)

    def read(row: slice, length: int, mask: torch.Tensor) -> torch.Tensor:
        source = encoder(encoder(states[row, :length], mask), mask)
        memory = convolutional_memory(source, states[row, :length], mask)
        return decoder(words[row], words[row], memory, past[row])[0]

    together = read(slice(None), SOURCE, real())
    for row, length in enumerate(LENGTHS[:2]):
        alone = read(slice(row, row + 1), length, torch.ones(1, length, dtype=torch.bool))
        torch.testing.assert_close(together[row], alone[0], **CLOSE)


@pytest.mark.parametrize("steps", [[1] * TARGET, [2, 3], [4, 1], [1, 4]])
@pytest.mark.parametrize("kernel", KERNELS)
def test_piece_by_piece_is_all_at_once(kernel: int, steps: list[int]):
    layer, states, embedded = (
        made(ConvolutionalDecoderLayer, kernel),
        draw(3, TARGET, D_MODEL),
        draw(3, TARGET, D_MODEL),
    )
    source = convolutional_memory(draw(3, SOURCE, D_MODEL), draw(3, SOURCE, D_MODEL, seed=3), real())
    past = torch.zeros(3, kernel - 1, D_MODEL, dtype=torch.float64)
    whole, end = layer(states, embedded, source, past)
    found, start = [], 0
    for step in steps:
        piece = slice(start, start + step)
        after, past = layer(states[:, piece], embedded[:, piece], source, past)
        found.append(after)
        start += step
    torch.testing.assert_close(torch.cat(found, dim=1), whole, **CLOSE)
    assert torch.equal(past, end)


def test_gradients_are_those_of_central_differences():
    layer, past = made(ConvolutionalDecoderLayer), draw(3, 2, D_MODEL, seed=6)

    def after(states: torch.Tensor, embedded: torch.Tensor, keys: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
        return layer(states, embedded, convolutional_memory(keys, keys, real()), past)[0]

    given = draw(3, 2, D_MODEL), draw(3, 2, D_MODEL, seed=3), draw(3, SOURCE, D_MODEL, seed=4)
    inputs = (*(each.requires_grad_() for each in given), *layer.parameters())
    assert torch.autograd.gradcheck(after, inputs)


# Initial values


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_convolutions_start_with_a_variance_of_four_over_what_is_read(dropout: float):
    """N(0, √(4p / n)) with p the share that is kept and n = k · d the size of what is read (§3.5), and no bias.

    Of 2 · 32 · 96 = 6,144 numbers the standard deviation is off by 1/√(2 · 6,144) = 0.9 % on average.
    """
    torch.manual_seed(1)
    layer = ConvolutionalDecoderLayer(ConvolutionShape(d_model=32, kernel=3, dropout=dropout))
    window = layer.convolution.window
    assert window.weight.std().item() == pytest.approx(math.sqrt(4 * (1 - dropout) / 96), rel=0.035)
    assert not any(part.bias.any() for part in (window, layer.query, layer.output))


def test_what_goes_into_a_convolution_is_dropped_in_training():
    torch.manual_seed(1)
    layer = GatedConvolution(ConvolutionShape(d_model=D_MODEL, kernel=3, dropout=0.5)).double()
    states = draw(2, SOURCE, D_MODEL)
    quiet = layer.eval()(states)
    assert torch.equal(layer(states), quiet)
    layer.train()
    assert not torch.allclose(layer(states), quiet)
