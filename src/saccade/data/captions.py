"""Images and captions side by side. An image with several captions is there once, and read once."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from saccade.data.batch import Ids, collate
from saccade.data.features import Grids

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


class CaptionCorpus:
    """Many images with their captions in tokens. Which of them stand in a batch is a pure function of its number."""

    def __init__(self, features: Grids, captions: Sequence[Sequence[Ids]]) -> None:
        """`features` are those of image n at place n, as are its captions."""
        assert len(features) == len(captions)
        self.features = features
        self.captions = captions

    def num_batches(self, images: int) -> int:
        """Batches of so many images in an epoch; those left over wait for the next."""
        return max(1, len(self.captions) // images)

    def batch(self, number: int, *, images: int, seed: int) -> CaptionBatch:
        """So many images, with all their captions; every epoch has an order of its own."""
        epoch, place = divmod(number, self.num_batches(images))
        order = np.random.default_rng((seed, epoch)).permutation(len(self.captions))
        chosen = np.sort(order[place * images : (place + 1) * images])
        return self.of(chosen.tolist())

    def of(self, chosen: Sequence[int]) -> CaptionBatch:
        """These images, with all their captions."""
        grids = torch.from_numpy(self.features[list(chosen)].astype(np.float32))
        owners = [at for at, image in enumerate(chosen) for _ in self.captions[image]]
        return collate_captions(grids, [caption for image in chosen for caption in self.captions[image]], owners)
