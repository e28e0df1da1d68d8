"""The settings of every kind of model. No torch here: reading a recipe needs none."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Gt, Le, MultipleOf

from saccade.fields import Advice, Checked, Layers, Positive, Probability, Size, Weight

Embeddings = Literal["shared", "tied", "separate"]
OTHER_SCORES = Advice(
    {
        "concat": 'Luong\'s concat is called "additive".',
        "bahdanau": 'Bahdanau\'s score is called "additive".',
        "mlp": 'A score by a small network is called "additive".',
        "dot-product": 'It is called "dot".',
        "luong": 'Luong\'s scores are "dot", "general" and "additive" (his concat).',
        "multiplicative": 'A dot product with a learned matrix is called "general".',
        "bilinear": 'It is called "general".',
        "scaled": 'It is called "scaled-dot".',
    }
)
"""Names of scores in papers and other toolkits."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stacks(Checked):
    """Settings of stacks of layers, each of which attends in the decoder."""

    kind: str
    """The kind of model."""
    layers: Layers = 6
    """Layers of the encoder, and of the decoder unless decoder_layers says otherwise."""
    decoder_layers: Layers | None = None
    """Layers of the decoder; as many as the encoder's when absent."""

    @property
    def num_decoder_layers(self) -> int:
        return self.layers if self.decoder_layers is None else self.decoder_layers

    @property
    def attends(self) -> bool:
        """Whether the decoder has attention, whose weights can be looked at."""
        return True


@dataclass(frozen=True, kw_only=True, slots=True)
class TransformerSettings(Stacks):
    """The Transformer of Vaswani et al. 2017. The defaults are the paper's base model."""

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "tiny": {"layers": 4, "d_model": 128, "d_feedforward": 256, "num_heads": 4, "dropout": 0.3},
        "small": {"layers": 4, "d_model": 256, "d_feedforward": 1024, "num_heads": 4, "dropout": 0.2},
        "base": {"layers": 6, "d_model": 512, "d_feedforward": 2048, "num_heads": 8, "dropout": 0.1},
        "big": {"layers": 6, "d_model": 1024, "d_feedforward": 4096, "num_heads": 16, "dropout": 0.3},
    }
    REFUSED: ClassVar[Mapping[str, str]] = {
        "attention": 'is a section of kind = "recurrent": a Transformer has no such section; every head attends by '
        "scaled dot products (Vaswani et al. 2017, eq. 1)",
    }

    kind: Literal["transformer"] = "transformer"
    d_model: Annotated[Size, MultipleOf(2)] = 512
    """Size of the vectors between layers."""
    d_feedforward: Size = 2048
    """Inner size of the feed-forward layers."""
    num_heads: Size = 8
    """Attention heads; d_model is divided among them."""
    activation: Literal["relu", "gelu", "swish"] = "relu"
    """Activation of the feed-forward layers."""
    norm: Literal["post", "pre"] = "post"
    """Layer norm after each residual connection (the paper) or before each sub-layer (easier to train when deep)."""
    dropout: Probability = 0.1
    """Dropout on the embeddings and on the output of every sub-layer."""
    attention_dropout: Probability = 0.0
    """Dropout on attention weights. The paper has none, and without it attention takes its fastest path."""
    activation_dropout: Probability = 0.0
    """Dropout inside the feed-forward layers, after the activation."""
    embeddings: Embeddings = "shared"
    """shared: one table for source, target and output (needs a shared vocabulary). tied: one for target and output.
    separate: one for each."""
    output_bias: bool = False
    """Every token of the target vocabulary has a bias in its logit, as in Marian; the paper has none."""
    decoder: Literal["attention", "ssru"] = "attention"
    """How decoder layers recall what was said: by self-attention (the paper), or with an SSRU, a small recurrent unit
    (Kim et al. 2019) that makes a step as cheap at the end of a long translation as at its beginning."""
    positions: Literal["paper", "marian"] = "paper"
    """Frequencies of the sinusoidal positions: `paper` is 10000^(-2i/d), `marian` 10000^(-i/(d/2 - 1))."""
    norm_epsilon: Annotated[float, Gt(0), Le(1e-3)] = 1e-5
    """What layer norms add to the variance before they divide by its root; Marian adds 1e-9."""

    def conflicts(self) -> Iterator[str]:
        if self.positions == "marian" and self.d_model < 4:
            yield f'd_model must be at least 4 with positions = "marian", not {self.d_model}'
        if self.d_model % self.num_heads:
            yield f"d_model must be a multiple of num_heads, not {self.d_model} with {self.num_heads} heads"


