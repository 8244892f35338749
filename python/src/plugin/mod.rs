//! Lowerings, rules and passes that are written in Python: a plugin that lives inside of the extension.
//!
//! - `root` is what the host sees of the plugin, `functions` are those of one conversion.
//! - `lowerings`, `rules` and `passes` are the tables, and the way from the host's calls to Python.
//! - `call` is a call into Python, as long as it is, and `context` what it works on: a call of the program, or a graph.
//! - `trial` computes both sides of a rule.
//! - `arguments` are the arguments of a call as Python's values, `nested` graphs among them, and `operand` is the way back.
//! - `emitter` with its `verbs`, `operator` and `value`, and `graph` are what a function works with.
//!
//! The interpreter's lock is taken for a call of such a function, and for nothing else.

mod arguments;
mod attribute;
mod call;
mod class;
mod context;
mod dim;
mod emitter;
mod functions;
mod graph;
mod lowerings;
mod nested;
mod operand;
mod operator;
mod passes;
mod root;
mod rules;
mod trial;
mod value;
mod verbs;

pub(crate) use call::Refused;
pub(crate) use dim::Dim;
pub(crate) use emitter::{Block, Emitter, Reference};
pub(crate) use functions::{Functions, run};
pub(crate) use graph::{Graph, Kept, Node};
pub(crate) use nested::Nested;
pub(crate) use operator::Operator;
pub(crate) use trial::try_rule;
pub(crate) use value::Value;
