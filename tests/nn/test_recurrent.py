"""Recurrent encoders and decoders against plain loops: cells gate by gate, decoders step by step."""

import math
from dataclasses import dataclass

import pytest
import torch
from tests.nn import plain
from tests.nn.padding import padding_mask
from torch import nn

from saccade.nn import dropout
from saccade.nn.attention import Attention, Memory, Read
from saccade.nn.recurrent import (
    AttendAfter,
    AttendBefore,
    DecoderState,
    FixedVector,
    NoVector,
    RecurrentEncoder,
    RecurrentShape,
    RecurrentState,
)
from saccade.nn.scores import Additive, dot

D_MODEL, SOURCE, TARGET = 4, 5, 4
LENGTHS = [5, 3]
CLOSE = {"rtol": 0.0, "atol": 1e-12}
CELLS = ["gru", "lstm", "rnn"]


def double(numbers: list) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def draw(*shape: int, seed: int = 2) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def shape(cell: str = "gru", layers: int = 1) -> RecurrentShape:
    return RecurrentShape(cell=cell, d_model=D_MODEL, num_layers=layers, dropout=0.0)


def shaken(module: nn.Module) -> nn.Module:
    """In float64, with biases that are not zero, so that none can be left out unnoticed."""
    module.double()
    for name, parameter in module.named_parameters():
        if "bias" in name:
            nn.init.normal_(parameter, std=0.5)
    return module


# In plain Python


@dataclass
class Plain:
    """What one layer carries: h, and the LSTM's c."""

    hidden: list[float]
    cell: list[float]


def gates(stack: nn.RNNBase, name: str, vector: plain.Vector, layer: str) -> list[list[float]]:
    """Wx + b of each gate, in torch's order."""
    matrix, bias = (getattr(stack, f"{kind}_{name}_{layer}").tolist() for kind in ("weight", "bias"))
    numbers, size = plain.product(vector, matrix, bias), stack.hidden_size
    return [numbers[start : start + size] for start in range(0, len(numbers), size)]


def cell_by_hand(stack: nn.RNNBase, layer: str, inputs: plain.Vector, before: Plain) -> Plain:
    """One step of one layer, number by number."""
    asked, kept = gates(stack, "ih", inputs, layer), gates(stack, "hh", before.hidden, layer)
    hidden, cell = [], []
    for i in range(stack.hidden_size):
        if isinstance(stack, nn.GRU):
            # As torch has it: the reset gate comes after the product, and z keeps where the papers' z renews.
            r = plain.sigmoid(asked[0][i] + kept[0][i])
            z = plain.sigmoid(asked[1][i] + kept[1][i])
            n = math.tanh(asked[2][i] + r * kept[2][i])
            hidden.append((1 - z) * n + z * before.hidden[i])
        elif isinstance(stack, nn.LSTM):
            # Gers et al. 2000: input, forget, new and output.
            enters, stays, leaves = (plain.sigmoid(asked[gate][i] + kept[gate][i]) for gate in (0, 1, 3))
            new = math.tanh(asked[2][i] + kept[2][i])
            cell.append(stays * before.cell[i] + enters * new)
            hidden.append(leaves * math.tanh(cell[i]))
        else:
            # Elman 1990.
            hidden.append(math.tanh(asked[0][i] + kept[0][i]))
    return Plain(hidden, cell)


def stack_by_hand(stack: nn.RNNBase, inputs: plain.Vector, before: list[Plain]) -> list[Plain]:
    """One step of all layers, each reading the one below."""
    after = []
    for layer, state in enumerate(before):
        after.append(cell_by_hand(stack, f"l{layer}", inputs, state))
        inputs = after[-1].hidden
    return after


def zeros(size: int) -> Plain:
    return Plain([0.0] * size, [0.0] * size)


