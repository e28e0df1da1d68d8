"""SentencePiece as we use it: raw text in, ids out, the same text back; specials have fixed ids.

Text is normalised by `normalize`, not by SentencePiece: full-width punctuation survives, and spans refer to
`normalize(text)`. A tokenizer made elsewhere has its own rules, and a vocabulary beside it (text/vocabulary.py).
"""

import copy
import hashlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import sentencepiece

from saccade.errors import ModelError
from saccade.text.learning import BOS as BOS
from saccade.text.learning import EOS as EOS
from saccade.text.learning import PAD as PAD
from saccade.text.learning import UNK as UNK
from saccade.text.learning import Kind, learn_model, sample_lines
from saccade.text.learning import TokenizerSettings as TokenizerSettings
from saccade.text.normalize import encodable, normalize
from saccade.text.vocabulary import Vocabulary, split_code

SPECIALS = ("<pad>", "<unk>", "<s>", "</s>")

FEW = 32

sentencepiece.set_min_log_level(3)


@dataclass(frozen=True, slots=True)
class Encoded:
    """A text in pieces, with the characters of `Tokenizer.normalize(text)` that each stands for.

    Spans follow one another without gaps. Of a character spelled in bytes, the last byte carries the span and
    those before it have an empty one; so has the mark of a space that SentencePiece put before the text.
    """

    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]


