"""How torch uses the machine: one thread for each of several workers, and freed memory kept or returned."""

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEEP_BYTES = 1 << 30


def keep_freed_memory() -> None:
    """Let glibc reuse freed tensors instead of returning their pages to the system after every step.

    A step of training or decoding frees and asks for the same large blocks again; each round trip costs a page fault
    per 4 KiB. docs/speed.md says what it is worth.
    """
    if (libc := _glibc()) is not None:
        libc.mallopt(M_MMAP_THRESHOLD, KEEP_BYTES)
        libc.mallopt(M_TRIM_THRESHOLD, KEEP_BYTES)


def release_freed_memory() -> None:
    """Return freed pages to the system once, where the work changes: the next kind of work needs other blocks, in the
    arenas of other threads, and would add its memory to what is kept here.
    """
    if (libc := _glibc()) is not None:
        libc.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    """The C library, if it is GNU's; there is nothing to tune in others."""
    if sys.platform != "linux":
        return None
    try:
        libc = ctypes.CDLL("libc.so.6")
    except OSError:
        return None
    return libc if hasattr(libc, "mallopt") and hasattr(libc, "malloc_trim") else None


def device_problem(device: str) -> str | None:
    """Why PyTorch cannot compute on a device of this machine, in its own words; None if it can."""
    try:
        torch.empty(0, device=device)
    except (AssertionError, RuntimeError) as error:  # the former where it was built without CUDA
        return str(error).partition("\n")[0].rstrip(".")
    return "it holds no numbers" if torch.device(device).type == "meta" else None


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Within this, operations are not shared out by torch."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
