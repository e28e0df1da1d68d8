from tests.search.toys import EOS, Explicit, Uniform, problem, replay, sources

from saccade.search.greedy import greedy_search
from saccade.search.settings import SearchSettings

ONE = SearchSettings(beam=1)


def test_it_takes_the_likeliest_token_at_every_step():
    model, source = Explicit(4, vocab=6), sources(5)
    found = greedy_search(problem(model, source, [12] * 5), ONE)
    for sentence, (hypothesis,) in zip(source, found, strict=True):
        tokens = hypothesis.ids + ((EOS,) if hypothesis.finished else ())
        likeliest = [int(step.argmax()) for step in replay(model, sentence, tokens).log_probs]
        assert list(tokens) == likeliest


def test_ties_go_to_the_lower_id():
    found = greedy_search(problem(Uniform(), sources(1), [3], banned=[0]), ONE)
    assert found[0][0].ids == ()
    found = greedy_search(problem(Uniform(), sources(1), [3]), ONE)
    assert found[0][0].ids == (0, 0, 0)


def test_sentences_that_ended_leave_the_batch():
    model = Explicit(1, vocab=30)
    greedy_search(problem(model, sources(3), [1, 2, 4]), ONE)
    assert model.rows == [3, 2, 1, 1]
    assert model.picks == [[1, 2], [1]]
