"""Hugging Face's MarianMT in the plain loop: the same batches, loss and optimizer, only the model is theirs."""

import sys
from pathlib import Path

import torch
import transformers
from transformers import MarianConfig, MarianMTModel

from benchmarks.training.plain import train_model
from benchmarks.training.work import BOS, EOS, PAD, TrainingWork
from benchmarks.turns import Turns


def main(directory: str) -> None:
    work, turns = (
        TrainingWork.open(Path(directory)),
        Turns(f"Hugging Face MarianMT {transformers.__version__}, plain loop"),
    )
    torch.set_num_threads(work.threads)
    torch.manual_seed(1)
    size = work.model
    settings = MarianConfig(
        vocab_size=work.vocabulary,
        d_model=size.d_model,
        encoder_layers=size.layers,
        decoder_layers=size.layers,
        encoder_attention_heads=size.num_heads,
        decoder_attention_heads=size.num_heads,
        encoder_ffn_dim=size.d_feedforward,
        decoder_ffn_dim=size.d_feedforward,
        dropout=size.dropout,
        attention_dropout=size.dropout,
        activation_dropout=size.dropout,
        activation_function="relu",
        max_position_embeddings=512,
        scale_embedding=True,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        forced_eos_token_id=None,
        decoder_start_token_id=BOS,
    )
    model = MarianMTModel(settings)

    def forward(source: torch.Tensor, prefix: torch.Tensor) -> torch.Tensor:
        mask = source != PAD
        return model(input_ids=source, attention_mask=mask, decoder_input_ids=prefix, use_cache=False).logits

    train_model(model, forward, work, turns)


if __name__ == "__main__":
    main(sys.argv[1])
