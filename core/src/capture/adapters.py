"""Adapters of peft (LoRA): products of narrow matrices, added to weights of linear modules.

The matrices of adapters that are swapped at run time are inputs of the program, behind all others:
for each module `a`, `[in, rank]`, and `b`, `[rank, out]`. Others are merged into the weights.

The script of the decoder stands behind this one.
"""

import json
import math
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decoder import Refused
    from process import reason

# The rank of the captured call; no other size is the same.
RANK = 11
LOW_RANK = re.compile(r"base_model\.model\.(.+)\.lora_([AB])\.weight")
# The lengths of rows of weights, by which DoRA scales them (weight-decomposed adaptation).
MAGNITUDE = re.compile(r"base_model\.model\.(.+)\.lora_magnitude_vector(\.weight)?")
# Settings that are checked below, or that the weights do not depend on.
SETTINGS = {
    "alpha_pattern",
    "auto_mapping",
    "base_model_name_or_path",
    "exclude_modules",
    "fan_in_fan_out",
    "inference_mode",
    "layers_pattern",
    "layers_to_transform",
    "lora_alpha",
    "lora_dropout",
    "megatron_core",
    "peft_type",
    "peft_version",
    "qalora_group_size",
    "r",
    "rank_pattern",
    "revision",
    "target_modules",
    "task_type",
    "use_dora",
    "use_rslora",
}
# Values of further settings that leave LoRA as it is. Other initial values change the weights of
# the checkpoint.
HARMLESS: dict[str, tuple[Any, ...]] = {
    "bias": ("none",),
    "init_lora_weights": (True, "gaussian", "eva", "orthogonal"),
    "eva_config": (),
}


def is_transposed(module: Any) -> bool:
    """Whether the weight is `[in, out]`, as in GPT-2, and not `[out, in]`."""
    import transformers

    return isinstance(module, transformers.pytorch_utils.Conv1D)


def sizes_of(module: Any) -> tuple[int, int]:
    """Return the numbers of inputs and outputs of a linear module."""
    first, second = module.weight.shape
    return (int(first), int(second)) if is_transposed(module) else (int(second), int(first))


def is_linear(module: Any) -> bool:
    """Whether an adapter can be added to the module."""
    import torch

    return isinstance(module, torch.nn.Linear) or is_transposed(module)


def pattern_of(patterns: dict[str, Any], name: str, default: Any) -> Any:
    """Return the value for a module, as peft finds it."""
    for pattern, value in patterns.items():
        if re.match(rf"(.*\.)?({pattern})$", name):
            return value
    return default


def is_named(names: Any, name: str) -> bool:
    """Whether the setting of peft, a regular expression or a list, has this module."""
    if isinstance(names, str):
        return re.fullmatch(names, name) is not None
    return any(name == one or name.endswith(f".{one}") for one in names or [])


