"""Who decodes, each in a process of its own: from text to text, with the same model, as its users drive it at best."""

import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, cast, get_args

from saccade.benchmark.sentences import Sentences
from saccade.benchmark.translating import Decode, batches, take_turns, with_pieces
from saccade.benchmark.turns import Turns
from saccade.engines.engine import Compute, EngineName

HF_BATCH = 64


def ours(work: Sentences, engine: str, compute: str) -> Decode:
    """`saccade.load(...).translate(...)`."""
    import saccade

    assert engine in get_args(EngineName)
    assert compute in get_args(Compute)
    translator = saccade.load(work.model, engine=cast(EngineName, engine), compute=cast(Compute, compute))

    def decode(texts: list[str], beam: int) -> list[str]:
        return [each.text for each in translator.translate(texts, search=saccade.SearchSettings(beam=beam))]

    return decode


def ctranslate2(work: Sentences, compute: str) -> Decode:
    """CTranslate2 by hand: a worker with one thread for each core, and all sentences at once, which it sorts itself."""
    import ctranslate2

    translator = ctranslate2.Translator(
        str(work.converted(compute)), inter_threads=work.threads, intra_threads=1, compute_type=compute
    )

    def decode(sources: list[list[str]], beam: int) -> list[list[str]]:
        found = translator.translate_batch(sources, beam_size=beam, max_batch_size=64, batch_type="examples")
        return [each.hypotheses[0] for each in found]

    return with_pieces(work, decode)


def hugging_face(work: Sentences) -> Decode:
    """`generate` of transformers: sentences of like length together, as many threads as cores, for a single one one."""
    import sentencepiece
    import torch

    model, bos, eos, pad = _hugging_face(work)
    source = sentencepiece.SentencePieceProcessor(model_file=work.pieces("source"))
    target = sentencepiece.SentencePieceProcessor(model_file=work.pieces("target"))

    @torch.inference_mode()
    def decode(texts: list[str], beam: int) -> list[str]:
        torch.set_num_threads(work.threads if len(texts) > 1 else 1)
        ids = source.encode(texts)
        found: dict[int, list[int]] = {}
        for rows in batches(ids, HF_BATCH):
            given = torch.nn.utils.rnn.pad_sequence(
                [torch.tensor([*ids[row], eos]) for row in rows], batch_first=True, padding_value=pad
            )
            written = model.generate(
                input_ids=given,
                attention_mask=given != pad,
                num_beams=beam,
                early_stopping=beam > 1,
                max_length=2 * given.shape[1] + 20,
            )
            specials = {pad, bos, eos}
            for row, tokens in zip(rows, written.tolist(), strict=True):
                found[row] = [token for token in tokens if token not in specials]
        decoded: list[str] = target.decode([found[row] for row in range(len(ids))])
        return decoded

    return decode


def _hugging_face(work: Sentences) -> tuple[Any, int, int, int]:
    """Their model with our parameters, and its specials: Marian, or Pegasus if ours is pre-norm."""
    import torch
    from safetensors.torch import load_file

    from saccade.directory import ModelDirectory

    transformers: Any = import_module("transformers")  # whose annotations are not complete
    directory = ModelDirectory.open(Path(work.model))
    config = json.loads((work.marian / "config.json").read_text(encoding="utf-8"))
    generation = json.loads((work.marian / "generation_config.json").read_text(encoding="utf-8"))
    specials = config["bos_token_id"], config["eos_token_id"], config["pad_token_id"]
    if directory.description.model.norm == "post":  # type: ignore[union-attr]
        return transformers.MarianMTModel.from_pretrained(work.marian), *specials
    told = {name: value for name, value in config.items() if name not in ("model_type", "architectures")}
    model = transformers.PegasusForConditionalGeneration(transformers.PegasusConfig(**told)).eval()
    tensors, own = load_file(work.marian / "model.safetensors"), directory.parameters()
    for stack in ("encoder", "decoder"):
        for name in ("weight", "bias"):
            tensors[f"model.{stack}.layer_norm.{name}"] = torch.from_numpy(own[f"{stack}_norm.{name}"])
    model.load_state_dict(tensors, strict=False)  # without tables that are tied, and sinusoids
    model.tie_weights()
    model.generation_config = transformers.GenerationConfig(**generation)
    return model, *specials


def main(directory: str, who: str, *how: str) -> None:
    """Answer turns without end; `who` is a function here."""
    turns = Turns()
    work = Sentences.open(Path(directory))
    makers: dict[str, Callable[..., Decode]] = {
        "ours": ours,
        "ctranslate2": ctranslate2,
        "hugging_face": hugging_face,
    }
    take_turns(turns, makers[who](work, *how), work.sources)


if __name__ == "__main__":
    main(*sys.argv[1:])
