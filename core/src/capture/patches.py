"""Images as patches of any number, with the sizes of their grids.

The patches of all images are one sequence. transformers finds positions, frames and windows with
loops over the values of the grids, which a program cannot keep; here they are computed without
loops, and compared with those of transformers for some grids. The attention of each frame or window
is one attention with a mask.

The script of the decoder stands behind this one.
"""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pixels import Pixels, whole
    from process import reason

# transformers passes the bounds of sequences to an attention with such a name.
PACKED = "onnxport_flash"
# Grids of a capture, and of calls to compare, in groups of patches.
GIVEN, CALLED = ((1, 3, 5), (1, 2, 4)), ((1, 2, 3), (1, 4, 2))


def packed(
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    attention_mask: Any = None,
    scaling: float | None = None,
    cu_seq_lens_q: Any = None,
    **_: Any,
) -> tuple[Any, None]:
    """Attend among the tokens with equal numbers, which come in place of bounds."""
    import torch

    mask = cu_seq_lens_q[:, None] == cu_seq_lens_q[None, :]
    out = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=mask[None, None], scale=scaling
    )
    return out.transpose(1, 2), None


@contextlib.contextmanager
def attending(model: Any) -> Iterator[None]:
    """Let the tower of a model use the attention above."""
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    ALL_ATTENTION_FUNCTIONS.register(PACKED, packed)
    kind = type(model.config.vision_config)
    configs = [getattr(module, "config", None) for module in model.modules()]
    kept = [(one, one._attn_implementation) for one in configs if isinstance(one, kind)]
    for one, _ in kept:
        one._attn_implementation_internal = PACKED
    try:
        yield
    finally:
        for one, name in kept:
            one._attn_implementation_internal = name


def located(grid: Any, tokens: int, share: int) -> tuple[Any, Any, Any, Any]:
    """Return the first token, the index behind it, the height and the width of each token's image.

    `share` is the number of patches in a token, of which each image has whole ones.
    """
    import torch

    counts = grid.prod(1) // share
    ends = counts.cumsum(0)
    at = torch.arange(tokens)
    image = (at[:, None] >= ends[None]).sum(1)
    first = (ends - counts)[image]
    return first, at - first, grid[:, 1][image], grid[:, 2][image]


def positions(grid: Any, patches: int, merge: int) -> tuple[Any, Any]:
    """Return the rows and columns of patches, and a number of each frame."""
    import torch

    first, at, height, width = located(grid, patches, 1)
    frame = at // (height * width)
    at = at % (height * width)
    block, inner = at // merge**2, at % merge**2
    across = width // merge
    rows = block // across * merge + inner // merge
    columns = block % across * merge + inner % merge
    return torch.stack([rows, columns], -1), first + frame


