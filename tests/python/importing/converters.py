"""Models that scikit-learn's, XGBoost's and LightGBM's converters write."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.python.importing.same import Source

# Estimators that take other data, that never end on these, or that the converter does not know.
PASSED_OVER = {"ClassifierChain", "RegressorChain", "StackingClassifier", "StackingRegressor"}

# Rows and columns of the training data.
ROWS, COLUMNS = 40, 5


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, classes and numbers to learn from."""
    random = np.random.default_rng(0)
    features = random.uniform(0.1, 2.0, (ROWS, COLUMNS)).astype(np.float32)
    classes = (features.sum(1) > features.sum(1).mean()).astype(np.int64)
    return features, classes, features.sum(1).astype(np.float32)


def estimators() -> Iterator[tuple[str, Any]]:
    """Yield estimators that need no arguments, and pipelines of them, by name."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler
    from sklearn.utils import all_estimators

    for name, make in all_estimators():
        if name in PASSED_OVER:
            continue
        for suffix, before in (
            ("", []),
            ("+scaled", [StandardScaler()]),
            ("+squared", [MinMaxScaler(), PolynomialFeatures(2)]),
        ):
            try:
                yield name + suffix, make_pipeline(*before, make()) if before else make()
            except TypeError:
                # It needs arguments.
                break


def boosted() -> Iterator[tuple[str, Any, Any]]:
    """Yield boosted trees with their converters."""
    try:
        import lightgbm
        import onnxmltools
        import xgboost
        from onnxmltools.convert.common.data_types import FloatTensorType
    except ImportError:
        return
    kinds = [("initial", FloatTensorType([None, COLUMNS]))]
    for depth in (2, 4):
        for booster in (xgboost.XGBClassifier, xgboost.XGBRegressor):
            model = booster(n_estimators=5, max_depth=depth)
            yield (
                f"{booster.__name__}{depth}",
                model,
                lambda m: onnxmltools.convert_xgboost(m, initial_types=kinds),
            )
        for booster in (lightgbm.LGBMClassifier, lightgbm.LGBMRegressor):
            model = booster(n_estimators=5, max_depth=depth, min_child_samples=2, verbose=-1)
            yield (
                f"{booster.__name__}{depth}",
                model,
                lambda m: onnxmltools.convert_lightgbm(m, initial_types=kinds),
            )


def write(folder: Path) -> list[Source]:
    """Convert the estimators that the converters support, into `folder`."""
    from skl2onnx import to_onnx

    features, classes, numbers = data()

    def sklearn(model: Any) -> Any:
        return to_onnx(
            model, features[:1], options={"zipmap": False} if hasattr(model, "classes_") else None
        )

    found: list[Source] = []
    plain = ((name, model, sklearn) for name, model in estimators())
    for name, model, convert in (*plain, *boosted()):
        target = classes if "lassif" in name else numbers
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                converted = convert(model.fit(features, target))
        except Exception:
            # It takes other data, or the converter does not know it.
            continue
        path = folder / f"{name}.onnx"
        path.write_bytes(converted.SerializeToString())
        given = converted.graph.input[0].name
        found.append((name, path, {given: features[:7]}))
    return found
