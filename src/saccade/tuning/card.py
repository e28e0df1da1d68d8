"""The card of a tuned model: what it is tuned from and on, and what that has changed."""

import re
from collections.abc import Mapping

from saccade.evaluation.comparison import Comparison
from saccade.evaluation.page.tuning import TuningFacts
from saccade.tuning.request import Request

_LICENCE = re.compile(r"licen[cs]e", re.IGNORECASE)
_NAMED = re.compile(r"licen[cs]e *:", re.IGNORECASE)


def tuning_card(request: Request, facts: TuningFacts, comparisons: Mapping[str, Comparison]) -> str:
    """For people; `comparisons` are those of the in-domain and the general set, before and after."""
    base, description = request.base, request.base.description
    directions = ", ".join(map(str, dict.fromkeys((request.direction, *description.directions))))
    method = "All parameters were trained" if facts.rank is None else f"LoRA of rank {facts.rank} was trained"
    replayed = f", beside {facts.replay:,} replayed pairs of other text" if facts.replay else ""
    return f"""# {directions}, {description.model.kind}, tuned

{base.name}, tuned for {request.direction} on a translation memory. {method}, for {facts.updates:,} updates in
{facts.minutes:.1f} minutes; the parameters are those of update {facts.best_update:,}.

## Scores

{_table(comparisons)}

## Memory

{facts.pairs:,} pairs of {facts.memory}{replayed}. A tuned model can give away sentences of its memory: whoever may not
read the memory should not have the model.

## Use

Sentences of up to {description.max_tokens} tokens, of the kind found in the memory. How well other text is translated,
the general set above tells, if there is one. It inherits the errors and biases of its base and of the memory.

## Base model

{base.name}, sha256 {base.checksum()}.
{_licence(base.card())} Its card says:

{base.quoted_card()}"""


def _table(comparisons: Mapping[str, Comparison]) -> str:
    lines = ["| set | metric | before | after | p |", "|---|---|---|---|---|"]
    for name, comparison in comparisons.items():
        before, after = comparison.scores.values()
        for was, now in zip(before, after, strict=True):
            lines.append(f"| {name} | {was.name} | {was.value:.2f} | {now.value:.2f} | {now.p_value or 1:.4f} |")
    if "general" not in comparisons:
        lines.append("\nNo general set was given: what tuning cost on other text was not measured.")
    return "\n".join(lines)


def _licence(card: str) -> str:
    """What a card says of its licence, in its own words: a line that names one, else the first that speaks of it."""
    lines = [line.strip("> #*-") for line in card.splitlines() if _LICENCE.search(line)]
    if not lines:
        return "Its card names no licence: ask its authors before you pass this model on."
    line = next((line for line in lines if _NAMED.match(line)), lines[0])
    return f"Its licence binds this model, too: “{line}”."
