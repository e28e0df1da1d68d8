"""The results of the training race: Markdown for people, JSON for programs."""

from collections.abc import Callable
from statistics import median
from typing import Any

from benchmarks.report import format_spread, markdown_table
from benchmarks.training.race import TrainingRace, TrainingResult
from benchmarks.training.work import DROPOUT_PLACES

COLUMNS = ("", "dropout", "tokens/s", "× plain", "tokens/update", "peak MiB", "× plain", "of sgemm peak")
EPOCH_COLUMNS = ("peak MiB after an epoch", "× plain")
TRICK_COLUMNS = ("without", "tokens/s", "gain of having it", "peak MiB", "memory saved, MiB")
Table = Callable[[TrainingRace], str]


def training_table(race: TrainingRace) -> str:
    """Each contestant beside the first one, the plain loop."""
    plain = race.results[0]
    columns = COLUMNS + (EPOCH_COLUMNS if plain.epoch_peak else ())
    rows = []
    for result in race.results:
        rate = median(turn.rate for turn in result.turns)
        row = [
            result.name,
            DROPOUT_PLACES[result.places],
            f"{rate:,.0f}",
            format_spread(speed_ratios(result, plain)),
            tokens_per_update(result),
            f"{result.peak:,.0f}",
            f"{result.peak / plain.peak:.2f}",
            f"{rate * race.work.flops_per_token / race.sgemm_peak:.1%}",
        ]
        if result.epoch_peak and plain.epoch_peak:
            row += [f"{result.epoch_peak:,.0f}", f"{result.epoch_peak / plain.epoch_peak:.2f}"]
        rows.append(row)
    return "\n".join([heading(race), "", markdown_table(columns, rows)])


def tricks_table(race: TrainingRace) -> str:
    """What each trick gains: the first result has all of them, each other one lacks one."""
    whole = race.results[0]
    rows = [
        (
            "(all there)" if result is whole else result.name,
            f"{median(turn.rate for turn in result.turns):,.0f}",
            format_spread(speed_ratios(whole, result)),
            f"{result.peak:,.0f}",
            f"{result.peak - whole.peak:,.0f}",
        )
        for result in race.results
    ]
    return "\n".join([heading(race), "", markdown_table(TRICK_COLUMNS, rows)])


def heading(race: TrainingRace) -> str:
    """What the figures of a table were measured on."""
    work, model, turns = race.work, race.work.model, race.results[0].turns
    return (
        f"### {work.size}: {model.layers} + {model.layers} layers, {model.d_model}/{model.d_feedforward}, "
        f"{model.num_heads} heads, dropout {model.dropout}\n\n"
        f"{work.corpus}, vocabulary {work.vocabulary:,}, batches of {work.batch_tokens:,} target tokens, "
        f"{work.threads} threads; {len(turns)} windows of about {turns[0].seconds:.0f} s, medians, "
        f"least to greatest in brackets; {work.flops_per_token / 1e6:.1f} MFLOP a target token, "
        f"sgemm peak {race.sgemm_peak / 1e9:.0f} GFLOP/s."
    )


def speed_ratios(result: TrainingResult, other: TrainingResult) -> list[float]:
    """How many times as fast as another, round by round."""
    return [turn.rate / beside.rate for turn, beside in zip(result.turns, other.turns, strict=True)]


def tokens_per_update(result: TrainingResult) -> str:
    updates = sum(turn.updates for turn in result.turns)
    return f"{sum(turn.tokens for turn in result.turns) / updates:,.0f}" if updates else "not known"


def training_figures(race: TrainingRace) -> dict[str, Any]:
    """Everything that was measured, window by window."""
    return {
        "size": race.work.size,
        "corpus": race.work.corpus,
        "flops_per_token": race.work.flops_per_token,
        "sgemm_peak": race.sgemm_peak,
        "contestants": [
            {
                "name": result.name,
                "dropout": DROPOUT_PLACES[result.places],
                "tokens_per_second": [round(turn.rate, 1) for turn in result.turns],
                "ratio_to_first": [round(ratio, 4) for ratio in speed_ratios(result, race.results[0])],
                "updates": sum(turn.updates for turn in result.turns),
                "peak_mib": round(result.peak),
                **({"epoch_peak_mib": round(result.epoch_peak)} if result.epoch_peak else {}),
            }
            for result in race.results
        ],
    }
