"""A convolutional network that names something in every cell, with self-attention over its feature map or without."""

from jaxtyping import Float
from torch import Tensor, nn

from saccade.nn.feature_maps import MapAttention
from saccade.tasks.glyphs.glyphs import Glyphs
from saccade.tasks.glyphs.settings import FeatureMapSettings


class FeatureMap(nn.Module):
    """Two convolutions that make a cell of four by four pixels, self-attention, and the scores of the classes."""

    def __init__(self, settings: FeatureMapSettings, num_classes: int) -> None:
        super().__init__()
        self.settings = settings
        d_model, kernel = settings.d_model, settings.kernel
        self.cells = nn.Sequential(
            nn.Conv2d(1, d_model, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(d_model, d_model, 3, stride=2, padding=1),
            nn.ReLU(),
        )
        self.attention = MapAttention(d_model) if settings.attends else nn.Identity()
        self.layers = nn.ModuleList(
            nn.Conv2d(d_model, d_model, kernel, padding=kernel // 2) for _ in range(settings.layers)
        )
        self.output = nn.Conv2d(d_model, num_classes, 1)

    def forward(self, batch: Glyphs) -> Float[Tensor, "batch classes grid_rows grid_columns"]:
        """The logit of every class in every cell."""
        features = self.attention(self.cells(batch.image))
        for layer in self.layers:
            features = layer(features).relu()
        logits: Tensor = self.output(features)
        return logits
