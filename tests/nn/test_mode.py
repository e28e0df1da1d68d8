import pytest
from torch import nn

from saccade.nn.mode import evaluation_mode


def modes(model: nn.Module) -> list[bool]:
    return [module.training for module in model.modules()]


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("part", [True, False])
def test_every_module_returns_to_its_own_mode(whole: bool, part: bool):
    frozen = nn.Sequential(nn.Dropout())
    model = nn.Sequential(nn.Linear(1, 1), frozen).train(whole)
    frozen.train(part)
    before = modes(model)
    with evaluation_mode(model):
        assert not any(modes(model))
    assert modes(model) == before


def test_modes_return_after_an_error():
    model = nn.Sequential(nn.Dropout())
    with pytest.raises(KeyError), evaluation_mode(model):
        raise KeyError
    assert modes(model) == [True, True]
