"""Images as grids of vectors, the annotations of Xu et al. 2015 (§3.1.1): a small residual network to be trained, and
EfficientNet-Lite0 with given parameters. A captioner takes any module that gives a grid.
"""

from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import pad, relu, relu6

from saccade.nn.dropout import Dropout
from saccade.nn.positions import sinusoids

Image = Float[Tensor, "batch channels pixel_rows pixel_columns"]
Grid = Float[Tensor, "batch grid_rows grid_columns d_image"]


@runtime_checkable  # so that the shape checks of the tests can look at it
class GivesGrid(Protocol):
    """Anything that reads images, or features of images, as grids of vectors."""

    d_image: int
    """The size of these vectors."""

    def __call__(self, images: Tensor) -> Grid: ...


class Residual(nn.Module):
    """Two convolutions and a way around them (He et al. 2016), without batch norm: company changes nothing."""

    def __init__(self, d_input: int, d_output: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(d_input, d_output, 3, stride, padding=1)
        self.second = nn.Conv2d(d_output, d_output, 3, padding=1)
        self.norms = nn.ModuleList([nn.GroupNorm(_groups(d_output), d_output) for _ in range(2)])
        self.around = nn.Identity() if d_input == d_output and stride == 1 else nn.Conv2d(d_input, d_output, 1, stride)

    def forward(self, grid: Image) -> Float[Tensor, "batch ..."]:
        update = self.norms[1](self.second(relu(self.norms[0](self.first(grid)))))
        return relu(self.around(grid) + update)


class ResidualEncoder(nn.Module):
    """A small network for small images: a cell of its grid stands for 4 × 4 pixels, and knows where it lies.

    Cells are normed before they are told their place: where those with ink are much louder than a place, a decoder
    learns what there is, but not in which order to look. They see 17 pixels, about a digit: with 33, the mean of all
    cells was nearly enough for a decoder (docs/log.md).
    """

    def __init__(self, channels: int, d_image: int) -> None:
        super().__init__()
        self.d_image = d_image
        self.stem = nn.Conv2d(channels, d_image // 2, 5, 2, padding=2)
        self.block = Residual(d_image // 2, d_image, 2)
        self.norm = nn.LayerNorm(d_image)

    def forward(self, images: Image) -> Grid:
        grid: Tensor = self.norm(self.block(relu(self.stem(images))).permute(0, 2, 3, 1))
        return grid + places(grid.shape[1], grid.shape[2], self.d_image).to(grid)


def places(rows: int, columns: int, d_image: int) -> Float[Tensor, "grid_rows grid_columns d_image"]:
    """Sinusoids of a cell's row in the first half of its vector, and of its column in the second."""
    half = d_image // 2
    down, across = sinusoids(rows, half), sinusoids(columns, half)
    return torch.cat([down[:, None].expand(-1, columns, -1), across[None].expand(rows, -1, -1)], dim=-1)


class Features(nn.Module):
    """Grids that another network made beforehand, in vectors of a size that suits the decoder."""

    def __init__(self, d_features: int, d_image: int, dropout: float) -> None:
        super().__init__()
        self.d_image = d_image
        self.norm = nn.LayerNorm(d_features)
        self.mix = nn.Linear(d_features, d_image)
        self.dropout = Dropout(dropout)

    def forward(self, images: Float[Tensor, "batch grid_rows grid_columns d_features"]) -> Grid:
        dropped: Tensor = self.dropout(relu(self.mix(self.norm(images))))
        return dropped


class Blind(nn.Module):
    """Sees nothing: a single cell of zeros, whatever the image. What a decoder says then, it knows from texts."""

    def __init__(self, d_image: int) -> None:
        super().__init__()
        self.d_image = d_image

    def forward(self, images: Float[Tensor, "batch ..."]) -> Grid:
        return images.new_zeros(len(images), 1, 1, self.d_image)


# EfficientNet-Lite0

STAGES = (  # repeats, kernel, stride, expansion, channels (Tan & Le 2019, Table 1; Lite has neither gates nor swish)
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
D_STEM, D_EFFICIENT, NUM_CLASSES = 32, 1280, 1000


class EfficientNetLite(nn.Module):
    """EfficientNet-Lite0 with its batch norms folded into the convolutions: to be filled and asked, not to be trained.

    Its images are RGB, (pixel - 127) / 128, with sides that are multiples of 32.
    """

    def __init__(self) -> None:
        super().__init__()
        self.d_image = D_EFFICIENT
        self.stem = SameConvolution(3, D_STEM, kernel=3, stride=2)
        self.blocks = nn.ModuleList()
        d_input = D_STEM
        for repeats, kernel, stride, expansion, channels in STAGES:
            for again in range(repeats):
                self.blocks.append(InvertedBottleneck(d_input, channels, kernel, 1 if again else stride, expansion))
                d_input = channels
        self.head = SameConvolution(d_input, D_EFFICIENT, kernel=1)
        self.classifier = nn.Linear(D_EFFICIENT, NUM_CLASSES)

    def forward(self, images: Float[Tensor, "batch 3 pixel_rows pixel_columns"]) -> Grid:
        """Vectors of 1280 features, none negative, one for each 32 × 32 pixels."""
        grid = relu6(self.stem(images))
        for block in self.blocks:
            grid = block(grid)
        grid = relu6(self.head(grid))
        return grid.permute(0, 2, 3, 1)


class InvertedBottleneck(nn.Module):
    """Widen, look around in each channel, narrow (Sandler et al. 2018); with a way around where the shape stays."""

    def __init__(self, d_input: int, d_output: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        d_wide = d_input * expansion
        self.widen = SameConvolution(d_input, d_wide, kernel=1) if expansion > 1 else None
        self.look = SameConvolution(d_wide, d_wide, kernel=kernel, stride=stride, groups=d_wide)
        self.narrow = SameConvolution(d_wide, d_output, kernel=1)
        self.goes_around = stride == 1 and d_input == d_output

    def forward(self, grid: Image) -> Float[Tensor, "batch ..."]:
        wide = grid if self.widen is None else relu6(self.widen(grid))
        update: Tensor = self.narrow(relu6(self.look(wide)))
        return grid + update if self.goes_around else update


class SameConvolution(nn.Module):
    """A convolution padded as TensorFlow's "SAME" is: with a stride, what is odd goes below and to the right."""

    def __init__(self, d_input: int, d_output: int, *, kernel: int, stride: int = 1, groups: int = 1) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(d_input, d_output, kernel, stride, groups=groups)
        self.margin = (kernel - stride) if stride > 1 else kernel - 1

    def forward(self, grid: Image) -> Float[Tensor, "batch ..."]:
        before, after = self.margin // 2, self.margin - self.margin // 2
        padded = pad(grid, (before, after, before, after)) if self.margin else grid
        convolved: Tensor = self.convolution(padded)
        return convolved


def _groups(channels: int) -> int:
    """Of about eight channels each."""
    return max(1, channels // 8)
