"""Attention rollout (Abnar & Zuidema 2020): how much of each input position arrives at the last layer."""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from saccade.trace.trace import AttentionTrace, Kind, Layer, Matrix, proportions

RESIDUAL = 0.5


def rollout(trace: AttentionTrace) -> AttentionTrace:
    """The trace with one layer of one head for each kind: self-attention rolled out, and the source as the last decoder
    layer sees it through cross-attention, decoder and encoder together.

    Every row sums to one. Feed-forward layers and the vectors that are mixed are not looked at, as in the paper.
    """
    found: dict[Kind, Matrix] = {
        kind: rolled(_means(trace, kind)) for kind in ("encoder", "decoder") if kind in trace.kinds
    }
    if "cross" in trace.kinds or not found:
        found["cross"] = through_cross(_means(trace, "encoder"), _means(trace, "decoder"), _means(trace, "cross"))
    return replace(trace, layers=tuple(Layer(f"rollout.{kind}", kind, each[None]) for kind, each in found.items()))


def rolled(layers: Sequence[Matrix]) -> Matrix:
    """The product of ½W + ½I over layers, the last one on the left."""
    return reduce(lambda product, mixed: mixed @ product, map(_with_residual, layers))


def through_cross(encoder: Sequence[Matrix], decoder: Sequence[Matrix], cross: Sequence[Matrix]) -> Matrix:
    """The source as each target position sees it in the end.

    Beginning with S = 0, in every decoder layer S ← (½D + ½I)S for self-attention D, then S ← ½S + ½CE for
    cross-attention C and the encoder's rollout E. What the target itself contributes is left out, and rows are made to
    sum to one.
    """
    source, seen = rolled(encoder), np.zeros_like(cross[0])
    for itself, across in zip(decoder, cross, strict=True):
        seen = RESIDUAL * (_with_residual(itself) @ seen) + (1 - RESIDUAL) * across @ source
    return proportions(seen, axis=-1)


def _means(trace: AttentionTrace, kind: Kind) -> list[Matrix]:
    """The mean over heads, layer by layer."""
    return [layer.weights.mean(axis=0) for layer in trace.of(kind)]


def _with_residual(weights: Matrix) -> Matrix:
    return proportions(RESIDUAL * np.eye(len(weights)) + (1 - RESIDUAL) * weights, axis=-1)
