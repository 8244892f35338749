//! The onnxport plugin SDK: write lowerings as functions with typed arguments.
//!
//! ```ignore
//! use onnxport_sdk::prelude::*;
//!
//! simple! { "aten.relu.default" => Relu(self) }
//!
//! #[lowering("aten.addcmul.default")]
//! fn addcmul(cx: &mut Lower, x: Value, tensor1: Value, tensor2: Value, value: Scalar) -> Res<Value> {
//!     let dtype = cx.result(0)?.dtype;
//!     let product = cx.mul(tensor1, tensor2);
//!     let factor = cx.number(&value, dtype);
//!     let scaled = cx.mul(product, factor);
//!     Ok(cx.add(x, scaled))
//! }
//! ```
//!
//! The binary contract, panic guards and memory ownership are the glue's business; see
//! [`export_plugin!`].

mod arg;
mod build;
mod dim;
mod error;
pub mod executor;
mod facts;
mod glue;
mod literal;
mod lower;
mod ops;
mod promote;
mod register;
mod results;
mod shape;
mod simple;

pub use arg::{Arg, Axes, Axis, FromArg, GraphArg, Operand, Scalar, Str, SymInt};
pub use build::NodeBuilder;
pub use dim::{Dim, Range};
pub use error::{Refusal, Res};
pub use facts::{Fact, ResultFact};
pub use glue::{lower_entry, lowering_table};
pub use inventory;
pub use literal::Literal;
pub use lower::{Lower, Value};
pub use onnxport_abi as abi;
pub use onnxport_abi::{DType, Kind};
pub use onnxport_macros::{lowering, simple};
pub use register::Lowering;
pub use results::Results;
pub use simple::simple;

/// Everything that a file of lowerings uses.
pub mod prelude {
    pub use crate::{
        Arg, Axes, Axis, DType, Dim, GraphArg, Kind, Lower, Operand, Refusal, Res, Scalar, Str, SymInt,
        Value, lowering, simple,
    };
}
