"""Marian's own files, as OPUS publishes them, in the words of Hugging Face's layout: an `.npz` read without pickle.

decoder.yml             names the files below, and says how to search
*.npz                   the parameters, with the training options as YAML in `special:model.yml`
*.vocab.yml             the id of every piece; one file for both sides, or one for each
source.spm, target.spm  how texts are cut into pieces
"""

import json
import math
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import yaml
from numpy.lib import format as npy
from numpy.typing import NDArray

from saccade.errors import ModelError
from saccade.interop import marian_files as files
from saccade.interop.marian_files import Marian, Tensors
from saccade.interop.marian_vocabulary import SPM
from saccade.text.tokenizer import EOS, PAD, SPECIALS

DECODER = "decoder.yml"
OPTIONS = "special:model.yml"
MOST_BYTES = 8 * 2**30
"""Of all arrays together; the largest models that OPUS publishes have one gigabyte."""
NAME = re.compile(r"\w[\w.+-]*")
"""What a file beside decoder.yml may be called."""

WANTED: dict[str, tuple[object, ...]] = {
    "type": ("transformer",),
    "right-left": ("false",),
    "transformer-preprocess": ("",),
    "transformer-postprocess": ("dan",),
    "transformer-postprocess-emb": ("d", ""),
    "transformer-postprocess-top": ("",),
    "transformer-decoder-autoreg": ("self-attention",),
    "transformer-no-projection": ("false",),
    "transformer-train-position-embeddings": ("false",),
    "transformer-tied-layers": ([],),
    "transformer-ffn-depth": ("2",),
    "transformer-decoder-ffn-depth": ("0", "2"),
    "transformer-ffn-activation": ("swish", "relu"),
}
"""Training options that make another model of the same parameters, and the values that ours can be."""
SIZES = {
    "d_model": "dim-emb",
    "encoder_layers": "enc-depth",
    "decoder_layers": "dec-depth",
    "encoder_attention_heads": "transformer-heads",
    "encoder_ffn_dim": "transformer-dim-ffn",
}
SUBLAYERS = {"self": "self_attn", "context": "encoder_attn"}
BIAS, HEAD = "decoder_ff_logit_out_b", "decoder_ff_logit_out_W"


def is_original(path: Path) -> bool:
    """Whether a directory holds Marian's own files, not those of Hugging Face's layout."""
    return not (path / files.CONFIG).is_file() and ((path / DECODER).is_file() or any(path.glob("*.npz")))


def listed_files(decoder: Path) -> tuple[str, tuple[str, str]]:
    """What decoder.yml calls the file of parameters, and the vocabularies of source and target."""
    table = _yaml(decoder.read_bytes(), str(decoder))
    models, vocabularies = (table.get(name) for name in ("models", "vocabs"))
    if not (isinstance(models, list) and len(models) == 1 and str(models[0]).endswith(".npz")):
        raise ModelError(f"{decoder} must list one .npz file as `models`, but it lists {json.dumps(models)}.")
    if not (isinstance(vocabularies, list) and len(vocabularies) == 2 and all(map(_is_yaml, vocabularies))):
        raise ModelError(
            f"{decoder} must list two .yml files as `vocabs`, of the source and of the target, but it lists "
            f"{json.dumps(vocabularies)}. There is no import for vocabularies in other forms."
        )
    if others := [name for name in (*models, *vocabularies) if not NAME.fullmatch(name)]:
        raise ModelError(f"{decoder} must name files beside it, but it names {json.dumps(others[0])}.")
    return models[0], (vocabularies[0], vocabularies[1])


def read(path: Path) -> Marian:
    """All files, checked against one another."""
    missing = [name for name in (DECODER, *SPM) if not (path / name).is_file()]
    if not missing:
        parameters, vocabularies = listed_files(path / DECODER)
        missing = [name for name in dict.fromkeys((parameters, *vocabularies)) if not (path / name).is_file()]
    if missing:
        raise ModelError(
            f"{path} must hold a model with Marian's own files, but it has no {' and no '.join(missing)}. "
            "Unpack all files of the model into one directory."
        )
    arrays = _arrays(path / parameters)
    options = _options(path / parameters, arrays)
    shares, is_tied = "Wemb" in arrays, HEAD not in arrays and f"{HEAD}t" not in arrays
    config = _config(options, arrays, shares=shares, is_tied=is_tied)
    tables = files.Tables.of(config)
    tensors = _renamed(path / parameters, config, tables, arrays)
    source, target = (_vocabulary(path / name) for name in vocabularies)
    if shares and source != target:
        raise ModelError(
            f"{path / vocabularies[0]} and {vocabularies[1]} must be the same, since both sides have one table of "
            "embeddings, but they differ. The files do not belong together: get all of them again."
        )
    # One more row than Marian has: decoding begins there with no embedding at all, and here with that of <pad>.
    source[SPECIALS[PAD]], target[SPECIALS[PAD]] = config["vocab_size"] - 1, config["decoder_start_token_id"]
    config |= {"pad_token_id": target[SPECIALS[PAD]], "eos_token_id": target.get(SPECIALS[EOS])}
    return Marian(
        path=path,
        config=config,
        words={},
        search=_search(path / DECODER),
        source_ids=source,
        target_ids=None if shares else target,
        tables=tables,
        tensors=files.checked_tensors(tensors, config, tables, origin=str(path / parameters), told=OPTIONS),
        vocabularies=vocabularies,
    )


