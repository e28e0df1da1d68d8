"""`saccade score`: how likely a model finds given translations, a line for each pair."""

import json
from pathlib import Path
from typing import Annotated

import saccade
from saccade.cli.console import bar, note
from saccade.cli.options import ComputeChoice, Device, EngineChoice, From, ModelPaths, To, argument, option
from saccade.text.formats.lines import read_pairs
from saccade.text.formats.opening import check_readable
from saccade.translation import Scored


def score(
    model: ModelPaths,
    source: Annotated[Path, argument(metavar="SOURCE", help="Lines in the source language, plain, gzip or zstd.")],
    target: Annotated[Path, argument(metavar="TARGET", help="Their translations, line by line.")],
    to: To = None,
    source_language: From = None,
    as_json: Annotated[bool, option("--json", help="Write JSON lines, with every token's log-probability.")] = False,
    engine: EngineChoice = "auto",
    compute: ComputeChoice = "float32",
    device: Device = "cpu",
) -> None:
    """Score given translations: log p(target | source) in nats, a tab, and the same per token.

    Line n of the output belongs to line n of both files; where a side is blank, the line is empty.
    The end of sentence counts as a token. Nearer to 0 is likelier.

    Example: `saccade score --model runs/en-de a.en a.de > a.scores`
    """
    from saccade.scorer import score_pairs

    for path in (source, target):
        check_readable(path)
    translator = saccade.load(model, engine=engine, compute=compute, device=device, to=to, source=source_language)
    # A mismatch is reported now rather than after an hour; a pipe can be read only once.
    total = sum(1 for _ in read_pairs(source, target)) if source.is_file() and target.is_file() else None
    blank = 0
    with bar("pairs") as progress:
        task = progress.add_task("scoring", total=total)
        for scored in score_pairs(translator, read_pairs(source, target)):
            blank += scored is None
            print(_json(scored) if as_json else _line(scored), flush=True)
            progress.advance(task)
    if blank:
        note(f"Pairs with a blank side, which have no score: {blank:,}")


def _line(scored: Scored | None) -> str:
    return "" if scored is None else f"{scored.log_prob:.4f}\t{scored.log_prob / len(scored.log_probs):.4f}"


def _json(scored: Scored | None) -> str:
    log_prob, tokens, log_probs = (None, (), ()) if scored is None else (scored.log_prob, *scored)
    return json.dumps({"log_prob": log_prob, "tokens": tokens, "log_probs": log_probs}, ensure_ascii=False)
