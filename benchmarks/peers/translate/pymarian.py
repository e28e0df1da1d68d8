"""Marian itself, through pymarian: reads a job of benchmarks/firefox.py as JSON, and prints translations as JSON."""

import json
import os
import sys
from importlib.metadata import version


def main() -> None:
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    from pymarian import Translator

    job = json.load(sys.stdin)
    settings = {
        "models": job["model"],
        "vocabs": " ".join(job["vocabularies"]),
        "beam-size": job["beam"],
        "normalize": 1,
        "mini-batch": 32,
        "maxi-batch": 100,
        "maxi-batch-sort": "src",
        "max-length": 1000,
        "max-length-factor": 2.0,
        "cpu-threads": 1,
        "log-level": "error",
    }
    translator = Translator(" ".join(f"--{name} {value}" for name, value in settings.items()) + " --quiet-translation")
    lines = translator.translate(job["lines"])
    print(json.dumps({"name": f"pymarian {version('pymarian')}", "lines": lines}))


if __name__ == "__main__":
    main()