class Tokenizer:
    """A SentencePiece model whose specials are ours."""

    def __init__(self, model: bytes, vocabulary: Vocabulary | None = None, *, origin: str = "the tokenizer") -> None:
        """`model` is the content of a model file; `vocabulary` replaces its ids; `origin` names it in messages."""
        self._processor = sentencepiece.SentencePieceProcessor()
        try:
            self._processor.LoadFromSerializedProto(model)
        except RuntimeError:
            raise ModelError(
                f"{origin} must be a SentencePiece model, but it cannot be read as one. SentencePiece writes "
                "two files, and the `.vocab` file only lists the pieces: give the `.model` file. If this "
                "is it, it is damaged: make it again with `saccade prepare`."
            ) from None
        self.vocabulary = vocabulary
        found = tuple(self.piece(id) for id in range(min(4, len(self))))
        if found != SPECIALS:
            raise ModelError(
                f"{origin} must begin with the pieces {' '.join(SPECIALS)} (ids 0 to 3), but it begins with "
                f"{' '.join(found)}. Use a tokenizer that `saccade prepare` learned, or learn one with "
                "SentencePiece's options pad_id=0, unk_id=1, bos_id=2, eos_id=3."
            )
        self.tag: tuple[int, ...] = ()
        """What every text begins with, see `tagged`."""
        self.model = model
        self.checksum = hashlib.sha256(model + (vocabulary.dump().encode() if vocabulary else b"")).hexdigest()

    @classmethod
    def learn(
        cls, lines: Iterable[str], settings: TokenizerSettings, seed: int, tags: Sequence[str] = ()
    ) -> "Tokenizer":
        """Learn in memory; the same lines, settings and seed give the same bytes. `tags` get a piece each."""
        return cls.learn_normalized(sample_lines(lines, settings.max_sentences, seed), settings, tags)

    @classmethod
    def learn_normalized(
        cls, lines: Iterable[str], settings: TokenizerSettings, tags: Sequence[str] = ()
    ) -> "Tokenizer":
        """Learn from all of these lines, which `normalize` has seen and which are not kept here."""
        return cls(learn_model(lines, settings, tags))

    @classmethod
    def load(cls, path: Path) -> "Tokenizer":
        try:
            model = path.read_bytes()
        except OSError as error:
            raise ModelError(
                f"{path} must be a SentencePiece model file, but it cannot be read: {error.strerror}. "
                "Check the path; `saccade prepare` writes the tokenizers beside the prepared corpus."
            ) from None
        listed = path.with_suffix(".pieces.json")
        return cls(model, Vocabulary.load(listed) if listed.exists() else None, origin=str(path))

    def save(self, path: Path) -> None:
        """Write the model file and, if there is one, the vocabulary beside it."""
        path.write_bytes(self.model)
        if self.vocabulary:
            path.with_suffix(".pieces.json").write_text(self.vocabulary.dump(), encoding="utf-8")

    def __len__(self) -> int:
        return self._processor.get_piece_size() if self.vocabulary is None else len(self.vocabulary)

    def piece(self, id: int) -> str:
        return self._processor.id_to_piece(id) if self.vocabulary is None else self.vocabulary.pieces[id]

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """All of them, by id."""
        if self.vocabulary is not None:
            return tuple(self.vocabulary.pieces)
        return tuple(self._processor.id_to_piece(list(range(len(self)))))

    def normalize(self, text: str) -> str:
        """The text that is cut into pieces, which spans refer to."""
        return normalize(text) if self.vocabulary is None else encodable(text)

    def tagged(self, tag: str) -> "Tokenizer":
        """The same tokenizer, which puts a tag such as `>>de<<` before every text; an empty tag puts nothing."""
        tokenizer = copy.copy(self)
        tokenizer.tag = (self._tag_id(tag),) if tag else ()
        return tokenizer

    def _tag_id(self, tag: str) -> int:
        id: int = self._processor.piece_to_id(tag) if self.vocabulary is None else self.vocabulary.ids([tag])[0]
        if id not in self._tags:
            raise ModelError(
                f"The vocabulary must have a piece {tag} for the target language, but it has none. Its language tags "
                f"are: {', '.join(self.piece(known) for known in sorted(self._tags)) or 'none'}."
            )
        return id

    @cached_property
    def _tags(self) -> frozenset[int]:
        """The ids of all language tags, which stand for no text."""
        tags = {id for id, piece in enumerate(self.pieces) if piece.startswith(">>") and piece.endswith("<<")}
        return frozenset(id for id in tags if self.vocabulary is not None or self._processor.is_control(id))

    def encode(self, text: str) -> list[int]:
        """Ids without <s> and </s>."""
        return self.encode_normalized([self.normalize(text)], threads=1)[0]

    def encode_within(self, text: str) -> list[int]:
        """Ids of a text that goes on where another one stopped, with no space between them."""
        encoded = self.encode_with_spans(text)
        if not encoded.pieces or not encoded.pieces[0].startswith("▁"):
            return list(encoded.ids)
        first = encoded.pieces[0].removeprefix("▁")
        parts = [first] if first in self._pieces else list(first)
        return [*(self._ids(parts) if self.vocabulary is None else self.vocabulary.ids(parts)), *encoded.ids[1:]]

    def encode_many(self, texts: Iterable[str]) -> list[list[int]]:
        """`encode` of every text, on all cores where there are many."""
        normalized = [self.normalize(text) for text in texts]
        return self.encode_normalized(normalized, threads=_threads(normalized))

    def encode_normalized(self, texts: list[str], *, threads: int = -1) -> list[list[int]]:
        """`encode` of texts that `normalize` has seen, on all cores or on this number of threads."""
        if self.vocabulary is None:
            encoded = _each(self._processor.encode, texts, threads)
        else:
            codes, rest = _without_codes(texts)
            encoded = self._listed(codes, _each(partial(self._processor.encode, out_type=str), rest, threads))
        return [[*self.tag, *ids] if ids else ids for ids in encoded] if self.tag else encoded

    def encode_with_spans(self, text: str) -> Encoded:
        text = self.normalize(text)
        code, rest = ("", text) if self.vocabulary is None else split_code(text)
        mapping = self._processor.encode_as_offset_mapping(rest)
        ids, pieces, spans = mapping["ids"], mapping["pieces"], mapping["offsets"]
        if code:
            pieces = [code, *pieces]
            spans = [(0, len(code)), *((start + len(code), end + len(code)) for start, end in spans)]
        ids = self.vocabulary.ids(pieces) if self.vocabulary else ids
        if not ids:
            return Encoded((), (), ())
        tags = tuple(self.piece(id) for id in self.tag)
        return Encoded((*self.tag, *ids), (*tags, *pieces), (*((0, 0) for _ in tags), *spans))

    def decode(self, ids: Iterable[int]) -> str:
        """The text; <pad>, <s> and </s> are dropped, <unk> is shown as `⁇`."""
        if self.vocabulary is not None:
            return self.decode_with_spans(ids)[0]
        text: str = self._processor.decode([int(id) for id in ids])
        return text

    def decode_many(self, texts: Sequence[Sequence[int]]) -> list[str]:
        """`decode` of every text, on all cores where there are many."""
        if self.vocabulary is not None:
            return [self.decode(ids) for ids in texts]
        return _each(self._processor.decode, [list(ids) for ids in texts], _threads(texts))

    def decode_with_spans(self, ids: Iterable[int]) -> tuple[str, tuple[tuple[int, int], ...]]:
        """The text, and the characters of it that each piece stands for, as in `Encoded`."""
        listed = [int(id) for id in ids]
        if not listed:
            return "", ()
        if self.vocabulary is None:
            mapping = self._processor.decode(listed, return_type="offset_mapping")
            return mapping["text"], tuple(mapping["offsets"])
        pieces = ["" if id in (PAD, BOS, EOS) else self.piece(id) for id in listed]
        mapping = self._processor.decode(pieces, return_type="offset_mapping")
        # Pieces of the other language are unknown to this SentencePiece model, which leaves their marks as they are.
        text = mapping["text"].replace("▁", " ")
        stripped, shift = text.strip(), len(text) - len(text.lstrip())
        last = len(stripped)
        return stripped, tuple(
            (min(max(start - shift, 0), last), min(max(end - shift, 0), last)) for start, end in mapping["offsets"]
        )

    def resample(self, texts: list[list[int]], rate: float, seed: int) -> list[list[int]]:
        """Sampled segmentations for subword regularisation, the same for the same arguments; one with <unk> stays."""
        if self.kind == "char":
            return texts
        tags = [text[:1] if text and text[0] in self._tags else [] for text in texts]
        bare = [text[len(tag) :] for text, tag in zip(texts, tags, strict=True)]
        # SentencePiece has a generator for each thread, seeded at its first use there. Only a new thread starts afresh.
        with ThreadPoolExecutor(1) as fresh:
            sampled = fresh.submit(self._sampled, bare, rate, seed).result()
        rows = zip(texts, tags, sampled, strict=True)
        return [text if UNK in text else [*tag, *new] for text, tag, new in rows]

    def _sampled(self, texts: list[list[int]], rate: float, seed: int) -> list[list[int]]:
        sentencepiece.set_random_generator_seed(seed)
        encode = partial(self._processor.encode, enable_sampling=True, nbest_size=-1, alpha=rate, num_threads=1)
        if self.vocabulary is None:
            ids: list[list[int]] = encode(self._processor.decode(texts, num_threads=1))
            return ids
        return [self.vocabulary.ids(pieces) for pieces in encode([self.decode(text) for text in texts], out_type=str)]

    def _listed(self, codes: list[str], cut: list[list[str]]) -> list[list[int]]:
        """The ids that the vocabulary gives to texts in pieces, each with its language code, if any, before it."""
        assert self.vocabulary is not None
        coded = ([code, *pieces] if code else pieces for code, pieces in zip(codes, cut, strict=True))
        return [self.vocabulary.ids(pieces) for pieces in coded]

    @cached_property
    def kind(self) -> Kind:
        pieces = self._pieces.values()
        if all(score == -rank for rank, (_, score) in enumerate(pieces)):  # BPE: a merge's rank is its score
            return "bpe"
        return "char" if all(len(piece) == 1 for piece in self._pieces) else "unigram"

    @cached_property
    def _pieces(self) -> dict[str, tuple[int, float]]:
        """Id and score of every piece that is neither a special nor a byte, in the order of ids."""
        processor = self._processor
        return {
            processor.id_to_piece(id): (id, processor.get_score(id))
            for id in range(processor.get_piece_size())
            if not (processor.is_control(id) or processor.is_unknown(id) or processor.is_byte(id))
        }

    def _ids(self, segments: Sequence[str]) -> list[int]:
        ids: list[int] = []
        first_byte = self._processor.piece_to_id("<0x00>")
        for segment in segments:
            if segment in self._pieces:
                ids.append(self._pieces[segment][0])
            elif first_byte != UNK:
                ids.extend(first_byte + byte for byte in segment.encode())
            elif not ids or ids[-1] != UNK:  # SentencePiece, too, makes one <unk> of unknown neighbours
                ids.append(UNK)
        return ids


