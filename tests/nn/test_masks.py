from saccade.nn.masks import causal_mask


def test_causal_mask_is_true_at_and_before_the_query():
    assert causal_mask(3, 3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]


def test_the_last_query_sees_every_key():
    assert causal_mask(2, 4).tolist() == [[True, True, True, False], [True, True, True, True]]
