"""Marian models (OPUS-MT and others), in and out, with numpy alone: Hugging Face's layout, and Marian's own files in.

Names differ from ours, and the vocabulary: specials have any ids, and decoding begins with `<pad>`, not with `<s>`.
"""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from saccade.directory import CARD, PARAMETERS, Description, ModelDirectory, save
from saccade.errors import ModelError
from saccade.files import draft_directory
from saccade.interop import marian_files as files
from saccade.interop import marian_npz
from saccade.interop.marian_files import Marian
from saccade.interop.marian_vocabulary import MARK, SPM, Order, order, tokenizers
from saccade.models.settings import TransformerSettings
from saccade.search.settings import SearchSettings
from saccade.text.formats.opening import check_new
from saccade.text.languages import Direction
from saccade.text.portable import portable
from saccade.text.tokenizer import BOS, EOS, PAD, SPECIALS, UNK, Tokenizer

NEVER = -1e4  # as a logit: e to its power is exactly zero, and it is still a finite number
README = "README.md"
DIRECTIONS = "saccade_directions"
"""In the tokenizer_config.json of what we exported: the directions of a model that has several."""
SPECIAL_IDS = {"pad_token_id": PAD, "bos_token_id": BOS, "eos_token_id": EOS, "decoder_start_token_id": BOS}


def import_model(path: Path, output: Path, *, provenance: str | None = None) -> None:
    """Read a Marian directory and write a model directory, which must not exist, that translates the same.

    `provenance` tells the readers of its card where the model comes from.
    """
    check_new(output, "imported", "directory")
    given = marian_npz.read(path) if marian_npz.is_original(path) else files.read(path)
    source, target = _orders(given)
    settings, parameters = _converted(given, source, target)
    longest = [given.config["max_position_embeddings"], given.words.get("model_max_length")]
    description = Description(
        directions=_directions(given, source),
        max_tokens=int(min(filter(None, longest))) - 1,  # the end of a source has a position, too
        model=settings,
        search=_search(given.search),
    )
    card = _card(given, description, provenance)
    save(output, description, tokenizers(path, given.words, source, target), parameters, card)


