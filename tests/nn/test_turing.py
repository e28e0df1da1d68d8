"""The Neural Turing Machine, against loops over batch, heads and rows (Graves et al. 2014, §3)."""

from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from saccade.nn.addressing import Addressing, Parts
from saccade.nn.capture import capture
from saccade.nn.turing import BLANK, FeedForwardController, LstmController, MachineState, TuringMachine, Writing, write

BATCH, STEPS, D_INPUT, D_CONTROLLER, ROWS, D_ROW = 2, 6, 3, 4, 5, 3
KINDS = [
    ("feed-forward", 1, 1, {}),
    ("feed-forward", 3, 2, {}),
    ("lstm", 1, 1, {}),
    ("lstm", 2, 3, {"reach": 2}),
    ("feed-forward", 2, 1, {"reach": 0}),
    ("feed-forward", 1, 2, {"interpolates": False}),
    ("feed-forward", 2, 2, {"sharpens": False}),
]
"""Controller, heads that read and that write, and what their addressing lacks."""


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(1)


def machine(controller: str, reads: int, writes: int, switches: dict[str, int]) -> TuringMachine:
    """With all parameters at random, also those that begin as zeros."""
    kind = FeedForwardController if controller == "feed-forward" else LstmController
    built = TuringMachine(
        kind(D_INPUT + reads * D_ROW, D_CONTROLLER),
        Addressing(D_CONTROLLER, Parts(D_ROW, **switches), reads),
        Writing(Addressing(D_CONTROLLER, Parts(D_ROW, **switches), writes), D_CONTROLLER, D_ROW),
        rows=ROWS,
        d_key=D_ROW,
    ).double()
    for parameter in built.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return built


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class Plain:
    """The same machine by the paper's equations, one number after another, for one example."""

    def __init__(self, built: TuringMachine, switches: dict[str, int]) -> None:
        self.p = {name: value.detach().numpy() for name, value in built.named_parameters()}
        self.reads, self.writes = built.reading.num_heads, built.writing.addressing.num_heads
        self.switches = {"reach": 1, "interpolates": True, "sharpens": True} | switches
        self.memory = np.full((ROWS, D_ROW), BLANK)
        self.at = {"reading": np.zeros((self.reads, ROWS)), "writing.addressing": np.zeros((self.writes, ROWS))}
        for weights in self.at.values():
            weights[:, 0] = 1
        self.read = self.p["first"].copy()
        if "controller.first" in self.p:
            self.hidden, self.cell = self.p["controller.first"]

    def control(self, shown):
        seen = np.concatenate([shown, self.read])
        if "controller.first" not in self.p:
            return np.tanh(self.p["controller.layer.weight"] @ seen + self.p["controller.layer.bias"])
        of = {name[len("controller.cell.") :]: value for name, value in self.p.items() if "cell." in name}
        gates = of["weight_ih"] @ seen + of["bias_ih"] + of["weight_hh"] @ self.hidden + of["bias_hh"]
        enter, forget, new, leave = gates.reshape(4, -1)
        self.cell = sigmoid(forget) * self.cell + sigmoid(enter) * np.tanh(new)
        self.hidden = sigmoid(leave) * np.tanh(self.cell)
        return self.hidden

    def address(self, kind: str, head: int, state):
        outputs = self.p[f"{kind}.of_controller.weight"] @ state + self.p[f"{kind}.of_controller.bias"]
        outputs = list(outputs.reshape(len(self.at[kind]), -1)[head])
        wanted, rest = np.array(outputs[:D_ROW]), outputs[D_ROW:]
        beta, scores = np.log1p(np.exp(rest.pop(0))), []
        for row in self.memory:
            scores.append(beta * (row @ wanted) / (np.linalg.norm(row) * np.linalg.norm(wanted)))
        weights = np.exp(scores) / np.exp(scores).sum()
        if self.switches["interpolates"]:
            gate = sigmoid(rest.pop(0))
            weights = gate * weights + (1 - gate) * self.at[kind][head]
        if reach := self.switches["reach"]:
            shifts = np.exp([rest.pop(0) for _ in range(2 * reach + 1)])
            shifts, moved = shifts / shifts.sum(), np.zeros(ROWS)
            for row in range(ROWS):
                for distance in range(-reach, reach + 1):
                    moved[(row + distance) % ROWS] += weights[row] * shifts[distance + reach]
            weights = moved
        if self.switches["sharpens"]:
            gamma = 1 + np.log1p(np.exp(rest.pop(0)))
            weights = weights**gamma / (weights**gamma).sum()
        assert rest == []
        return weights

    def step(self, shown):
        state = self.control(shown)
        place = np.array([self.address("writing.addressing", head, state) for head in range(self.writes)])
        outputs = self.p["writing.of_controller.weight"] @ state + self.p["writing.of_controller.bias"]
        erase, add = outputs.reshape(2, self.writes, D_ROW)
        for row in range(ROWS):
            for head in range(self.writes):
                self.memory[row] *= 1 - place[head, row] * sigmoid(erase[head])
            for head in range(self.writes):
                self.memory[row] += place[head, row] * np.tanh(add[head])
        self.at["writing.addressing"] = place
        self.at["reading"] = np.array([self.address("reading", head, state) for head in range(self.reads)])
        self.read = np.concatenate(
            [sum(w * row for w, row in zip(h, self.memory, strict=True)) for h in self.at["reading"]]
        )
        return state


