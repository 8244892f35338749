//! Information about a value beyond its type: its contents, and the node that computes it.

use onnxport_abi::lowering::{ABSENT, DataView, DefinitionView};
use onnxport_abi::{RSlice, RStr, status};

use crate::lent::Lent;
use crate::{Emit, Literal, Lower, Value};

/// A node of ONNX's own operators that was emitted before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The operator.
    pub op: String,
    /// Its inputs; `None` for one that is absent.
    pub inputs: Vec<Option<Value>>,
    value: Value,
}

impl Definition {
    /// The input at `index`, if it is there.
    pub fn input(&self, index: usize) -> Option<Value> {
        self.inputs.get(index).copied().flatten()
    }

    /// The integer attribute `name`, where the node states it.
    pub fn int(&self, cx: &Lower<'_>, name: &str) -> Option<i64> {
        let mut number = 0;
        let told = (cx.host().definition_int)(cx.cx(), self.value.0, RStr::from_str(name), &mut number);
        (told == status::OK).then_some(number)
    }
}

impl Lower<'_> {
    /// The contents of `value`, when it is a constant of at most 64 KiB, or a parameter or buffer of at most 1 MiB that
    /// is there. Contents that were read do not change when the model gets other weights.
    pub fn contents_of(&self, value: Value) -> Option<Literal> {
        self.literal(value).or_else(|| {
            let mut view = DataView { dtype: 0, dims: RSlice::EMPTY, bytes: RSlice::EMPTY };
            let read = (self.host().weight_data)(self.cx(), value.0, &mut view);
            (read == status::OK).then(|| Literal::read(&view))?
        })
    }

    /// The node that computes `value`; `None` where it is an input or a constant, or the operator is not one of
    /// ONNX's own.
    pub fn definition(&self, value: Value) -> Option<Definition> {
        let mut view = DefinitionView { op: RStr::from_str(""), inputs: RSlice::EMPTY };
        if (self.host().definition)(self.cx(), value.0, &mut view) != status::OK {
            return None;
        }
        let op = view.op.lent().to_owned();
        let inputs =
            view.inputs.lent().iter().map(|input| (*input != ABSENT).then_some(Value(*input))).collect();
        (!op.is_empty()).then_some(Definition { op, inputs, value })
    }
}
