"""Joey NMT's search over its own Transformer with our parameters: batches of similar lengths, a thread for each core.

Its length penalty is GNMT's and no other. It keeps no keys and values: every step reads the whole prefix again.
"""

import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from itertools import takewhile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from benchmarks.decoding.turn import DecodePieces, cut_by_length, take_turns, with_pieces
from benchmarks.decoding.work import DecodingWork, Side, embedding_names
from benchmarks.training.work import BOS, EOS, PAD, UNK
from benchmarks.turns import Turns
from saccade.models.settings import TransformerSettings

SPECIALS = {"unk": UNK, "pad": PAD, "bos": BOS, "eos": EOS}
"""Our ids, in the order that Joey NMT wants them in."""
BATCH = 64
ALPHA = 4 / 3
"""Of its penalty ((5 + length) / 6)^α: at 15 tokens, one more then counts as much as in ours, which is the length."""
EPSILON = 1e-5
"""Of our norms; Joey NMT's would be 1e-6."""


def decoder(work: DecodingWork) -> DecodePieces:
    """Joey NMT's search."""
    from joeynmt.batch import Batch
    from joeynmt.search import search

    source, target = vocabulary(work, "source"), vocabulary(work, "target")
    model = build(work, source, target)
    pad, eos, end = source.pad_index, source.eos_index, work.vocabulary("target")[EOS]

    def translate(sources: list[list[int]], beam: int) -> list[list[str]]:
        given = [torch.tensor(ids) for ids in sources]
        batch = Batch(
            src=torch.nn.utils.rnn.pad_sequence(given, batch_first=True, padding_value=pad),
            src_length=torch.tensor([len(ids) for ids in sources]),
            src_prompt_mask=None,
            trg=None,
            trg_prompt_mask=None,
            indices=torch.arange(len(sources)),
            device=torch.device("cpu"),
            pad_index=pad,
            eos_index=eos,
            is_train=False,
        )
        longest = 2 * (len(sources[0]) - 1) + 20
        arrays, _, _ = search(model, batch, longest, beam_size=beam, beam_alpha=ALPHA, min_output_length=0)
        written = target.arrays_to_sentences(arrays)
        return [list(takewhile(lambda piece: piece != end, pieces)) for pieces in written]

    def decode(sources: list[list[str]], beam: int) -> list[list[str]]:
        torch.set_num_threads(work.threads if len(sources) > 1 else 1)
        ids = [[*map(source.lookup, pieces), eos] for pieces in sources]
        translations: dict[int, list[str]] = {}
        for rows in cut_by_length(ids, BATCH):
            translations |= zip(rows, translate([ids[row] for row in rows], beam), strict=True)
        return [translations[row] for row in range(len(sources))]

    return decode


def vocabulary(work: DecodingWork, side: Side) -> Any:
    """Joey NMT's, whose specials have other ids."""
    from joeynmt.vocabulary import Vocabulary

    pieces = work.vocabulary(side)
    tokens = {f"{name}_token": pieces[id] for name, id in SPECIALS.items()}
    ids = {f"{name}_id": id for id, name in enumerate(SPECIALS)}
    return Vocabulary(pieces[len(SPECIALS) :], SimpleNamespace(**tokens, **ids, sep_token=None, lang_tags=[]))


def build(work: DecodingWork, source: Any, target: Any) -> Any:
    """Joey NMT's Transformer with our parameters."""
    from joeynmt.model import build_model
    from safetensors.torch import load_file

    size = work.settings
    if size.output_bias:
        raise SystemExit("Joey NMT's output layer has no bias, but this model's has one.")
    stack = {
        "type": "transformer",
        "num_heads": size.num_heads,
        "hidden_size": size.d_model,
        "ff_size": size.d_feedforward,
        "activation": size.activation,
        "layer_norm": size.norm,
        "embeddings": {"embedding_dim": size.d_model, "scale": True},
    }
    settings = {
        "encoder": stack | {"num_layers": size.layers},
        "decoder": stack | {"num_layers": size.num_decoder_layers},
        "tied_embeddings": size.embeddings == "shared",
        "tied_softmax": size.embeddings != "separate",
    }
    model = build_model(settings, source, target)
    theirs = dict(convert_parameters(size, load_file(work.parameters)))
    for stack_name in ("encoder", "decoder"):
        table = model.state_dict()[f"{stack_name}.pe.pe"]  # sines and cosines in turn; ours are sines, then cosines
        theirs[f"{stack_name}.pe.pe"] = torch.cat([table[..., 0::2], table[..., 1::2]], dim=-1)
    model.load_state_dict(theirs)
    for module in model.modules():
        if isinstance(module, torch.nn.LayerNorm):
            module.eps = EPSILON
    return model.eval()


def convert_parameters(settings: TransformerSettings, ours: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Our parameters by Joey NMT's names: specials in their order, and a matrix each for queries, keys and values."""
    names = {"source": "src_embed.lut", "target": "trg_embed.lut", "output": "decoder.output_layer"}
    for what, name in embedding_names(settings).items():
        order = [*SPECIALS.values(), *range(len(SPECIALS), len(ours[name]))]
        yield f"{names[what]}.weight", ours[name][order]

    def linear(theirs: str, mine: str, rows: slice = slice(None)) -> Iterator[tuple[str, Any]]:
        yield f"{theirs}.weight", ours[f"{mine}.weight"][rows]
        yield f"{theirs}.bias", ours[f"{mine}.bias"][rows]

    def attention(theirs: str, mine: str) -> Iterator[tuple[str, Any]]:
        d = settings.d_model
        for number, name in enumerate("qkv"):
            yield from linear(f"{theirs}.{name}_layer", f"{mine}.projection", slice(number * d, (number + 1) * d))
        yield from linear(f"{theirs}.output_layer", f"{mine}.output")

    def feed_forward(theirs: str, mine: str) -> Iterator[tuple[str, Any]]:
        yield from linear(f"{theirs}.feed_forward.pwff_layer.0", f"{mine}.feed_forward.widen")
        yield from linear(f"{theirs}.feed_forward.pwff_layer.3", f"{mine}.feed_forward.narrow")
        yield from linear(f"{theirs}.feed_forward.layer_norm", f"{mine}.around_feed_forward.norm")

    for number in range(settings.layers):
        theirs, mine = f"encoder.layers.{number}", f"encoder.{number}"
        yield from attention(f"{theirs}.src_src_att", f"{mine}.self_attention")
        yield from linear(f"{theirs}.layer_norm", f"{mine}.around_attention.norm")
        yield from feed_forward(theirs, mine)
    for number in range(settings.num_decoder_layers):
        theirs, mine = f"decoder.layers.{number}", f"decoder.{number}"
        yield from attention(f"{theirs}.trg_trg_att", f"{mine}.self_attention")
        yield from linear(f"{theirs}.x_layer_norm", f"{mine}.around_self.norm")
        yield from attention(f"{theirs}.src_trg_att", f"{mine}.cross_attention")
        yield from linear(f"{theirs}.dec_layer_norm", f"{mine}.around_cross.norm")
        yield from feed_forward(theirs, mine)
    if settings.norm == "pre":
        yield from linear("encoder.layer_norm", "encoder_norm")
        yield from linear("decoder.layer_norm", "decoder_norm")


def main(directory: str) -> None:
    turns, work = Turns(f"Joey NMT {version('joeynmt')}"), DecodingWork.open(Path(directory))
    take_turns(turns, with_pieces(work, decoder(work)), work.sources)


if __name__ == "__main__":
    main(sys.argv[1])