def windows(grid: Any, tokens: int, merge: int, window: int) -> tuple[Any, Any]:
    """Return the order of tokens by windows of this size, and the number of each one's window."""
    import torch

    first, at, height, width = located(grid, tokens, merge**2)
    height, width = height // merge, width // merge
    frame = at // (height * width)
    row, column = at % (height * width) // width, at % width
    down, across = (height + window - 1) // window, (width + window - 1) // window
    # An image has at most as many windows as tokens.
    number = first + (frame * down + row // window) * across + column // window
    order = torch.argsort(number, stable=True)
    return order, number[order]


class Patches(Pixels):
    """Patches of images, and the frames, rows and columns of their grids."""

    names = ("pixel_values", "image_grid_thw")
    known = frozenset(
        {
            "image_grid_thw",
            "mm_token_type_ids",
            "pixel_values_videos",
            "rope_deltas",
            "second_per_grid_ts",
            "video_grid_thw",
        }
    )

    def __init__(self, model: Any, config: Any, dtype: str) -> None:
        super().__init__(model, config, dtype)
        vision = self.vision
        if getattr(vision, "deepstack_visual_indexes", None):
            self.refuse("layers of its decoder take states of images")
        self.merge = int(vision.spatial_merge_size)
        self.values = vision.patch_size**2 * getattr(vision, "temporal_patch_size", 1)
        self.values *= getattr(vision, "in_channels", None) or getattr(vision, "in_chans", 3)
        self.window = 0
        if hasattr(vision, "window_size") and hasattr(vision, "fullatt_block_indexes"):
            self.window = vision.window_size // self.merge // vision.patch_size
        self.check()

    def check(self) -> None:
        """Refuse a transformers whose positions or windows are not the ones here."""
        import torch

        try:
            from transformers import vision_utils as known

            grid = torch.tensor(GIVEN + CALLED) * torch.tensor([2, self.merge, self.merge])
            patches = int(grid.prod(1).sum())
            found, frames = positions(grid, patches, self.merge)
            same = torch.equal(found, known.get_vision_position_ids(grid, self.merge))
            ends = known.get_vision_cu_seqlens(grid)[1:]
            same = same and torch.equal(bounds(frames), ends.long())
            if self.window:
                order, numbers = windows(grid, patches // self.merge**2, self.merge, self.window)
                wanted, ends = known.get_vision_window_index(
                    grid, self.merge, self.vision.window_size, self.vision.patch_size
                )
                ends = ends[1:].long() // self.merge**2
                same = same and torch.equal(order, wanted) and torch.equal(bounds(numbers), ends)
        except Exception as error:
            self.refuse(f"the patches of images are not known: {reason(error)}")
        if not same:
            self.refuse("the patches of images have other positions than those that are known")

    def grids(self, groups: Any) -> Any:
        """Return grids of these groups of patches."""
        import torch

        return torch.tensor(groups) * torch.tensor([1, self.merge, self.merge])

    def example(self) -> tuple[list[Any], list[dict[int, str]]]:
        """Return inputs for a capture, and the names of their dynamic axes."""
        import torch

        # Its values do not count: the number of patches is not that of the grids.
        grid = torch.zeros(len(GIVEN), 3, dtype=torch.int64)
        patches = sum(rows * columns for _, rows, columns in GIVEN) * self.merge**2
        pixels = torch.zeros(patches, self.values, dtype=self.dtype)
        return [pixels, grid], [{0: "num_patches"}, {0: "num_images"}]

    @property
    def multiples(self) -> dict[str, int]:
        """The names of axes that are multiples of a number."""
        return {"num_patches": self.merge**2}

    def features(self, model: Any, given: list[Any]) -> Any:
        """Return what the model makes of images."""
        pixels, grid = given
        patches = pixels.shape[0]
        found, frames = positions(grid, patches, self.merge)
        more = {"image_position_ids": found, "image_cu_seqlens": frames, "image_max_seqlen": 1}
        if self.window:
            tokens = patches // self.merge**2
            order, numbers = windows(grid, tokens, self.merge, self.window)
            numbers = numbers[:, None].expand(-1, self.merge**2).reshape(patches)
            more |= {"image_window_index": order, "image_cu_window_seqlens": numbers}
            more |= {"image_max_window_seqlen": 1}
        with attending(model), whole(lengths=True):
            return model.get_image_features(pixel_values=pixels, image_grid_thw=grid, **more)

    def samples(self, random: Any) -> list[tuple[str, list[Any], list[int]]]:
        """Return calls with an image for each of two texts, and the tokens of their images."""
        import torch

        grid = self.grids(CALLED)
        shape = int(grid.prod(1).sum()), self.values
        pixels = torch.randn(shape, generator=random).to(self.dtype)
        return [("images", [pixels, grid], [rows * columns for _, rows, columns in CALLED])]

    def settings(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return settings of the model and of its tower for onnxruntime-genai."""
        names = ("image_token_id", "video_token_id", "vision_start_token_id")
        sizes = {"patch_size": self.vision.patch_size, "spatial_merge_size": self.merge}
        return {name: int(getattr(self.config, name)) for name in names}, sizes


def bounds(numbers: Any) -> Any:
    """Return the ends of runs of equal numbers."""
    import torch

    return torch.unique_consecutive(numbers, return_counts=True)[1].cumsum(0)
