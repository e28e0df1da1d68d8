"""Links (source, target), counted from 0: which source word each target word belongs to, read off the weights."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from saccade.errors import SaccadeError
from saccade.fields import NotNegative
from saccade.trace.trace import AttentionTrace, Matrix, Span, proportions

Link = tuple[int, int]

Rows = Literal["predicts", "reads"]
"""Which row of the weights belongs to a target token. predicts: that of the step which says it, the model's own order.
reads: that of the next step, which has the token as its input. A Transformer often looks for the source of what it has
just read, and is better aligned there (Chen et al. 2020, "Accurate Word Alignment Induction", §3.1)."""

Method = Literal["intersection", "grow-diag", "grow-diag-final-and", "union"]
"""How the links of two directions become one set, the strictest first; see `symmetrise`."""

NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def links(matrix: Matrix) -> list[Link]:
    """The source token that each target token attends to most, the first among equals; none for a row of zeros."""
    return [(int(np.argmax(row)), target) for target, row in enumerate(matrix) if row.any()]


def links_above(matrix: Matrix, threshold: float) -> list[Link]:
    """Every pair whose weight is at least `threshold`: a target word may have several links, or none."""
    return [(int(source), int(target)) for target, source in np.argwhere(matrix >= threshold)]


def flipped(pairs: Iterable[Link]) -> list[Link]:
    """The links of the other direction: (source, target) becomes (target, source)."""
    return sorted((target, source) for source, target in pairs)


def symmetrise(forward: Iterable[Link], backward: Iterable[Link], method: Method) -> list[Link]:
    """One set of links from those of two directions, both given as (source, target); see `flipped`.

    intersection: what both say; precise, with gaps. union: what either says. grow-diag: begin with the intersection and
    add, again and again, links of the union next to one that is there (diagonally, too), if the source or the target
    word has none yet. grow-diag-final-and: then add links of either direction whose words both have none yet, those of
    the forward direction first (Och & Ney 2003; Koehn et al. 2003). Words are visited in their order, as Moses does.
    """
    there, back = set(forward), set(backward)
    match method:
        case "intersection":
            return sorted(there & back)
        case "union":
            return sorted(there | back)
    found = _grown(there & back, there | back)
    if method == "grow-diag-final-and":
        sources, targets = {source for source, _ in found}, {target for _, target in found}
        for source, target in (*sorted(there), *sorted(back)):
            if source not in sources and target not in targets:
                found.add((source, target))
                sources.add(source)
                targets.add(target)
    return sorted(found)


def _grown(found: set[Link], allowed: set[Link]) -> set[Link]:
    sources, targets = {source for source, _ in found}, {target for _, target in found}
    waiting = sorted(found)
    while waiting:
        added = []
        for source, target in waiting:
            for down, right in NEIGHBOURS:
                new = (source + down, target + right)
                if new in allowed and new not in found and (new[0] not in sources or new[1] not in targets):
                    found.add(new)
                    sources.add(new[0])
                    targets.add(new[1])
                    added.append(new)
        waiting = sorted(added)
    return found


@dataclass(frozen=True, slots=True)
class HeadSelection:
    """Which of a model's weights are read as its alignment, and how."""

    heads: tuple[tuple[NotNegative, NotNegative], ...] | None = None
    """Pairs (layer, head), counted from 0, whose weights are averaged; all of them when None."""
    rows: Rows = "predicts"
    balanced: bool = False
    """Whether weights between words are `balanced` before links are read off them."""

    def weights(self, trace: AttentionTrace) -> Matrix:
        """Target tokens × source tokens. With `reads`, a last token that no step has read gets zeros."""
        if self.heads is None:
            matrix = trace.matrix(kind="cross")
        else:
            matrix = np.mean([trace.matrix(layer, head, kind="cross") for layer, head in self.heads], axis=0)
        return matrix if self.rows == "predicts" else np.concatenate([matrix[1:], np.zeros_like(matrix[:1])])

    def __str__(self) -> str:
        """As the command line has it, counted from 1: `--heads 2:1,2:3 --rows reads --balance`."""
        heads = "all" if self.heads is None else ",".join(f"{layer + 1}:{head + 1}" for layer, head in self.heads)
        return f"--heads {heads} --rows {self.rows}{' --balance' if self.balanced else ''}"


def parse_heads(text: str) -> tuple[tuple[int, int], ...] | None:
    """What `--heads` says: `all`, or layers and heads counted from 1, `3:1,3:4`."""
    if text.strip() == "all":
        return None
    try:
        pairs = [tuple(int(number) for number in part.split(":")) for part in text.split(",")]
        if all(len(pair) == 2 and min(pair) >= 1 for pair in pairs):
            return tuple((layer - 1, head - 1) for layer, head in pairs)
    except ValueError:
        pass
    raise SaccadeError(
        "Heads must be all, or pairs layer:head counted from 1 with commas between them, such as 3:1,3:4, "
        f"not {text!r}."
    )


def head_selections(trace: AttentionTrace) -> Iterator[tuple[str, HeadSelection]]:
    """What is worth trying, by name: means of all heads or a layer, single heads; either rows; balanced or not."""
    layers = [[(at, head) for head in range(layer.num_heads)] for at, layer in enumerate(trace.of("cross"))]
    named: dict[str, tuple[tuple[int, int], ...] | None] = {}
    if len(layers) > 1:
        named["all layers"] = None
    for at, heads in enumerate(layers, start=1):
        named[f"layer {at}"] = tuple(heads)
    for at, heads in enumerate(layers, start=1):
        if len(heads) > 1:
            named |= {f"layer {at}, head {number}": (head,) for number, head in enumerate(heads, start=1)}
    for name, chosen in named.items():
        for rows in get_args(Rows):
            yield name, HeadSelection(chosen, rows)
            yield name, HeadSelection(chosen, rows, balanced=True)


def shares(spans: Sequence[Span] | None, words: Sequence[Span]) -> Matrix:
    """Tokens × words: which share of each token's characters lies in each word, blanks between words not counted.

    A token without such characters goes with the next one: it is the mark of a space, or a byte before the last of its
    character. One that nothing follows, such as the end of the sentence, belongs to no word.
    """
    assert spans is not None, "a translator knows where its tokens stand"
    found = np.zeros((len(spans), len(words)))
    for token, (start, end) in enumerate(spans):
        for word, (first, last) in enumerate(words):
            found[token, word] = max(0, min(end, last) - max(start, first))
    for token in reversed(range(len(spans))):
        if total := found[token].sum():
            found[token] /= total
        elif token + 1 < len(spans):
            found[token] = found[token + 1]
    return found


def between_words(weights: Matrix, source: Matrix | None, target: Matrix) -> Matrix:
    """Weights between words by the `shares` of both sides: summed over source tokens, averaged over target tokens."""
    mean = proportions(target, axis=0).T @ weights
    return np.asarray(mean if source is None else mean @ source)


def balanced(matrix: Matrix) -> Matrix:
    """Every weight as a share of what its source word gets: against words that attract everybody, as full stops do."""
    return proportions(matrix, axis=0)