class Adapter:
    """A folder of peft whose weights belong to the model."""

    def __init__(self, given: dict[str, Any], model: Any) -> None:
        self.folder, self.stored = given["folder"], given["stored"]
        self.merged = given["merged"]
        self.modules = {name: module for name, module in model.named_modules() if is_linear(module)}
        self.config = self.read()
        self.scales: dict[str, float] = {}
        # The names of magnitudes by module.
        self.magnitudes: dict[str, str] = {}
        try:
            self.check(model)
        except (re.error, TypeError, ValueError, ArithmeticError) as error:
            raise self.refused(
                f"adapter_config.json cannot be understood: {reason(error)}"
            ) from error

    def refused(self, why: str) -> Refused:
        """Return the error about this adapter."""
        return Refused("adapter", f"`{self.folder}`: {why}")

    def read(self) -> dict[str, Any]:
        """Return the settings, all of which are known."""
        try:
            with open(os.path.join(self.folder, "adapter_config.json"), encoding="utf-8") as file:
                config = json.load(file)
        except (OSError, ValueError) as error:
            raise self.refused(f"adapter_config.json cannot be read: {reason(error)}") from error
        if not isinstance(config, dict) or config.get("peft_type") != "LORA":
            kind = config.get("peft_type") if isinstance(config, dict) else None
            raise self.refused(f"the adapter is of the type {kind}, and only LORA is supported")
        for key, value in config.items():
            if key in SETTINGS or not value or value in HARMLESS.get(key, ()):
                continue
            raise self.refused(f"`{key}` of adapter_config.json is {json.dumps(value)}")
        return config

    def check(self, model: Any) -> None:
        """Compare the weights with the model."""
        found: dict[str, set[str]] = {}
        if self.config.get("use_dora") and not self.merged:
            raise self.refused(
                "it is of DoRA, which cannot be swapped; `--merge-adapter` merges it"
            )
        for name in self.stored:
            if self.config.get("use_dora") and (match := MAGNITUDE.fullmatch(name)):
                self.magnitudes[match[1]] = name
                continue
            match = LOW_RANK.fullmatch(name)
            if match is None:
                raise self.refused(f"`{name}` is not a weight of LoRA")
            found.setdefault(match[1], set()).add(match[2])
        every = dict(model.named_modules())
        for name, parts in found.items():
            if name not in every:
                raise self.refused(f"it adapts `{name}`, which is not a module of the model")
            if name not in self.modules:
                kind = type(every[name]).__name__
                raise self.refused(f"it adapts `{name}`, a {kind}, which is not linear")
            if len(parts) == 1:
                missing = "B" if parts == {"A"} else "A"
                raise self.refused(f"it has no weight lora_{missing} for `{name}`")
            self.scales[name] = self.scale_of(name)
            if self.config.get("use_dora"):
                self.check_magnitude(name)
        if others := sorted(set(self.magnitudes) - set(found)):
            raise self.refused(f"it has a magnitude for `{others[0]}`, and no product")
        self.check_targets(found)

    def check_magnitude(self, name: str) -> None:
        """Look for the magnitude of a module, which has a number for each output."""
        shape = self.stored.get(self.magnitudes.get(name, ""))
        wanted = [sizes_of(self.modules[name])[1]]
        if shape != wanted:
            about = f"lora_magnitude_vector of `{name}` has the shape {shape}"
            raise self.refused(f"{about}, and {wanted} fits")

    def check_targets(self, found: dict[str, set[str]]) -> None:
        """Compare the modules that the settings name with those that have weights."""
        targets, others = (self.config.get(key) for key in ("target_modules", "exclude_modules"))
        if not found:
            raise self.refused("it has no weights")
        if targets == "all-linear":
            return
        for name in self.modules:
            wanted = is_named(targets, name) and not is_named(others, name)
            if name in found and not wanted:
                raise self.refused(f"it has weights for `{name}`, which `target_modules` leave out")
            if wanted and name not in found and self.config.get("layers_to_transform") is None:
                raise self.refused(f"it has no weights for `{name}`, one of its `target_modules`")
        used = [one for one in targets if isinstance(targets, list)]
        for one in used:
            if not any(is_named([one], name) for name in found):
                raise self.refused(f"the model has no linear module `{one}`")

    def scale_of(self, name: str) -> float:
        """Return the factor of the product, after a look at the shapes."""
        config = self.config
        rank = pattern_of(config.get("rank_pattern") or {}, name, config["r"])
        alpha = pattern_of(config.get("alpha_pattern") or {}, name, config["lora_alpha"])
        taken, made = sizes_of(self.modules[name])
        for part, wanted in (("A", [rank, taken]), ("B", [made, rank])):
            shape = self.stored[f"base_model.model.{name}.lora_{part}.weight"]
            if shape != wanted:
                about = f"lora_{part} of `{name}` has the shape {shape}, and {wanted} fits"
                raise self.refused(about)
        scale = alpha / (math.sqrt(rank) if config.get("use_rslora") else rank)
        if not math.isfinite(scale):
            raise self.refused(f"the scale of `{name}` is {scale}")
        return float(scale)

    def path(self) -> str:
        """Return the path of the weights."""
        return os.path.join(self.folder, "adapter_model.safetensors")

    def weights(self, dtype: Any) -> dict[str, tuple[Any, Any]]:
        """Return the matrices of each module in the form of the inputs."""
        import safetensors.torch

        tensors = safetensors.torch.load_file(self.path())

        def one(name: str, part: str) -> Any:
            return tensors[f"base_model.model.{name}.lora_{part}.weight"].float().T

        pairs = {
            name: (one(name, "A"), one(name, "B") * scale) for name, scale in self.scales.items()
        }
        return {name: (a.to(dtype), b.to(dtype)) for name, (a, b) in pairs.items()}

    def changes(self) -> dict[str, dict[str, Any]]:
        """Describe the changes of modules."""
        return {
            name: {
                "scale": scale,
                "transposed": is_transposed(self.modules[name]),
                "magnitude": self.magnitudes.get(name),
            }
            for name, scale in self.scales.items()
        }

    def merge(self, model: Any) -> None:
        """Add the adapter to the weights of a model that was loaded."""
        import safetensors.torch
        import torch

        stored = safetensors.torch.load_file(self.path())
        with torch.no_grad():
            for name, (a, b) in self.weights(torch.float32).items():
                module = model.get_submodule(name)
                weight = module.weight.float()
                weight = (weight.T if is_transposed(module) else weight) + (a @ b).T
                if name in self.magnitudes:
                    length = torch.linalg.vector_norm(weight, dim=1)
                    magnitude = stored[self.magnitudes[name]].float()
                    weight = weight * (magnitude / length)[:, None]
                module.weight.copy_(weight.T if is_transposed(module) else weight)


