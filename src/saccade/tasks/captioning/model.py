"""What is in an image, in words: Show, Attend and Tell (Xu et al. 2015), and a Transformer's decoder in its place."""

from abc import abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from saccade.models.encoder_decoder import State, Writer, embedding_table
from saccade.models.transformer import TransformerState, TransformerWriter
from saccade.nn.attention import Attention, Memory
from saccade.nn.axes import RowStates, RowTokens, TargetStates
from saccade.nn.captions import CaptionState, MeanVector, ShowAttendTell
from saccade.nn.capture import active_capture
from saccade.nn.dropout import Dropout
from saccade.nn.hard import HardAttention
from saccade.nn.images import Blind, Features, GivesGrid, ResidualEncoder
from saccade.nn.positions import Positions
from saccade.nn.recurrent import Reader, RecurrentShape
from saccade.nn.scores import Additive
from saccade.nn.transformer import AttentionDecoderLayer, LayerShape
from saccade.protocol import Learned
from saccade.tasks.captioning.batch import CaptionBatch, Images
from saccade.tasks.captioning.settings import CaptionerSettings

TOGETHER = 16
"""Captions whose padding ends together. They are learned from the longest to the shortest, so that the decoder goes on
with ever fewer of them: the longest caption of a batch is more than twice as long as the mean."""


class Captioner(Writer[Memory, State]):
    """Any network that gives a grid, and a decoder of either kind."""

    def __init__(self, settings: CaptionerSettings, encoder: GivesGrid, num_tokens: int) -> None:
        super().__init__()
        self.settings = settings
        self.encoder = encoder
        self.target_embedding = embedding_table(num_tokens, settings.d_model)
        # Not tied: in L_o(Ey + …) with L_o = E, every word would first of all want to be said again.
        self.output_embedding = embedding_table(num_tokens, settings.d_model)
        self.output_bias = None
        self.dropout = Dropout(settings.dropout)

    def encode(self, sources: Images) -> Memory:
        """The cells of each image, row by row."""
        cells = self.encoder(sources.images).flatten(1, 2)
        return Memory(cells, cells)

    def forward(self, batch: CaptionBatch) -> TargetStates:
        return self.learn(batch).hidden

    @abstractmethod
    def learn(self, batch: CaptionBatch) -> Learned:
        """Teacher forcing, with all that a loss may want to know."""


class RecurrentCaptioner(Captioner[CaptionState]):
    """The paper's: an LSTM that looks at the image before every word."""

    def __init__(self, settings: CaptionerSettings, encoder: GivesGrid, num_tokens: int) -> None:
        super().__init__(settings, encoder, num_tokens)
        shape = RecurrentShape(cell="lstm", d_model=settings.d_model, num_layers=1, dropout=settings.dropout)
        self.decoder = ShowAttendTell(shape, _reader(settings, encoder.d_image), encoder.d_image)

    @property
    def draws_from_torch(self) -> bool:
        """The choices of hard attention are torch's."""
        return self.settings.attention == "hard"

    def learn(self, batch: CaptionBatch) -> Learned:
        """Teacher forcing, with where the decoder looked and what it left to chance."""
        lengths = batch.target_mask.sum(dim=1)
        if active_capture():  # which wants every step, with all captions in their order
            lengths = torch.full_like(lengths, batch.prefix.shape[1])
        lengths, order = lengths.sort(descending=True, stable=True)
        state = self.pick(self.start(self.encode(batch)), batch.image_of[order])
        embedded = self.embed(self.target_embedding, batch.prefix)[order]
        learned, begin = [], 0
        for rows, end in _stages(lengths.tolist()):
            decoded, state = self.decoder(
                embedded[:rows, begin:end], state.pick(torch.arange(rows, device=order.device))
            )
            read, begin = decoded.read, end
            learned.append(Learned(decoded.hidden, read.log_prob, read.entropy, read.weights))
        shape, places = embedded.shape[:2], order.argsort()
        hidden, *others = ([each for each in column if each is not None] for column in zip(*learned, strict=True))
        whole = (_joined(each, shape)[places] if each else None for each in others)
        return Learned(_joined(hidden, shape)[places], *whole)

    def start(self, memory: Memory) -> CaptionState:
        """Prepare the cells for being looked at; nothing has been said."""
        return self.decoder.start(memory.values, memory.mask)

    def advance(self, last: RowTokens, state: CaptionState) -> tuple[RowStates, CaptionState]:
        decoded, state = self.decoder(self.embed(self.target_embedding, last[:, None]), state)
        return decoded.hidden[:, 0], state