def directions_by_hand(stack: nn.RNNBase, inputs: plain.Matrix) -> tuple[plain.Matrix, list[Plain]]:
    """A whole sequence: the top layer's states, and where each layer ended, forwards before backwards."""
    ends: list[Plain] = []
    for layer in range(stack.num_layers):
        sides = []
        for suffix in ("", "_reverse") if stack.bidirectional else ("",):
            state, states = zeros(stack.hidden_size), {}
            places = range(len(inputs)) if not suffix else reversed(range(len(inputs)))
            for place in places:
                state = cell_by_hand(stack, f"l{layer}{suffix}", inputs[place], state)
                states[place] = state.hidden
            sides.append(states)
            ends.append(state)
        inputs = [[number for states in sides for number in states[place]] for place in range(len(inputs))]
    return inputs, ends


def linear_by_hand(layer: nn.Linear, vector: plain.Vector) -> list[float]:
    return plain.product(vector, layer.weight.tolist(), layer.bias.tolist())


def context_by_hand(score: Additive, query: plain.Vector, states: plain.Matrix, length: int) -> list[float]:
    """c = Σ α_j h_j with α = softmax(vᵀtanh(Wq + Uh_j)) (Bahdanau et al. 2015, A.1.2)."""
    asked, scores = linear_by_hand(score.of_query, query), []
    for state in states:
        offered = plain.product(state, score.of_key.weight.tolist(), [0.0] * len(asked))
        scores.append(sum(v * math.tanh(a + b) for v, a, b in zip(score.v.tolist(), asked, offered, strict=True)))
    return plain.mixture(plain.softmax(scores, [key < length for key in range(len(states))]), states)


def readout_by_hand(mix: nn.Linear, known: plain.Vector, maxout: bool) -> list[float]:
    """tanh(Wx + b), or of each pair of Wx + b the larger (Bahdanau et al. 2015, A.2.2)."""
    mixed = linear_by_hand(mix, known)
    if maxout:
        return [max(mixed[2 * i], mixed[2 * i + 1]) for i in range(D_MODEL)]
    return [math.tanh(number) for number in mixed]


# Decoders


def start(decoder: AttendBefore | AttendAfter, cell: str, layers: int) -> tuple[DecoderState, torch.Tensor]:
    """A state that has not said anything yet, but is not zero; and the states of the source."""
    states, mask = draw(2, SOURCE, D_MODEL), padding_mask(torch.tensor(LENGTHS), SOURCE)
    recurrent = RecurrentState(
        draw(layers, 2, D_MODEL, seed=3), draw(layers, 2, D_MODEL, seed=4) if cell == "lstm" else None
    )
    memory = decoder.cross_attention.memory(states, mask)
    return DecoderState(recurrent, memory, feed=draw(2, D_MODEL, seed=5)), states


def layers_of(state: RecurrentState, row: int) -> list[Plain]:
    cells = torch.zeros_like(state.hidden) if state.cell is None else state.cell
    return [Plain(h[row].tolist(), c[row].tolist()) for h, c in zip(state.hidden, cells, strict=True)]


def same(found: RecurrentState, row: int, expected: list[Plain]) -> None:
    for layer, state in enumerate(expected):
        torch.testing.assert_close(found.hidden[layer, row], double(state.hidden), **CLOSE)
        if found.cell is not None:
            torch.testing.assert_close(found.cell[layer, row], double(state.cell), **CLOSE)


def reader() -> Attention:
    return Attention(Additive(D_MODEL, D_MODEL, 3))


