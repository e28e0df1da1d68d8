"""Local attention against loops over Luong et al. 2015, §3.2: where windows lie, and what is read through them."""

import math

import pytest
import torch
from tests.nn import plain
from tests.nn.padding import padding_mask

from saccade.nn.attention import Attention
from saccade.nn.scores import dot, general
from saccade.nn.windows import LocalMonotonic, LocalPredictive, Windows

D_QUERY, QUERIES, KEYS, REACH = 4, 5, 8, 2
LENGTHS = [8, 5, 1]
CLOSE = {"rtol": 0.0, "atol": 1e-12}
KINDS = ["local-m", "local-m, Gaussian", "local-p"]


def double(numbers: list) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def windows(kind: str) -> Windows:
    torch.manual_seed(1)
    if kind != "local-p":
        return LocalMonotonic(REACH, gaussian=kind.endswith("Gaussian"))
    predictive = LocalPredictive(D_QUERY, 6, REACH).double()
    torch.nn.init.normal_(predictive.of_query.weight)
    torch.nn.init.normal_(predictive.v.weight)  # so that centres lie anywhere, not only in the middle
    return predictive


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def draw(seed: int = 2) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Queries, states, and which of them are real."""
    random = torch.Generator().manual_seed(seed)
    query = torch.randn(len(LENGTHS), QUERIES, D_QUERY, generator=random, dtype=torch.float64)
    states = torch.randn(len(LENGTHS), KEYS, D_QUERY, generator=random, dtype=torch.float64)
    return query.requires_grad_(), states.requires_grad_(), padding_mask(torch.tensor(LENGTHS), KEYS)


def centre_by_hand(windows: Windows, query: plain.Vector, length: int, position: int) -> float:
    """p = t (local-m), or p = (S - 1) · σ(vᵀtanh(Wq)) (local-p, eq. 9 with positions counted from 0)."""
    if isinstance(windows, LocalMonotonic):
        return float(position)
    hidden = plain.product(query, windows.of_query.weight.tolist(), [0.0] * 6)
    share = sum(v * math.tanh(number) for v, number in zip(windows.v.weight[0].tolist(), hidden, strict=True))
    return (length - 1) * plain.sigmoid(share)


def gain_by_hand(windows: Windows, distance: float) -> float:
    """exp(-(s - p)² / 2σ²), σ = D/2 (eq. 10); local-m has none in the paper."""
    if isinstance(windows, LocalMonotonic) and not windows.gaussian:
        return 1.0
    sigma = REACH / 2
    return math.exp(-(distance**2) / (2 * sigma**2))


def weights_by_hand(windows: Windows, query: plain.Vector, states: plain.Matrix, length: int, position: int):
    """Of the real keys in [p - D, p + D]: align(h_t, h_s) · gain (eq. 7 and 10), and not normalised again."""
    centre = centre_by_hand(windows, query, length, position)
    may = [key < length and centre - REACH <= key <= centre + REACH for key in range(len(states))]
    aligned = plain.softmax([plain.dot(query, state) for state in states], may)
    return [weight * gain_by_hand(windows, key - centre) for key, weight in enumerate(aligned)]


@pytest.mark.parametrize("start", [0, 3])
def test_a_window_is_a_mask_and_a_gain(kind: str, start: int):
    own, (query, _, mask) = windows(kind), draw()
    within, gain = own(query, mask, start)
    assert (gain is None) == (kind == "local-m")
    seen = set()
    for row, length in enumerate(LENGTHS):
        for asks in range(QUERIES):
            centre = centre_by_hand(own, query[row, asks].tolist(), length, start + asks)
            for key in range(KEYS):
                at = row if kind == "local-p" else 0, asks, key
                assert within[at].item() == (centre - REACH <= key <= centre + REACH)
                seen.add(within[at].item())
                if gain is not None:
                    assert gain[at].item() == pytest.approx(gain_by_hand(own, key - centre), abs=1e-12)
    assert seen == {True, False}


@pytest.mark.parametrize("start", [0, 3])
def test_attention_through_windows_is_the_plain_loop(kind: str, start: int):
    attention, (query, states, mask) = Attention(dot(), windows=windows(kind)), draw()
    memory = attention.memory(states, mask)
    found, read = attention.attend(query, memory, start), attention(query, memory, start)
    for row, length in enumerate(LENGTHS):
        for asks in range(QUERIES):
            weights = weights_by_hand(
                attention.windows, query[row, asks].tolist(), states[row].tolist(), length, start + asks
            )
            torch.testing.assert_close(found.weights[row, asks], double(weights), **CLOSE)
            context = double(plain.mixture(weights, states[row].tolist()))
            torch.testing.assert_close(found.context[row, asks], context, **CLOSE)
            torch.testing.assert_close(read.context[row, asks], context, **CLOSE)


def test_local_m_by_hand():
    """D = 1, so target position 2 looks at source positions 1, 2 and 3; with scores of zero each gets a third.

    With a Gaussian σ = ½, and a neighbour gets exp(-1 / (2 · ¼)) = e⁻² of its third, which nobody else gets.
    """
    query, states = torch.zeros(1, 1, 4, dtype=torch.float64), torch.zeros(1, 6, 4, dtype=torch.float64)
    for gaussian, beside in ((False, 1.0), (True, math.exp(-2))):
        attention = Attention(dot(), windows=LocalMonotonic(1, gaussian=gaussian))
        weights = attention.attend(query, attention.memory(states), 2).weights
        third = 1 / 3
        expected = [[[0.0, third * beside, third, third * beside, 0.0, 0.0]]]
        torch.testing.assert_close(weights, double(expected), **CLOSE)


def test_local_p_by_hand():
    """v = 0 makes σ(0) = ½: the centre is the middle, (S - 1) / 2, of each source, whatever its padding.

    D = 2, so σ = 1. Of S = 5 it is 2: positions 0 to 4 with gains e^(-d²/2). Of S = 2 it is ½: both, with gains e^(-⅛).
    """
    local = LocalPredictive(4, 3, reach=2).double()
    torch.nn.init.zeros_(local.v.weight)
    query, states = torch.ones(2, 1, 4, dtype=torch.float64), torch.zeros(2, 7, 4, dtype=torch.float64)
    mask = padding_mask(torch.tensor([5, 2]), 7)
    assert local.centre(query, mask).tolist() == [[2.0], [0.5]]
    attention = Attention(dot(), windows=local)
    weights = attention.attend(query, attention.memory(states, mask)).weights[:, 0]
    far, near, half = math.exp(-2), math.exp(-1 / 2), math.exp(-1 / 8)
    expected = [[far / 5, near / 5, 1 / 5, near / 5, far / 5, 0.0, 0.0], [half / 2, half / 2, 0.0, 0.0, 0.0, 0.0, 0.0]]
    torch.testing.assert_close(weights, double(expected), **CLOSE)


@pytest.mark.parametrize("share", [-1e4, 1e4])
def test_a_predicted_centre_goes_from_the_first_position_to_the_last(share: float):
    local = LocalPredictive(1, 1, reach=1).double()
    torch.nn.init.constant_(local.of_query.weight, 100.0)
    torch.nn.init.constant_(local.v.weight, share)
    centre = local.centre(torch.ones(3, 1, 1, dtype=torch.float64), padding_mask(torch.tensor([6, 1, 0]), 6))
    assert centre.tolist() == [[5.0 if share > 0 else 0.0], [0.0], [0.0]]


def test_weights_through_a_gain_sum_to_less_than_one():
    """They are lowered after the softmax, and not normalised again."""
    attention, (query, states, mask) = Attention(dot(), windows=windows("local-p")), draw()
    total = attention.attend(query, attention.memory(states, mask)).weights.sum(dim=-1)[:2]
    assert bool(((total > 0.05) & (total < 0.999)).all())


@pytest.mark.parametrize("gaussian", [False, True])
def test_a_target_that_runs_beyond_its_source_reads_nothing(gaussian: bool):
    """Of 3 positions and D = 2, target position 4 sees the last one, and 5 none."""
    attention = Attention(general(D_QUERY, D_QUERY).double(), windows=LocalMonotonic(REACH, gaussian=gaussian))
    query, states, _ = draw()
    mask = padding_mask(torch.tensor([8, 3, 0]), KEYS)
    found = attention.attend(query, attention.memory(states, mask), start=3)
    assert found.weights[1].count_nonzero(dim=-1).tolist() == [2, 1, 0, 0, 0]
    assert not found.weights[2].any()
    assert not found.context[1, 2:].any()
    assert not found.context[2].any()
    found.context.square().sum().backward()
    for given in (query, states, *attention.parameters()):
        assert bool(given.grad.isfinite().all())
        assert bool(given.grad[0].any())
    assert not query.grad[1, 2:].any()


def test_each_row_is_as_if_it_were_alone(kind: str):
    attention, (query, states, mask) = Attention(dot(), windows=windows(kind)), draw()
    together = attention.attend(query, attention.memory(states, mask), 1)
    for row, length in enumerate(LENGTHS):
        alone = attention.attend(query[row, None], attention.memory(states[row, None, :length]), 1)
        torch.testing.assert_close(together.context[row], alone.context[0], **CLOSE)
        torch.testing.assert_close(together.weights[row, :, :length], alone.weights[0], **CLOSE)


def test_one_query_at_a_time_is_all_at_once(kind: str):
    attention, (query, states, mask) = Attention(dot(), windows=windows(kind)), draw()
    memory = attention.memory(states, mask)
    whole = attention(query, memory, 2).context
    for asks in range(QUERIES):
        one = attention(query[:, asks : asks + 1], memory, 2 + asks).context
        torch.testing.assert_close(one[:, 0], whole[:, asks], **CLOSE)


def test_what_predicts_the_centre_is_learned():
    """By central differences. A key at the very edge of a window would come and go, so there must be none."""
    attention, (query, states, mask) = Attention(dot(), windows=windows("local-p")), draw()
    local = attention.windows
    distance = (torch.arange(KEYS) - local.centre(query, mask)[..., None]).abs() - REACH
    assert distance[:2].abs().min() > 1e-3  # the last source has one position, and its centre cannot move

    def context(query: torch.Tensor, states: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
        return attention.attend(query, attention.memory(states, mask)).context

    parameters = [local.of_query.weight, local.v.weight]
    assert torch.autograd.gradcheck(context, (query, states, *parameters))
    for gradient in torch.autograd.grad(context(query, states).square().sum(), parameters):
        assert bool(gradient.all())