@dataclass(frozen=True, kw_only=True, slots=True)
class AttentionSettings(Checked):
    """How a recurrent decoder looks at its source. Settings that others switch off have no effect."""

    score: Annotated[Literal["additive", "dot", "scaled-dot", "general", "cosine", "location"], OTHER_SCORES] = (
        "additive"
    )
    """How query q and key k are compared: additive vᵀtanh(Wq + Uk) (Bahdanau; Luong's concat), dot qᵀk, scaled-dot
    qᵀk/√d, general qᵀWk, cosine β cos(q, k) with a learned β, location Wq."""
    positions: Literal["global", "local-m", "local-p", "hard", "fixed", "none"] = "global"
    """Where is looked: global everywhere; local-m in a window that moves with the target, local-p in one that is
    predicted (Luong); hard at one position, chosen by chance in training (Xu). Without attention: fixed gives the
    encoder's last state to every step (Cho), none only to the first (Sutskever)."""
    normalise: Literal["softmax", "sparsemax", "entmax"] = "softmax"
    """How scores become weights; sparsemax and entmax (1.5) give most keys exactly zero."""
    window: Positive = 10
    """local-m and local-p: the reach of the window on each side, Luong's D."""
    gaussian: bool = False
    """local-m: weights fall off from the middle of the window, as they always do in local-p."""
    num_positions: Annotated[Positive, Le(100_000)] = 256
    """score = "location": the longest source, in tokens with its end; longer ones are refused."""
    truncates: bool = False
    """score = "location": longer sources are accepted, and never looked at beyond num_positions."""
    sampling: Annotated[float, Gt(0), Le(1)] = 0.5
    """hard: share of sources whose positions are sampled in training; the others are read by expectation."""
    reward: Weight = 0.1
    """hard: weight λ_r of the REINFORCE term."""
    entropy: Weight = 0.002
    """hard: weight λ_e of the entropy term, which keeps choices open."""

    def conflicts(self) -> Iterator[str]:
        if self.score == "location" and self.positions in ("local-m", "local-p", "hard"):
            yield (
                f'score = "location" goes with positions = "global" only, not "{self.positions}": it scores positions, '
                "not what stands there, and no paper defines this pair (Luong et al. 2015, Table 4, leaves it out)"
            )
        if self.positions == "hard" and self.normalise != "softmax":
            yield (
                f'positions = "hard" goes with normalise = "softmax" only, not "{self.normalise}": '
                "Xu et al. 2015 sample from a softmax, and a position of probability zero could never be learned"
            )
        if self.gaussian and self.positions != "local-m":
            yield (
                f'gaussian = true goes with positions = "local-m" only, not "{self.positions}": '
                "local-p always has the Gaussian, and the others have no centre"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class RecurrentSettings(Checked):
    """The recurrent encoder-decoder, with Bahdanau's attention unless told otherwise."""

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "tiny": {"layers": 1, "d_model": 128, "dropout": 0.3},
        "small": {"layers": 1, "d_model": 256, "dropout": 0.3},
        "base": {"layers": 2, "d_model": 512, "dropout": 0.2},
    }

    kind: Literal["recurrent"] = "recurrent"
    """The kind of model."""
    cell: Literal["gru", "lstm", "rnn"] = "gru"
    """gru as PyTorch has it, lstm with forget gates, or Elman's rnn with tanh."""
    layers: Layers = 1
    """Layers of the encoder, and of the decoder."""
    d_model: Size = 256
    """Size of embeddings and states; a bidirectional encoder has half of it in each direction."""
    bidirectional: bool = True
    """The encoder reads the source in both directions."""
    reverses_source: bool = False
    """An encoder of one direction reads the source backwards (Sutskever et al. 2014)."""
    attend: Literal["before", "after"] = "before"
    """before: the decoder's previous state asks, and the context goes into its next step (Bahdanau). after: the new
    state asks, and the context goes into the output (Luong)."""
    input_feeding: bool = False
    """attend = "after": what was said last goes into the next step; slower, and better in the paper."""
    readout: Literal["plain", "maxout"] = "plain"
    """attend = "before": what comes before the output layer, tanh or Bahdanau's maxout."""
    dropout: Probability = 0.2
    """Dropout on the embeddings, between layers and before the output layer."""
    embeddings: Embeddings = "shared"
    """shared: one table for source, target and output (needs a shared vocabulary). tied: one for target and output.
    separate: one for each."""
    attention: AttentionSettings = field(default_factory=AttentionSettings)
    """How the decoder looks at its source."""

    def conflicts(self) -> Iterator[str]:
        if self.bidirectional and self.d_model % 2:
            yield f"d_model must be even for a bidirectional encoder, not {self.d_model}"
        positions = self.attention.positions
        if positions in ("local-m", "local-p") and self.attend == "before":
            yield (
                f'attention.positions = "{positions}" goes with attend = "after" only: '
                "Luong et al. 2015 define local attention for a state that asks after its step"
            )
        if positions == "hard" and self.attend == "after":
            yield (
                'attention.positions = "hard" goes with attend = "before" only: '
                "Xu et al. 2015 define it for the state of the previous step"
            )
        if self.input_feeding and self.attend == "before":
            yield (
                'input_feeding = true goes with attend = "after" only: '
                "a decoder that attends before its step is fed the context already"
            )
        if self.readout == "maxout" and self.attend == "after":
            yield ('readout = "maxout" goes with attend = "before" only: with "after", tanh(W[c; h]) is the readout')
        if self.reverses_source and self.bidirectional:
            yield (
                "reverses_source = true goes with bidirectional = false only: read in both directions, "
                "a source has no order to be reversed"
            )

    @property
    def attends(self) -> bool:
        """Whether the decoder has attention, whose weights can be looked at."""
        return self.attention.positions not in ("fixed", "none")


