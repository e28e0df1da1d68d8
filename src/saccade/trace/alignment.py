"""Which source token each target token belongs to, read off the weights."""

import numpy as np

from saccade.trace.trace import Matrix


def links(matrix: Matrix) -> list[tuple[int, int]]:
    """Pairs (source, target), as in Pharaoh's format: the source token that each target token attends to most.

    Among equals the first; a target token that attends to nothing has no link.
    """
    return [(int(np.argmax(row)), target) for target, row in enumerate(matrix) if row.any()]
