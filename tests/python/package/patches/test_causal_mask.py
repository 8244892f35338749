"""`causal-mask`: attention of `torch.nn.Transformer` with a mask."""

import pytest
import torch
from torch import nn

from tests.python.package.patches import agrees, exported

CAUSAL = nn.Transformer.generate_square_subsequent_mask


class Masked(nn.Module):
    """A decoder with a mask of its target, whose values PyTorch reads to choose a kernel."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
        self.decoder = nn.TransformerDecoder(layer, 1)

    def forward(self, x, memory, mask):
        return self.decoder(x, memory, tgt_mask=mask)


@pytest.mark.parametrize("length", [1, 2, 5])
@pytest.mark.parametrize("kind", ["causal", "zeros", "random"])
@pytest.mark.parametrize("layers", [nn.TransformerDecoder, nn.TransformerEncoder])
def test_results_are_those_of_the_original(length, kind, layers):
    torch.manual_seed(0)
    x = torch.randn(2, length, 8)
    square = length, length
    mask = {"causal": CAUSAL(length), "zeros": torch.zeros(square), "random": torch.randn(square)}
    if layers is nn.TransformerDecoder:
        model = layers(nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), 1).eval()
        agrees("causal-mask", lambda: model(x, x, tgt_mask=mask[kind]))
    else:
        model = layers(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1).eval()
        agrees("causal-mask", lambda: model(x, mask=mask[kind]))


def test_a_decoder_is_exported():
    torch.manual_seed(0)
    sizes = ({0: "batch", 1: "target"}, {0: "batch", 1: "source"}, {0: "target", 1: "target"})

    def call(batch, target, source):
        return torch.randn(batch, target, 8), torch.randn(batch, source, 8), CAUSAL(target)

    exported("causal-mask", Masked(), call(3, 5, 6), sizes, [call(1, 2, 9), call(2, 7, 2)])
