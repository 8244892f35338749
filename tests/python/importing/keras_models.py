"""Models of Keras, as tf2onnx writes them.

    python tests/python/importing/keras_models.py FOLDER

Runs by itself in an environment with `tensorflow-cpu` and `tf2onnx`, which need other versions of
packages than the rest; each model becomes `FOLDER/NAME/model.onnx`. Weights are random, with fixed
seeds; images have their channels last, so that tf2onnx puts transposes around convolutions.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

# Kinds of opsets that are written.
OPSETS = (15, 18)


def chains() -> Iterator[tuple[str, tuple[int, ...], Callable[[Any], list[Any]]]]:
    """Yield a name, the shape of an input, and the layers behind it."""
    image, sound, words = (32, 32, 3), (40, 8), (12, 16)
    yield "conv", image, lambda k: [k.Conv2D(8, 3, activation="relu"), k.MaxPooling2D()]
    yield "conv_same", image, lambda k: [k.Conv2D(8, 3, padding="same", strides=2), k.ReLU(6.0)]
    yield (
        "conv_norm",
        image,
        lambda k: [k.Conv2D(8, 3, use_bias=False), k.BatchNormalization(), k.ReLU()],
    )
    yield "dilated", image, lambda k: [k.Conv2D(8, 3, dilation_rate=2), k.LeakyReLU(0.1)]
    yield "depthwise", image, lambda k: [k.DepthwiseConv2D(3), k.BatchNormalization(), k.ReLU()]
    yield "separable", image, lambda k: [k.SeparableConv2D(8, 3), k.Activation("swish")]
    yield "transposed", image, lambda k: [k.Conv2DTranspose(4, 3, strides=2, padding="same")]
    yield "pools", image, lambda k: [k.AveragePooling2D(3, 2, "same"), k.MaxPooling2D(2)]
    yield "globally", image, lambda k: [k.Conv2D(8, 3), k.GlobalAveragePooling2D(), k.Dense(5)]
    yield "padded", image, lambda k: [k.ZeroPadding2D(2), k.Conv2D(4, 3), k.Cropping2D(1)]
    yield "larger", image, lambda k: [k.UpSampling2D(2), k.Conv2D(4, 3, padding="same")]
    yield "smooth", image, lambda k: [k.UpSampling2D(2, interpolation="bilinear")]
    yield "resized", image, lambda k: [k.Resizing(20, 24), k.Rescaling(1 / 255)]
    yield "flat", image, lambda k: [k.Flatten(), k.Dense(16, "gelu"), k.Dense(3, "softmax")]
    yield "turned", image, lambda k: [k.Permute((3, 1, 2)), k.Reshape((3, 1024)), k.Softmax()]
    yield "group_norm", (8, 8, 8), lambda k: [k.GroupNormalization(4), k.Conv2D(4, 1)]
    yield "layer_norm", (8, 8, 8), lambda k: [k.LayerNormalization(), k.Conv2D(4, 1)]
    yield "prelu", (8, 8, 8), lambda k: [k.PReLU(shared_axes=[1, 2]), k.ELU()]
    yield "conv1d", sound, lambda k: [k.Conv1D(8, 3), k.BatchNormalization(), k.MaxPooling1D()]
    yield "conv3d", (6, 8, 8, 2), lambda k: [k.Conv3D(4, 3), k.ReLU(), k.GlobalMaxPooling3D()]
    yield "lstm", sound, lambda k: [k.LSTM(6, return_sequences=True), k.Dense(3)]
    yield "gru", sound, lambda k: [k.GRU(6), k.Dense(3, "sigmoid")]
    yield "both_ways", sound, lambda k: [k.Bidirectional(k.LSTM(4)), k.Dense(2)]
    yield "each_step", sound, lambda k: [k.TimeDistributed(k.Dense(4, "tanh")), k.Flatten()]
    yield "simple_rnn", words, lambda k: [k.SimpleRNN(5), k.Dense(2)]


def branched(keras: Any) -> Iterator[tuple[str, Any]]:
    """Yield models that are not chains."""
    k = keras.layers

    def block(x: Any, width: int) -> Any:
        inner = k.BatchNormalization()(k.Conv2D(width, 3, padding="same", use_bias=False)(x))
        inner = k.Conv2D(width, 3, padding="same")(k.ReLU()(inner))
        return k.ReLU()(k.Add()([x, k.BatchNormalization()(inner)]))

    x = keras.Input((16, 16, 8))
    yield "residual", keras.Model(x, block(block(x, 8), 8))
    x = keras.Input((16, 16, 8))
    parts = [k.Conv2D(4, size, padding="same")(x) for size in (1, 3, 5)]
    yield "inception", keras.Model(x, k.Concatenate()(parts))
    x = keras.Input((16, 16, 8))
    squeezed = k.Dense(8, "sigmoid")(k.Dense(2, "relu")(k.GlobalAveragePooling2D()(x)))
    yield "excited", keras.Model(x, k.Multiply()([x, k.Reshape((1, 1, 8))(squeezed)]))
    x = keras.Input((12, 16))
    attended = k.MultiHeadAttention(2, 8)(x, x)
    yield "attention", keras.Model(x, k.LayerNormalization()(k.Add()([x, attended])))
    x = keras.Input((16, 16, 4))
    low = k.Conv2D(8, 3, strides=2, padding="same", activation="relu")(x)
    high = k.Conv2DTranspose(4, 3, strides=2, padding="same")(low)
    yield "unet", keras.Model(x, k.Conv2D(2, 1)(k.Concatenate()([x, high])))


def networks(keras: Any) -> Iterator[tuple[str, Any]]:
    """Yield networks of Keras, small and with random weights."""
    made = keras.applications
    size = (96, 96, 3)
    options = {"weights": None, "input_shape": size, "classes": 10}
    yield "mobilenet", made.MobileNet(alpha=0.25, **options)
    yield "mobilenet_v2", made.MobileNetV2(alpha=0.35, **options)
    yield "mobilenet_v3", made.MobileNetV3Small(alpha=0.75, **options)
    yield "efficientnet", made.EfficientNetB0(**options)
    yield "densenet", made.DenseNet121(**options)
    yield "resnet50", made.ResNet50(**options)
    yield "xception", made.Xception(**options)


def models(keras: Any) -> Iterator[tuple[str, Any]]:
    """Yield all of them."""
    for name, shape, layers in chains():
        yield name, keras.Sequential([keras.Input(shape), *layers(keras.layers)])
    yield from branched(keras)
    yield from networks(keras)


def main() -> int:
    """Write the models and return the exit status."""
    import keras
    import tensorflow
    import tf2onnx

    folder = Path(sys.argv[1])
    keras.utils.set_random_seed(0)
    written = 0
    for name, model in models(keras):
        # A batch of 2, as it is drawn; a signature keeps Keras out of tf2onnx.
        shape = [2, *model.input_shape[1:]]
        signature = [tensorflow.TensorSpec(shape, tensorflow.float32, name="x")]
        called = tensorflow.function(lambda x, model=model: model(x, training=False), signature)
        for opset in OPSETS:
            path = folder / f"{name}.{opset}" / "model.onnx"
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                tf2onnx.convert.from_function(
                    called, input_signature=signature, opset=opset, output_path=str(path)
                )
                written += 1
            except Exception as error:  # models that the converter refuses are left out
                path.parent.rmdir()
                print(f"{name}, opset {opset}: {type(error).__name__}: {error}"[:200])
    print(f"{written} models")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
