"""Tensors that many layers are given or give. What the words of their axes mean is said in axes.toml."""

from jaxtyping import Bool, Float, Int
from torch import Tensor

Mask = Bool[Tensor, "batch key"]
Query = Float[Tensor, "batch query d_query"]
QueryByKey = Float[Tensor, "batch query key"]
Keys = Float[Tensor, "batch key d_key"]
KeyStates = Float[Tensor, "batch key d_states"]
States = Float[Tensor, "batch positions d_model"]
SourceStates = Float[Tensor, "batch source d_model"]
SourceMask = Bool[Tensor, "batch source"]
TargetStates = Float[Tensor, "batch target d_model"]
HeadQueries = Float[Tensor, "batch heads query d_key"]
HeadWeights = Float[Tensor, "batch heads key"]
ControllerStates = Float[Tensor, "batch d_controller"]
RowTokens = Int[Tensor, " rows"]
RowStates = Float[Tensor, "rows d_model"]