class Adapters:
    """The adapters of a model."""

    def __init__(self, given: list[dict[str, Any]], model: Any) -> None:
        self.all = [Adapter(one, model) for one in given]
        self.swapped = [one for one in self.all if not one.merged]
        adapted = {name for one in self.swapped for name in one.scales}
        names = [name for name, _ in model.named_modules() if name in adapted]
        self.sizes = {name: sizes_of(model.get_submodule(name)) for name in names}
        for one in self.all:
            if one.merged:
                self.refuse_ties(one, model)

    def refuse_ties(self, adapter: Adapter, model: Any) -> None:
        """Refuse to change a weight that another module has as well."""
        owners: dict[int, list[str]] = {}
        for name, weight in model.named_parameters(remove_duplicate=False):
            owners.setdefault(id(weight), []).append(name)
        for names in owners.values():
            changed = [one for one in names if one.removesuffix(".weight") in adapter.scales]
            if changed and len(names) > 1:
                other = next(one for one in names if one != changed[0])
                about = f"`{changed[0]}` cannot be merged, since it is also `{other}`"
                raise adapter.refused(about)

    def merge(self, model: Any) -> Any:
        """Add the adapters that are merged to a model that was loaded; return it."""
        for one in self.all:
            if one.merged:
                one.merge(model)
        return model

    def refuse_swapped(self, model: Any) -> None:
        """Refuse adapters to swap, for a model of several programs."""
        for one in self.swapped:
            about = f"`{type(model).__name__}` becomes several models, and adapters to swap are"
            raise one.refused(f"{about} for decoders of text; `--merge-adapter` merges it")

    def description(self) -> dict[str, Any]:
        """Return the part of the answer about adapters."""
        modules = [
            {"module": name, "taken": taken, "made": made}
            for name, (taken, made) in self.sizes.items()
        ]
        return {"modules": modules, "changes": [one.changes() for one in self.all]}

    def attach(self, model: Any) -> dict[str, tuple[Any, Any]]:
        """Let modules add the products of pairs; return the pairs by module, none at first."""
        pairs: dict[str, tuple[Any, Any]] = {}

        def adapted(name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
            def forward(given: Any) -> Any:
                out = inner(given)
                if name not in pairs:
                    return out
                a, b = pairs[name]
                return out + given @ a @ b

            return forward

        for name in self.sizes:
            module = model.get_submodule(name)
            module.forward = adapted(name, module.forward)
        return pairs

    def take(self, model: Any) -> None:
        """Let the model take pairs as further arguments."""
        pairs, inner, count = self.attach(model), model.forward, 2 * len(self.sizes)

        def forward(*given: Any) -> Any:
            own, rest = given[: len(given) - count], given[len(given) - count :]
            pairs.update(zip(self.sizes, zip(rest[::2], rest[1::2], strict=True), strict=True))
            try:
                return inner(*own)
            finally:
                pairs.clear()

        if count:
            model.forward = forward

    def given(self, dtype: Any, weights: dict[str, tuple[Any, Any]], rank: int = 0) -> list[Any]:
        """Return the further arguments; zeros of this rank for modules without weights."""
        import torch

        arguments: list[Any] = []
        for name, (taken, made) in self.sizes.items():
            shapes = (taken, rank), (rank, made)
            none = [torch.zeros(shape, dtype=dtype) for shape in shapes]
            arguments += weights.get(name, none)
        return arguments

    def refuse_unused(self, program: Any) -> None:
        """Refuse a module that the model does not call."""
        unused = {
            node.target
            for node in program.graph.nodes
            if node.op == "placeholder" and not node.users
        }
        count = 2 * len(self.sizes)
        inputs = program.graph_signature.user_inputs
        for name, argument in zip(self.sizes, inputs[len(inputs) - count :: 2], strict=True):
            if argument in unused:
                owner = next(one for one in self.swapped if name in one.scales)
                raise owner.refused(f"the model does not call `{name}`")
