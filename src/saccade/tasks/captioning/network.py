"""EfficientNet-Lite0 from a file of parameters, to describe images by; docs/captions.md says where to get it."""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file

from saccade.errors import ModelError
from saccade.files import sha256_of
from saccade.nn.images import EfficientNetLite

SIZE = 224
"""Pixels of a side: what it was trained on."""
MEAN, SPREAD = 127.0, 128.0


class EfficientNet:
    """The frozen network, from pixels to grids of 7 × 7 cells with 1280 features each."""

    def __init__(self, path: Path) -> None:
        """`path` is a safetensors file that benchmarks/efficientnet.py wrote."""
        self.network = EfficientNetLite().eval().requires_grad_(False)
        try:
            self.network.load_state_dict(load_file(path))
        except (OSError, SafetensorError, RuntimeError) as error:
            raise ModelError(
                f"{path} must hold the parameters of EfficientNet-Lite0 as benchmarks/efficientnet.py writes them, but "
                f"it cannot be used: {str(error).splitlines()[0]}. Make it again."
            ) from None
        self.checksum = sha256_of(path)

    def __call__(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Grids of these images."""
        channels_first = torch.from_numpy(np.ascontiguousarray(pixels)).permute(0, 3, 1, 2)
        with torch.inference_mode():
            grids: NDArray[np.float32] = self.network((channels_first.float() - MEAN) / SPREAD).numpy()
        return grids
