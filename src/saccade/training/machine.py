"""What the process asks of the machine before it trains: threads, and memory that is kept rather than given back."""

import os

import torch

from saccade.errors import SettingsError
from saccade.nn import products
from saccade.nn.machine import keep_freed_memory, release_freed_memory
from saccade.nn.products import prefers_onednn

NUM_KERNELS = 128
"""That oneDNN keeps, each up to half a megabyte; batches have ever new shapes. An update needs about thirty."""


def use(device: str, threads: int | None) -> torch.device:
    """Choose the device ("auto" takes a GPU if there is one) and the number of CPU threads."""
    # Of several processes on a machine, each takes a GPU of its own.
    release_freed_memory()  # what preparing the data took
    keep_freed_memory()
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(NUM_KERNELS))
    products.use_onednn(prefers_onednn())
    if threads is not None:
        torch.set_num_threads(threads)
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and "LOCAL_RANK" in os.environ:
        device = f"cuda:{os.environ['LOCAL_RANK']}"
    try:
        chosen = torch.empty(0, device=device).device
        if chosen.type == "cuda":
            torch.cuda.set_device(chosen)  # what names no device, such as NCCL's barriers, means this one
        return chosen
    except (RuntimeError, AssertionError) as error:  # torch raises the latter where it was built without CUDA
        reason = str(error).partition("\n")[0].rstrip(".")
        raise SettingsError(
            "The recipe", [f'training.device must be a device of this machine, not "{device}". PyTorch says: {reason}.']
        ) from None
