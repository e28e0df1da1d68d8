"""Small Marian models as `transformers` writes them, with tokenizers as OPUS-MT has them."""

import io
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import sentencepiece
import torch
from transformers import MarianConfig, MarianMTModel, MarianTokenizer
from transformers.utils import logging

logging.set_verbosity_error()
logging.disable_progress_bar()

ENGLISH = [
    "A dog runs in the park.",
    "The cat sleeps on the sofa, quietly!",
    'She said: "Hello, world", and left.',
    "Is it 5 o'clock (or 17:00)?",
    "No dogs or cats are in the park today.",
]
GERMAN = [
    "Ein Hund läuft im Park.",
    "Die Katze schläft leise auf dem Sofa!",
    "Sie sagte: „Hallo, Welt“ und ging.",
    "Ist es 5 Uhr (oder 17:00)?",
    "Heute sind keine Hunde oder Katzen im Park. 中文",
]
CODE = ">>deu<<"


@cache
def spm(language: str, kind: str) -> bytes:
    """A SentencePiece model with the specials and the normaliser (nmt_nfkc) that SentencePiece has by itself."""
    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(ENGLISH if language == "en" else GERMAN),
        model_writer=writer,
        model_type=kind,
        vocab_size=90,
        hard_vocab_limit=False,
        minloglevel=3,
    )
    return writer.getvalue()


def pieces(model: bytes) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(model)
    return [processor.id_to_piece(id) for id in range(len(processor)) if not processor.is_control(id)]


def vocabulary(*models: bytes, leaves_out: int = 7) -> dict[str, int]:
    """As OPUS-MT makes it: all that both languages use, the end first and padding last.

    Some pieces of the SentencePiece models are not in it, since no training text was cut so.
    """
    found = sorted({piece for model in models for piece in pieces(model)} - {"<unk>"}, key=lambda piece: piece[::-1])
    kept = [piece for place, piece in enumerate(found) if place % leaves_out]
    return {piece: id for id, piece in enumerate(["</s>", "<unk>", *kept, CODE, "<pad>"])}


def write_tokenizer(path: Path, *, kind: str = "unigram", separate: bool = False) -> MarianTokenizer:
    source, target = spm("en", kind), spm("de", kind)
    path.mkdir()
    (path / "source.spm").write_bytes(source)
    (path / "target.spm").write_bytes(target)
    words: dict[str, Any] = {"source_lang": "en", "target_lang": "de", "separate_vocabs": separate}
    tables = {"vocab.json": vocabulary(source, target), "tokenizer_config.json": words}
    if separate:
        tables |= {"vocab.json": vocabulary(source), "target_vocab.json": vocabulary(target, leaves_out=5)}
    for name, table in tables.items():
        (path / name).write_text(json.dumps(table), encoding="utf-8")
    return MarianTokenizer.from_pretrained(path)


def config(tokenizer: MarianTokenizer, **changes: Any) -> MarianConfig:
    """As OPUS-MT has it, but small; drawn so that outputs differ and end."""
    ids = tokenizer.target_encoder if tokenizer.separate_vocabs else tokenizer.encoder
    given: dict[str, Any] = {
        "vocab_size": len(tokenizer.encoder),
        "decoder_vocab_size": len(ids),
        "share_encoder_decoder_embeddings": not tokenizer.separate_vocabs,
        "d_model": 16,
        "activation_function": "swish",
        "scale_embedding": True,
        "max_position_embeddings": 64,
        "init_std": 0.3,
        "eos_token_id": ids["</s>"],
        "forced_eos_token_id": None,
        "pad_token_id": ids["<pad>"],
        "decoder_start_token_id": ids["<pad>"],
    }
    for stack in ("encoder", "decoder"):
        given |= {f"{stack}_layers": 2, f"{stack}_attention_heads": 2, f"{stack}_ffn_dim": 24}
    return MarianConfig(**(given | changes))


def model(settings: MarianConfig) -> MarianMTModel:
    """Random, and nothing in it zero that need not be."""
    torch.manual_seed(7)
    made = MarianMTModel(settings).eval()
    with torch.no_grad():
        made.final_logits_bias.normal_()
        made.final_logits_bias[0, settings.eos_token_id] += 2.0
        for name, parameter in made.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(std=0.2)
            elif "layer_norm" in name:
                parameter.normal_(mean=1.0, std=0.2)
    return made


def write(path: Path, *, kind: str = "unigram", separate: bool = False, **changes: Any) -> MarianMTModel:
    """A whole directory."""
    tokenizer = write_tokenizer(path.with_name(f"{path.name}-tokenizer"), kind=kind, separate=separate)
    made = model(config(tokenizer, **changes))
    made.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return made
