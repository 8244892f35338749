//! One tensor in, one out, each a single ONNX node.

use onnxport_sdk::prelude::*;

simple! {
    "aten.relu.default" => Relu(self),
    "aten.tanh.default" => Tanh(self),
    "aten.sigmoid.default" => Sigmoid(self),
    "aten.exp.default" => Exp(self),
    "aten.sqrt.default" => Sqrt(self),
    "aten.erf.default" => Erf(self)
}
