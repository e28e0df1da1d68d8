"""Traces as JSON: format `saccade-attention`, version 1, with weights as float16 in base64 (docs/trace.md)."""

import base64
import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from saccade.errors import DataError
from saccade.trace.trace import KINDS, AttentionTrace, Layer, Picture, Tokens

FORMAT, VERSION = "saccade-attention", 1


def to_json(trace: AttentionTrace) -> dict[str, Any]:
    """What `json.dumps` takes."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "model": trace.model,
        "score": finite(trace.score),
        "log_prob": finite(trace.log_prob),
        "token_log_probs": trace.token_log_probs,
        "source": asdict(trace.source),
        "target": asdict(trace.target),
        "image": None if trace.image is None else asdict(trace.image),
        "layers": [
            {
                "name": layer.name,
                "kind": layer.kind,
                "shape": layer.weights.shape,
                "weights": base64.b64encode(layer.weights.astype("<f2").tobytes()).decode("ascii"),
            }
            for layer in trace.layers
        ],
    }


def from_json(table: Any, *, origin: str = "the trace") -> AttentionTrace:
    """Read what `to_json` made; `origin` names it in messages."""
    if not isinstance(table, dict) or table.get("format") != FORMAT:
        raise DataError(f"{origin} must be a trace that saccade wrote (format {FORMAT}), but it is something else.")
    if table.get("version") != VERSION:
        raise DataError(
            f"{origin} must be of version {VERSION}, but it is of version {table.get('version')}. "
            "Read it with the saccade that wrote it, or a newer one."
        )
    try:
        if (image := table.get("image")) is not None:  # the first traces had no form
            form = _number(image.get("form"))
            image = Picture(int(image["rows"]), int(image["columns"]), str(image["data"]), form)
        return AttentionTrace(
            source=_tokens(table["source"]),
            target=_tokens(table["target"]),
            layers=tuple(_layer(layer) for layer in table["layers"]),
            model=str(table.get("model", "")),
            score=_number(table.get("score")),
            log_prob=_number(table.get("log_prob")),
            token_log_probs=None if (given := table.get("token_log_probs")) is None else tuple(map(float, given)),
            image=image,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{origin} must be a whole trace of version {VERSION}, but it is damaged: {error}. Make it again."
        ) from None


def save(trace: AttentionTrace, path: Path) -> None:
    """Write a trace as a JSON file."""
    save_all([trace], path)


def load(path: Path) -> AttentionTrace:
    """Read a trace from a JSON file; the first, if it holds several."""
    return load_all(path)[0]


def save_all(traces: Sequence[AttentionTrace], path: Path) -> None:
    """Write several traces, such as those of the n best translations, as a JSON list; a single one as `save` does."""
    tables = [to_json(trace) for trace in traces]
    path.write_text(json.dumps(tables[0] if len(tables) == 1 else tables, ensure_ascii=False), encoding="utf-8")


def load_all(path: Path) -> list[AttentionTrace]:
    """Read all traces of a JSON file, one or many."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise DataError(f"{path} must be a JSON file, but it cannot be read as one. Make it again.") from None
    tables = found if isinstance(found, list) and found else [found]
    return [from_json(table, origin=str(path)) for table in tables]


def _tokens(table: dict[str, Any]) -> Tokens:
    spans = table.get("spans")
    pairs = None if spans is None else tuple((int(start), int(end)) for start, end in spans)
    return Tokens(tuple(map(str, table["tokens"])), str(table.get("text", "")), pairs)


def _layer(table: dict[str, Any]) -> Layer:
    if table["kind"] not in KINDS:
        raise ValueError(f"{table['kind']} is not a kind of attention")
    packed = np.frombuffer(base64.b64decode(table["weights"], validate=True), dtype="<f2")
    return Layer(str(table["name"]), table["kind"], packed.reshape(table["shape"]).astype(np.float32))


def finite(value: float | None) -> float | None:
    """The number, or None: JSON has no infinity, which is the score of an empty translation."""
    return value if value is not None and math.isfinite(value) else None


def _number(value: object) -> float | None:
    return None if value is None else float(value)  # type: ignore[arg-type]