def _is_yaml(name: Any) -> bool:
    return isinstance(name, str) and name.endswith((".yml", ".yaml"))


def _yaml(text: bytes, origin: str) -> dict[str, Any]:
    """A table in YAML, in which all values are strings or lists of such."""
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text.decode())):
            raise yaml.YAMLError("it refers to itself")  # a few such lines can stand for any amount of memory
        table = yaml.load(text.decode(), Loader=yaml.BaseLoader)
    except (UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        problem = " ".join(str(error).split())
        raise ModelError(f"{origin} must be YAML, but it cannot be read as such ({problem}). Get it again.") from None
    if not isinstance(table, dict):
        raise ModelError(f"{origin} must be a table in YAML, but it is a {type(table).__name__}. Get it again.")
    return table


# Parameters


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    """All arrays of an .npz file by name. None is a pickle, and none takes more memory than the file says."""
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > MOST_BYTES:
                raise ValueError(f"it holds more than {MOST_BYTES:,} bytes")
            for member in archive.infolist():
                with archive.open(member) as file:
                    _check_head(file, member)
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (ValueError, zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise ModelError(
            f"{path} must be an .npz file of plain arrays, but it cannot be read as one ({error}). "
            "It was probably cut short or damaged: get it again."
        ) from None


def _check_head(file: IO[bytes], member: zipfile.ZipInfo) -> None:
    """Refuse what is no matrix, and one whose head promises another number of bytes, before room is made for it."""
    version, name = npy.read_magic(file), member.filename.removesuffix(".npy")
    read_head = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, kind = read_head(file)
    if name != OPTIONS and (kind.kind != "f" or len(shape) != 2):
        raise ValueError(f"{name} is of type {kind} and has {len(shape)} axes, not 2 of floating-point numbers")
    if kind.hasobject or file.tell() + math.prod(shape) * kind.itemsize != member.file_size:
        raise ValueError(f"{name} has not the {member.file_size:,} bytes of its shape {shape}")


def _options(path: Path, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """The training options, taken out of the arrays; those of a model that ours cannot be are refused."""
    if OPTIONS not in arrays:
        raise ModelError(f"{path} must hold the options of its training as {OPTIONS}, but it does not.")
    origin = f"{OPTIONS} in {path}"
    options = _yaml(arrays.pop(OPTIONS).tobytes().rstrip(b"\0"), origin)
    problems = [
        f"{name} must be {' or '.join(map(json.dumps, values))}, not {json.dumps(options[name])}"
        for name, values in WANTED.items()
        if name in options and options[name] not in values
    ]
    problems += [
        f"{name} must be a whole number, not {json.dumps(options.get(name))}"
        for name in SIZES.values()
        if not re.fullmatch(r"[1-9]\d{0,6}", str(options.get(name)))
    ]
    if (other := options.get("transformer-decoder-dim-ffn", "0")) not in ("0", options.get("transformer-dim-ffn")):
        problems.append(f"transformer-decoder-dim-ffn must be 0, not {json.dumps(other)}")
    if problems:
        raise ModelError(f"{origin} must describe a model that saccade can express, but {'; '.join(problems)}.")
    return options


def _config(
    options: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], *, shares: bool, is_tied: bool
) -> dict[str, Any]:
    """The same in the words of config.json."""
    sizes = {name: int(options[theirs]) for name, theirs in SIZES.items()}
    tables = ("Wemb", "Wemb") if shares else ("encoder_Wemb", "decoder_Wemb")
    num_source, num_target = (len(arrays.get(name, ())) + 1 for name in tables)
    return {
        **sizes,
        **{one: sizes[other] for one, other in files.SAME.items()},
        "vocab_size": num_source,
        "decoder_vocab_size": num_target,
        "decoder_start_token_id": num_target - 1,
        "activation_function": options.get("transformer-ffn-activation", "swish"),
        "scale_embedding": True,
        "share_encoder_decoder_embeddings": shares,
        "tie_word_embeddings": is_tied,
        "max_position_embeddings": 512,  # Marian computes any number of them; OPUS-MT trains with up to 500 tokens
    }


def _renamed(path: Path, config: Mapping[str, Any], tables: files.Tables, arrays: dict[str, NDArray[Any]]) -> Tensors:
    """The arrays under the names of Hugging Face's layout, with the row of <pad>; what has none is refused."""
    names = dict(_names(config))
    if f"{HEAD}t" in arrays:
        arrays[HEAD] = arrays.pop(f"{HEAD}t").T
    own = {"Wemb": tables.source} if tables.source == tables.target else {}
    own = own or {"encoder_Wemb": tables.source, "decoder_Wemb": tables.target}
    if tables.output != tables.target:
        own[HEAD] = tables.output
    missing = (names.keys() | own.keys()) - arrays.keys()
    others = arrays.keys() - names.keys() - own.keys() - {BIAS}
    problems = [f"{name} is missing" for name in missing] + [f"{name} is not a part of it" for name in others]
    if problems:
        more = f"; and {len(problems) - 5} more" if len(problems) > 5 else ""
        raise ModelError(
            f"{path} must hold the parameters of the Transformer that {OPTIONS} describes, but "
            f"{'; '.join(sorted(problems)[:5])}{more}. Get it again, or look for a plain Marian Transformer."
        )
    tensors = {}
    for name, there in names.items():
        array = arrays[name].astype(np.float32)
        tensors[there] = np.ascontiguousarray(array.T) if "_W" in name and "_ln_" not in name else array.reshape(-1)
    for name, there in own.items():
        table = arrays[name].T if name == HEAD else arrays[name]
        tensors[there] = np.pad(table.astype(np.float32), ((0, 1), (0, 0)))
    if BIAS in arrays:
        tensors[files.BIAS] = np.pad(arrays[BIAS].astype(np.float32).reshape(1, -1), ((0, 0), (0, 1)))
    return tensors


def _names(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every parameter of the layers: its name in the .npz file, and in Hugging Face's layout."""
    for stack, count in files.layers(config).items():
        for number in range(count):
            layer, there = f"{stack}_l{number + 1}", f"model.{stack}.layers.{number}"
            for sublayer in ("self", "context") if stack == "decoder" else ("self",):
                attention = f"{there}.{SUBLAYERS[sublayer]}"
                for part, name in {"q": "q_proj", "k": "k_proj", "v": "v_proj", "o": "out_proj"}.items():
                    yield f"{layer}_{sublayer}_W{part}", f"{attention}.{name}.weight"
                    yield f"{layer}_{sublayer}_b{part}", f"{attention}.{name}.bias"
                yield f"{layer}_{sublayer}_Wo_ln_scale", f"{attention}_layer_norm.weight"
                yield f"{layer}_{sublayer}_Wo_ln_bias", f"{attention}_layer_norm.bias"
            for which in "12":
                yield f"{layer}_ffn_W{which}", f"{there}.fc{which}.weight"
                yield f"{layer}_ffn_b{which}", f"{there}.fc{which}.bias"
            yield f"{layer}_ffn_ffn_ln_scale", f"{there}.final_layer_norm.weight"
            yield f"{layer}_ffn_ffn_ln_bias", f"{there}.final_layer_norm.bias"


def _search(decoder: Path) -> dict[str, Any]:
    """Beam and length penalty in the words of generation_config.json."""
    table = _yaml(decoder.read_bytes(), str(decoder))
    search: dict[str, Any] = {}
    if re.fullmatch(r"\d{1,3}", str(table.get("beam-size"))):
        search["num_beams"] = int(table["beam-size"])
    if re.fullmatch(r"\d(\.\d+)?", str(table.get("normalize"))):
        search["length_penalty"] = float(table["normalize"])
    return search


# Vocabulary

_ESCAPES = dict(zip('0abtnvfre"/\\N_LP ', '\0\a\b\t\n\v\f\r\x1b"/\\\x85\xa0\u2028\u2029 ', strict=True))
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)


def _vocabulary(path: Path) -> dict[str, Any]:
    """Pieces and their ids, one a line. Not by a reader of YAML, which takes some pieces for the ends of lines."""
    try:
        # A piece may be a line separator of Unicode, so that splitlines() would cut it.
        lines = [line.removesuffix("\r") for line in path.read_bytes().decode("utf-8-sig").split("\n")]
    except UnicodeDecodeError as error:
        raise ModelError(f"{path} must be UTF-8 text, but it is not ({error}). Get it again.") from None
    ids: dict[str, Any] = {}
    key = ""
    for number, line in enumerate(lines, start=1):
        if line.startswith("? "):  # a piece and its id on lines of their own
            key = line.removeprefix("? ")
        elif line and line != "---":
            piece, colon, id = (key, ":", line.removeprefix(":")) if key else line.rpartition(":")
            key = ""
            piece = _unquoted(piece.rstrip(" "))
            if not colon or not re.fullmatch(r" *\d{1,9} *", id) or piece in ids:
                raise ModelError(
                    f"{path} must give every piece an id, such as `▁the: 17`, but line {number} is {line[:80]!r}. "
                    "It was probably damaged: get it again."
                )
            ids[piece] = int(id)
    return ids


def _unquoted(piece: str) -> str:
    if len(piece) > 1 and piece[0] == piece[-1] == "'":
        return piece[1:-1].replace("''", "'")
    if len(piece) > 1 and piece[0] == piece[-1] == '"':
        return _ESCAPE.sub(_unescaped, piece[1:-1])
    return piece


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code and int(code, 16) < 0x110000:
        return chr(int(code, 16))
    return _ESCAPES.get(match[4] or "", match[0])
