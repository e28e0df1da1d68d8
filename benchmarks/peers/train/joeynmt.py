"""Joey NMT. It shuffles sentences of all lengths into a batch, and counts the longer side of the longest pair."""

import json
import sys
from importlib.metadata import version
from pathlib import Path

from benchmarks.peers.train.toolkit import take_turns
from benchmarks.training.work import TrainingWork


def main(directory: str) -> None:
    work = TrainingWork.open(Path(directory))
    size = work.model
    vocabulary = work.directory / "joeynmt.txt"
    specials = {"unk": "<unk>", "pad": "<pad>", "bos": "<s>", "eos": "</s>"}
    pieces = [*specials.values(), *work.pieces.read_text(encoding="utf-8").splitlines()[4:]]
    vocabulary.write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    # Sentences come in pieces already: to Joey they are words.
    side = {"max_length": 130, "level": "word", "voc_file": str(vocabulary), "lowercase": False, "normalize": False}
    stack = {
        "type": "transformer",
        "num_layers": size.layers,
        "num_heads": size.num_heads,
        "hidden_size": size.d_model,
        "ff_size": size.d_feedforward,
        "dropout": size.dropout,
        "layer_norm": "post",
        "embeddings": {"embedding_dim": size.d_model, "scale": True, "dropout": size.dropout},
    }
    settings = {
        "name": "bench",
        "joeynmt_version": version("joeynmt"),
        "model_dir": str(work.directory / "joeynmt"),
        "use_cuda": False,
        "fp16": False,
        "random_seed": 1,
        "data": {
            "train": str(work.directory / "train"),
            "dev": str(work.directory / "train"),
            "dataset_type": "plain",
            "src": side | {"lang": "source"},
            "trg": side | {"lang": "target"},
            "special_symbols": {f"{name}_token": piece for name, piece in specials.items()}
            | {f"{name}_id": id for id, name in enumerate(specials)},
        },
        "testing": {"beam_size": 1, "batch_size": 64, "batch_type": "sentence", "eval_metrics": ["bleu"]},
        "training": {
            "optimizer": "adamw",
            "adam_betas": [0.9, 0.98],
            "scheduling": "warmupinversesquareroot",
            "learning_rate": 0.0005,
            "learning_rate_warmup": 4000,
            "weight_decay": 0.0,
            "clip_grad_norm": 1.0,
            "loss": "crossentropy",
            "label_smoothing": 0.1,
            "batch_size": work.batch_tokens,
            "batch_type": "token",
            "normalization": "tokens",
            "epochs": 1000,
            "updates": 1_000_000,
            "validation_freq": 1_000_000,
            "logging_freq": 1,
            "early_stopping_metric": "bleu",
            "overwrite": True,
            "shuffle": True,
        },
        "model": {
            "initializer": "xavier_uniform",
            "embed_initializer": "normal",
            "embed_init_weight": size.d_model**-0.5,
            "tied_embeddings": True,
            "tied_softmax": True,
            "encoder": stack,
            "decoder": stack,
        },
    }
    file = work.directory / "joeynmt.yaml"
    file.write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML, too
    command = [sys.executable, "-P", "-m", "joeynmt", "train", file]
    take_turns(f"Joey NMT {version('joeynmt')}", command, r"Tokens per Sec: +([\d.,]+)")


if __name__ == "__main__":
    main(sys.argv[1])
