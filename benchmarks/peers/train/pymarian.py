"""Marian's trainer as the pymarian wheel carries it: C++, no torch. Its feed-forward layers have swish."""

import sys
from importlib.metadata import version
from pathlib import Path

from benchmarks.peers.train.toolkit import take_turns
from benchmarks.training.work import TrainingWork


def main(directory: str) -> None:
    work = TrainingWork.open(Path(directory))
    vocabulary = work.directory / "marian.yml"
    pieces = ["</s>", "<unk>", *work.pieces.read_text(encoding="utf-8").splitlines()[4:]]
    quoted = (piece.replace("\\", "\\\\").replace('"', '\\"') for piece in pieces)
    vocabulary.write_text("".join(f'"{piece}": {id}\n' for id, piece in enumerate(quoted)), encoding="utf-8")
    size = work.model
    settings = {
        "type": "transformer",
        "model": work.directory / "marian.npz",
        "train-sets": [work.file("source"), work.file("target")],
        "vocabs": [vocabulary, vocabulary],
        "dim-vocabs": [len(pieces), len(pieces)],
        "dim-emb": size.d_model,
        "transformer-dim-ffn": size.d_feedforward,
        "transformer-heads": size.num_heads,
        "enc-depth": size.layers,
        "dec-depth": size.layers,
        "transformer-dropout": size.dropout,
        "transformer-dropout-attention": size.dropout,
        "transformer-dropout-ffn": size.dropout,
        "transformer-postprocess": "dan",
        "label-smoothing": 0.1,
        "optimizer": "adam",
        "optimizer-params": [0.9, 0.98, 1e-9],
        "learn-rate": 0.0005,
        "lr-warmup": 4000,
        "clip-norm": 1,
        "cost-type": "ce-mean-words",
        "mini-batch-words": work.batch_tokens,
        "mini-batch": work.batch_tokens,
        "maxi-batch": 1000,
        "max-length": 130,
        "cpu-threads": work.threads,
        "workspace": 3000,
        "disp-freq": "1u",
        "seed": 1,
        "after": "1000000u",
        "save-freq": "1000000u",
    }
    words = [Path(sys.executable).parent / "pymarian", "train", "--tied-embeddings-all", "--sync-sgd", "--overwrite"]
    words += ["--disp-label-counts"]
    for name, value in settings.items():
        words += [f"--{name}", *map(str, value if isinstance(value, list) else [value])]
    take_turns(f"pymarian {version('pymarian')}", words, r"([\d.,]+) words/s")


if __name__ == "__main__":
    main(sys.argv[1])
