//! The context of a lowering: the call, and the model that grows.

use crate::abi::lowering::{
    ABSENT, CallView, Context, DataView, DimRecord, LoweringHost, TypeRecord, arg_kind,
};
use crate::abi::{Version, status};
use crate::{Arg, Fact, FromArg, Literal, Refusal, Res};
use onnxport_abi::abi_stable::std_types::{RSlice, RStr};

/// A value of the ONNX graph under construction.
///
/// Symbolic integers, floats and truth values of the program are i64, f64 and bool tensors of shape
/// `[1]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Value(pub(crate) u32);

impl Value {
    /// What an emission that failed returns; the context remembers the failure.
    pub(crate) const INVALID: Self = Self(ABSENT);
}

/// The call being lowered and the graph that it is lowered into.
///
/// Emission never fails in the author's hands: an invalid emission is remembered and refuses the
/// call when the lowering returns.
pub struct Lower<'h> {
    pub(crate) host: &'h LoweringHost,
    /// The contract of the host.
    pub(crate) contract: Version,
    pub(crate) cx: Context,
    pub(crate) call: CallView<'h>,
    pub(crate) failure: Option<Refusal>,
    pub(crate) finished: bool,
}

impl<'h> Lower<'h> {
    pub(crate) fn new(host: &'h LoweringHost, contract: Version, cx: Context) -> Option<Self> {
        let mut call = CallView {
            target: RStr::from_str(""),
            opset: 0,
            args: RSlice::EMPTY,
            elements: RSlice::EMPTY,
            results: RSlice::EMPTY,
        };
        let answer = (host.call)(cx, &mut call);
        (answer == status::OK).then_some(Self { host, contract, cx, call, failure: None, finished: false })
    }

    /// The operator and overload: `aten.add.Tensor`.
    pub fn target(&self) -> &'h str {
        self.call.target.as_str()
    }

    /// The overload: `Tensor`.
    pub fn overload(&self) -> &'h str {
        self.target().rsplit('.').next().unwrap_or_default()
    }

    /// The opset to emit.
    pub fn opset(&self) -> i64 {
        self.call.opset
    }

    /// The argument that the parameter `name` of a lowering means, converted to `T`.
    ///
    /// # Errors
    /// When it is missing, or is not a `T`.
    pub fn argument<T: FromArg<'h>>(&mut self, name: &str) -> Res<T> {
        let arg = self.lookup(name);
        T::from_arg(self, arg).map_err(|refusal| Refusal {
            message: format!("argument `{name}`: {}", refusal.message),
            ..refusal
        })
    }

    /// The argument called `name`, as the program and the schema's defaults state it.
    pub fn lookup(&self, name: &str) -> Arg<'h> {
        let args = self.call.args.as_slice();
        let named = args.iter().find(|a| a.name.as_str() == name);
        let position = match name {
            "x" | "a" | "this" => Some(0),
            "y" | "b" => Some(1),
            _ => None,
        };
        match named.or_else(|| args.get(position?)) {
            Some(record) => Arg { record: Some(*record), elements: self.call.elements },
            None => Arg { record: None, elements: self.call.elements },
        }
    }

    /// The argument at `index`, for operators whose arguments have no names.
    ///
    /// # Errors
    /// When it is missing, or is not a `T`.
    pub fn positional<T: FromArg<'h>>(&mut self, index: usize) -> Res<T> {
        let record = self.call.args.get(index).copied();
        let arg = Arg { record, elements: self.call.elements };
        T::from_arg(self, arg).map_err(|refusal| Refusal {
            message: format!("argument {index}: {}", refusal.message),
            ..refusal
        })
    }

    /// The first argument, which axes refer to.
    pub(crate) fn first_argument(&self) -> Arg<'h> {
        Arg { record: self.call.args.first().copied(), elements: self.call.elements }
    }

    /// What is known about `value`.
    pub fn fact(&self, value: Value) -> Fact {
        let mut record = TypeRecord { kind: arg_kind::NONE, dtype: 0, rank: -1, dims: RSlice::EMPTY };
        if (self.host.value_type)(self.cx, value.0, &mut record) != status::OK {
            return Fact { dtype: None, shape: None };
        }
        Fact::read(&record)
    }

    /// The contents of `value`, when it is a small constant.
    pub fn literal(&self, value: Value) -> Option<Literal> {
        let mut view = DataView { dtype: 0, dims: RSlice::EMPTY, bytes: RSlice::EMPTY };
        if (self.host.constant_data)(self.cx, value.0, &mut view) != status::OK {
            return None;
        }
        Literal::read(&view)
    }

    /// Remembers a failure; the first one counts.
    pub(crate) fn fail(&mut self, message: impl Into<String>) {
        self.failure.get_or_insert_with(|| Refusal::new(message));
    }

    pub(crate) fn records(dims: &[crate::Dim]) -> Vec<DimRecord> {
        dims.iter().map(|d| d.record()).collect()
    }
}
