"""Attention as a trace: the weights of an engine, with the tokens that they lie between."""

from collections.abc import Iterable
from dataclasses import replace

from saccade.engines.engine import Traced
from saccade.search.hypothesis import Hypothesis
from saccade.text.tokenizer import EOS, SPECIALS, Tokenizer, Tokenizers
from saccade.trace.trace import AttentionTrace, Span, Tokens


def read_tokens(tokenizer: Tokenizer, text: str) -> tuple[tuple[int, ...], Tokens]:
    """The ids of a text, and its tokens with the end of sentence."""
    encoded = tokenizer.encode_with_spans(text)
    return encoded.ids, _tokens(tokenizer, encoded.ids, tokenizer.normalize(text), encoded.spans)


def written_tokens(tokenizer: Tokenizer, hypothesis: Hypothesis) -> Tokens:
    """The tokens of a hypothesis, with the end of sentence if it was written."""
    text, spans = tokenizer.decode_with_spans(hypothesis.ids)
    return _tokens(tokenizer, hypothesis.ids, text, spans, ends=hypothesis.finished)


def attention_trace(source: Tokens, target: Tokens, traced: Traced, *, model: str) -> AttentionTrace:
    """What was attended to while the model was made to write these tokens."""
    return AttentionTrace(
        source=source,
        target=target,
        layers=traced.layers,
        model=model,
        log_prob=sum(traced.token_log_probs),
        token_log_probs=traced.token_log_probs,
    )


def trace_hypothesis(
    tokenizers: Tokenizers, source: str, hypothesis: Hypothesis, traced: Traced, *, model: str
) -> AttentionTrace:
    """What was attended to while a search wrote this hypothesis."""
    _, read = read_tokens(tokenizers.source, source)
    written = written_tokens(tokenizers.target, hypothesis)
    trace = attention_trace(read, written, traced.first(len(written)), model=model)
    return replace(trace, score=hypothesis.score, log_prob=hypothesis.log_prob)


def _tokens(
    tokenizer: Tokenizer, ids: Iterable[int], text: str, spans: tuple[Span, ...], *, ends: bool = True
) -> Tokens:
    pieces = tuple(tokenizer.pieces[id] for id in ids)
    if not ends:
        return Tokens(pieces, text, spans)
    return Tokens((*pieces, SPECIALS[EOS]), text, (*spans, (len(text), len(text))))