class TransformerCaptioner(Captioner[TransformerState], TransformerWriter):
    """Every layer of the decoder attends to the cells, in several heads."""

    def __init__(self, settings: CaptionerSettings, encoder: GivesGrid, num_tokens: int) -> None:
        super().__init__(settings, encoder, num_tokens)
        shape = LayerShape(
            d_model=settings.d_model,
            d_feedforward=settings.d_feedforward,
            num_heads=settings.num_heads,
            activation="relu",
            dropout=settings.dropout,
            attention_dropout=0.0,
            activation_dropout=0.0,
            norm_first=True,
        )
        self.positions = Positions(settings.d_model)
        self.decoder = nn.ModuleList(AttentionDecoderLayer(shape, source="image") for _ in range(settings.layers))
        self.decoder_norm = nn.LayerNorm(settings.d_model)

    def learn(self, batch: CaptionBatch) -> Learned:
        """Teacher forcing, all positions at once."""
        state = self.pick(self.start(self.encode(batch)), batch.image_of)
        states = self.embed(self.target_embedding, batch.prefix)
        for layer, image in zip(self._decoder, state.source, strict=True):
            states, _ = layer(states, image)
        return Learned(self.decoder_norm(states))


def _stages(lengths: Sequence[int]) -> list[tuple[int, int]]:
    """For captions from the longest to the shortest: of how many the decoder goes on, and to which position."""
    ends = {lengths[first]: min(first + TOGETHER, len(lengths)) for first in range(0, len(lengths), TOGETHER)}
    return [(ends[end], end) for end in sorted(ends)]


def _joined(parts: Sequence[Tensor], shape: Sequence[int]) -> Tensor:
    """Stages one after another, with zeros where there is nothing."""
    rows, length = shape
    whole = torch.cat([pad(part, (0, 0) * (part.dim() - 1) + (0, rows - len(part))) for part in parts], dim=1)
    return pad(whole, (0, 0) * (whole.dim() - 2) + (0, length - whole.shape[1]))


AnyCaptioner = RecurrentCaptioner | TransformerCaptioner


def captioner(settings: CaptionerSettings, num_tokens: int, depth: int) -> AnyCaptioner:
    """A new model with random parameters, for images with so many channels, or cells with so many features."""
    encoder = _encoder(settings, depth)
    match settings.decoder:
        case "lstm":
            return RecurrentCaptioner(settings, encoder, num_tokens)
        case "transformer":
            return TransformerCaptioner(settings, encoder, num_tokens)


def _encoder(settings: CaptionerSettings, depth: int) -> GivesGrid:
    match settings.encoder:
        case "features":
            return Features(depth, settings.d_model, settings.dropout)
        case "residual":
            return ResidualEncoder(depth, settings.d_model)
        case "blind":
            return Blind(settings.d_model)


def _reader(settings: CaptionerSettings, d_image: int) -> Reader:
    """What the decoder reads the image with."""
    score = Additive(settings.d_model, d_image, settings.d_model)
    match settings.attention:
        case "soft":
            return Attention(score, kind="image")
        case "hard":
            return HardAttention(score, sampling=settings.sampling, kind="image")
        case "mean":
            return MeanVector()
