"""The legend of every tensor annotation: one word, one meaning, in all of saccade. A test keeps the code to it."""

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
    "vocab": "tokens of the target vocabulary",
    "rows": "batch × beam: hypotheses side by side",
    "picked": "rows chosen out of rows",
    "beam": "hypotheses of one sentence",
    "width": "prefixes of one sentence: one before the first step, then as many as the beam",
    "candidates": "prefixes one token longer, of which a beam is chosen",
    "choices": "numbers of which the highest are wanted",
    "top": "the highest of them",
    "banned": "tokens that may not be written",
    "positions": "positions of any sequence, or of several laid end to end",
}