@pytest.mark.parametrize("maxout", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", CELLS)
def test_attending_before_is_bahdanaus_decoder(cell: str, layers: int, maxout: bool):
    """s_{i-1} asks for c_i, s_i = f(s_{i-1}, y_{i-1}, c_i), and the readout is of s_i, y_{i-1} and c_i (A.1–A.2)."""
    torch.manual_seed(1)
    decoder = shaken(AttendBefore(shape(cell, layers), reader(), D_MODEL, loops=True, maxout=maxout))
    state, states = start(decoder, cell, layers)
    embedded = draw(2, TARGET, D_MODEL, seed=6)
    decoded, after = decoder(embedded, state)
    assert after.position == TARGET
    for row, length in enumerate(LENGTHS):
        carried = layers_of(state.recurrent, row)
        for place in range(TARGET):
            word = embedded[row, place].tolist()
            context = context_by_hand(decoder.cross_attention.score, carried[-1].hidden, states[row].tolist(), length)
            carried = stack_by_hand(decoder.recurrence.stack, word + context, carried)
            said = readout_by_hand(decoder.readout.mix, carried[-1].hidden + word + context, maxout)
            torch.testing.assert_close(decoded.read.context[row, place], double(context), **CLOSE)
            torch.testing.assert_close(decoded.hidden[row, place], double(said), **CLOSE)
        same(after.recurrent, row, carried)


@pytest.mark.parametrize("feeds", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", CELLS)
def test_attending_after_is_luongs_decoder(cell: str, layers: int, feeds: bool):
    """h_t asks for c_t, h̃_t = tanh(W[c_t; h_t]) (eq. 5), and with input feeding [y_t; h̃_t] goes in next (§3.3)."""
    torch.manual_seed(1)
    decoder = shaken(AttendAfter(shape(cell, layers), reader(), D_MODEL, feeds=feeds))
    state, states = start(decoder, cell, layers)
    embedded = draw(2, TARGET, D_MODEL, seed=6)
    decoded, after = decoder(embedded, state)
    assert after.position == TARGET
    for row, length in enumerate(LENGTHS):
        carried, said = layers_of(state.recurrent, row), state.feed[row].tolist()
        for place in range(TARGET):
            word = embedded[row, place].tolist()
            carried = stack_by_hand(decoder.recurrence.stack, word + said if feeds else word, carried)
            context = context_by_hand(decoder.cross_attention.score, carried[-1].hidden, states[row].tolist(), length)
            said = readout_by_hand(decoder.readout.mix, context + carried[-1].hidden, maxout=False)
            torch.testing.assert_close(decoded.read.context[row, place], double(context), **CLOSE)
            torch.testing.assert_close(decoded.hidden[row, place], double(said), **CLOSE)
        same(after.recurrent, row, carried)
        torch.testing.assert_close(after.feed[row], double(said), **CLOSE)


def decoders() -> dict[str, AttendBefore | AttendAfter]:
    torch.manual_seed(1)
    fixed = {"reader": FixedVector(D_MODEL // 2), "d_context": D_MODEL}
    attending = {"reader": reader(), "d_context": D_MODEL}
    return {
        "before": AttendBefore(shape(), **attending, loops=True, maxout=True),
        "before, a fixed vector": AttendBefore(shape("lstm"), **fixed, loops=False, maxout=False),
        "before, a fixed vector in a loop": AttendBefore(shape("lstm"), **fixed, loops=True, maxout=False),
        "before, nothing": AttendBefore(shape(), NoVector(), 0, loops=False, maxout=False),
        "after": AttendAfter(shape("lstm", 2), **attending, feeds=False),
        "after, fed": AttendAfter(shape("lstm", 2), **attending, feeds=True),
        "after, a fixed vector": AttendAfter(shape(), **fixed, feeds=True),
        "after, nothing": AttendAfter(shape(), NoVector(), 0, feeds=False),
    }


@pytest.mark.parametrize("name", decoders())
def test_step_by_step_is_all_at_once(name: str):
    decoder = shaken(decoders()[name])
    stack = decoder.recurrence.stack
    state, _ = start(decoder, "lstm" if isinstance(stack, nn.LSTM) else "gru", stack.num_layers)
    embedded = draw(2, TARGET, D_MODEL, seed=6)
    whole, end = decoder(embedded, state)
    assert whole.hidden.shape == (2, TARGET, D_MODEL)
    said = []
    for place in range(TARGET):
        decoded, state = decoder(embedded[:, place : place + 1], state)
        said.append(decoded)
        assert state.position == place + 1
    torch.testing.assert_close(torch.cat([each.hidden for each in said], dim=1), whole.hidden, **CLOSE)
    torch.testing.assert_close(torch.cat([each.read.context for each in said], dim=1), whole.read.context, **CLOSE)
    torch.testing.assert_close(state.recurrent.hidden, end.recurrent.hidden, **CLOSE)
    torch.testing.assert_close(state.feed, end.feed, **CLOSE)


def test_a_fixed_vector_needs_no_loop():
    """What no query is needed for is the same with and without one."""
    both = [shaken(decoders()[name]) for name in ("before, a fixed vector in a loop", "before, a fixed vector")]
    both[1].load_state_dict(both[0].state_dict())
    embedded = draw(2, TARGET, D_MODEL, seed=6)
    looped, whole = (decoder(embedded, start(decoder, "lstm", 1)[0])[0] for decoder in both)
    torch.testing.assert_close(whole.hidden, looped.hidden, **CLOSE)


class Noting(nn.Module):
    """Notes who asked, and at which position of the target; tells a log-probability and an entropy of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[torch.Tensor, int]] = []

    def memory(self, states: torch.Tensor, mask: torch.Tensor) -> Memory:
        return Memory(states, states, mask)

    def forward(self, query: torch.Tensor, memory: Memory, start: int = 0) -> Read:
        self.asked.append((query, start))
        return Read(query, query[..., 0] + start, query[..., 1] + start)


@pytest.mark.parametrize("order", ["before", "after", "after, fed"])
def test_who_asks_and_at_which_position(order: str):
    torch.manual_seed(1)
    noting = Noting()
    decoder = shaken(
        AttendBefore(shape("gru", 2), noting, D_MODEL, loops=True, maxout=False)
        if order == "before"
        else AttendAfter(shape("gru", 2), noting, D_MODEL, feeds=order.endswith("fed"))
    )
    state, _ = start(decoder, "gru", 2)
    embedded = draw(2, 3, D_MODEL, seed=6)
    _, first = decoder(embedded[:, :1], state)
    decoded, last = decoder(embedded[:, 1:], first)
    asked = torch.cat([query for query, _ in noting.asked], dim=1)
    assert asked.shape == (2, 3, D_MODEL)
    assert [start for _, start in noting.asked] == ([0, 1] if order == "after" else [0, 1, 2])
    if order == "before":
        assert torch.equal(asked[:, 0], state.recurrent.hidden[-1])
        assert torch.equal(asked[:, 1], first.recurrent.hidden[-1])
    else:
        assert torch.equal(asked[:, 0], first.recurrent.hidden[-1])
        assert torch.equal(asked[:, 2], last.recurrent.hidden[-1])
    starts = torch.tensor([1.0, 1.0] if order == "after" else [1.0, 2.0], dtype=torch.float64)
    torch.testing.assert_close(decoded.read.log_prob, asked[:, 1:, 0] + starts, **CLOSE)
    torch.testing.assert_close(decoded.read.entropy, asked[:, 1:, 1] + starts, **CLOSE)


def test_a_state_is_picked_with_all_that_it_carries():
    torch.manual_seed(1)
    decoder = shaken(AttendAfter(shape("lstm", 2), reader(), D_MODEL, feeds=True))
    state, _ = start(decoder, "lstm", 2)
    embedded, rows = draw(2, 3, D_MODEL, seed=6), torch.tensor([1, 1, 0])
    _, state = decoder(embedded[:, :1], state)
    whole, _ = decoder(embedded[:, 1:], state)
    picked, after = decoder(embedded[rows, 1:], state.pick(rows))
    torch.testing.assert_close(picked.hidden, whole.hidden[rows], **CLOSE)
    assert after.position == 3


@pytest.mark.parametrize("layers", [1, 2])
def test_dropout_is_between_layers_and_on_what_is_said(layers: int):
    torch.manual_seed(1)
    dropout.seed(1)
    made = RecurrentShape(cell="gru", d_model=D_MODEL, num_layers=layers, dropout=0.5)
    decoder = shaken(AttendAfter(made, reader(), D_MODEL, feeds=True))
    assert decoder.recurrence.stack.dropout == (0.5 if layers == 2 else 0.0)
    state, _ = start(decoder, "gru", layers)
    decoded, after = decoder(draw(2, TARGET, D_MODEL), state)
    dropped = decoded.hidden == 0
    assert 0 < dropped.sum() < dropped.numel()
    assert not (after.feed == 0).any(), "what is fed is whole"


# Encoders


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", CELLS)
def test_an_encoder_is_the_plain_loop(cell: str, layers: int, bidirectional: bool):
    """h_j = [→h_j; ←h_j], and s₀ = tanh(W ←h₁ + b) for each layer (Bahdanau 2015, A.2); in one direction, →h_T."""
    torch.manual_seed(1)
    encoder = shaken(RecurrentEncoder(shape(cell, layers), bidirectional=bidirectional))
    embedded, mask = draw(2, SOURCE, D_MODEL), padding_mask(torch.tensor(LENGTHS), SOURCE)
    encoded = encoder(embedded, mask)
    assert encoded.mask is mask
    assert encoded.states.shape == (2, SOURCE, D_MODEL)
    assert encoded.last.hidden.shape == (layers, 2, D_MODEL)
    assert (encoded.last.cell is None) == (cell != "lstm")
    for row, length in enumerate(LENGTHS):
        states, ends = directions_by_hand(encoder.stack, embedded[row, :length].tolist())
        torch.testing.assert_close(encoded.states[row, :length], double(states), **CLOSE)
        if bidirectional:
            ends = [
                Plain(
                    [math.tanh(number) for number in linear_by_hand(encoder.bridge, end.hidden)],
                    [math.tanh(number) for number in linear_by_hand(encoder.cell_bridge, end.cell)]
                    if cell == "lstm"
                    else [],
                )
                for end in ends[1::2]
            ]
        same(encoded.last, row, ends)


@pytest.mark.parametrize("bidirectional", [True, False])
def test_each_source_is_read_as_if_it_were_alone(bidirectional: bool):
    torch.manual_seed(1)
    encoder = shaken(RecurrentEncoder(shape("lstm", 2), bidirectional=bidirectional))
    embedded, lengths = draw(4, SOURCE, D_MODEL), [2, 5, 1, 3]  # not in order
    together = encoder(embedded, padding_mask(torch.tensor(lengths), SOURCE))
    for row, length in enumerate(lengths):
        alone = encoder(embedded[row, None, :length], torch.ones(1, length, dtype=torch.bool))
        torch.testing.assert_close(together.states[row, :length], alone.states[0], **CLOSE)
        torch.testing.assert_close(together.last.hidden[:, row], alone.last.hidden[:, 0], **CLOSE)
        torch.testing.assert_close(together.last.cell[:, row], alone.last.cell[:, 0], **CLOSE)


@pytest.mark.parametrize("bidirectional", [True, False])
def test_no_source_at_all_hands_nothing_over(bidirectional: bool):
    """Zero, of which the bridge of both directions leaves its bias."""
    torch.manual_seed(1)
    encoder = shaken(RecurrentEncoder(shape(), bidirectional=bidirectional))
    encoded = encoder(draw(2, SOURCE, D_MODEL), padding_mask(torch.tensor([3, 0]), SOURCE))
    nothing = encoder.bridge.bias.tanh() if bidirectional else torch.zeros(D_MODEL, dtype=torch.float64)
    torch.testing.assert_close(encoded.last.hidden[0, 1], nothing, **CLOSE)


@pytest.mark.parametrize("bidirectional", [True, False])
def test_a_fixed_vector_is_where_the_encoder_ended(bidirectional: bool):
    """[→h_T; ←h_1] of each source by its own length, at every step the same; →h_T alone in one direction."""
    torch.manual_seed(1)
    encoder = shaken(RecurrentEncoder(shape(), bidirectional=bidirectional))
    fixed = FixedVector(D_MODEL // 2 if bidirectional else D_MODEL)
    embedded, lengths = draw(3, SOURCE, D_MODEL), [5, 3, 0]
    encoded = encoder(embedded, padding_mask(torch.tensor(lengths), SOURCE))
    memory = fixed.memory(encoded.states, encoded.mask)
    assert memory.values.shape == (3, 1, D_MODEL)
    read = fixed(draw(3, 4, 7), memory)
    assert read.context.shape == (3, 4, D_MODEL)
    assert read.log_prob is None
    for row, length in enumerate(lengths[:2]):
        _, ends = directions_by_hand(encoder.stack, embedded[row, :length].tolist())
        expected = double([number for end in ends for number in end.hidden])
        torch.testing.assert_close(read.context[row], expected.expand(4, D_MODEL), **CLOSE)
    assert not read.context[2].any(), "no source, nothing to read"


def test_no_vector_has_no_size():
    nothing = NoVector()
    memory = nothing.memory(draw(2, SOURCE, D_MODEL), padding_mask(torch.tensor(LENGTHS), SOURCE))
    assert nothing(draw(2, 3, 7), memory).context.shape == (2, 3, 0)
    assert nothing(draw(1, 3, 7), memory.pick(torch.tensor([1]))).context.shape == (1, 3, 0)


# Initial values


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("cell", CELLS)
def test_recurrent_matrices_start_orthogonal_and_forget_gates_open(cell: str, bidirectional: bool):
    """Of each gate by itself. Xavier's bound for an input matrix d_input → d_output is √(6 / (d_input + d_output))."""
    torch.manual_seed(1)
    made = RecurrentShape(cell=cell, d_model=16, num_layers=2, dropout=0.0)
    stack, num_gates = made.stack(24, 16, bidirectional=bidirectional), {"gru": 3, "lstm": 4, "rnn": 1}[cell]
    for name, parameter in stack.named_parameters():
        parts = parameter.chunk(num_gates)
        if name.startswith("weight_hh"):
            for gate in parts:
                torch.testing.assert_close(gate @ gate.T, torch.eye(16), rtol=0.0, atol=1e-5)
        elif name.startswith("weight_ih"):
            for gate in parts:
                bound = math.sqrt(6 / (gate.shape[1] + 16))
                assert gate.abs().max().item() == pytest.approx(bound, rel=0.05)
                assert gate.abs().max() <= bound
        else:
            for number, gate in enumerate(parts):
                remembers = cell == "lstm" and number == 1 and name.startswith("bias_ih")
                assert gate.tolist() == [float(remembers)] * 16


def test_readouts_start_without_bias():
    for name, decoder in decoders().items():
        assert not decoder.readout.mix.bias.any(), name
        rows, columns = decoder.readout.mix.weight.shape
        assert decoder.readout.mix.weight.abs().max() <= math.sqrt(6 / (rows + columns))


def test_gradients_flow_to_every_parameter():
    torch.manual_seed(1)
    encoder = shaken(RecurrentEncoder(shape("lstm", 2), bidirectional=True))
    for decoder in (
        AttendBefore(shape("lstm", 2), Attention(dot()), D_MODEL, loops=True, maxout=True),
        AttendAfter(shape("lstm", 2), Attention(dot()), D_MODEL, feeds=True),
    ):
        shaken(decoder)
        encoded = encoder(draw(2, SOURCE, D_MODEL), padding_mask(torch.tensor(LENGTHS), SOURCE))
        source = decoder.cross_attention.memory(encoded.states, encoded.mask)
        state = DecoderState(encoded.last, source, feed=torch.zeros(2, D_MODEL, dtype=torch.float64))
        decoded, _ = decoder(draw(2, TARGET, D_MODEL, seed=6), state)
        decoded.hidden.square().sum().backward()
        for name, parameter in [*encoder.named_parameters(), *decoder.named_parameters()]:
            assert bool(parameter.grad.any()), name
        encoder.zero_grad()
