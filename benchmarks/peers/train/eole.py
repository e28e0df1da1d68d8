"""eole, the successor of OpenNMT-py. Pre-norm, the only one that its Transformer has."""

import json
import sys
from importlib.metadata import version
from pathlib import Path

from benchmarks.peers.train.toolkit import take_turns
from benchmarks.training.work import TrainingWork


def main(directory: str) -> None:
    work = TrainingWork.open(Path(directory))
    vocabulary = work.directory / "eole.txt"
    pieces = work.pieces.read_text(encoding="utf-8").splitlines()[4:]
    vocabulary.write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    size = work.model
    settings = {
        "seed": 1,
        "share_vocab": True,
        "src_vocab": str(vocabulary),
        "tgt_vocab": str(vocabulary),
        "src_vocab_size": work.vocabulary,
        "tgt_vocab_size": work.vocabulary,
        "overwrite": True,
        "report_every": 1,
        "data": {"train": {"path_src": str(work.file("source")), "path_tgt": str(work.file("target"))}},
        "training": {
            "world_size": 0,
            "gpu_ranks": [],
            "compute_dtype": "fp32",
            "num_workers": 0,
            "model_path": str(work.directory / "eole"),
            "batch_type": "tokens",
            "batch_size": work.batch_tokens,
            "normalization": "tokens",
            "bucket_size": len(work.examples),
            "train_steps": 1_000_000,
            "valid_steps": 1_000_000,
            "save_checkpoint_steps": 1_000_000,
            "optim": "adamw",
            "adam_beta2": 0.98,
            "decay_method": "noam",
            "warmup_steps": 4000,
            "learning_rate": 2.0,
            "max_grad_norm": 1.0,
            "label_smoothing": 0.1,
            "param_init_method": "xavier_uniform",
            "dropout": [size.dropout],
            "attention_dropout": [size.dropout],
            "dropout_steps": [0],
        },
        "model": {
            "architecture": "transformer",
            "layers": size.layers,
            "heads": size.num_heads,
            "hidden_size": size.d_model,
            "transformer_ff": size.d_feedforward,
            "share_embeddings": True,
            "share_decoder_embeddings": True,
            "position_encoding_type": "SinusoidalInterleaved",
            "add_qkvbias": True,
            "add_final_linear_bias": True,
            "add_ffnbias": True,
            "embeddings": {"word_vec_size": size.d_model},
        },
    }
    file = work.directory / "eole.yaml"
    file.write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML, too
    command = [Path(sys.executable).parent / "eole", "train", "-c", file]
    take_turns(f"eole {version('eole')}, pre-norm", command, r"/ *([\d.]+) tok/s")


if __name__ == "__main__":
    main(sys.argv[1])
