"""Images as grids: shapes, places, and convolutions padded by hand."""

import pytest
import torch
from torch.nn.functional import conv2d

from saccade.nn.images import (
    Blind,
    EfficientNetLite,
    Features,
    GivesGrid,
    ResidualEncoder,
    SameConvolution,
    places,
)

EXACT = {"rtol": 0.0, "atol": 1e-10}


@pytest.fixture(scope="module")
def network() -> EfficientNetLite:
    torch.manual_seed(1)
    return EfficientNetLite().eval()


def test_efficientnet_has_the_published_number_of_parameters(network: EfficientNetLite):
    """4,652,008 of EfficientNet-Lite0 with two numbers for each of 21,008 normed channels, of which one stays."""
    assert sum(parameter.numel() for parameter in network.parameters()) == 4_652_008 - 21_008


@pytest.mark.parametrize(("height", "width"), [(64, 64), (32, 96)])
def test_a_cell_of_efficientnet_is_32_pixels(network: EfficientNetLite, height: int, width: int):
    images = torch.randn(2, 3, height, width)
    with torch.inference_mode():
        grid = network(images)
        assert grid.shape == (2, height // 32, width // 32, network.d_image)
        assert bool((grid >= 0).all())
        assert bool((grid <= 6).all())


def test_a_strided_convolution_is_padded_below_and_to_the_right():
    """A kernel of 3 and a stride of 2 on 4 × 4: one row and one column of zeros after, none before."""
    torch.manual_seed(1)
    layer = SameConvolution(2, 3, kernel=3, stride=2).double()
    image = torch.randn(1, 2, 4, 4, dtype=torch.float64)
    larger = torch.zeros(1, 2, 5, 5, dtype=torch.float64)
    larger[:, :, :4, :4] = image
    expected = conv2d(larger, layer.convolution.weight, layer.convolution.bias, stride=2)
    torch.testing.assert_close(layer(image), expected, **EXACT)


@pytest.mark.parametrize(("kernel", "stride", "before"), [(5, 2, 1), (5, 1, 2), (3, 1, 1), (1, 1, 0)])
def test_an_even_image_is_halved_or_stays(kernel: int, stride: int, before: int):
    layer = SameConvolution(1, 1, kernel=kernel, stride=stride)
    assert layer(torch.randn(1, 1, 8, 8)).shape[2:] == (8 // stride, 8 // stride)
    assert layer.margin // 2 == before


def test_cells_know_their_row_and_their_column():
    table = places(3, 5, 8)
    assert table.shape == (3, 5, 8)
    assert torch.equal(table[1, 0, :4], table[1, 4, :4])
    assert torch.equal(table[0, 2, 4:], table[2, 2, 4:])
    assert len({tuple(cell.tolist()) for cell in table.flatten(0, 1)}) == 15


def test_a_cell_of_the_residual_encoder_is_4_pixels_and_company_changes_nothing():
    torch.manual_seed(1)
    encoder = ResidualEncoder(1, 16).double()
    images = torch.randn(3, 1, 12, 20, dtype=torch.float64)
    grid = encoder(images)
    assert grid.shape == (3, 3, 5, 16)
    for row in range(3):
        torch.testing.assert_close(encoder(images[row : row + 1])[0], grid[row], **EXACT)


def test_features_come_in_the_size_of_the_decoder():
    encoder = Features(20, 8, dropout=0.5).eval()
    assert encoder(torch.rand(2, 7, 7, 20)).shape == (2, 7, 7, 8)


def test_a_blind_encoder_sees_nothing():
    grid = Blind(6)(torch.rand(2, 3, 4, 5))
    assert grid.shape == (2, 1, 1, 6)
    assert not grid.any()


def test_all_of_them_give_grids():
    for encoder in (Blind(8), Features(4, 8, 0.0), ResidualEncoder(1, 8), EfficientNetLite()):
        assert isinstance(encoder, GivesGrid)
