//! Loss functions.

mod class;
mod distance;
mod labels;
mod vector;

use onnxport_sdk::prelude::*;

/// The reduction of the losses of all elements: PyTorch's `Reduction`.
#[derive(Clone, Copy, PartialEq)]
enum Reduction {
    None,
    Mean,
    Sum,
}

impl Reduction {
    /// The reduction that the argument's number means.
    fn read(number: i64) -> Res<Self> {
        match number {
            0 => Ok(Self::None),
            1 => Ok(Self::Mean),
            2 => Ok(Self::Sum),
            other => Err(format!("`reduction` {other} is not none, mean or sum").into()),
        }
    }

    /// As an attribute of ONNX's losses.
    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Mean => "mean",
            Self::Sum => "sum",
        }
    }

    /// The losses of all elements, reduced.
    fn of(self, cx: &Lower, losses: Value) -> Value {
        match self {
            Self::None => losses,
            Self::Mean => cx.reduce(op::ReduceMean, losses, &[], false),
            Self::Sum => cx.reduce(op::ReduceSum, losses, &[], false),
        }
    }
}