@dataclass(frozen=True, kw_only=True, slots=True)
class ConvolutionalSettings(Stacks):
    """The convolutional encoder-decoder of Gehring et al. 2017, with attention in every decoder layer."""

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "tiny": {"layers": 4, "d_model": 128, "dropout": 0.3},
        "small": {"layers": 4, "d_model": 256, "dropout": 0.2},
        "base": {"layers": 15, "d_model": 512, "dropout": 0.2},
    }
    REFUSED: ClassVar[Mapping[str, str]] = {
        "attention": 'is a section of kind = "recurrent": a convolutional decoder has no such section; every layer '
        "attends by dot products (Gehring et al. 2017, eq. 1)",
    }

    kind: Literal["convolutional"] = "convolutional"
    layers: Layers = 4
    d_model: Annotated[Size, MultipleOf(2)] = 256
    """Size of embeddings and of the vectors between layers."""
    kernel: Size = 3
    """Positions that a layer sees at once; odd."""
    dropout: Probability = 0.2
    """Dropout on the embeddings, on the input of every layer and before the output layer."""
    embeddings: Embeddings = "shared"
    """shared: one table for source, target and output (needs a shared vocabulary). tied: one for target and output.
    separate: one for each."""

    def conflicts(self) -> Iterator[str]:
        if self.kernel % 2 == 0:
            yield f"kernel must be odd, so that it has a middle, not {self.kernel}"


ModelSettings = TransformerSettings | RecurrentSettings | ConvolutionalSettings
