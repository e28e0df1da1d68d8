"""Runs a pointer network: sets in, answers out, by the common search; and what each answer was pointed at with."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from saccade.nn.capture import capture
from saccade.search.problem import SearchProblem
from saccade.search.search import search
from saccade.search.settings import SearchSettings
from saccade.tasks.pointing.geometry import Order, Points
from saccade.tasks.pointing.model import PointerNetwork
from saccade.tasks.pointing.points import STOP, PointBatch, collate, collate_sets
from saccade.trace.trace import AttentionTrace, Layer, Tokens

BATCH = 256
END = "</s>"
GREEDY = SearchSettings(beam=1, length_penalty=0.0)


class Answer(NamedTuple):
    """The best answer that was found."""

    order: tuple[int, ...]
    """Positions of the set, counted from 0."""
    log_prob: float
    """Of all of them, and of the stop."""
    finished: bool
    """It stopped by itself; otherwise it was cut off when it was as long as its set."""


class PointerEngine:
    """A pointer network in this process."""

    def __init__(self, model: PointerNetwork) -> None:
        self.model = model

    @torch.inference_mode()
    def answer(self, sets: Sequence[Points], settings: SearchSettings = GREEDY) -> list[Answer]:
        """The best answer to each set."""
        answers = []
        for start in range(0, len(sets), BATCH):
            batch = collate_sets(sets[start : start + BATCH]).to(self._device)
            limits = batch.source_mask.sum(dim=1) + 1
            memory = self.model.encode(batch)
            problem = SearchProblem(model=self.model, memory=memory, limits=limits, bos=STOP, eos=STOP)
            for best, *_ in search(problem, settings):
                answers.append(Answer(tuple(id - 1 for id in best.ids), best.log_prob, best.finished))
        return answers

    @torch.inference_mode()
    def trace(self, sets: Sequence[Points], orders: Sequence[Order | Sequence[int]]) -> list[AttentionTrace]:
        """What the model looks at, and how likely each element is, while it is made to give these answers."""
        traces: list[AttentionTrace] = []
        for start in range(0, len(sets), BATCH):
            part = slice(start, start + BATCH)
            batch = collate(sets[part], orders[part]).to(self._device)
            with capture(self.model) as captured:
                log_probs = _log_probs(self.model(batch), batch).cpu().numpy()
            ((name, kind, (weights,)),) = captured.layers
            for row in range(len(log_probs)):
                points, order = sets[len(traces)], orders[len(traces)]
                source, said = (*map(label, points), END), len(order) + 1
                looked = weights[row, :, :said, : len(source)].cpu().numpy()
                layer = Layer(name, kind, np.roll(looked, -1, axis=-1))  # the stop comes last, as the end of a text
                traces.append(
                    AttentionTrace(
                        source=Tokens(source),
                        target=Tokens((*(source[at] for at in order), END)),
                        layers=(layer,),
                        log_prob=float(log_probs[row, :said].sum()),
                        token_log_probs=tuple(log_probs[row, :said].tolist()),
                    )
                )
        return traces

    @property
    def _device(self) -> torch.device:
        return next(self.model.parameters()).device


def label(point: Points) -> str:
    """An element in words: 0.42, or (0.10, 0.93)."""
    numbers = ", ".join(f"{number:.2f}" for number in point)
    return f"({numbers})" if len(point) > 1 else numbers


def _log_probs(logits: torch.Tensor, batch: PointBatch) -> torch.Tensor:
    """Of each position of the known answers, in double precision; what stands at padding counts for nothing."""
    return logits.double().log_softmax(dim=-1).gather(-1, batch.target[..., None])[..., 0]
