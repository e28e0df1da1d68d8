"""Images and captions side by side. An image with several captions is there once, and read once."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from saccade.data.batch import Ids, collate

Moved = TypeVar("Moved", bound="Images")  # not Self, which the shape checks of the tests do not know


@dataclass(frozen=True, slots=True)
class Images:
    """Images to be described: channels × height × width each, or grids of features: rows × columns × features."""

    images: Float[Tensor, "images ..."]

    def to(self: Moved, device: torch.device) -> Moved:
        """The same on another device."""
        return replace(self, **{field.name: getattr(self, field.name).to(device) for field in fields(self)})


@dataclass(frozen=True, slots=True)
class CaptionBatch(Images):
    """Images with known captions, to learn from."""

    image_of: Int[Tensor, " batch"]
    """Which of the images each caption describes."""
    prefix: Int[Tensor, "batch target"]
    """What the decoder reads: BOS, then the caption."""
    target: Int[Tensor, "batch target"]
    """What it should say: the caption, then EOS."""
    target_mask: Bool[Tensor, "batch target"]
    """True where there is a token to say."""

    @property
    def num_targets(self) -> int:
        """Tokens to be said."""
        return int(self.target_mask.sum())


def collate_captions(
    images: Float[Tensor, "images ..."], captions: Sequence[Ids], image_of: Sequence[int] | None = None
) -> CaptionBatch:
    """Pad captions to the longest; each is of the image that `image_of` says, or of its own."""
    texts = collate([[]] * len(captions), captions)
    place = torch.arange(len(captions)) if image_of is None else torch.tensor(image_of)
    return CaptionBatch(images, place, texts.prefix, texts.target, texts.target_mask)
