"""How a subword vocabulary is learned: its settings, and SentencePiece's trainer as we use it."""

import io
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import sentencepiece
from annotated_types import Interval

from saccade.errors import DataError
from saccade.fields import Checked, Positive, Probability
from saccade.text.normalize import normalize

PAD, UNK, BOS, EOS = 0, 1, 2, 3

Kind = Literal["bpe", "unigram", "char"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenizerSettings(Checked):
    """How the subword vocabulary is learned."""

    kind: Kind = "bpe"
    """`bpe` (byte-pair encoding), `unigram` (unigram language model) or `char` (single characters)."""
    vocabulary: Annotated[int, Interval(ge=5, le=1_000_000)] = 8000
    """Number of pieces, the 4 specials included; a small corpus gives fewer."""
    shared: bool = True
    """One vocabulary for both languages; `false` learns one for each."""
    byte_fallback: bool = True
    """Characters outside the vocabulary are spelled in bytes, so that nothing is ever unknown."""
    split_digits: bool = False
    """Every digit is a piece of its own."""
    character_coverage: Annotated[float, Interval(ge=0.9, le=1.0)] = 1.0
    """Share of the corpus's characters that get a piece each; 0.9995 suits Chinese and Japanese."""
    max_sentences: Positive = 2_000_000
    """Learned on a random sample of at most this number of lines."""
    sampling: Probability = 0.0
    """Subword regularisation in training: `bpe` leaves out each merge with this probability (BPE-dropout; 0.1 is
    usual), `unigram` draws segmentations with their probability to this power (0.1 to 0.5). Texts get longer by it,
    and batches with them. 0 is off."""

    def conflicts(self) -> Iterator[str]:
        if self.sampling and self.kind == "char":
            yield "sampling must be 0 for single characters (char), which can be cut in one way only"


def learn_model(lines: Iterable[str], settings: TokenizerSettings, tags: Sequence[str] = ()) -> bytes:
    """The content of a model file, learned from all of these lines, which `normalize` has seen."""
    writer = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.Train(
            sentence_iterator=iter(lines),
            model_writer=writer,
            model_type=settings.kind,
            vocab_size=settings.vocabulary,
            hard_vocab_limit=False,
            character_coverage=settings.character_coverage,
            byte_fallback=settings.byte_fallback,
            split_digits=settings.split_digits,
            normalization_rule_name="identity",
            max_sentence_length=2**30,  # in bytes; longer lines would be skipped without a word
            pad_id=PAD,
            unk_id=UNK,
            bos_id=BOS,
            eos_id=EOS,
            control_symbols=list(tags),  # no text is ever cut into them
            num_threads=1,  # the model depends on the number of threads
            minloglevel=3,
        )
    except RuntimeError as error:
        raise _explain(str(error), settings) from None
    return writer.getvalue()


def sample_lines(lines: Iterable[str], limit: int, seed: int) -> list[str]:
    """At most `limit` of the lines that hold text, each as likely as any other, in one pass."""
    rng = random.Random(seed)
    sample: list[str] = []
    for count, line in enumerate(filter(None, map(normalize, lines))):
        if count < limit:
            sample.append(line)
        elif (place := rng.randrange(count + 1)) < limit:
            sample[place] = line
    if not sample:
        raise DataError(
            "A tokenizer is learned from text, but no line of the corpus holds any. "
            "Check that the files under data.train are the right ones."
        )
    return sample


def _explain(message: str, settings: TokenizerSettings) -> DataError:
    if needed := re.search(r"smaller than required_chars. \d+ vs (\d+)", message):
        return DataError(
            f"tokenizer.vocabulary must be at least {needed[1]} for this corpus, to hold its characters, the "
            f"specials{' and the 256 bytes' if settings.byte_fallback else ''}, but it is "
            f"{settings.vocabulary}. Raise it, or lower tokenizer.character_coverage (0.9995 is usual for "
            f"Chinese){', or set tokenizer.byte_fallback to false' if settings.byte_fallback else ''}."
        )
    return DataError(
        f"SentencePiece could not learn a tokenizer from this corpus; it says: {message}. "
        "Check that the corpus holds text, and the settings under [tokenizer]."
    )
