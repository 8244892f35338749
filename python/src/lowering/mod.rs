//! Lowerings that are written in Python: a plugin that lives inside of the extension.
//!
//! - `plugin` is the root and the tables that the host sees, for the lowerings of one conversion.
//! - `call` is the call that is being lowered, as long as it is.
//! - `arguments` are the call's arguments as Python's values, and `operand` is the way back.
//! - `emitter` with its `verbs`, `operator` and `value` are what a lowering works with.
//!
//! The interpreter's lock is taken for a call of an operator that Python lowers, and for nothing else.

mod arguments;
mod attribute;
mod call;
mod dim;
mod emitter;
mod operand;
mod operator;
mod plugin;
mod value;
mod verbs;

pub(crate) use call::Refused;
pub(crate) use dim::Dim;
pub(crate) use emitter::{Block, Emitter, Reference};
pub(crate) use operator::Operator;
pub(crate) use plugin::{Lowerings, run};
pub(crate) use value::Value;
