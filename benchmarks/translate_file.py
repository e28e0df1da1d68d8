"""`saccade translate` on a file of any size: memory while it runs, and what a SIGKILL leaves of the output.

    python -m benchmarks.translate_file --gigabytes 1 --seconds 60

writes a generated file, translates it with a model that was never trained, notes the memory, kills the process without
warning, starts the same command again for a while, kills that, too, and checks that the lines that are there are those
of an undisturbed translation of the beginning: none lost, none doubled. Everything it writes is removed.
"""

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

SENTENCE = "a dog runs over the green hill and two men in red coats watch it from their small boat"
WORDS = SENTENCE.split()


def save_model(path: Path) -> None:
    import torch

    from saccade import directory
    from saccade.models.build import build
    from saccade.models.settings import TransformerSettings
    from saccade.text.languages import Direction
    from saccade.text.tokenizer import Tokenizer, Tokenizers, TokenizerSettings

    learned = Tokenizer.learn([SENTENCE] * 9, TokenizerSettings(vocabulary=400), seed=1)
    settings = TransformerSettings(layers=1, d_model=16, d_feedforward=16, num_heads=2)
    torch.manual_seed(1)
    model = build(settings, len(learned), len(learned))
    pair = Direction(source="en", target="de")
    directory.save(
        path,
        directory.Description(directions=(pair,), max_tokens=32, model=settings),
        Tokenizers(learned, learned),
        {name: values.detach().numpy() for name, values in model.named_parameters()},
        "# A model that was never trained\n",
    )


def lines(seed: int = 1) -> Iterator[str]:
    """Sentences of very different lengths, some of several sentences, some blank."""
    rng = random.Random(seed)
    while True:
        sentences = (" ".join(rng.choices(WORDS, k=rng.randrange(1, 20))) for _ in range(rng.randrange(4)))
        yield " ".join(f"{sentence.capitalize()}." for sentence in sentences) + "\n"


def write(path: Path, size: int) -> None:
    """A block of a hundred thousand lines, again and again, each time with its number."""
    source = lines()
    block = "".join(next(source) for _ in range(100_000))
    with path.open("w", encoding="utf-8") as file:
        number = 0
        while file.tell() < size:
            file.write(f"{number}\n{block}")
            number += 1


def command(model: Path, source: Path, output: Path) -> list[str]:
    short = [word for name in ("factor=0.2", "extra=4") for word in ("--set", f"search.max_length_{name}")]
    words = ["translate", "--model", model, source, "-o", output, "--beam", "1", *short]
    return [sys.executable, "-m", "saccade", *map(str, words)]


def memory(pid: int) -> float:
    """Resident memory in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def sound(state: Path) -> int:
    """How many lines of the input are translated for good."""
    return int(tomllib.loads(state.read_text())["input"]["lines"]) if state.exists() else 0


def kill_after(words: list[str], state: Path, seconds: float) -> int:
    """The number of lines that were sound when it was killed, so long after its first chunk."""
    before, process = sound(state), subprocess.Popen(words, stderr=subprocess.DEVNULL)
    while process.poll() is None and sound(state) == before:
        time.sleep(0.05)
    started = time.monotonic()
    for share in (0.0, 0.25, 0.5, 1.0):
        time.sleep(max(0.0, started + share * seconds - time.monotonic()))
        if process.poll() is not None:
            sys.exit(f"it ended by itself, with {process.returncode}")
        print(f"{share * seconds:5.0f} s  {memory(process.pid):7.1f} MB resident  {sound(state):9,} lines", flush=True)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return sound(state)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    asked = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="translate-file-"))
    try:
        model, source, output = directory / "model", directory / "source", directory / "output"
        save_model(model)
        write(source, int(asked.gigabytes * 1e9))
        print(f"{source.stat().st_size / 1e9:.2f} GB")
        part, state = directory / "output.part", directory / "output.part.toml"
        first = kill_after(command(model, source, output), state, asked.seconds)
        print(f"killed; {first:,} lines are sound")
        done = kill_after(command(model, source, output), state, asked.seconds / 2)
        print(f"resumed, and killed; {done:,} lines are sound")
        check(model, source, part, int(tomllib.loads(state.read_text())["output"]), done)
    finally:
        shutil.rmtree(directory)


def check(model: Path, source: Path, part: Path, size: int, count: int) -> None:
    """Translate the beginning once more, undisturbed, and compare."""
    beginning, again = source.with_name("beginning"), source.with_name("again")
    with source.open(encoding="utf-8") as file, beginning.open("w", encoding="utf-8") as written:
        written.writelines(next(file) for _ in range(count))
    subprocess.run(command(model, beginning, again), check=True, stderr=subprocess.DEVNULL)
    with part.open("rb") as file:
        found = file.read(size)
    same = found == again.read_bytes()
    print(f"{found.count(10):,} lines of output for {count:,} of input, {'the same' if same else 'NOT THE SAME'} bytes")
    if not same:
        sys.exit(1)


if __name__ == "__main__":
    main()
