"""The results of the decoding race: Markdown for people, JSON for programs."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks.decoding.race import DecodingResult
from benchmarks.decoding.work import DecodingWork
from benchmarks.report import format_spread, markdown_table
from saccade.directory import ModelDirectory
from saccade.evaluation.scores import bleu

COLUMNS = (
    "",
    "sentences/s",
    "× by hand",
    "tokens/s",
    "CPU ms a sentence",
    "single: p50 ms",
    "p95 ms",
    "× by hand",
    "BLEU",
    "peak MiB",
)


def decoding_table(results: Sequence[DecodingResult], work: DecodingWork, beam: int) -> str:
    """Each contestant beside CTranslate2 by hand."""
    shown = {result.name: result for result in results if result.beam == beam}
    tokenizer = ModelDirectory.open(Path(work.model)).tokenizers.target
    rows = []
    for result in shown.values():
        num_tokens = sum(len(ids) + 1 for ids in tokenizer.encode_many(result.texts))
        rows.append(_row(result, shown[result.baseline], work, num_tokens))
    kind = "greedy" if beam == 1 else f"beam {beam}"
    heading = (
        f"### {kind}\n\n{work.corpus}; {work.threads} cores; medians of {len(results[0].turns)} windows, "
        "least to greatest in brackets."
    )
    return "\n".join([heading, "", markdown_table(COLUMNS, rows)])


def _row(result: DecodingResult, baseline: DecodingResult, work: DecodingWork, num_tokens: int) -> tuple[str, ...]:
    count = len(result.texts)
    remark = "" if count == len(work.sources) else f", first {count:,} sentences"
    latencies = list(chain.from_iterable(turn.latencies for turn in result.turns))
    turns = list(zip(result.turns, baseline.turns, strict=True))
    score = _bleu(result, work)
    return (
        result.name + remark,
        f"{median(result.rates):,.0f}",
        format_spread([own / other for own, other in zip(result.rates, baseline.rates, strict=True)]),
        f"{num_tokens / median(turn.seconds for turn in result.turns):,.0f}",
        f"{1000 * median(turn.cpu for turn in result.turns) / count:.2f}",
        f"{1000 * median(latencies):.1f}",
        f"{1000 * quantiles(latencies, n=20)[-1]:.1f}",
        format_spread([own.median_latency / other.median_latency for own, other in turns]),
        "not known" if score is None else f"{score:.2f}",
        f"{result.turns[-1].peak:,.0f}",
    )


def decoding_figures(results: Sequence[DecodingResult], work: DecodingWork) -> dict[str, Any]:
    """Everything that was measured, window by window."""
    return {
        "model": work.model,
        "corpus": work.corpus,
        "contestants": [
            {
                "name": result.name,
                "beam": result.beam,
                "sentences": len(result.texts),
                "seconds": [round(turn.seconds, 4) for turn in result.turns],
                "cpu_seconds": [round(turn.cpu, 4) for turn in result.turns],
                "single_ms": [[round(1000 * latency, 3) for latency in turn.latencies] for turn in result.turns],
                "bleu": _bleu(result, work),
                "peak_mib": round(result.turns[-1].peak),
            }
            for result in results
        ],
    }


def _bleu(result: DecodingResult, work: DecodingWork) -> float | None:
    """Of the sentences that it translated."""
    return None if work.references is None else bleu(result.texts, work.references[: len(result.texts)], work.language)
