import torch
from tests.search.toys import BOS, EOS, Explicit, Uniform, replay, sources

from saccade.search.greedy import greedy
from saccade.search.settings import SearchSettings

ONE = SearchSettings(beam=1)


def test_it_takes_the_likeliest_token_at_every_step():
    model, source = Explicit(4, vocab=6), sources(5)
    found = greedy(model, source, limits=torch.full((5,), 12), bos=BOS, eos=EOS, settings=ONE)
    for sentence, (hypothesis,) in zip(source, found, strict=True):
        tokens = hypothesis.ids + ((EOS,) if hypothesis.finished else ())
        likeliest = [int(step.argmax()) for step in replay(model, sentence, tokens).log_probs]
        assert list(tokens) == likeliest


def test_ties_go_to_the_lower_id():
    found = greedy(Uniform(), sources(1), limits=torch.tensor([3]), bos=BOS, eos=EOS, settings=ONE, banned=[0])
    assert found[0][0].ids == ()
    found = greedy(Uniform(), sources(1), limits=torch.tensor([3]), bos=BOS, eos=EOS, settings=ONE)
    assert found[0][0].ids == (0, 0, 0)


def test_sentences_that_ended_leave_the_batch():
    model = Explicit(1, vocab=30)
    greedy(model, sources(3), limits=torch.tensor([1, 2, 4]), bos=BOS, eos=EOS, settings=ONE)
    assert model.rows == [3, 2, 1, 1]
    assert model.picks == [[1, 2], [1]]
