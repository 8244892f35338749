//! The onnxport plugin SDK: write lowerings as functions with typed arguments.
//!
//! ```ignore
//! use onnxport_sdk::prelude::*;
//!
//! simple! { "aten.relu.default" => Relu(self) }
//!
//! #[lowering("aten.addcmul.default")]
//! fn addcmul(_cx: &Lower, x: Value, tensor1: Value, tensor2: Value, value: Scalar) -> Res<Value> {
//!     Ok(x + tensor1 * tensor2 * value)
//! }
//!
//! #[lowering("mylib.softcap.default")]
//! fn softcap(cx: &Lower, x: Value, cap: f64) -> Res<Value> {
//!     Ok(cx.tanh(x / cap) * cap)
//! }
//! ```
//!
//! [`Emit`] has the verbs, for lowerings, rules and passes alike. Operators on values emit as well, and a
//! number takes the element type of the value beside it.
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
//! The crate `onnxport-testkit` lowers calls in the host itself, for the tests of a plugin.
//!
//! A panic in the author's code is caught and named in the report, and the plugin is not called again
//! in that run. Do not build a plugin with `panic = "abort"`: it would end the host.

mod arg;
pub mod backend;
mod build;
pub mod comparer;
mod definition;
mod dim;
mod edit;
mod emit;
mod error;
pub mod executor;
mod facts;
mod function;
mod glue;
pub mod graph;
mod handle;
mod lent;
mod literal;
pub mod log;
mod lower;
mod metadata;
pub mod op;
mod operators;
pub mod options;
mod origin;
mod panic;
mod parts;
mod pass;
mod promote;
mod register;
mod results;
mod rules;
mod shape;
mod simple;
pub mod weights;

pub use arg::{Arg, Axes, Axis, FromArg, GraphArg, Operand, Scalar, Str, SymInt};
#[doc(hidden)]
pub use backend::{BackendList, backend_table, claim_entry, compile_entry, cost_entry, environment_entry};
#[doc(hidden)]
pub use build::Node;
pub use build::{Block, NodeBuilder};
pub use definition::Definition;
pub use dim::{Dim, Range};
pub use edit::{AttributeValue, Editor, compose};
pub use emit::Emit;
pub use error::{Refusal, Res};
pub use facts::{Fact, ResultFact};
#[doc(hidden)]
pub use glue::{LoweringList, answer, attach, lower_entry, lowering_table, panic_probe};
#[doc(hidden)]
pub use graph::GraphSession;
pub use graph::{Attribute, BlockRef, GraphView, Initializer, NodeRef, ValueRef, Weight};
pub use inventory;
pub use lent::Lent;
pub use literal::Literal;
pub use lower::{Lower, Value};
pub use onnxport_abi as abi;
pub use onnxport_abi::{DType, Kind, Traits};
pub use onnxport_macros::{lowering, pass, rules, simple};
pub use operators::Term;
pub use origin::Origin;
#[doc(hidden)]
pub use panic::keep_panics;
#[doc(hidden)]
pub use parts::{by_parts, by_products};
pub use pass::{Edit, Pass};
#[doc(hidden)]
pub use pass::{PassList, class_of_pass, pass_table, run_pass};
pub use register::Lowering;
#[doc(hidden)]
pub use register::{list, parent, text};
pub use results::Results;
pub use rules::{Matched, Replacement, Rewrite, Rule, Verdict};
#[doc(hidden)]
pub use rules::{RuleList, build_rule, check_rule, class_of_rule, rules_table, state};
pub use simple::simple;

/// Everything that a file of lowerings uses.
pub mod prelude {
    pub use crate::{
        Arg, Attribute, Axes, Axis, DType, Dim, Edit, Emit, GraphArg, GraphView, Kind, Lower, Matched,
        NodeRef, Operand, Refusal, Res, Rewrite, Scalar, Str, SymInt, Term, Traits, Value, ValueRef, compose,
        lowering, op, op::Operator, pass, rules, simple,
    };
}
