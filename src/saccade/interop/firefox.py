"""Firefox's translation models ("Bergamot": tiny, base and base-memory students of Marian), in, with numpy alone.

They are Transformers whose decoder has an SSRU in place of self-attention, with the layout of Marian: post-norm, no
start token but a vector of zeros, a bias on every logit. Their int8 matrices become float32.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
from numpy.typing import NDArray

from saccade.directory import Description, save
from saccade.errors import ModelError
from saccade.interop import firefox_files as files
from saccade.interop.firefox_files import Config, FirefoxFiles, Tensors
from saccade.interop.marian import NEVER
from saccade.interop.marian_vocabulary import Order
from saccade.models.settings import TransformerSettings
from saccade.search.settings import SearchSettings
from saccade.search.shortlist import Shortlist
from saccade.text.formats.opening import check_new
from saccade.text.languages import Direction
from saccade.text.tokenizer import SPECIALS, Tokenizer, Tokenizers
from saccade.text.vocabulary import Vocabulary
from saccade.trace.alignment import HeadSelection

END, UNKNOWN = 0, 1  # ids of `</s>` and `<unk>` there; there is no padding and no `<s>`
MAX_TOKENS = 128  # of a text that Firefox translates whole
SHARED, BIAS = "Wemb", "decoder_ff_logit_out_b"
FIXED = {
    "type": "transformer",
    "transformer-decoder-autoreg": "rnn",
    "dec-cell": "ssru",
    "transformer-preprocess": "",
    "transformer-postprocess": "dan",
    "transformer-postprocess-emb": "d",
    "transformer-postprocess-top": "",
    "transformer-ffn-activation": "relu",
    "transformer-ffn-depth": "2",
    "transformer-decoder-dim-ffn": "0",
    "transformer-decoder-ffn-depth": "0",
    "transformer-guided-alignment-layer": "last",
    "transformer-tied-layers": "[]",
    "input-types": "[]",
    "lemma-dim-emb": "0",
    "factors-dim-emb": "0",
    **dict.fromkeys(
        (
            "layer-normalization",
            "output-omit-bias",
            "right-left",
            "tied-embeddings-src",
            "transformer-no-affine",
            "transformer-no-bias",
            "transformer-no-projection",
            "transformer-pool",
            "transformer-rnn-projection",
            "transformer-train-position-embeddings",
            "ulr",
        ),
        "false",
    ),
}
"""What all published models have in common, and what we can express; older ones leave some of it out."""
SIZES = {
    "enc-depth": 1000,
    "dec-depth": 1000,
    "dim-emb": 65_536,
    "transformer-heads": 1000,
    "transformer-dim-ffn": 65_536,
}
"""What they differ in, and the largest that is accepted."""


def import_model(path: Path, output: Path) -> None:
    """Read the files of a Firefox model and write a model directory, which must not exist, that translates the same."""
    check_new(output, "imported", "directory")
    given = files.find(path)
    config, tensors = files.read_model(given)
    sizes = _sizes(given.model, config)
    tables = ["encoder_Wemb", "decoder_Wemb"] if SHARED not in tensors else [SHARED, SHARED]
    _check_tensors(given.model, tensors, sizes, tables)
    tokenizers, (source, target) = _vocabularies(given, [len(tensors[name]) for name in tables])
    is_shared = tables[0] == tables[1] and tokenizers.shared
    embedded = {"target_embedding.weight": _rows(tensors[tables[1]], target, 0.0)}
    if not is_shared:
        embedded["source_embedding.weight"] = _rows(tensors[tables[0]], source, 0.0)
    embedded["output_bias"] = _rows(tensors[BIAS][0], target, NEVER)
    rest = {
        ours: np.concatenate([tensors[name].T if _is_matrix(name) else tensors[name][0] for name in theirs]).copy("C")
        for ours, theirs in _counterparts(sizes)
    }
    save(
        output,
        _description(given, sizes, is_shared),
        tokenizers,
        embedded | rest,
        _card(given),
        _shortlist(given, source, target),
    )


def _sizes(path: Path, config: Config) -> dict[str, int]:
    """The sizes of a model that we can express; any other is refused."""
    problems = [
        f"{name} must be {wanted or 'empty'}, not {found}"
        for name, wanted in FIXED.items()
        if (found := config.get(name, wanted)) != wanted
    ]
    sizes: dict[str, int] = {}
    for name, most in SIZES.items():
        size = config.get(name)
        if isinstance(size, str) and size.isdecimal() and len(size) < 10 and 1 <= int(size) <= most:
            sizes[name] = int(size)
        else:
            problems.append(f"{name} must be an integer from 1 to {most:,}, not {size}")
    if not problems and sizes["dim-emb"] % (2 * sizes["transformer-heads"]):
        problems.append("dim-emb must be an even multiple of transformer-heads")
    if problems:
        more = f"; and {len(problems) - 5} more" if len(problems) > 5 else ""
        raise ModelError(
            f"{path} must hold a tiny, base or base-memory student as Firefox has them, but {'; '.join(problems[:5])}"
            f"{more}. There is no import for other Marian models in this format."
        )
    return sizes


def _counterparts(sizes: Mapping[str, int]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every parameter of our layers and the names of its parts there."""

    def linear(ours: str, theirs: str, *parts: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        yield f"{ours}.weight", tuple(f"{theirs}_W{part}" for part in parts)
        yield f"{ours}.bias", tuple(f"{theirs}_b{part}" for part in parts)

    def norm(ours: str, theirs: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        yield f"{ours}.norm.weight", (f"{theirs}_ln_scale",)
        yield f"{ours}.norm.bias", (f"{theirs}_ln_bias",)

    stacks = {"encoder": ("self", "attention"), "decoder": ("context", "cross")}
    for stack, (part, around) in stacks.items():
        for number in range(sizes[f"{stack[:3]}-depth"]):
            ours, theirs = f"{stack}.{number}", f"{stack}_l{number + 1}"
            attention = "self_attention" if stack == "encoder" else "cross_attention"
            yield from linear(f"{ours}.{attention}.projection", f"{theirs}_{part}", "q", "k", "v")
            yield from linear(f"{ours}.{attention}.output", f"{theirs}_{part}", "o")
            yield from norm(f"{ours}.around_{around}", f"{theirs}_{part}_Wo")
            yield from linear(f"{ours}.feed_forward.widen", f"{theirs}_ffn", "1")
            yield from linear(f"{ours}.feed_forward.narrow", f"{theirs}_ffn", "2")
            yield from norm(f"{ours}.around_feed_forward", f"{theirs}_ffn_ffn")
            if stack == "decoder":
                yield f"{ours}.recurrence.weight", (f"{theirs}_rnn_W", f"{theirs}_rnn_Wf")
                yield f"{ours}.recurrence.forget_bias", (f"{theirs}_rnn_bf",)
                yield from norm(f"{ours}.around_self", f"{theirs}_rnn_ffn")


def _is_matrix(name: str) -> bool:
    return name.rpartition("_")[2].startswith("W")


def _check_tensors(path: Path, tensors: Tensors, sizes: Mapping[str, int], tables: list[str]) -> None:
    """Refuse what is missing, left over or misshapen. Tables may have any number of rows."""
    d, inner = sizes["dim-emb"], sizes["transformer-dim-ffn"]
    others = {"W1": (d, inner), "W2": (inner, d), "b1": (1, inner)}
    shapes: dict[str, tuple[int, ...]] = {}
    for name in (name for _, theirs in _counterparts(sizes) for name in theirs):
        shapes[name] = others.get(name.rpartition("_")[2], (d, d) if _is_matrix(name) else (1, d))
    shapes |= {name: (len(tensors.get(name, ())), d) for name in tables}
    shapes[BIAS] = (1, shapes[tables[1]][0])
    problems = [
        *(f"{name} is missing" for name in shapes.keys() - tensors.keys()),
        *(f"{name} is not a part of such a model" for name in tensors.keys() - shapes.keys()),
        *(
            f"{name} must have shape {shapes[name]}, not {tensors[name].shape}"
            for name in shapes.keys() & tensors.keys()
            if shapes[name] != tensors[name].shape
        ),
    ]
    if problems:
        more = f"; and {len(problems) - 5} more" if len(problems) > 5 else ""
        raise ModelError(
            f"The arrays of {path} must be those that its settings describe, but {'; '.join(sorted(problems)[:5])}"
            f"{more}. It is damaged or of another make: download it again."
        )


def _vocabularies(given: FirefoxFiles, sizes: list[int]) -> tuple[Tokenizers, list[Order]]:
    """The tokenizers of both sides, and which row of their tables stands where in ours."""
    models = [files.read_bytes(path) for path in given.vocabularies]
    orders = [_order(*each) for each in zip(given.vocabularies, models, sizes, strict=True)]
    sides = zip(given.vocabularies, models, orders, strict=True)
    return Tokenizers(
        *(Tokenizer(model, Vocabulary(own.pieces), origin=str(path)) for path, model, own in sides)
    ), orders


def _order(path: Path, model: bytes, size: int) -> Order:
    """Our specials first, then all other rows as they come. Row `size` stands for what they have not."""
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(model)
    except RuntimeError:
        raise ModelError(f"{path} must be a SentencePiece model, but it cannot be read as one. {files.AGAIN}") from None
    found = len(processor), processor.eos_id(), processor.unk_id()
    if found != (size, END, UNKNOWN):
        raise ModelError(
            f"{path} must have {size:,} pieces, as the model has rows, with the ids {END} of </s> and {UNKNOWN} "
            f"of <unk>, but it has {found[0]:,} pieces and the ids {found[1]} and {found[2]}. The files do not belong "
            "together: download all of them again."
        )
    others = range(UNKNOWN + 1, size)
    pieces = (processor.id_to_piece(id) for id in others)
    named = (f"<row {id}>" if piece in SPECIALS else piece for id, piece in zip(others, pieces, strict=True))
    return Order((*SPECIALS, *named), (size, UNKNOWN, size, END, *others))


def _rows(table: NDArray[np.float32], order: Order, missing: float) -> NDArray[np.float32]:
    """A table in our order. The row of `<s>`, with which we begin to write, is zeros: there, a text begins so."""
    filled = np.concatenate([table, np.full_like(table[:1], missing)])
    return filled[list(order.rows)]


def _shortlist(given: FirefoxFiles, source: Order, target: Order) -> Shortlist | None:
    """Theirs in our ids; the specials may always be written, as far as a search lets them."""
    if "lex" not in given.by_role:
        return None
    theirs = files.read_shortlist(given.by_role["lex"], len(source.rows) - 2, len(target.rows) - 2)
    ids = np.zeros(len(target.rows), np.int32)
    ids[list(target.rows)] = np.arange(len(target.rows))
    counts = np.append(np.diff(theirs.offsets), 0)[list(source.rows)]
    starts = np.append(theirs.offsets[:-1], 0)[list(source.rows)]
    places = np.concatenate([np.arange(start, start + count) for start, count in zip(starts, counts, strict=True)])
    always = np.union1d(np.arange(len(SPECIALS)), ids[theirs.always])
    offsets = np.append(0, np.cumsum(counts))
    return Shortlist(always.astype(np.int32), offsets, ids[theirs.tokens[places]])


def _description(given: FirefoxFiles, sizes: Mapping[str, int], is_shared: bool) -> Description:
    languages = dict(zip(("source", "target"), given.languages, strict=True))
    layers, decoder_layers = sizes["enc-depth"], sizes["dec-depth"]
    return Description(
        directions=(Direction(**languages),),
        max_tokens=MAX_TOKENS,
        model=TransformerSettings(
            layers=layers,
            decoder_layers=None if decoder_layers == layers else decoder_layers,
            d_model=sizes["dim-emb"],
            d_feedforward=sizes["transformer-dim-ffn"],
            num_heads=sizes["transformer-heads"],
            embeddings="shared" if is_shared else "tied",
            output_bias=True,
            decoder="ssru",
            positions="marian",
            norm_epsilon=1e-9,
        ),
        # As Firefox searches, where the end of a source counts as a token.
        search=SearchSettings(beam=1, max_length_factor=2.0, max_length_extra=2, unknown=False),
        alignment=HeadSelection(heads=((decoder_layers - 1, 0),)),
    )


def _card(given: FirefoxFiles) -> str:
    source, target = given.languages
    metadata: Mapping[str, Any] = given.metadata
    flores = metadata.get("flores")
    scores = ", ".join(f"{name} {value}" for name, value in flores.items()) if isinstance(flores, dict) else ""
    return (
        f"# {source} → {target}\n\n"
        f"Imported from {given.model.name}, a translation model of Firefox"
        f"{' (' + str(metadata['architecture']) + ')' if 'architecture' in metadata else ''}. "
        "Its data and licence are those of its authors.\n"
        + (f"\nTheir scores on FLORES: {scores}.\n" if scores else "")
    )
