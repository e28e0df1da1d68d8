"""From settings to a model: the one place that knows every kind."""

from saccade.models.settings import ModelSettings, TransformerSettings
from saccade.models.transformer import Transformer

Model = Transformer


def build(settings: ModelSettings, num_source_tokens: int, num_target_tokens: int) -> Model:
    """A new model with random parameters, drawn from torch's global generator: seed it first."""
    match settings:
        case TransformerSettings():
            return Transformer(settings, num_source_tokens, num_target_tokens)