@pytest.mark.parametrize(("controller", "reads", "writes", "switches"), KINDS)
def test_a_whole_episode_is_that_of_the_equations(controller: str, reads: int, writes: int, switches: dict[str, int]):
    built = machine(controller, reads, writes, switches)
    inputs, state = torch.randn(STEPS, BATCH, D_INPUT, dtype=torch.float64), built.start(BATCH)
    plain = [Plain(built, switches) for _ in range(BATCH)]
    for shown in inputs:
        said, state = built(shown, state)
        for example in range(BATCH):
            expected = plain[example].step(shown[example].numpy())
            pairs = [
                (said, expected),
                (state.memory, plain[example].memory),
                (state.reading, plain[example].at["reading"]),
                (state.writing, plain[example].at["writing.addressing"]),
                (state.context, plain[example].read),
            ]
            for found, wanted in pairs:
                np.testing.assert_allclose(found[example].detach().numpy(), wanted, rtol=0, atol=1e-11)


@pytest.mark.parametrize(("controller", "reads", "writes", "switches"), KINDS)
def test_gradients_through_an_episode_are_those_of_central_differences(controller, reads, writes, switches):
    """From a memory that holds something: upon almost nothing, a small difference is a large turn."""
    built = machine(controller, reads, writes, switches)
    blank = built.start(1)
    inputs, memory = torch.randn(3, 1, D_INPUT, dtype=torch.float64), torch.randn(1, ROWS, D_ROW, dtype=torch.float64)

    def run(inputs: torch.Tensor, memory: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
        state = replace(blank, memory=memory, context=built.first.expand(1, -1), controller=built.controller.start(1))
        for shown in inputs:
            _, state = built(shown, state)
        return torch.cat([state.context, state.memory.flatten(1)], dim=-1)

    given = (inputs.requires_grad_(), memory.requires_grad_(), *built.parameters())
    assert torch.autograd.gradcheck(run, given, fast_mode=True)


def test_the_order_of_heads_that_write_does_not_matter():
    memory, weights = torch.randn(2, 5, 3).double(), torch.randn(2, 3, 5).double().softmax(dim=-1)
    erased, added = torch.rand(2, 3, 3).double(), torch.randn(2, 3, 3).double()
    order = [2, 0, 1]
    torch.testing.assert_close(
        write(memory, weights[:, order], erased[:, order], added[:, order]), write(memory, weights, erased, added)
    )


def test_a_write_replaces_a_row_and_leaves_the_others():
    """Weight 1 on row 1, all erased: (1 - 1)M + a there, (1 - 0)M + 0 elsewhere."""
    memory, on_second = torch.randn(1, 3, 2), torch.tensor([[[0.0, 1.0, 0.0]]])
    added = torch.tensor([[[0.5, -0.5]]])
    found = write(memory, on_second, torch.ones(1, 1, 2), added)
    assert found[0, 1].tolist() == [0.5, -0.5]
    assert torch.equal(found[0, [0, 2]], memory[0, [0, 2]])


def test_a_state_can_be_used_twice_and_nothing_is_kept():
    built = machine("lstm", 2, 2, {})
    before = {name: set(vars(module)) for name, module in built.named_modules()}
    shown = torch.randn(BATCH, D_INPUT, dtype=torch.float64)
    _, state = built(shown, built.start(BATCH))
    copies = [each.clone() for each in (state.memory, state.reading, state.writing, state.context, *state.controller)]
    first, after = built(shown, state)
    second, again = built(shown, state)
    assert torch.equal(first, second)
    for field in fields(MachineState):
        if field.name != "controller":
            assert torch.equal(getattr(after, field.name), getattr(again, field.name))
    for copy, now in zip(
        copies, (state.memory, state.reading, state.writing, state.context, *state.controller), strict=True
    ):
        assert torch.equal(copy, now)
    assert {name: set(vars(module)) for name, module in built.named_modules()} == before


def test_weights_of_all_heads_are_heard():
    built = machine("feed-forward", 3, 2, {})
    with capture(built) as heard:
        _, state = built(torch.randn(BATCH, D_INPUT, dtype=torch.float64), built.start(BATCH))
    assert set(heard.weights) == {"reading", "writing.addressing"}
    assert torch.equal(heard.weights["reading"][0][:, :, 0], state.reading)
    assert torch.equal(heard.weights["writing.addressing"][0][:, :, 0], state.writing)
