"""The recurrent encoder-decoder: with a fixed vector, with Bahdanau's attention, with Luong's."""

import torch
from jaxtyping import Int
from torch import Tensor

from saccade.data.batch import Batch, Sources
from saccade.models.encoder_decoder import EncoderDecoder
from saccade.models.settings import AttentionSettings, RecurrentSettings
from saccade.nn.attention import Attention
from saccade.nn.axes import RowStates, RowTokens, SourceMask, TargetStates
from saccade.nn.hard import HardAttention
from saccade.nn.normalise import Normalise, masked_entmax, masked_softmax, masked_sparsemax
from saccade.nn.recurrent import (
    AttendAfter,
    AttendBefore,
    DecoderState,
    Encoded,
    FixedVector,
    NoVector,
    Reader,
    RecurrentEncoder,
    RecurrentShape,
)
from saccade.nn.scores import Additive, Cosine, Location, Score, dot, general, scaled_dot
from saccade.nn.windows import LocalMonotonic, LocalPredictive, Windows
from saccade.protocol import Learned

NORMALISE: dict[str, Normalise] = {"softmax": masked_softmax, "sparsemax": masked_sparsemax, "entmax": masked_entmax}


class Recurrent(EncoderDecoder[Encoded, DecoderState]):
    """A recurrent encoder, and a decoder that attends before or after its step."""

    def __init__(self, settings: RecurrentSettings, num_source_tokens: int, num_target_tokens: int) -> None:
        super().__init__(settings, num_source_tokens, num_target_tokens)
        self.settings = settings
        shape = RecurrentShape(
            cell=settings.cell, d_model=settings.d_model, num_layers=settings.layers, dropout=settings.dropout
        )
        self.encoder = RecurrentEncoder(shape, bidirectional=settings.bidirectional)
        reader, d_context = _reader(settings)
        self.decoder: AttendBefore | AttendAfter
        if settings.attend == "before":
            self.decoder = AttendBefore(
                shape, reader, d_context, loops=settings.attends, maxout=settings.readout == "maxout"
            )
        else:
            self.decoder = AttendAfter(shape, reader, d_context, feeds=settings.input_feeding)

    @property
    def draws_from_torch(self) -> bool:
        """Dropout between the layers is torch's, and so are the choices of hard attention."""
        settings = self.settings
        return settings.attention.positions == "hard" or (settings.layers > 1 and settings.dropout > 0)

    def encode(self, sources: Sources) -> Encoded:
        """Read the source once, forwards and backwards."""
        source, mask = sources.source, sources.source_mask
        order = _reversed_order(mask) if self.settings.reverses_source else None
        read = source if order is None else source.gather(1, order)
        encoded: Encoded = self.encoder(self.embed(self.source_embedding, read), mask)
        if order is None:
            return encoded
        return encoded._replace(states=encoded.states.take_along_dim(order[..., None], dim=1))  # its own inverse

    def forward(self, batch: Batch) -> TargetStates:
        return self.learn(batch).hidden

    def learn(self, batch: Batch) -> Learned:
        """Teacher forcing, with the choices of hard attention."""
        embedded = self.embed(self.target_embedding, batch.prefix)
        decoded, _ = self.decoder(embedded, self.start(self.encode(batch)))
        return Learned(decoded.hidden, decoded.read.log_prob, decoded.read.entropy)

    def start(self, memory: Encoded) -> DecoderState:
        """Prepare the source for being read; nothing has been said."""
        source = self.decoder.cross_attention.memory(memory.states, memory.mask)
        return DecoderState(memory.last, source, feed=torch.zeros_like(memory.last.hidden[-1]))

    def advance(self, last: RowTokens, state: DecoderState) -> tuple[RowStates, DecoderState]:
        decoded, state = self.decoder(self.embed(self.target_embedding, last[:, None]), state)
        return decoded.hidden[:, 0], state


def _reader(settings: RecurrentSettings) -> tuple[Reader, int]:
    """What the decoder reads its source with, and the size of what it reads."""
    attention, d_model = settings.attention, settings.d_model
    match attention.positions:
        case "none":
            return NoVector(), 0
        case "fixed":
            return FixedVector(d_model // 2 if settings.bidirectional else d_model), d_model
        case "hard":
            return HardAttention(_score(attention, d_model), sampling=attention.sampling, kind="cross"), d_model
    score, windows = _score(attention, d_model), _windows(attention, d_model)
    return Attention(score, normalise=NORMALISE[attention.normalise], windows=windows, kind="cross"), d_model


def _windows(settings: AttentionSettings, d_model: int) -> Windows | None:
    match settings.positions:
        case "local-m":
            return LocalMonotonic(settings.window, gaussian=settings.gaussian)
        case "local-p":
            return LocalPredictive(d_model, d_model, settings.window)
    return None


def _score(settings: AttentionSettings, d_model: int) -> Score:
    """Decoder states and encoder states have the same size, so that every score can be asked for."""
    match settings.score:
        case "additive":
            return Additive(d_model, d_model, d_model)
        case "dot":
            return dot()
        case "scaled-dot":
            return scaled_dot(d_model)
        case "general":
            return general(d_model, d_model)
        case "cosine":
            return Cosine()
        case "location":
            return Location(d_model, settings.num_positions, truncates=settings.truncates)


def _reversed_order(mask: SourceMask) -> Int[Tensor, "batch source"]:
    """Every source backwards (Sutskever et al. 2014, §3.3); its end and its padding stay where they are."""
    place = torch.arange(mask.shape[1], device=mask.device)
    last = mask.sum(dim=1, keepdim=True) - 1
    return torch.where(place < last, last - 1 - place, place)
