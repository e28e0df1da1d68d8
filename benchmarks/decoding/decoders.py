"""The decoders of this environment: from text to text, with the same model, as their users run them at best."""

import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, cast, get_args

from benchmarks.decoding.turn import Decode, cut_by_length, take_turns, with_pieces
from benchmarks.decoding.work import DecodingWork
from benchmarks.turns import Turns
from saccade.engines.engine import Compute, EngineName

HF_BATCH = 64


def ours(work: DecodingWork, engine: str, compute: str) -> Decode:
    """`saccade.load(...).translate(...)`."""
    import saccade

    assert engine in get_args(EngineName)
    assert compute in get_args(Compute)
    translator = saccade.load(work.model, engine=cast(EngineName, engine), compute=cast(Compute, compute))

    def decode(texts: list[str], beam: int) -> list[str]:
        translations = translator.translate(texts, search=saccade.SearchSettings(beam=beam))
        return [translation.text for translation in translations]

    return decode


def ctranslate2(work: DecodingWork, compute: str) -> Decode:
    """CTranslate2 by hand: a worker with one thread for each core, and all sentences at once, which it sorts itself."""
    import ctranslate2

    translator = ctranslate2.Translator(
        str(work.ctranslate2(compute)), inter_threads=work.threads, intra_threads=1, compute_type=compute
    )

    def decode(sources: list[list[str]], beam: int) -> list[list[str]]:
        results = translator.translate_batch(sources, beam_size=beam, max_batch_size=64, batch_type="examples")
        return [result.hypotheses[0] for result in results]

    return with_pieces(work, decode)


def hugging_face(work: DecodingWork) -> Decode:
    """`generate` of transformers: batches of similar lengths, a thread for each core, one for a single sentence."""
    import sentencepiece
    import torch

    model, bos, eos, pad = _load_hugging_face(work)
    source = sentencepiece.SentencePieceProcessor(model_file=work.pieces("source"))
    target = sentencepiece.SentencePieceProcessor(model_file=work.pieces("target"))

    @torch.inference_mode()
    def decode(texts: list[str], beam: int) -> list[str]:
        torch.set_num_threads(work.threads if len(texts) > 1 else 1)
        ids = source.encode(texts)
        translations: dict[int, list[int]] = {}
        for rows in cut_by_length(ids, HF_BATCH):
            padded = torch.nn.utils.rnn.pad_sequence(
                [torch.tensor([*ids[row], eos]) for row in rows], batch_first=True, padding_value=pad
            )
            written = model.generate(
                input_ids=padded,
                attention_mask=padded != pad,
                num_beams=beam,
                early_stopping=beam > 1,
                max_length=2 * padded.shape[1] + 20,
            )
            specials = {pad, bos, eos}
            for row, tokens in zip(rows, written.tolist(), strict=True):
                translations[row] = [token for token in tokens if token not in specials]
        decoded: list[str] = target.decode([translations[row] for row in range(len(ids))])
        return decoded

    return decode


def _load_hugging_face(work: DecodingWork) -> tuple[Any, int, int, int]:
    """Their model with our parameters, and its specials: Marian, or Pegasus if ours is pre-norm."""
    import torch
    from safetensors.torch import load_file

    from saccade.directory import ModelDirectory

    transformers: Any = import_module("transformers")  # whose annotations are not complete
    directory = ModelDirectory.open(Path(work.model))
    config = json.loads((work.marian / "config.json").read_text(encoding="utf-8"))
    generation = json.loads((work.marian / "generation_config.json").read_text(encoding="utf-8"))
    specials = config["bos_token_id"], config["eos_token_id"], config["pad_token_id"]
    if directory.description.model.norm == "post":
        return transformers.MarianMTModel.from_pretrained(work.marian), *specials
    kept = {name: value for name, value in config.items() if name not in ("model_type", "architectures")}
    model = transformers.PegasusForConditionalGeneration(transformers.PegasusConfig(**kept)).eval()
    tensors, own = load_file(work.marian / "model.safetensors"), directory.parameters()
    for stack in ("encoder", "decoder"):
        for name in ("weight", "bias"):
            tensors[f"model.{stack}.layer_norm.{name}"] = torch.from_numpy(own[f"{stack}_norm.{name}"])
    model.load_state_dict(tensors, strict=False)  # without tables that are tied, and sinusoids
    model.tie_weights()
    model.generation_config = transformers.GenerationConfig(**generation)
    return model, *specials


def main(directory: str, who: str, *how: str) -> None:
    """Answer turns; `who` is a function here."""
    turns = Turns()
    work = DecodingWork.open(Path(directory))
    makers: dict[str, Callable[..., Decode]] = {
        "ours": ours,
        "ctranslate2": ctranslate2,
        "hugging_face": hugging_face,
    }
    take_turns(turns, makers[who](work, *how), work.sources)


if __name__ == "__main__":
    main(*sys.argv[1:])
