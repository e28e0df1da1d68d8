"""The legend of every tensor annotation: one word, one meaning, in all of saccade. A test keeps the code to it."""

from jaxtyping import Bool, Float, Int
from torch import Tensor

AXES = {
    "batch": "examples side by side",
    "source": "positions of the source sequence",
    "target": "positions of the target sequence",
    "query": "positions that ask",
    "key": "positions that are asked",
    "heads": "attention heads, in parallel",
    "d_model": "size of the vectors between layers",
    "d_head": "size of a head's queries, keys and values",
    "d_key": "size of queries and keys",
    "d_value": "size of values and contexts",
    "d_query": "size of queries before they are mapped to meet the keys",
    "d_states": "size of states that become keys",
    "d_input": "size of what a layer reads, where it is not d_model",
    "d_output": "size of what a layer writes, where it is not d_model",
    "layers": "layers of a recurrent network",
    "before": "positions kept of what came before",
    "padded": "positions with those added on either side",
    "vocab": "tokens of the target vocabulary",
    "rows": "batch × beam: hypotheses side by side",
    "picked": "rows chosen out of rows",
    "beam": "hypotheses of one sentence",
    "width": "prefixes of one sentence: one before the first step, then as many as the beam",
    "candidates": "prefixes one token longer, of which a beam is chosen",
    "choices": "numbers of which the highest are wanted",
    "top": "the highest of them",
    "banned": "tokens that may not be written",
    "blocks": "stretches of the vocabulary that are looked through together",
    "kept": "tokens that may be drawn, the likeliest first",
    "one": "a single sentence",
    "length": "tokens of a prefix",
    "read": "tokens that were read so far",
    "some": "tokens that a rule may leave out",
    "positions": "positions of any sequence, or of several laid end to end",
    "twice": "positions, and the same once more",
    "shifts": "distances by which weights may be shifted, from -r to r",
    "features": "numbers of a vector, each attended to on its own",
    "sentences": "sentences of a document",
    "words": "words of a sentence or of a question",
    "regions": "regions of an image",
    "d_readout": "d_model, and one more where the output layer has a bias",
    "d_controller": "size of the states of a controller, which tells heads where to look",
    "write_heads": "heads that write, where others read",
    "d_outputs": "what a controller says to a head: content, β, g, s and γ",
    "contexts": "heads × d_key: what all heads have read, end to end",
    "steps": "steps of an episode, in which something is shown or wanted",
    "bits": "bits of an answer",
    "d_image": "size of the vectors of an image",
    "d_question": "size of the vectors of a question",
    "digits": "digits of a scene, from left to right",
    "images": "images side by side; one may have several captions",
    "channels": "numbers of a pixel, or of a cell before a convolution",
    "pixel_rows": "pixels from top to bottom",
    "pixel_columns": "pixels from left to right",
    "grid_rows": "cells of an image from top to bottom",
    "grid_columns": "cells of an image from left to right",
    "d_features": "size of the vectors that a network made of an image beforehand",
    "classes": "classes of which one is to be named",
}

# Tensors that many layers are given or give

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