def export(directory: ModelDirectory, output: Path) -> None:
    """Write a directory, which must not exist, that `transformers` loads and translates the same with."""
    check_new(output, "exported", "directory")
    settings = _expressible(directory)
    source, target = directory.tokenizers.source, directory.tokenizers.target
    tensors = dict(_tensors(settings, directory.parameters(), len(target)))
    tables = {
        files.CONFIG: _config(directory, settings),
        files.GENERATION: _generation(directory.description),
        files.TOKENIZER: _words(directory),
        files.VOCABULARY: _ids(source),
    }
    if not directory.tokenizers.shares_vocabulary:
        tables[files.TARGET_VOCABULARY] = _ids(target)
    with draft_directory(output) as draft:
        save_file(tensors, draft / PARAMETERS, metadata={"format": "pt"})
        for name, table in tables.items():
            (draft / name).write_text(json.dumps(table, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        for name, side in zip(SPM, (source, target), strict=True):
            # Nobody there normalises a text as we do before SentencePiece sees it, so that it must do so itself.
            (draft / name).write_bytes(side.model if side.vocabulary else portable(side.model))
        if (directory.path / CARD).is_file():
            shutil.copyfile(directory.path / CARD, draft / README)


def _directions(given: Marian, source: Order) -> tuple[Direction, ...]:
    """One, or as many as the source's vocabulary has language codes, such as `>>deu<<`; as they were, if it is ours."""
    if ours := given.words.get(DIRECTIONS):
        try:
            return tuple(Direction(**{name: str(value) for name, value in each.items()}) for each in ours)
        except (TypeError, AttributeError):
            raise ModelError(
                f"{DIRECTIONS} in {given.path / files.TOKENIZER} must be a list of directions, but it is {ours!r:.80}. "
                "Export the model again, or remove the entry."
            ) from None
    languages = {side: given.words.get(f"{side}_lang") or "und" for side in ("source", "target")}
    codes = [piece for piece in source.pieces if re.fullmatch(r">>[\w-]+<<", piece)]
    if len(codes) < 2:
        return (Direction(**languages),)
    return tuple(Direction(source=languages["source"], target=code[2:-2], tag=code) for code in codes)


def _orders(given: Marian) -> tuple[Order, Order]:
    """Of the source's ids, and of the target's."""
    config, words = given.config, given.words
    (num_source, num_target), start = files.num_tokens(config), config["decoder_start_token_id"]
    first, second = given.vocabularies
    origin = str(given.path / first)
    if given.target_ids is None:
        source = target = order(given.source_ids, num_target, words, start, origin=origin)
    else:
        source = order(given.source_ids, num_source, words, None, origin=origin)
        origin = str(given.path / second)
        target = order(given.target_ids, num_target, words, start, origin=origin)
    for name, place in (("pad_token_id", PAD), ("eos_token_id", EOS)):
        if config.get(name) not in (None, target.rows[place]):
            raise ModelError(
                f"{name} in {given.path / files.CONFIG} must be {target.rows[place]}, the id of that token in "
                f"{origin}, but it is {config[name]}. The files do not belong together: download all of them again."
            )
    return source, target


def _converted(
    given: Marian, source: Order, target: Order
) -> tuple[TransformerSettings, dict[str, NDArray[np.float32]]]:
    """What the model is, and its parameters under our names."""
    config, tensors, tables = given.config, given.tensors, given.tables
    # We scale what is read, and never what is written by: a model that scales neither has tables of different scale.
    is_scaled = bool(config.get("scale_embedding"))
    scale = np.float32(1.0 if is_scaled else config["d_model"] ** -0.5)
    embedded = {
        "target_embedding.weight": tensors[tables.target][list(target.rows)] * scale,
        "source_embedding.weight": tensors[tables.source][list(source.rows)] * scale,
        "output_embedding.weight": tensors[tables.output][list(target.rows)],
    }
    settings = _settings(given)
    if is_scaled and tables.output == tables.target:
        del embedded["output_embedding.weight"]
        settings = replace(settings, embeddings="tied")
        if tables.source == tables.target and source.rows == target.rows:
            del embedded["source_embedding.weight"]
            settings = replace(settings, embeddings="shared")

    num_target = files.num_tokens(config)[1]
    bias = tensors.get(files.BIAS, np.zeros((1, num_target), np.float32))[0][list(target.rows)]
    if target.repeats_start:
        bias[BOS] = NEVER  # it is not among the tokens that share all probability there
    if bias.any():
        embedded["output_bias"] = bias
        settings = replace(settings, output_bias=True)
    rest = {
        ours: np.concatenate([tensors[name] for name in theirs])
        for ours, theirs in files.counterparts(files.layers(config))
    }
    return settings, embedded | rest


def _settings(given: Marian) -> TransformerSettings:
    config = given.config
    try:
        return TransformerSettings(
            layers=config["encoder_layers"],
            decoder_layers=None if config["decoder_layers"] == config["encoder_layers"] else config["decoder_layers"],
            d_model=config["d_model"],
            d_feedforward=config["encoder_ffn_dim"],
            num_heads=config["encoder_attention_heads"],
            activation=files.ACTIVATIONS[config["activation_function"]],  # type: ignore[arg-type]
            dropout=float(config.get("dropout", 0.1)),
            attention_dropout=float(config.get("attention_dropout", 0.0)),
            activation_dropout=float(config.get("activation_dropout", 0.0)),
            embeddings="separate",
        )
    except ValueError as error:
        raise ModelError(
            f"{given.path / files.CONFIG} must describe a model that saccade can express, but {error}."
        ) from None


def _search(given: Mapping[str, Any]) -> SearchSettings:
    """As the model is told to search there, where it is told anything that we know, too."""
    beam, penalty = given.get("num_beams"), given.get("length_penalty")
    search = SearchSettings()
    if isinstance(beam, int) and beam >= 1:
        search = replace(search, beam=beam)
    if isinstance(penalty, int | float) and penalty >= 0:
        search = replace(search, length_penalty=float(penalty))
    return search


def _card(given: Marian, description: Description, provenance: str | None) -> str:
    layout = "as Hugging Face lays it out" if given.vocabularies[0] == files.VOCABULARY else "with Marian's own files"
    provenance = provenance or (
        f"Imported from {given.path.resolve().name}, a Marian model {layout}. "
        "Its data, scores and licence are those of its authors."
    )
    head = f"# {', '.join(map(str, description.directions))}\n\n{provenance}\n"
    readme = given.path / README
    return f"{head}\n{readme.read_text('utf-8', 'replace')}" if readme.is_file() else head


def _expressible(directory: ModelDirectory) -> TransformerSettings:
    settings = directory.description.model
    if not isinstance(settings, TransformerSettings):
        raise ModelError(
            f"{directory.path} must be a Transformer to be written as a Marian model, but it is of kind = "
            f'"{settings.kind}", which that layout has no words for. It has no other form than its own directory.'
        )
    if settings.decoder != "attention":
        raise ModelError(
            f"{directory.path} must have a decoder with self-attention to be written as a Marian model, but it has an "
            f'SSRU (decoder = "{settings.decoder}"), which transformers does not know. It has no other form than its '
            "own directory."
        )
    if (settings.positions, settings.norm_epsilon) != ("paper", 1e-5):
        raise ModelError(
            f'{directory.path} must have positions = "paper" and norm_epsilon = 1e-5 to be written as a Marian model, '
            f'as transformers has them, but it has "{settings.positions}" and {settings.norm_epsilon:g}. Export it to '
            "CTranslate2, which knows others, too (`saccade export --to ctranslate2`)."
        )
    if settings.norm == "pre":
        raise ModelError(
            f'{directory.path} must have norm = "post" to be written as a Marian model, but it has norm = "pre": '
            "Marian's layers in transformers normalise after each sub-layer, and no norm follows the last. Export it "
            'to CTranslate2, which has both (`saccade export --to ctranslate2`), or train it with norm = "post".'
        )
    return settings


def _tensors(
    settings: TransformerSettings, parameters: Mapping[str, NDArray[Any]], num_target: int
) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """The parameters under their names there."""
    for ours, theirs in files.counterparts({"encoder": settings.layers, "decoder": settings.num_decoder_layers}):
        parts = np.split(parameters[ours].astype(np.float32), len(theirs))
        yield from zip(theirs, map(np.ascontiguousarray, parts), strict=True)
    names = {
        "shared": {"target": files.SHARED},
        "tied": {"target": files.EMBEDDING["decoder"], "source": files.EMBEDDING["encoder"]},
        "separate": {"target": files.EMBEDDING["decoder"], "source": files.EMBEDDING["encoder"], "output": files.HEAD},
    }
    for side, name in names[settings.embeddings].items():
        yield name, parameters[f"{side}_embedding.weight"].astype(np.float32)
    yield files.BIAS, parameters.get("output_bias", np.zeros(num_target))[None].astype(np.float32)


def _num_positions(description: Description) -> int:
    """What the longest source and its translation need; at least as many as OPUS-MT has."""
    return max(512, description.max_tokens + 1, description.search.limit(description.max_tokens))


def _config(directory: ModelDirectory, settings: TransformerSettings) -> dict[str, Any]:
    """All of it, since the defaults of transformers are those of another model."""
    stacks = {"encoder": settings.layers, "decoder": settings.num_decoder_layers}
    same = {"attention_heads": settings.num_heads, "ffn_dim": settings.d_feedforward, "layerdrop": 0.0}
    sizes = {
        f"{stack}_{name}": value
        for stack, count in stacks.items()
        for name, value in ({"layers": count} | same).items()
    }
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "vocab_size": len(directory.tokenizers.source),
        "decoder_vocab_size": len(directory.tokenizers.target),
        "d_model": settings.d_model,
        **sizes,
        "activation_function": settings.activation,
        "dropout": settings.dropout,
        "attention_dropout": settings.attention_dropout,
        "activation_dropout": settings.activation_dropout,
        "max_position_embeddings": _num_positions(directory.description),
        "scale_embedding": True,
        "share_encoder_decoder_embeddings": settings.embeddings == "shared",
        "tie_word_embeddings": settings.embeddings != "separate",
        **SPECIAL_IDS,
        "forced_eos_token_id": None,
        "dtype": "float32",
    }


def _generation(description: Description) -> dict[str, Any]:
    """Our search in the words of transformers, as far as they go."""
    return {
        **SPECIAL_IDS,
        "bad_words_ids": [[PAD], [BOS]],
        "num_beams": description.search.beam,
        "length_penalty": description.search.length_penalty,
        "early_stopping": description.search.beam > 1,
        "max_length": _num_positions(description),
    }


def _words(directory: ModelDirectory) -> dict[str, Any]:
    both = directory.tokenizers.source, directory.tokenizers.target
    words: dict[str, Any] = {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": directory.description.source_language,
        "target_lang": directory.description.target_language,
        "separate_vocabs": not directory.tokenizers.shares_vocabulary,
        "model_max_length": _num_positions(directory.description),
        "pad_token": SPECIALS[PAD],
        "unk_token": SPECIALS[UNK],
        "eos_token": SPECIALS[EOS],
    }
    directions = [asdict(direction) for direction in directory.description.directions]
    if len(directions) > 1:
        words[DIRECTIONS] = directions
    ours = [len(side.model) for side in both if side.vocabulary is None]
    return words | ({MARK: ours} if len(ours) == 2 else {})


def _ids(tokenizer: Tokenizer) -> dict[str, int]:
    return {piece: id for id, piece in enumerate(tokenizer.pieces)}
