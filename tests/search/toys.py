"""A model small enough to be searched exhaustively, which insists on being used as the protocol says."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from saccade.search.problem import SearchProblem

BOS, EOS = 0, 1


@dataclass
class Rows:
    """The state: each row's prefix and the source that it belongs to. It may be used once."""

    prefix: Tensor
    source: Tensor
    spent: bool = False

    def spend(self) -> tuple[Tensor, Tensor]:
        assert not self.spent, "a state was used twice: a model may have changed it in place"
        self.spent = True
        return self.prefix, self.source


@dataclass
class Explicit:
    """A random table of log-probabilities, looked up by source and prefix."""

    seed: int = 0
    vocab: int = 4
    sharpness: float = 2.0
    haste: float = 0.0
    """How much likelier than other tokens the end is."""
    dtype: torch.dtype = torch.float64
    rows: list[int] = field(default_factory=list)
    """How many rows each step had."""
    picks: list[list[int]] = field(default_factory=list)

    digests = 101

    def __post_init__(self) -> None:
        random = torch.Generator().manual_seed(self.seed)
        shape = (7, self.digests, self.vocab)
        logits = torch.randn(shape, generator=random, dtype=self.dtype) * self.sharpness
        logits[..., EOS] += self.haste
        self.table = logits.log_softmax(-1)

    def log_probs(self, prefix: Tensor, source: Tensor) -> Tensor:
        return self.table[source.sum(1) % len(self.table), self.digest(prefix)]

    def digest(self, prefix: Tensor) -> Tensor:
        powers = torch.tensor([pow(31, place, self.digests) for place in range(prefix.shape[1])])
        return (prefix * powers).sum(1) % self.digests

    def start(self, memory: Tensor) -> Rows:
        return Rows(torch.empty(len(memory), 0, dtype=torch.long), memory)

    def step(self, last: Tensor, state: Rows) -> tuple[Tensor, Rows]:
        prefix, source = state.spend()
        assert last.shape == (len(prefix),), "every row has one last token"
        assert bool(((last >= 0) & (last < self.vocab)).all()), "a token is of the vocabulary"
        self.rows.append(len(last))
        prefix = torch.cat([prefix, last[:, None]], dim=1)
        return self.log_probs(prefix, source), Rows(prefix, source)

    def pick(self, state: Rows, rows: Tensor) -> Rows:
        prefix, source = state.spend()
        chosen = rows.tolist()
        assert chosen, "an empty batch is not worth a pick"
        assert all(0 <= row < len(prefix) for row in chosen), "picked rows exist"
        assert chosen != list(range(len(prefix))), "a pick that changes nothing costs time"
        self.picks.append(chosen)
        return Rows(prefix[rows], source[rows])


class Uniform(Explicit):
    """Every token is as likely as every other: nothing but ties."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.table = torch.zeros_like(self.table).log_softmax(-1)


@dataclass(frozen=True)
class Replay:
    """What the model itself says of given tokens, step by step."""

    log_probs: list[Tensor]
    tokens: tuple[int, ...]

    @property
    def log_prob(self) -> float:
        return float(sum(step[token] for step, token in zip(self.log_probs, self.tokens, strict=True)))


def replay(model: Explicit, source: Tensor, tokens: Sequence[int]) -> Replay:
    state = model.start(source[None])
    log_probs = []
    for last in (BOS, *tokens[:-1]):
        said, state = model.step(torch.tensor([last]), state)
        log_probs.append(said[0])
    return Replay(log_probs, tuple(tokens))


def sources(batch: int, seed: int = 0) -> Tensor:
    return torch.randint(0, 50, (batch, 5), generator=torch.Generator().manual_seed(seed))


def problem(model, memory, limits, **asked) -> SearchProblem:
    """Sentences of these limits, to be searched; free unless told otherwise."""
    limits = torch.as_tensor(limits, dtype=torch.long)
    return SearchProblem(model=model, memory=memory, limits=limits, bos=BOS, eos=EOS, **asked)
