"""The images that a tower takes: their tensors, the states of their tokens, and calls of them.

The script of the decoder stands behind this one.
"""

import contextlib
import inspect
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decoder import Refused, dtypes
    from patches import Patches
    from tiles import Tiles

# The functions of transformers that make masks, by the kind of layer.
MASKS = {
    "full_attention": "create_causal_mask",
    "sliding_attention": "create_sliding_window_causal_mask",
}
# Images of the captured call.
IMAGES_GIVEN = 2


class Lengths:
    """The numbers of tokens of images, unknown to a program: a tensor split by them stays whole."""

    def __floordiv__(self, _: Any) -> "Lengths":
        """Return other numbers."""
        return self

    def prod(self, **_: Any) -> "Lengths":
        """Return the products of sizes."""
        return self

    def tolist(self) -> "Lengths":
        """Return the numbers."""
        return self


def whole(lengths: bool = False, padding: bool = False) -> Any:
    """Return a mode in which a loop over the images of a batch has one step, with all of them.

    With `lengths`, tensors are not split by the values of others either; with `padding`, all
    images count, and none is looked for by its values.
    """
    import torch
    from torch.overrides import TorchFunctionMode

    class Whole(TorchFunctionMode):  # type: ignore[misc]
        """Keeps a batch of any size."""

        def __torch_function__(
            self, function: Any, _: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            named = kwargs or {}
            loops = function in (torch.Tensor.__len__, torch.Tensor.unbind)
            if loops and [*args[1:], *named.values()] in ([], [0]):
                size = args[0].shape[0]
                if isinstance(size, torch.SymInt):
                    return 1 if function is torch.Tensor.__len__ else (args[0],)
            if lengths and function is torch.as_tensor and isinstance(args[0], list):
                return Lengths()
            if function in (torch.split, torch.Tensor.split):
                given = [*args[1:], *named.values()]
                given += [part for one in given if isinstance(one, list) for part in one]
                if any(isinstance(one, Lengths) for one in given):
                    return (args[0],)
            if padding and function is torch.Tensor.__getitem__:
                at = args[1]
                if isinstance(at, torch.Tensor) and at.dtype == torch.bool and at.dim() == 1:
                    return args[0]
            return function(*args, **named)

    @contextlib.contextmanager
    def entered() -> Iterator[None]:
        with Whole(), without_numbers() if lengths else contextlib.nullcontext():
            yield

    return entered()


@contextlib.contextmanager
def without_numbers() -> Iterator[None]:
    """Let no tensor give its values as numbers; tensors without memory have calls of their own."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensor
    from torch._subclasses.functional_tensor import FunctionalTensor

    kinds = (torch.Tensor, FakeTensor, FunctionalTensor)
    kept = [(kind, vars(kind).get("tolist")) for kind in kinds]
    for kind, _ in kept:
        kind.tolist = lambda _: Lengths()
    try:
        yield
    finally:
        for kind, own in kept:
            if own is None:
                del kind.tolist
            else:
                kind.tolist = own


def parameters_of(model: Any) -> dict[str, Any]:
    """Return the parameters of the call that makes the states of images."""
    return dict(inspect.signature(type(model).get_image_features).parameters)


class Pixels:
    """Images of one size."""

    names: tuple[str, ...] = ("pixel_values",)
    # Parameters of the model that these images explain.
    known: frozenset[str] = frozenset()
    # The names of axes that are multiples of a number.
    multiples: dict[str, int] = {}  # noqa: RUF012

    def __init__(self, model: Any, config: Any, dtype: str) -> None:
        self.config, self.vision, self.dtype = config, config.vision_config, dtypes()[dtype]
        # The tokens of an image, if all have as many.
        self.tokens: int | None = None
        # Whether a call has no values at all.
        self.is_probe = False

    def refuse(self, why: str) -> Any:
        """Refuse the images."""
        raise Refused("architecture", why)

    def size(self) -> tuple[int, int]:
        """Return the height and the width of an image."""
        size = getattr(self.vision, "image_size", None)
        if not isinstance(size, (int, list, tuple)):
            self.refuse("its images have no fixed size")
        height, width = (size, size) if isinstance(size, int) else size
        return height, width

    def pixels(self, *leading: int) -> Any:
        """Return images of zeros."""
        import torch

        channels = getattr(self.vision, "num_channels", 3)
        return torch.zeros(*leading, channels, *self.size(), dtype=self.dtype)

    def example(self) -> tuple[list[Any], list[dict[int, str]]]:
        """Return inputs for a capture, and the names of their dynamic axes."""
        return [self.pixels(IMAGES_GIVEN)], [{0: "num_images"}]

    def features(self, model: Any, given: list[Any]) -> Any:
        """Return what the model makes of images."""
        with whole():
            return model.get_image_features(pixel_values=given[0])

    def samples(self, random: Any) -> list[tuple[str, list[Any], list[int]]]:
        """Return calls with an image for each of two texts, and the tokens of their images."""
        import torch

        pixels = torch.randn(self.pixels(2).shape, generator=random).to(self.dtype)
        return [("images", [pixels], [self.tokens or 0] * 2)]

    def of_model(self, samples: list[tuple[str, list[Any], list[int]]]) -> dict[str, Any]:
        """Return the arguments of the whole model for these calls."""
        return dict(zip(self.names, samples[0][1], strict=True))

    def settings(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return settings of the model and of its tower for onnxruntime-genai."""
        return {}, {}


class Unpadded(Pixels):
    """Tiles of images, of which none is padding."""

    known = frozenset({"pixel_attention_mask"})

    def features(self, model: Any, given: list[Any]) -> Any:
        """Return what the model makes of images."""
        with whole(lengths=True, padding=True):
            return model.get_image_features(pixel_values=given[0][None])

    def of_model(self, samples: list[tuple[str, list[Any], list[int]]]) -> dict[str, Any]:
        """Return the arguments of the whole model: the tiles of each text."""
        return {"pixel_values": samples[0][1][0][:, None]}


class Resized(Pixels):
    """One image of any size, in whole groups of patches."""

    names = ("pixel_values",)

    def __init__(self, model: Any, config: Any, dtype: str) -> None:
        super().__init__(model, config, dtype)
        self.patch, self.merge = int(self.vision.patch_size), int(config.spatial_merge_size)
        self.unit = self.patch * self.merge
        self.multiples = {"height": self.unit, "width": self.unit}

    def pixels(self, *leading: int) -> Any:
        """Return images of zeros, of two sizes."""
        import torch

        channels = getattr(self.vision, "num_channels", 3)
        sizes = 3 * self.unit, 5 * self.unit
        return torch.zeros(*leading, channels, *sizes, dtype=self.dtype)

    def example(self) -> tuple[list[Any], list[dict[int, str]]]:
        """Return inputs for a capture, and the names of their dynamic axes."""
        return [self.pixels(1)], [{2: "height", 3: "width"}]

    def features(self, model: Any, given: list[Any]) -> Any:
        """Return what the model makes of an image."""
        sizes = [(given[0].shape[2], given[0].shape[3])]
        with whole(lengths=True):
            return model.get_image_features(pixel_values=given[0], image_sizes=sizes)

    def samples(self, random: Any) -> list[tuple[str, list[Any], list[int]]]:
        """Return calls with an image for each of two texts, and the tokens of their images."""
        import torch

        calls = []
        for at, (rows, columns) in enumerate(((2, 4), (3, 2))):
            shape = (1, 3, rows * self.unit, columns * self.unit)
            pixels = torch.randn(shape, generator=random).to(self.dtype)
            calls.append((f"image-{at + 1}", [pixels], [rows * columns]))
        return calls

    def of_model(self, samples: list[tuple[str, list[Any], list[int]]]) -> dict[str, Any]:
        """Return the arguments of the whole model: images in one batch, and their sizes."""
        import torch

        images = [given[0] for _, given, _ in samples]
        sizes = torch.tensor([one.shape[2:] for one in images])
        height, width = sizes.amax(0).tolist()
        filled = [
            torch.nn.functional.pad(one, (0, width - one.shape[3], 0, height - one.shape[2]))
            for one in images
        ]
        return {"pixel_values": torch.cat(filled), "image_sizes": sizes}

    def settings(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return settings of the model and of its tower for onnxruntime-genai."""
        sizes = {"patch_size": self.patch, "spatial_merge_size": self.merge}
        return {"image_token_id": int(self.config.image_token_id)}, sizes


def pixels_of(model: Any, config: Any, dtype: str) -> Any:
    """Return the images of a model, by the inputs that it takes for them."""
    taken = parameters_of(model)
    kind: type[Pixels] = Pixels
    if "image_grid_thw" in taken:
        kind = Patches
    elif "image_sizes" in taken:
        kind = Tiles if hasattr(config, "image_grid_pinpoints") else Resized
    elif "pixel_attention_mask" in taken:
        kind = Unpadded
    try:
        return kind(model, config, dtype)
    except (AttributeError, TypeError) as error:
        message = f"it takes `{kind.names[-1]}` in another way: {error}"
        raise Refused("architecture", message) from error


def takes_masks(model: Any) -> bool:
    """Whether the model asks transformers for the masks of its layers."""
    module = sys.modules[type(getattr(model, "model", model)).__module__]
    return all(hasattr(module, name) for name in MASKS.values())


@contextlib.contextmanager
def given_masks(model: Any, masks: dict[str, Any]) -> Iterator[None]:
    """Give the model these masks whenever it asks transformers for those of its layers."""
    module = sys.modules[type(model.model).__module__]
    kept = {kind: getattr(module, name) for kind, name in MASKS.items()}
    for kind, name in MASKS.items():
        setattr(module, name, lambda *_, mask=masks[kind], **__: mask)
    try:
        yield
    finally:
        for kind, function in kept.items():
            setattr(module, MASKS[kind], function)
