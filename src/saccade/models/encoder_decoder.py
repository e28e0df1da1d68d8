"""What all encoder-decoders have in common: embeddings and the output layer. A `Writer` may read anything."""

import math
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from saccade.data.batch import Batch, Sources
from saccade.models.settings import ModelSettings
from saccade.nn.attention import Picks
from saccade.nn.axes import RowStates, RowTokens, States, TargetStates
from saccade.nn.dropout import Dropout
from saccade.protocol import Learned

Encoded = TypeVar("Encoded")
State = TypeVar("State", bound=Picks)


class Writer(nn.Module, ABC, Generic[Encoded, State]):
    """Keeps `Decodes` of protocol.py: writes tokens one by one. A kind of model adds how it starts and advances."""

    target_embedding: nn.Embedding
    output_embedding: nn.Embedding
    output_bias: nn.Parameter | None
    dropout: Dropout

    @property
    def draws_from_torch(self) -> bool:
        """Whether training draws from torch's own generator, which threads share, and not from nn/dropout.py alone."""
        return False

    @abstractmethod
    def start(self, memory: Encoded) -> State:
        """The state before the first token, one row per sentence of the memory."""

    @abstractmethod
    def advance(self, last: RowTokens, state: State) -> tuple[RowStates, State]:
        """Read one token a row: the decoder's last states, from which `step` says what may follow."""

    def pick(self, state: State, rows: Int[Tensor, " picked"]) -> State:
        """The state of these rows, in this order."""
        picked: State = state.pick(rows)
        return picked

    def step(self, last: RowTokens, state: State) -> tuple[Float[Tensor, "rows vocab"], State]:
        """Read the last token of every row and say what may follow."""
        hidden, state = self.advance(last, state)
        return self.logits(hidden).log_softmax(dim=-1), state

    def logits(self, hidden: Float[Tensor, "*positions d_model"]) -> Float[Tensor, "*positions vocab"]:
        """How well each token of the target vocabulary would come next."""
        return nn.functional.linear(hidden, self.output_weight, self.output_bias)

    def readout(
        self, hidden: Float[Tensor, "*positions d_model"]
    ) -> tuple[Float[Tensor, "*positions d_readout"], Float[Tensor, "vocab d_readout"]]:
        """Hidden states and the matrix whose product with them are the logits; a bias is a column more of it."""
        if self.output_bias is None:
            return hidden, self.output_weight
        ones = hidden.new_ones(*hidden.shape[:-1], 1)
        return torch.cat([hidden, ones], dim=-1), torch.cat([self.output_weight, self.output_bias[:, None]], dim=-1)

    @property
    def output_weight(self) -> Float[Tensor, "vocab d_model"]:
        """What turns hidden states into logits; with tied embeddings, the target's."""
        return self.output_embedding.weight

    def embed(self, embedding: nn.Embedding, ids: Int[Tensor, "batch positions"], start: int = 0) -> States:
        """Vectors of about unit size, with dropout. Some kinds of model add positions, from `start` on."""
        embedded: Tensor = self.dropout(scaled(embedding, ids))
        return embedded


class EncoderDecoder(Writer[Encoded, State]):
    """Reads a source of tokens. A kind of model adds how it encodes."""

    def __init__(
        self, settings: ModelSettings, num_source_tokens: int, num_target_tokens: int, output_bias: bool = False
    ) -> None:
        super().__init__()
        embeddings, d_model = settings.embeddings, settings.d_model
        self.target_embedding = embedding_table(num_target_tokens, d_model)
        self.source_embedding = (
            self.target_embedding if embeddings == "shared" else embedding_table(num_source_tokens, d_model)
        )
        self.output_embedding = (
            embedding_table(num_target_tokens, d_model) if embeddings == "separate" else self.target_embedding
        )
        self.output_bias = nn.Parameter(torch.zeros(num_target_tokens)) if output_bias else None
        self.dropout = Dropout(settings.dropout)

    @abstractmethod
    def encode(self, sources: Sources) -> Encoded:
        """Read the source once."""

    @abstractmethod
    def forward(self, batch: Batch) -> TargetStates:
        """Teacher forcing: the decoder's last states at every position of a known target."""

    def learn(self, batch: Batch) -> Learned:
        """Teacher forcing, with all that a loss may want to know."""
        return Learned(self(batch))


def embedding_table(num_tokens: int, d_model: int) -> nn.Embedding:
    """Scaled down by √d here and up again where it is read, so that the output layer can share it."""
    embedding = nn.Embedding(num_tokens, d_model)
    nn.init.normal_(embedding.weight, std=d_model**-0.5)
    return embedding


def scaled(embedding: nn.Embedding, ids: Int[Tensor, "batch positions"]) -> States:
    """Vectors of about unit size."""
    vectors: Tensor = embedding(ids) * math.sqrt(embedding.embedding_dim)
    return vectors
