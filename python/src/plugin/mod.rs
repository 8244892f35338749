//! Lowerings, rules and passes that are written in Python: a plugin that lives inside the extension.
//!
//! - `root` is the plugin's root for the host, `functions` are those of one conversion.
//! - `lowerings`, `rules` and `passes` are the tables, and forward the host's calls to Python.
//! - `call` is an ongoing call into Python, and `context` its subject: a call of the program, or a graph.
//! - `trial` computes both sides of a rule.
//! - `arguments` converts the arguments of a call to Python's values, with `nested` graphs among them; `operand`
//!   converts back.
//! - `emitter` with its `verbs`, `operator` and `value`, and `graph` are the API of a function.
//!
//! The interpreter's lock is taken for a call of such a function only.

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
