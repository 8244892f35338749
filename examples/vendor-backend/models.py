"""The models of this example, with random weights."""

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram


class Encoder(nn.Module):
    """A text classifier of two transformer layers."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(100, 32)
        layer = {"nhead": 4, "dim_feedforward": 64, "dropout": 0.0, "activation": "gelu"}
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(32, **layer, batch_first=True, norm_first=True)
            for _ in range(2)
        )
        self.norm = nn.LayerNorm(32)
        self.head = nn.Linear(32, 10)

    def forward(self, tokens: Tensor) -> Tensor:
        """From `[batch, length]` tokens to `[batch, 10]` scores."""
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x).mean(dim=1))


class Classifier(nn.Module):
    """A small convolutional network with a perceptron behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
        )
        self.classifier = nn.Sequential(
            nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10), nn.Softmax(-1)
        )

    def forward(self, image: Tensor) -> Tensor:
        """From `[batch, 3, 16, 16]` images to `[batch, 10]` probabilities."""
        return self.classifier(self.features(image))


def export(name: str) -> ExportedProgram:
    """Export a model; `classifier_static` is the classifier for batches of 2 only."""
    torch.manual_seed(0)
    batch = Dim("batch", max=16)
    if name == "encoder":
        length = Dim("length", min=2, max=64)
        args = (torch.randint(0, 100, (2, 7)),)
        return torch.export.export(Encoder().eval(), args, dynamic_shapes=({0: batch, 1: length},))
    shapes = None if name == "classifier_static" else ({0: batch},)
    args = (torch.randn(2, 3, 16, 16),)
    return torch.export.export(Classifier().eval(), args, dynamic_shapes=shapes)