@dataclass(frozen=True)
class Tokenizers:
    """The tokenizers of both sides, which may be one and the same."""

    source: Tokenizer
    target: Tokenizer

    @property
    def checksums(self) -> tuple[str, str]:
        """Tells these tokenizers from any others."""
        return self.source.checksum, self.target.checksum

    @property
    def shared(self) -> bool:
        return self.source.checksum == self.target.checksum

    @property
    def shares_vocabulary(self) -> bool:
        """An id means the same piece on both sides, even where a text is cut by different rules."""
        source, target = self.source.vocabulary, self.target.vocabulary
        return self.shared or (source is not None and target is not None and source.pieces == target.pieces)

    def toward(self, tag: str) -> "Tokenizers":
        """The same, with the tag of a target language before every source; an empty tag puts nothing."""
        return Tokenizers(self.source.tagged(tag), self.target) if tag else self

    def save(self, directory: Path) -> None:
        """Write `tokenizer.spm` if shared, else `source.spm` and `target.spm`, with their vocabularies."""
        sides = {"tokenizer": self.source} if self.shared else {"source": self.source, "target": self.target}
        for name, tokenizer in sides.items():
            tokenizer.save(directory / f"{name}.spm")

    @classmethod
    def load(cls, directory: Path) -> "Tokenizers":
        shared, source, target = (directory / f"{name}.spm" for name in ("tokenizer", "source", "target"))
        if shared.exists():
            tokenizer = Tokenizer.load(shared)
            return cls(tokenizer, tokenizer)
        if source.exists() and target.exists():
            return cls(Tokenizer.load(source), Tokenizer.load(target))
        raise ModelError(
            f"{directory} must hold tokenizer.spm, or source.spm and target.spm, but it does not. "
            "Check that the path is a model or a prepared corpus, and that it was copied completely."
        )


def _threads(texts: Sequence[object]) -> int:
    """All cores, unless starting threads takes longer than the work: a text takes some hundredths of a millisecond."""
    return 1 if len(texts) < FEW else -1


def _each(process: Callable[..., Any], texts: list[Any], threads: int) -> list[Any]:
    """What SentencePiece makes of each: of a list at once only on several threads, as even for one it starts one."""
    return [process(text) for text in texts] if threads == 1 else list(process(texts, num_threads=threads))


def _without_codes(texts: list[str]) -> tuple[list[str], list[str]]:
    split = [split_code(text) for text in texts]
    return [code for code, _ in split], [rest for _, rest in split]
