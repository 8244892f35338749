"""One image as tiles of one size, of which only the part that shows the image becomes tokens.

transformers computes the number of tiles and the padding from the size of the image, in numbers
that a program cannot keep; here they are tensors. They are compared with those of transformers for
some sizes of images.

The script of the decoder stands behind this one.
"""

import contextlib
import sys
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pixels import Lengths, Pixels, whole
    from process import reason

# Sizes of images of which the tokens are compared, relative to a tile.
COMPARED = ((1.0, 1.0), (0.7, 1.9), (1.3, 0.4), (2.9, 1.1), (0.51, 0.5), (4.1, 3.7), (0.2, 3.3))
# Those of calls to compare.
TILES_CALLED = ((0.7, 1.9), (1.3, 0.6))


def best_of(size: Any, choices: Any) -> Any:
    """Return the height and width of the choice that shows most of an image, with least padding."""
    import torch

    # As in transformers, products are truncated in float64.
    scales = (choices.double() / size.double()).amin(1, keepdim=True)
    shown = (size.double() * scales).long().prod(1).clamp(max=size.prod())
    area = choices.prod(1)
    order = shown * (area.amax() + 1) - (area - shown)
    return choices.index_select(0, torch.argmax(order)[None])[0]


def margins(size: Any, extents: Any) -> Any:
    """Return the rows and columns of padding on each side of an image, in tokens."""
    import torch

    across = size.flip(0)
    scale = extents.flip(0).double() / across.double()
    # The rows of an image as wide as its tiles, and the columns of one as high as they are.
    shown = torch.round(size.double() * scale * 1e7) / 1e7
    padding = (extents - shown.long()) // 2
    wide = size[1].double() / size[0].double() > extents[1].double() / extents[0].double()
    is_padded = torch.stack([wide, ~wide])
    return torch.where(is_padded, padding, 0)


class Tiles(Pixels):
    """Tiles of an image of any size, and its size."""

    names = ("pixel_values", "image_sizes")

    def __init__(self, model: Any, config: Any, dtype: str) -> None:
        super().__init__(model, config, dtype)
        height, width = self.size()
        self.side = height // self.vision.patch_size
        self.tile = height
        self.choices = [[int(one) for one in pair] for pair in config.image_grid_pinpoints]
        self.inner = model.model
        self.functions = sys.modules[type(self.inner).__module__]
        if height != width:
            self.refuse("its tiles are not squares")
        self.check()

    def check(self) -> None:
        """Refuse a model that makes other tokens of tiles than those here."""
        import torch

        pack = getattr(type(self.inner), "pack_image_features", None)
        try:
            for height, width in COMPARED:
                size = torch.tensor([round(height * self.tile), round(width * self.tile)])
                tiles = self.tiles_of(size)
                states = torch.arange(tiles * self.side**2).reshape(tiles, -1, 1)
                newline = torch.tensor([-1])
                known = types.SimpleNamespace(config=self.config)
                wanted, _ = pack(known, [states], size[None], "full", image_newline=newline)
                if not torch.equal(self.packed(states, newline, size), wanted[0]):
                    self.refuse("the tokens of tiles are not those that are known")
        except (AttributeError, RuntimeError, TypeError, ValueError) as error:
            self.refuse(f"the tokens of its tiles are not known: {reason(error)}")

    def tiles_of(self, size: Any) -> int:
        """Return the number of tiles of an image, with one of the whole."""
        found = self.functions.image_size_to_num_patches(
            image_size=size, grid_pinpoints=self.choices, patch_size=self.tile
        )
        return int(found)

    def packed(self, states: Any, newline: Any, size: Any) -> Any:
        """Return the states of the whole image, and of the tiles by rows that a newline ends."""
        import torch

        count, tokens, width = states.shape
        best = best_of(size, torch.tensor(self.choices)) // self.tile
        extents = best * self.side
        padding = margins(size, extents)
        rows, columns = (extents - 2 * padding).unbind(0)
        line = columns + 1
        if self.is_probe:
            length = 1
        else:
            length = (rows * line).item()
            torch._check(length >= 0)
        at = torch.arange(length)
        row, column = at // line + padding[0], at % line
        ends = column == columns
        column = column + padding[1]
        tile = row // self.side * best[1] + column // self.side
        inner = row % self.side * self.side + column % self.side
        # The first tile is the whole image, and the newline stands behind all.
        at = torch.where(ends, count * tokens, (tile + 1) * tokens + inner)
        table = torch.cat([states.reshape(-1, width), newline[None]])
        return torch.cat([states[0], table[at]])

    def example(self) -> tuple[list[Any], list[dict[int, str]]]:
        """Return inputs for a capture, and the names of their dynamic axes."""
        import torch

        sizes = torch.full((1, 2), self.tile)
        return [self.pixels(5), sizes], [{0: "num_tiles"}, {}]

    @contextlib.contextmanager
    def packing(self, model: Any, size: Any) -> Iterator[None]:
        """Let a model pack the states of tiles as above."""

        def pack(states: Any, *_: Any, image_newline: Any = None, **__: Any) -> tuple[Any, None]:
            newline = image_newline.to(states[0].dtype)
            return [self.packed(states[0], newline, size)], None

        kept = self.functions.image_size_to_num_patches
        self.functions.image_size_to_num_patches = lambda **_: Lengths()
        model.model.pack_image_features = pack
        try:
            yield
        finally:
            self.functions.image_size_to_num_patches = kept
            del model.model.pack_image_features

    def features(self, model: Any, given: list[Any]) -> Any:
        """Return what the model makes of an image."""
        pixels, sizes = given
        with self.packing(model, sizes[0]), whole(lengths=True):
            return model.get_image_features(pixel_values=pixels, image_sizes=sizes)

    def samples(self, random: Any) -> list[tuple[str, list[Any], list[int]]]:
        """Return calls with an image for each of two texts, and the tokens of their images."""
        import torch

        calls = []
        for number, sides in enumerate(TILES_CALLED):
            size = torch.tensor([round(one * self.tile) for one in sides])
            tiles = self.tiles_of(size)
            states = torch.zeros(tiles, self.side**2, 1)
            tokens = len(self.packed(states, states[0, 0], size))
            pixels = torch.randn(self.pixels(tiles).shape, generator=random).to(self.dtype)
            calls.append((f"image-{number + 1}", [pixels, size[None]], [tokens]))
        return calls

    def of_model(self, samples: list[tuple[str, list[Any], list[int]]]) -> dict[str, Any]:
        """Return the arguments of the whole model: images with as many tiles, and their sizes."""
        import torch

        images = [given[0] for _, given, _ in samples]
        most = max(len(one) for one in images)
        filled = [
            torch.cat([one, one.new_zeros(most - len(one), *one.shape[1:])]) for one in images
        ]
        sizes = torch.cat([given[1] for _, given, _ in samples])
        return {"pixel_values": torch.stack(filled), "image_sizes": sizes}
