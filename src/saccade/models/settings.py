"""The settings of every kind of model. No torch here: reading a recipe needs none."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

Embeddings = Literal["shared", "tied", "separate"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TransformerSettings:
    """The Transformer of Vaswani et al. 2017. The defaults are the paper's base model."""

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "tiny": {"layers": 4, "d_model": 128, "d_feedforward": 256, "num_heads": 4, "dropout": 0.3},
        "small": {"layers": 4, "d_model": 256, "d_feedforward": 1024, "num_heads": 4, "dropout": 0.2},
        "base": {"layers": 6, "d_model": 512, "d_feedforward": 2048, "num_heads": 8, "dropout": 0.1},
        "big": {"layers": 6, "d_model": 1024, "d_feedforward": 4096, "num_heads": 16, "dropout": 0.3},
    }
    REFUSED: ClassVar[Mapping[str, str]] = {
        "attention": 'is a section of kind = "recurrent": a Transformer attends by scaled dot products in every head '
        "(Vaswani et al. 2017, eq. 1), and other scores are not defined for it",
    }

    kind: Literal["transformer"] = "transformer"
    """The kind of model."""
    layers: int = 6
    """Layers of the encoder, and of the decoder unless decoder_layers says otherwise."""
    decoder_layers: int | None = None
    """Layers of the decoder; as many as the encoder's when absent."""
    d_model: int = 512
    """Size of the vectors between layers."""
    d_feedforward: int = 2048
    """Inner size of the feed-forward layers."""
    num_heads: int = 8
    """Attention heads; d_model is divided among them."""
    activation: Literal["relu", "gelu", "swish"] = "relu"
    """Activation of the feed-forward layers."""
    norm: Literal["post", "pre"] = "post"
    """Layer norm after each residual connection (the paper) or before each sub-layer (easier to train when deep)."""
    dropout: float = 0.1
    """Dropout on the embeddings and on the output of every sub-layer."""
    attention_dropout: float = 0.0
    """Dropout on attention weights. The paper has none, and without it attention takes its fastest path."""
    activation_dropout: float = 0.0
    """Dropout inside the feed-forward layers, after the activation."""
    embeddings: Embeddings = "shared"
    """shared: one table for source, target and output (needs a shared vocabulary). tied: one for target and output.
    separate: one for each."""
    output_bias: bool = False
    """Every token of the target vocabulary has a bias in its logit, as in Marian; the paper has none."""

    def __post_init__(self) -> None:
        problems = [
            *_below(self, 1, "layers", "d_model", "d_feedforward", "num_heads", "decoder_layers"),
            *_no_share(self, "dropout", "attention_dropout", "activation_dropout"),
        ]
        if not problems and (self.d_model % self.num_heads or self.d_model % 2):
            problems.append(
                f"d_model must be even and a multiple of num_heads, not {self.d_model} with {self.num_heads} heads"
            )
        _refuse(problems)

    @property
    def num_decoder_layers(self) -> int:
        """Layers of the decoder."""
        return self.layers if self.decoder_layers is None else self.decoder_layers

    @property
    def attends(self) -> bool:
        """Whether the decoder has attention, whose weights can be looked at."""
        return True


@dataclass(frozen=True, kw_only=True, slots=True)
class AttentionSettings:
    """How a recurrent decoder looks at its source. Settings that others switch off have no effect."""

    score: Literal["additive", "dot", "scaled-dot", "general", "cosine", "location"] = "additive"
    """How query q and key k are compared: additive vᵀtanh(Wq + Uk) (Bahdanau; Luong's concat), dot qᵀk, scaled-dot
    qᵀk/√d, general qᵀWk, cosine β cos(q, k) with a learned β, location Wq."""
    positions: Literal["global", "local-m", "local-p", "hard", "fixed", "none"] = "global"
    """Where is looked: global everywhere; local-m in a window that moves with the target, local-p in one that is
    predicted (Luong); hard at one position, chosen by chance in training (Xu). Without attention: fixed gives the
    encoder's last state to every step (Cho), none only to the first (Sutskever)."""
    normalise: Literal["softmax", "sparsemax", "entmax"] = "softmax"
    """How scores become weights; sparsemax and entmax (1.5) give most keys exactly zero."""
    window: int = 10
    """local-m and local-p: the reach of the window on each side, Luong's D."""
    gaussian: bool = False
    """local-m: weights fall off from the middle of the window, as they always do in local-p."""
    num_positions: int = 256
    """score = "location": the longest source, in tokens with its end; longer ones are refused."""
    truncates: bool = False
    """score = "location": longer sources are accepted, and never looked at beyond num_positions."""
    sampling: float = 0.5
    """hard: share of sources whose positions are sampled in training; the others are read by expectation."""
    reward: float = 0.1
    """hard: weight λ_r of the REINFORCE term."""
    entropy: float = 0.002
    """hard: weight λ_e of the entropy term, which keeps choices open."""

    def __post_init__(self) -> None:
        problems = [
            *_below(self, 1, "window", "num_positions"),
            *_below(self, 0, "reward", "entropy"),
        ]
        if not 0 < self.sampling <= 1:
            problems.append(f"sampling must be above 0 and at most 1, not {self.sampling}")
        if self.score == "location" and self.positions in ("local-m", "local-p", "hard"):
            problems.append(
                f'score = "location" goes with positions = "global" only, not "{self.positions}": it scores positions, '
                "not what stands there, and no paper defines this pair (Luong et al. 2015, Table 4, leaves it out)"
            )
        if self.positions == "hard" and self.normalise != "softmax":
            problems.append(
                f'positions = "hard" goes with normalise = "softmax" only, not "{self.normalise}": '
                "Xu et al. 2015 sample from a softmax, and a position of probability zero could never be learned"
            )
        if self.gaussian and self.positions != "local-m":
            problems.append(
                f'gaussian = true goes with positions = "local-m" only, not "{self.positions}": '
                "local-p always has the Gaussian, and the others have no window"
            )
        _refuse(problems)


