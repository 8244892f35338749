//! The operators of ONNX Runtime's own domain.
//!
//! They follow its [operator pages](https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md). An operator
//! without an evaluator has its types and shapes inferred.

pub(super) mod activations;
pub(super) mod attention;
pub(super) mod norms;
pub(super) mod products;
pub(super) mod quantized;

use super::Op;
use crate::op::microsoft;

/// The line of an operator of this domain.
const fn op(name: &'static str) -> Op {
    Op::new(name).of(microsoft::DOMAIN)
}
