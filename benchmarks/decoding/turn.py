"""A decoder's turn: all sentences at once, then some of them one by one, with the requested beam.

Standard library only, and SentencePiece where it is used: other toolkits import this from environments of their own.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.decoding.work import DecodingWork
from benchmarks.turns import Turns, peak_memory

Decode = Callable[[list[str], int], list[str]]
"""From texts and a beam width to translations."""
DecodePieces = Callable[[list[list[str]], int], list[list[str]]]
"""The same with texts in pieces."""
WARM_UP = 16
"""Sentences before the first turn."""


def take_turns(turns: Turns, decode: Decode, sources: list[str]) -> None:
    """Warm up, then answer until there are no more turns."""
    for beam in (1, 5):
        decode(sources[:WARM_UP], beam)
        decode(sources[:1], beam)
    turns.ready()
    while True:
        turns.answer(**measure_turn(decode, sources, **turns.request()))


def measure_turn(
    decode: Decode, sources: list[str], *, beam: int, sentences: int, singles: int, output: str
) -> dict[str, Any]:
    """The first `sentences` at once, whose translations go into a file; then the first `singles` one by one."""
    wall, cpu = time.perf_counter(), time.process_time()
    texts = decode(sources[:sentences], beam)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    Path(output).write_text(json.dumps(texts), encoding="utf-8")
    latencies = []
    for source in sources[:singles]:
        start = time.perf_counter()
        decode([source], beam)
        latencies.append(time.perf_counter() - start)
    return {"seconds": wall, "cpu": cpu, "latencies": latencies, "peak": peak_memory()}


def with_pieces(work: DecodingWork, decode: DecodePieces) -> Decode:
    """SentencePiece before and after."""
    import sentencepiece

    source = sentencepiece.SentencePieceProcessor(model_file=work.pieces("source"))
    target = sentencepiece.SentencePieceProcessor(model_file=work.pieces("target"))

    def decode_texts(texts: list[str], beam: int) -> list[str]:
        decoded: list[str] = target.decode(decode(source.encode(texts, out_type=str), beam))
        return decoded

    return decode_texts


def cut_by_length(sentences: Sequence[Sequence[object]], size: int) -> Iterator[list[int]]:
    """Rows of batches of similar lengths, the longest first."""
    order = sorted(range(len(sentences)), key=lambda row: -len(sentences[row]))
    return (order[start : start + size] for start in range(0, len(order), size))
