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
//! A plugin is one crate. [`export_plugin!`] makes it one, linked into a program or as a shared
//! library; the binary contract, versions, panics and memory are the glue's business.
//!
//! ```toml
//! [lib]
//! crate-type = ["cdylib"]       # a shared library; add "rlib" to link it in as well
//!
//! [features]
//! default = ["cdylib"]
//! cdylib = []                   # exports the library's root: off where the crate is linked in
//! ```
//!
//! A panic in the author's code is caught and named in the report, and the plugin is not called again
//! in that run. Do not build a plugin with `panic = "abort"`: it would end the host.

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
mod panic;
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
#[doc(hidden)]
pub use glue::{LoweringList, answer, attach, lower_entry, lowering_table};
pub use inventory;
pub use literal::Literal;
pub use lower::{Lower, Value};
pub use onnxport_abi as abi;
pub use onnxport_abi::{DType, Kind};
pub use onnxport_macros::{lowering, simple};
#[doc(hidden)]
pub use panic::keep_panics;
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
