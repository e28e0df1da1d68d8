"""From settings to a model: the one place that knows every kind."""

from typing import Any

from saccade.models.convolutional import Convolutional
from saccade.models.encoder_decoder import EncoderDecoder
from saccade.models.recurrent import Recurrent
from saccade.models.settings import ConvolutionalSettings, ModelSettings, RecurrentSettings, TransformerSettings
from saccade.models.transformer import Transformer

Model = EncoderDecoder[Any, Any]


def build(settings: ModelSettings, num_source_tokens: int, num_target_tokens: int) -> Model:
    """A new model with random parameters, drawn from torch's global generator: seed it first."""
    match settings:
        case TransformerSettings():
            return Transformer(settings, num_source_tokens, num_target_tokens)
        case RecurrentSettings():
            return Recurrent(settings, num_source_tokens, num_target_tokens)
        case ConvolutionalSettings():
            return Convolutional(settings, num_source_tokens, num_target_tokens)
