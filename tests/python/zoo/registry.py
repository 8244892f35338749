"""The architectures of the zoo, apart from the models that every run tests."""

from __future__ import annotations

from collections.abc import Callable

from tests.python.models.registry import Model, Recipe

ZOO: dict[str, Model] = {}


def architecture(
    name: str, *, static: str = "", tolerance: float = 1.0
) -> Callable[[Callable[[], Recipe]], Callable[[], Recipe]]:
    """Register the decorated builder under `name`."""

    def register(build: Callable[[], Recipe]) -> Callable[[], Recipe]:
        if name in ZOO:
            raise ValueError(f"two architectures are named {name!r}")
        ZOO[name] = Model(name, build, static, tolerance)
        return build

    return register


def load_zoo() -> dict[str, Model]:
    """Import every file of architectures and return the registry."""
    from tests.python.zoo import (  # noqa: F401
        timm_models,
        torchvision_models,
        transformers_pairs,
        transformers_sound,
        transformers_text,
        transformers_vision,
    )

    return ZOO
