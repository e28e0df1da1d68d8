"""A search among candidates against one over the whole vocabulary with everything else at -inf: the readable twin."""

from collections.abc import Sequence
from itertools import chain

import numpy as np
import pytest
import torch
from tests.contracts.models import SOURCES, every_model, taught_model

from saccade.engines import torch as engines
from saccade.engines.torch import TorchEngine
from saccade.models.build import Model
from saccade.search.constraints import FREE, Constraints
from saccade.search.hypothesis import Hypothesis
from saccade.search.settings import SearchSettings
from saccade.search.shortlist import Shortlist
from saccade.text.tokenizer import EOS

NAMES = ["SSRU", "bahdanau"]
SEARCHES = {
    "greedy": SearchSettings(beam=1),
    "beam": SearchSettings(beam=4, n_best=4),
    "exact": SearchSettings(beam=3, n_best=2, stopping="exact"),
    "rules": SearchSettings(beam=3, min_length=4, no_repeat_ngram=2, max_repeats=1),
    "diverse": SearchSettings(method="diverse", beam=4, n_best=4, groups=2),
    "sampling": SearchSettings(method="sampling", n_best=4, temperature=2.0),
    "top-k": SearchSettings(method="sampling", n_best=2, top_k=3, top_p=0.9),
    "alternatives": SearchSettings(method="alternatives", beam=2, n_best=3),
    "no unknown": SearchSettings(beam=3, unknown=False),
}
HELD = [
    Constraints(prefix=(5, 4)),
    Constraints(banned=((4,), (8, 6))),
    FREE,
    Constraints(required=((7, 5),)),
    Constraints(prefix=(9,), banned=((10,),), required=((6,),)),
]


@pytest.fixture(scope="module")
def shortlist() -> Shortlist:
    """Of few tokens, so that it leaves out what would have been written."""
    rng = np.random.default_rng(1)
    always = np.array([0, 1, 2, 3, 5], np.int32)
    return Shortlist(always, np.arange(0, 31, 2), rng.integers(4, 11, size=30).astype(np.int32))


class Masked:
    """Keeps `Decodes`: all that is not among a sentence's candidates is never written."""

    def __init__(self, model: Model, allowed: torch.Tensor) -> None:
        self.model, self.allowed = model, allowed

    def start(self, memory):
        return self.model.start(memory), self.allowed

    def step(self, last, state):
        inner, allowed = state
        said, inner = self.model.step(last, inner)
        return said.masked_fill(~allowed, -torch.inf).log_softmax(dim=-1), (inner, allowed)

    def pick(self, state, rows):
        return self.model.pick(state[0], rows), state[1][rows]


class TwinEngine(TorchEngine):
    """The same engine with the readable twin of `Shortlisted`."""

    def _shortlisted(self, sources, settings, constraints):
        return None

    def _problem(self, sources, memory, settings, constraints):
        problem = super()._problem(sources, memory, settings, constraints)
        allowed = torch.zeros(len(sources), len(self.model.output_weight), dtype=torch.bool)
        for row, source in enumerate(sources):
            held = problem.constraints_of(row)
            allowed[row, [*self.shortlist.candidates([*source, EOS]), *held.prefix, *chain(*held.required)]] = True
        return engines.replace(problem, model=Masked(self.model, allowed))


def same(found: Sequence[Sequence[Hypothesis]], expected: Sequence[Sequence[Hypothesis]]) -> None:
    for one, other in zip(chain(*found), chain(*expected), strict=True):
        assert (one.ids, one.finished, one.unmet) == (other.ids, other.finished, other.unmet)
        assert (one.log_prob, one.score) == pytest.approx((other.log_prob, other.score), abs=1e-9)


@pytest.mark.parametrize("constraints", [(), HELD], ids=["free", "held"])
@pytest.mark.parametrize("search", SEARCHES)
def test_searches_find_what_the_twin_finds(search: str, constraints: list[Constraints], shortlist: Shortlist):
    if constraints and SEARCHES[search].method in ("diverse", "sampling"):
        constraints = [Constraints(prefix=held.prefix, banned=held.banned) for held in constraints]
    for name in NAMES[:1] if constraints else NAMES:
        model = taught_model(name)
        given = [[id % len(every_model()[name].tokenizers().source) for id in source] for source in SOURCES]
        narrow, twin = (kind(model, shortlist) for kind in (TorchEngine, TwinEngine))
        found = narrow.translate(given, SEARCHES[search], constraints=constraints)
        same(found, twin.translate(given, SEARCHES[search], constraints=constraints))
        alone = [
            narrow.translate([source], SEARCHES[search], constraints=constraints[at : at + 1])[0]
            for at, source in enumerate(given)
        ]
        same(found, alone)


def test_it_changes_what_is_found_unless_switched_off(shortlist: Shortlist):
    model = taught_model("SSRU")
    free, limited = TorchEngine(model), TorchEngine(model, shortlist)
    settings = SearchSettings(beam=3, n_best=3)
    same(
        limited.translate(SOURCES, SearchSettings(beam=3, n_best=3, shortlist=False)), free.translate(SOURCES, settings)
    )
    found = limited.translate(SOURCES, settings)
    assert found != free.translate(SOURCES, settings)
    for source, hypotheses in zip(SOURCES, found, strict=True):
        allowed = set(shortlist.candidates([*source, EOS]).tolist())
        assert all(set(hypothesis.ids) <= allowed for hypothesis in hypotheses)


def test_streams_are_narrowed_too(shortlist: Shortlist):
    engine, greedy, last = TorchEngine(taught_model("SSRU"), shortlist), SearchSettings(beam=1), []
    for source, held in zip(SOURCES, HELD, strict=True):
        constraints = Constraints(prefix=held.prefix, banned=held.banned)

        def tokens(source=source, constraints=constraints):
            last.append((yield from engine.stream(source, greedy, constraints=constraints)))

        written = tuple(tokens())
        ((expected,),) = engine.translate([source], greedy, constraints=[constraints])
        assert (written, last[-1]) == (expected.ids, expected)


def test_nothing_to_translate(shortlist: Shortlist):
    assert TorchEngine(taught_model("SSRU"), shortlist).translate([], SearchSettings()) == []
