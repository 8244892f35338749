"""Decoders that a Python file of the user describes: `--code FILE`.

The file runs before the configuration is read. It registers classes with transformers, or has a
function `decoder`, which takes the folder of the checkpoint and returns the description:

- `model`: a module. `forward` takes `input_ids`, `attention_mask`, `position_ids` if it names them,
  and the caches as tensors; it returns logits, and the caches after the call.
- `caches`: the layers, each with `heads` and `size` (or `key_size` and `value_size`) for keys and
  values, or with `channels` and `length` for the state of a convolution.
- `vocabulary`, the number of logits; `context`, the largest number of tokens; `eos`, `bos`, `pad`.

The names of parameters are those of the tensors in the checkpoint.
"""

import glob
import importlib.util
import inspect
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from checkpoint import forward_checked
    from decoder import Refused, dtypes, fake_parameters, ids_of
    from process import reason

KEYS = {"model", "caches", "vocabulary", "context", "eos", "bos", "pad"}
NEEDED = ("model", "caches", "vocabulary")


def imported(path: str | None) -> Any:
    """Run the file of the user as a module; return it."""
    if path is None:
        return None
    path = os.path.abspath(path)
    name = os.path.splitext(os.path.basename(path))[0]
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Refused("code", f"`{path}` is not a Python file")
    # transformers looks modules up by their names.
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise Refused("code", f"`{path}` fails: {reason(error)}") from error
    return module


def layer_of(at: int, given: Any) -> dict[str, int]:
    """Return a layer as the answer has it."""
    layer = dict(given) if isinstance(given, dict) else {}
    if "size" in layer:
        layer["key_size"] = layer["value_size"] = layer.pop("size")
    known = {"heads", "key_size", "value_size"}, {"channels", "length"}
    if set(layer) not in known or not all(type(one) is int and one > 0 for one in layer.values()):
        about = f"the cache {at} of the description is {given!r}"
        raise Refused("code", f"{about}: give `heads` and `size`, or `channels` and `length`")
    return layer


class Described:
    """A decoder that a function of the user describes."""

    def __init__(self, folder: str, function: Any, request: dict[str, Any], mode: Any) -> None:
        self.folder, self.function = folder, function
        self.dtype = request["dtype"] or "f32"
        if request["buffers"]:
            raise Refused("code", "the caches of a decoder that is described grow")
        if request["last"]:
            raise Refused("code", "a decoder that is described computes logits as it does")
        with fake_parameters(mode):
            given = self.made()
        unknown = set(given) - KEYS
        if unknown:
            raise Refused("code", f"the description has no place for `{min(unknown)}`")
        self.model, self.given = given["model"], given
        self.layers = [layer_of(at, one) for at, one in enumerate(given["caches"])]
        if not any("heads" in layer for layer in self.layers):
            raise Refused("code", "the description has no layer with keys and values")
        numbers = {"vocabulary": given["vocabulary"], "context": given.get("context")}
        for name, value in numbers.items():
            if (type(value) is not int or value <= 0) and (name, value) != ("context", None):
                raise Refused("code", f"`{name}` of the description is {value!r}")
        self.vocabulary = self.words = given["vocabulary"]
        self.limit = given.get("context")
        self.composed: dict[str, Any] = {}
        if not list(self.model.parameters()):
            raise Refused("code", "the model of the description has no parameters")
        parameters = inspect.signature(self.model.forward).parameters
        self.positions = "position_ids" in parameters
        # The tensors of the interface come in order.
        self.model.forward = forward_checked(self.model.forward, self.positions)

    def made(self) -> dict[str, Any]:
        """Call the function for a model in the element type."""
        import torch

        default = torch.get_default_dtype()
        torch.set_default_dtype(dtypes()[self.dtype])
        try:
            given = self.function(self.folder)
        except Refused:
            raise
        except Exception as error:
            raise Refused("code", f"`decoder` fails: {reason(error)}") from error
        finally:
            torch.set_default_dtype(default)
        if not isinstance(given, dict):
            raise Refused("code", f"`decoder` returns a {type(given).__name__}, not a dictionary")
        if missing := [name for name in NEEDED if name not in given]:
            raise Refused("code", f"the description has no `{missing[0]}`")
        if not isinstance(given["model"], torch.nn.Module):
            kind = type(given["model"]).__name__
            raise Refused("code", f"`model` of the description is a {kind}")
        given["model"].eval()
        return given

    def loaded(self) -> Any:
        """Return the model with its weights."""
        import safetensors.torch

        model = self.made()["model"]
        missing = {name for name, _ in model.named_parameters()}
        for path in sorted(glob.glob(os.path.join(glob.escape(self.folder), "*.safetensors"))):
            tensors = safetensors.torch.load_file(path)
            model.load_state_dict(tensors, strict=False)
            missing -= set(tensors)
        if missing:
            raise ValueError(f"the checkpoint has no `{min(missing)}`")
        return model

    def run(self, model: Any, given: list[Any]) -> list[Any]:
        """Return the results of a model that was loaded."""
        return list(model(*[one.clone() for one in given]))

    def description(self) -> dict[str, Any]:
        """Return the part of the answer that the user states."""
        eos, bos, pad = (ids_of(self.given.get(name)) for name in ("eos", "bos", "pad"))
        return {
            "model_type": "described",
            "attention_heads": None,
            "hidden_size": None,
            "prefix": "",
            "eos": eos,
            "bos": next(iter(bos), None),
            "pad": next(iter(pad), None),
            "search": {},
        }
