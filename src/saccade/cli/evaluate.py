"""`saccade evaluate`: how good are these translations, or this model?"""

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from saccade.cli.console import bar, note, print_result
from saccade.cli.options import Beam, ComputeChoice, EngineChoice
from saccade.cli.translate import search_settings
from saccade.engines.engine import Compute, EngineName
from saccade.errors import DataError, OutputExists
from saccade.evaluation.scores import Score, corpus_scores
from saccade.text.formats.opening import open_text


def evaluate(
    reference: Annotated[
        Path,
        typer.Option("--reference", "-r", help="The known translations, a file of lines.", show_default=False),
    ],
    hypotheses: Annotated[
        Path | None,
        typer.Option("--hypotheses", help="Translations to score, a file of lines.", show_default=False),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option("--model", "-m", help="Or a model to translate --source with.", show_default=False),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option("--source", "-s", help="What the model translates, a file of lines.", show_default=False),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option("--language", "-l", help="Target language; the model's own if there is one.", show_default=False),
    ] = None,
    beam: Beam = None,
    engine: EngineChoice = "auto",
    compute: ComputeChoice = "float32",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Also write the model's translations here.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the scores as JSON.")] = False,
) -> None:
    """Score translations, or a model's translations, against a reference: BLEU, chrF2 and TER by sacreBLEU.

    With a model, also its perplexity on the reference. Chinese and Japanese are tokenised as sacreBLEU does for them.

    Examples: `saccade evaluate --model runs/en-de --source test.en --reference test.de`

    `saccade evaluate --hypotheses out.de --reference test.de --language de`
    """
    references = list(open_text(reference))
    if not references:
        raise DataError(f"{reference} must hold at least one known translation, but it is empty.")
    extra: dict[str, Any] = {}
    if hypotheses is not None and not (model or source or beam or output):
        if language is None:
            note("No --language given: BLEU uses the tokenisation for languages written with spaces (13a).")
        texts = list(open_text(hypotheses))
    elif model is not None and source is not None and hypotheses is None:
        if output is not None and output.exists():
            raise OutputExists(f"{output} exists already. Remove it or name another file; nothing was translated.")
        texts, extra, language = _of_model(model, source, references, beam, language, engine, compute)
        if output is not None:
            output.write_text("".join(text + "\n" for text in texts), encoding="utf-8", newline="\n")
    else:
        raise typer.BadParameter("give --hypotheses alone, or --model with --source and perhaps --beam and --output")
    scores = corpus_scores(texts, references, language=language or "")
    if as_json:
        print_result(json.dumps({"scores": [asdict(score) for score in scores], **extra}, ensure_ascii=False, indent=1))
    else:
        _show(scores, extra)


def _of_model(
    path: Path,
    source: Path,
    references: list[str],
    beam: int | None,
    language: str | None,
    engine: EngineName,
    compute: Compute,
) -> tuple[list[str], dict[str, Any], str]:
    """Translations of a model, and what else it says of the reference."""
    from saccade.translator import load

    sources = list(open_text(source))
    if len(sources) != len(references):
        raise DataError(
            f"{source} has {len(sources)} lines but the reference has {len(references)}. Line n of one must translate "
            "line n of the other; find the line that is missing or was split in two."
        )
    translator = load(path, engine=engine, compute=compute)
    settings = search_settings(translator.search, beam)
    with bar("lines") as progress:
        task = progress.add_task("translating", total=len(sources))
        found = translator.translate(sources, search=settings, advanced=lambda count: progress.advance(task, count))
    for number, translation in enumerate(found, start=1):
        for remark in translation.notes:
            note(f"{source}, line {number} {remark}")
    encoded = translator.directory.tokenizers.target.encode_many(references)
    num_tokens = sum(len(ids) + 1 for ids in encoded)
    loss = -sum(translator.score(sources, references)) / num_tokens
    extra = {"perplexity": math.exp(loss), "tokens": num_tokens, "beam": settings.beam}
    return [each.text for each in found], extra, language or translator.directory.description.target_language


def _show(scores: list[Score], extra: dict[str, Any]) -> None:
    for score in scores:
        print_result(f"{score.name:<5} {score.value:6.2f}  {score.signature}")
    if extra:
        print_result(
            f"ppl   {extra['perplexity']:6.2f}  per target token, of {extra['tokens']:,}; beam {extra['beam']}"
        )
