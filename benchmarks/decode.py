"""Compare our translating with CTranslate2 by hand, Hugging Face's generate and other toolkits, from text to text.

    python -m benchmarks.decode --model runs/en-de
    python -m benchmarks.decode --model runs/en-de --peers benchmarks/peers
    python -m benchmarks.decode --model runs/fr-en --source news.fr --reference news.en --sentences 5000

All use the same model, which must be a trained Transformer: an untrained one does not end its sentences, and its speed
says nothing. Contestants take turns in processes of their own. Without --source the sentences are Multi30k if
SACCADE_DATA is set, else generated. docs/speed.md says what is the same for all.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.command import (
    add_peers,
    at_least,
    check_output,
    check_peers,
    make_parser,
    note,
    run_command,
    show,
    write_figures,
)
from benchmarks.decoding import race, tables
from benchmarks.decoding.layout import write_decoding_work
from benchmarks.report import describe_machine
from saccade.directory import ModelDirectory
from saccade.interop.ctranslate2 import transformer
from saccade.text.formats.opening import check_readable


def main(arguments: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__, windows=3)
    parser.add_argument("--model", metavar="DIR", type=Path, required=True, help="model or run directory")
    parser.add_argument(
        "--sentences", metavar="N", type=at_least(20), default=1000, help="sentences to translate (default 1000)"
    )
    parser.add_argument("--source", metavar="FILE", type=Path, help="sentences in the model's source language")
    parser.add_argument("--reference", metavar="FILE", type=Path, help="their translations, line by line, for BLEU")
    add_peers(parser)
    options = parser.parse_args(arguments)
    if options.reference is not None and options.source is None:
        parser.error("--reference needs --source, whose lines it translates")
    check_peers(options.peers)
    check_output(options.json)
    for path in filter(None, (options.source, options.reference)):
        check_readable(path)
    model = ModelDirectory.open(options.model)
    transformer(model)
    machine = describe_machine("ctranslate2", "torch", "transformers")
    show(f"{machine}\n")
    with tempfile.TemporaryDirectory(prefix="saccade-bench-") as directory:
        work = write_decoding_work(Path(directory), model, options.sentences, options.source, options.reference)
        contestants = race.contestants(work, options.peers)
        results = race.run_race(contestants, work, windows=options.windows, report=note)
        for beam in race.BEAMS:
            show(f"{tables.decoding_table(results, work, beam)}\n")
        figures = tables.decoding_figures(results, work)
    write_figures(options.json, {"machine": machine, **figures})


if __name__ == "__main__":
    run_command(main)
