"""Co-attention (Lu et al. 2016, §3.3): a question says where to look in an image, and the image which words count.

`capture` gives the weights of both sides, as `image` and `question`.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from saccade.nn.attention import Attention
from saccade.nn.capture import AttentionModule, Kind, active_capture
from saccade.nn.hierarchical import LearnedQuery
from saccade.nn.layers import init_xavier
from saccade.nn.normalise import masked_softmax
from saccade.nn.scores import Additive

Image = Float[Tensor, "batch regions d_image"]
ImageMask = Bool[Tensor, "batch regions"] | None
Question = Float[Tensor, "batch words d_question"]
QuestionMask = Bool[Tensor, "batch words"] | None


class CoAttended(NamedTuple):
    """What was read on either side."""

    image: Float[Tensor, "batch d_image"]
    question: Float[Tensor, "batch d_question"]


class ParallelCoAttention(nn.Module):
    """Both sides at once (eq. 3–5): one matrix tells how well each word and each region fit, and serves both.

    C = tanh(QᵀW_bV), Hᵛ = tanh(W_vV + (W_qQ)C), H^q = tanh(W_qQ + (W_vV)Cᵀ).
    """

    def __init__(self, d_image: int, d_question: int, d_hidden: int) -> None:
        super().__init__()
        self.affinity = nn.Linear(d_image, d_question, bias=False)
        self.of_image = nn.Linear(d_image, d_hidden, bias=False)
        self.of_question = nn.Linear(d_question, d_hidden, bias=False)
        self.image = _Side(d_hidden, "image")
        self.question = _Side(d_hidden, "cross")
        init_xavier(self.affinity, self.of_image, self.of_question)

    def forward(
        self, image: Image, question: Question, image_mask: ImageMask = None, question_mask: QuestionMask = None
    ) -> CoAttended:
        """What is read on either side, each led by the other."""
        affinity = (question @ self.affinity(image).mT).tanh()
        # What is masked on one side must not speak to the other.
        regions = _silenced(self.of_image(image), image_mask)
        words = _silenced(self.of_question(question), question_mask)
        return CoAttended(
            self.image((regions + affinity.mT @ words).tanh(), image, image_mask),
            self.question((words + affinity @ regions).tanh(), question, question_mask),
        )


class AlternatingCoAttention(nn.Module):
    """One side after the other (eq. 6): the question alone, the image led by it, the question again led by the image.

    Each of the three passes has parameters of its own, as in the authors' code. `capture` gives the first as
    `first.attention`.
    """

    def __init__(self, d_image: int, d_question: int, d_hidden: int) -> None:
        super().__init__()
        self.first = LearnedQuery(d_question, d_hidden, kind="cross")  # softmax(wᵀtanh(W_xX)), as g = 0
        self.image = Attention(Additive(d_question, d_image, d_hidden), kind="image")
        self.question = Attention(Additive(d_image, d_question, d_hidden), kind="cross")

    def forward(
        self, image: Image, question: Question, image_mask: ImageMask = None, question_mask: QuestionMask = None
    ) -> CoAttended:
        """What the second pass reads in the image, and the third in the question."""
        summary = self.first(question, question_mask)
        seen = self.image(summary[:, None], self.image.memory(image, image_mask)).context
        asked = self.question(seen, self.question.memory(question, question_mask)).context
        return CoAttended(seen[:, 0], asked[:, 0])


class _Side(AttentionModule):
    """One side's weights, softmax(wᵀH), and what they read."""

    def __init__(self, d_hidden: int, kind: Kind) -> None:
        super().__init__()
        self.kind = kind
        self.v = nn.Parameter(torch.empty(d_hidden))
        nn.init.uniform_(self.v, -(d_hidden**-0.5), d_hidden**-0.5)

    def forward(self, hidden: Tensor, states: Tensor, mask: Tensor | None) -> Tensor:
        weights = masked_softmax(hidden @ self.v, mask)
        if captured := active_capture():
            captured.record(self, weights[:, None, None])  # one head, one query
        return (weights[:, None] @ states)[:, 0]


def _silenced(states: Tensor, mask: Tensor | None) -> Tensor:
    return states if mask is None else states.masked_fill(~mask[..., None], 0.0)
