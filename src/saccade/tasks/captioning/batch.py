"""Images and captions side by side. An image with several captions is there once, and read once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from saccade.data.batch import Ids, KnownTargets, OnDevice, collate
from saccade.tasks.captioning.features import Features


@dataclass(frozen=True, slots=True)
class Images(OnDevice):
    """Images to be described: channels × height × width each, or grids of features: rows × columns × features."""

    images: Float[Tensor, "images ..."]


@dataclass(frozen=True, slots=True)
class CaptionBatch(KnownTargets, Images):
    """Images with known captions."""

    image_of: Int[Tensor, " batch"]
    """Which of the images each caption describes."""


def collate_captions(
    images: Float[Tensor, "images ..."], captions: Sequence[Ids], image_of: Sequence[int] | None = None
) -> CaptionBatch:
    """Pad captions to the longest; each is of the image that `image_of` says, or of its own."""
    texts = collate([[]] * len(captions), captions)
    place = torch.arange(len(captions)) if image_of is None else torch.tensor(image_of)
    return CaptionBatch(images, texts.prefix, texts.target, texts.target_mask, place)


class CaptionCorpus:
    """Many images with their captions in tokens. Which of them stand in a batch is a pure function of its number."""

    def __init__(self, features: Features, names: Sequence[str], captions: Sequence[Sequence[Ids]]) -> None:
        """Of image n the name and the captions stand at place n."""
        assert len(names) == len(captions)
        self.features = features
        self.names = names
        self.captions = captions

    def __len__(self) -> int:
        """How many images."""
        return len(self.names)

    def num_batches(self, images: int) -> int:
        """Batches of so many images in an epoch; those left over wait for the next."""
        return max(1, len(self) // images)

    def chosen(self, number: int, *, images: int, seed: int) -> list[int]:
        """Which images the batch of this number holds; every epoch has an order of its own."""
        epoch, place = divmod(number, self.num_batches(images))
        order = np.random.default_rng((seed, epoch)).permutation(len(self))
        return [int(image) for image in np.sort(order[place * images : (place + 1) * images])]

    def of(self, chosen: Sequence[int]) -> CaptionBatch:
        """These images, with all their captions."""
        grids = torch.from_numpy(self.features.of([self.names[image] for image in chosen]))
        owners = [at for at, image in enumerate(chosen) for _ in self.captions[image]]
        return collate_captions(grids, [caption for image in chosen for caption in self.captions[image]], owners)