@dataclass(frozen=True, kw_only=True, slots=True)
class RecurrentSettings:
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
    layers: int = 1
    """Layers of the encoder, and of the decoder."""
    d_model: int = 256
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
    dropout: float = 0.2
    """Dropout on the embeddings, between layers and before the output layer."""
    embeddings: Embeddings = "shared"
    """shared: one table for source, target and output (needs a shared vocabulary). tied: one for target and output.
    separate: one for each."""
    attention: AttentionSettings = field(default_factory=AttentionSettings)
    """How the decoder looks at its source."""

    def __post_init__(self) -> None:
        problems = [*_below(self, 1, "layers", "d_model"), *_no_share(self, "dropout")]
        if self.bidirectional and self.d_model % 2:
            problems.append(f"d_model must be even for a bidirectional encoder, not {self.d_model}")
        positions = self.attention.positions
        if positions in ("local-m", "local-p") and self.attend == "before":
            problems.append(
                f'attention.positions = "{positions}" goes with attend = "after" only: '
                "Luong et al. 2015 define local attention for a state that asks after its step"
            )
        if positions == "hard" and self.attend == "after":
            problems.append(
                'attention.positions = "hard" goes with attend = "before" only: '
                "Xu et al. 2015 define it for the state of the previous step"
            )
        if self.input_feeding and self.attend == "before":
            problems.append(
                'input_feeding = true goes with attend = "after" only: '
                "a decoder that attends before its step is fed the context already"
            )
        if self.readout == "maxout" and self.attend == "after":
            problems.append(
                'readout = "maxout" goes with attend = "before" only: with "after", tanh(W[c; h]) is the readout'
            )
        if self.reverses_source and self.bidirectional:
            problems.append(
                "reverses_source = true goes with bidirectional = false only: read in both directions, "
                "a source has no order to be reversed"
            )
        _refuse(problems)

    @property
    def attends(self) -> bool:
        """Whether the decoder has attention, whose weights can be looked at."""
        return self.attention.positions not in ("fixed", "none")


@dataclass(frozen=True, kw_only=True, slots=True)
class ConvolutionalSettings:
    """The convolutional encoder-decoder of Gehring et al. 2017, with attention in every decoder layer."""

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "tiny": {"layers": 4, "d_model": 128, "dropout": 0.3},
        "small": {"layers": 4, "d_model": 256, "dropout": 0.2},
        "base": {"layers": 15, "d_model": 512, "dropout": 0.2},
    }
    REFUSED: ClassVar[Mapping[str, str]] = {
        "attention": 'is a section of kind = "recurrent": every layer of a convolutional decoder attends by the inner '
        "product of Gehring et al. 2017, eq. 1, and other scores are not defined for it",
    }

    kind: Literal["convolutional"] = "convolutional"
    """The kind of model."""
    layers: int = 4
    """Layers of the encoder, and of the decoder unless decoder_layers says otherwise."""
    decoder_layers: int | None = None
    """Layers of the decoder; as many as the encoder's when absent."""
    d_model: int = 256
    """Size of embeddings and of the vectors between layers."""
    kernel: int = 3
    """Positions that a layer sees at once; odd."""
    dropout: float = 0.2
    """Dropout on the embeddings, on the input of every layer and before the output layer."""
    embeddings: Embeddings = "shared"
    """shared: one table for source, target and output (needs a shared vocabulary). tied: one for target and output.
    separate: one for each."""

    def __post_init__(self) -> None:
        problems = [*_below(self, 1, "layers", "d_model", "kernel", "decoder_layers"), *_no_share(self, "dropout")]
        if self.kernel > 0 and self.kernel % 2 == 0:
            problems.append(f"kernel must be odd, so that it has a middle, not {self.kernel}")
        if self.d_model % 2:
            problems.append(f"d_model must be even, not {self.d_model}")
        _refuse(problems)

    @property
    def num_decoder_layers(self) -> int:
        """Layers of the decoder."""
        return self.layers if self.decoder_layers is None else self.decoder_layers

    @property
    def attends(self) -> bool:
        """Whether the decoder has attention, whose weights can be looked at."""
        return True


ModelSettings = TransformerSettings | RecurrentSettings | ConvolutionalSettings


def _below(settings: object, least: int, *names: str) -> Iterable[str]:
    """A problem for each setting that is smaller than it may be; one that is not set has none."""
    values = {name: getattr(settings, name) for name in names}
    given = {name: value for name, value in values.items() if value is not None}
    return [f"{name} must be at least {least}, not {value}" for name, value in given.items() if not value >= least]


def _no_share(settings: object, *names: str) -> Iterable[str]:
    values = {name: getattr(settings, name) for name in names}
    return [
        f"{name} must be at least 0 and below 1, not {value}" for name, value in values.items() if not 0 <= value < 1
    ]


def _refuse(problems: list[str]) -> None:
    if problems:
        raise ValueError("; ".join(problems))
