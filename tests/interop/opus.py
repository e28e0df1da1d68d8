"""Small Marian models as `transformers` writes them, with tokenizers as OPUS-MT has them."""

import io
import json
import os
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import sentencepiece
import torch
import yaml
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
SEVERAL = (">>deu<<", ">>nld<<", ">>afr<<")
"""The codes of a model that translates into several languages; with seed 2, its translations depend on them."""


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


def vocabulary(*models: bytes, leaves_out: int = 7, codes: Sequence[str] = (CODE,)) -> dict[str, int]:
    """As OPUS-MT makes it: all that both languages use, the end first and padding last.

    Some pieces of the SentencePiece models are not in it, since no training text was cut so.
    """
    found = sorted({piece for model in models for piece in pieces(model)} - {"<unk>"}, key=lambda piece: piece[::-1])
    kept = [piece for place, piece in enumerate(found) if place % leaves_out]
    return {piece: id for id, piece in enumerate(["</s>", "<unk>", *kept, *codes, "<pad>"])}


def write_tokenizer(
    path: Path, *, kind: str = "unigram", separate: bool = False, codes: Sequence[str] = (CODE,)
) -> MarianTokenizer:
    source, target = spm("en", kind), spm("de", kind)
    path.mkdir()
    (path / "source.spm").write_bytes(source)
    (path / "target.spm").write_bytes(target)
    words: dict[str, Any] = {"source_lang": "en", "target_lang": "de", "separate_vocabs": separate}
    tables = {"vocab.json": vocabulary(source, target, codes=codes), "tokenizer_config.json": words}
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


def model(settings: MarianConfig, seed: int = 7) -> MarianMTModel:
    """Random, and nothing in it zero that need not be."""
    torch.manual_seed(seed)
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


def write(
    path: Path,
    *,
    kind: str = "unigram",
    separate: bool = False,
    codes: Sequence[str] = (CODE,),
    seed: int = 7,
    **changes: Any,
) -> MarianMTModel:
    """A whole directory."""
    tokenizer = write_tokenizer(path.with_name(f"{path.name}-tokenizer"), kind=kind, separate=separate, codes=codes)
    made = model(config(tokenizer, **changes), seed)
    made.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return made


# Marian's own files

OPTIONS = {
    "type": "transformer",
    "right-left": False,
    "transformer-preprocess": "",
    "transformer-postprocess": "dan",
    "transformer-postprocess-emb": "d",
    "transformer-postprocess-top": "",
    "transformer-decoder-autoreg": "self-attention",
    "transformer-no-projection": False,
    "transformer-train-position-embeddings": False,
    "transformer-tied-layers": [],
    "transformer-ffn-depth": 2,
    "transformer-decoder-ffn-depth": 0,
    "transformer-decoder-dim-ffn": 0,
    "transformer-guided-alignment-layer": "last",
    "transformer-depth-scaling": False,
}


def without_padding(made: MarianMTModel) -> None:
    """Marian has no token <pad>: transformers reads its files as if it had one of zeros."""
    with torch.no_grad():
        for table in (made.get_input_embeddings(), made.model.decoder.embed_tokens, made.lm_head):
            table.weight[-1] = 0
        made.final_logits_bias[0, -1] = 0


def original_arrays(made: MarianMTModel) -> dict[str, np.ndarray]:
    """The parameters as Marian stores them: matrices the other way round, and vectors as matrices of one row."""
    arrays = {}
    names = [("self_attn_layer_norm", "self_Wo_ln"), ("encoder_attn_layer_norm", "context_Wo_ln")]
    names += [("final_layer_norm", "ffn_ffn_ln"), ("self_attn.", "self_"), ("encoder_attn.", "context_")]
    for name, values in made.state_dict().items():
        if layer := re.fullmatch(r"model\.(encoder|decoder)\.layers\.(\d+)\.(.+)\.(weight|bias)", name):
            stack, number, rest, what = layer.groups()
            for theirs, marians in names:
                rest = rest.replace(theirs, marians)
            if rest.endswith("_ln"):
                short = rest + {"weight": "_scale", "bias": "_bias"}[what]
            else:
                head, letter = re.fullmatch(r"(self_|context_|fc)(?:(q|k|v|o)\w*|\d)", rest).groups()
                letter = letter or rest[-1]
                short = f"{head.replace('fc', 'ffn_')}{'W' if what == 'weight' else 'b'}{letter}"
            array = values.numpy().T if values.ndim == 2 else values.numpy()[None]
            arrays[f"{stack}_l{int(number) + 1}_{short}"] = array
    shares = made.config.share_encoder_decoder_embeddings
    sides = {"Wemb": "encoder"} if shares else {"encoder_Wemb": "encoder", "decoder_Wemb": "decoder"}
    for name, stack in sides.items():
        arrays[name] = getattr(made.model, stack).embed_tokens.weight.detach().numpy()[:-1]
    if not made.config.tie_word_embeddings:
        arrays["decoder_ff_logit_out_W"] = made.lm_head.weight.detach().numpy()[:-1].T
    arrays["decoder_ff_logit_out_b"] = made.final_logits_bias.numpy()[:, :-1]
    return arrays


def write_original(path: Path, *, separate: bool = False, changes: Any = None, **config: Any) -> MarianMTModel:
    """A model with Marian's own files beside those of `transformers` in `path`-hf; `changes` are training options."""
    theirs = path.with_name(f"{path.name}-hf")
    made = write(theirs, kind="bpe" if separate else "unigram", separate=separate, **config)
    without_padding(made)
    made.save_pretrained(theirs)
    path.mkdir()
    options = OPTIONS | {
        "dim-emb": made.config.d_model,
        "enc-depth": made.config.encoder_layers,
        "dec-depth": made.config.decoder_layers,
        "transformer-heads": made.config.encoder_attention_heads,
        "transformer-dim-ffn": made.config.encoder_ffn_dim,
        "transformer-ffn-activation": made.config.activation_function,
    }
    written = yaml.safe_dump(options | (changes or {})).encode() + b"\0"
    arrays = original_arrays(made) | {"special:model.yml": np.frombuffer(written, np.int8)}
    np.savez(path / "opus.model1.npz", **arrays)
    names = ["opus.src.vocab.yml", "opus.trg.vocab.yml"] if separate else ["opus.vocab.yml", "opus.vocab.yml"]
    for name, source in zip(names, ("vocab.json", "target_vocab.json" if separate else "vocab.json"), strict=True):
        ids = json.loads((theirs / source).read_text("utf-8"))
        del ids["<pad>"]
        (path / name).write_text(yaml.safe_dump(ids, allow_unicode=True, sort_keys=False), "utf-8")
    decoder = {"models": ["opus.model1.npz"], "vocabs": names, "beam-size": 6, "normalize": 1, "relative-paths": True}
    (path / "decoder.yml").write_text(yaml.safe_dump(decoder), "utf-8")
    for name in ("source.spm", "target.spm"):
        (path / name).write_bytes((theirs / name).read_bytes())
    (path / "README.md").write_text("# opus-2020-02-26.zip\n", "utf-8")
    return made


def rewrite_original(path: Path, change: Any) -> None:
    """The arrays changed by a function of their table."""
    file = path / "opus.model1.npz"
    with np.load(file) as arrays:
        changed = change(dict(arrays))
    np.savez(file, **changed)
