"""What torch asks of the machine: one thread for each of several that work side by side, and memory that is kept."""

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
    if sys.platform != "linux":
        return
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):  # another C library: nothing to tune
        return
    mallopt(M_MMAP_THRESHOLD, KEEP_BYTES)
    mallopt(M_TRIM_THRESHOLD, KEEP_BYTES)


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Within this, operations are not shared out by torch."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
