//! `rules/1`: a plugin rewrites small parts of the graph.
//!
//! A rule is a pattern, which is data, and at most two functions. The host compiles all patterns and
//! finds the places; only there it asks [`RulesTable::check`] (when the rule has a condition) and then
//! [`RulesTable::build`], which describes a patch through [`RulesHost`]. The host checks the patch, sets
//! where its nodes come from, and applies it or leaves the graph as it was.
// Generated from plugin-sdk/abi/contract.rs by `cargo xtask gen contract`. Do not edit.

use crate::Table;
use crate::graph::GraphContext;
use crate::graph::NewNode;
use crate::lowering::TypeRecord;
use abi_stable::StableAbi;
use abi_stable::std_types::{RSlice, RSliceMut, RStr};

/// The name of the interface.
pub const INTERFACE: &str = "rules/1";

/// The revision of the contract that brought the interface.
pub const SINCE: crate::Version = crate::Version { major: 1, minor: 1 };

/// What the plugin provides.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct RulesTable {
    /// The rules.
    pub rules: RSlice<'static, RuleRecord>,
    /// Whether the rule at `index` applies where its pattern fits. `host` and `graph` are the envelopes
    /// of [`RulesHost`] and `GraphHost`. Called on the thread of the conversion; the graph does not
    /// change meanwhile. `OK`, or `REFUSED` after [`RulesHost::refuse`], or `PANICKED`.
    ///
    /// - Since contract 1.1.
    /// - Thread: the one of the conversion.
    /// - Takes: what is passed is borrowed until the call returns.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`INVALID`](crate::status::INVALID).
    pub check: extern "C" fn(index: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32,
    /// Describes what stands in the place of what the rule at `index` matched. `OK` after
    /// [`RulesHost::finish`], or as for [`RulesTable::check`].
    ///
    /// - Since contract 1.1.
    /// - Thread: the one of the conversion.
    /// - Takes: what is passed is borrowed until the call returns.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`INVALID`](crate::status::INVALID).
    pub build: extern "C" fn(index: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32,
}

crate::table::interface!(RulesTable, INTERFACE, base: 3);

/// A rule: what it looks for, and what is said about it.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct RuleRecord {
    /// The name, unique in the plugin: `transpose_transpose`.
    pub name: RStr<'static>,
    /// What it does, in a line.
    pub documentation: RStr<'static>,
    /// The lowest opset at which it is right.
    pub min_opset: u32,
    /// The highest opset at which it is right.
    pub max_opset: u32,
    /// Among several rules for one place, the highest priority is tried first.
    pub priority: i32,
    /// [`rule_flags`].
    pub flags: u32,
    /// The nodes of the pattern; the first is its root, whose outputs the patch replaces.
    pub nodes: RSlice<'static, PatternNode>,
    /// The operands of all nodes.
    pub operands: RSlice<'static, PatternOperand>,
    /// The attributes of all nodes.
    pub attributes: RSlice<'static, PatternAttribute>,
    /// The names of the variables that stand for values.
    pub variables: RSlice<'static, RStr<'static>>,
    /// The names of the variables that stand for attributes.
    pub captures: RSlice<'static, RStr<'static>>,
}

/// Flags of [`RuleRecord`].
pub mod rule_flags {
    /// The host asks `check` before `build`.
    pub const CONDITION: u32 = 1;
}

/// A node of a pattern.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct PatternNode {
    /// The domain; empty for ONNX's own operators.
    pub domain: RStr<'static>,
    /// The operator.
    pub op: RStr<'static>,
    /// Where its operands start in [`RuleRecord::operands`].
    pub first_operand: u32,
    /// How many operands it has.
    pub operands: u32,
    /// Where its attributes start in [`RuleRecord::attributes`].
    pub first_attribute: u32,
    /// How many attributes it has.
    pub attributes: u32,
    /// The output that the pattern around it reads.
    pub output: u32,
    /// [`node_flags`].
    pub flags: u32,
}

/// Flags of [`PatternNode`].
pub mod node_flags {
    /// The first two operands may stand in either order.
    pub const COMMUTATIVE: u32 = 1;
    /// There may be further inputs and attributes; otherwise a node with any does not match.
    pub const OPEN: u32 = 2;
    /// Its outputs may be read elsewhere; otherwise only the matched nodes may read them. Such a node
    /// may lie in a block around that of the root.
    pub const SHARED: u32 = 4;
}

/// An operand of a node of a pattern.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct PatternOperand {
    /// One of [`operand_kind`].
    pub kind: u32,
    /// The variable, or the node.
    pub index: u32,
    /// 1 when the input may be left out.
    pub optional: u32,
    /// The number.
    pub number: f64,
}

/// Kinds of [`PatternOperand`].
pub mod operand_kind {
    /// Any value.
    pub const ANY: u32 = 0;
    /// A value that the variable `index` stands for, everywhere in the pattern.
    pub const VALUE: u32 = 1;
    /// The same, and an initializer.
    pub const CONSTANT: u32 = 2;
    /// What the node `index` makes. A node is the operand of one node only, and its index is larger.
    pub const NODE: u32 = 3;
    /// An initializer of at most 64 KiB, all elements of which are `number`; there is at least one. Not a
    /// parameter or buffer: their bytes are not read.
    pub const NUMBER: u32 = 4;
}

/// An attribute of a node of a pattern.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct PatternAttribute {
    /// The name.
    pub name: RStr<'static>,
    /// `attr_kind` of `lowering/1` for a value that the attribute must have (`INT`, `FLOAT`, `STR`,
    /// `INTS` or `FLOATS`), or [`CAPTURE`].
    pub kind: u32,
    /// The variable that stands for the attribute, everywhere in the pattern.
    pub index: u32,
    /// 1 when the attribute may be absent.
    pub optional: u32,
    /// Integers; one for an `INT`.
    pub ints: RSlice<'static, i64>,
    /// Floats; one for a `FLOAT`.
    pub floats: RSlice<'static, f32>,
    /// The text of a `STR`.
    pub text: RStr<'static>,
}

/// The kind of a [`PatternAttribute`] that takes what is there.
pub const CAPTURE: u32 = 0;

/// What a rule matched.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct MatchView<'a> {
    /// One per node of the pattern.
    pub nodes: RSlice<'a, u64>,
    /// One per variable that stands for a value; `NOTHING` where an optional input is left out.
    pub values: RSlice<'a, u64>,
}

/// What the host offers while a rule is checked or builds its patch. Used on the thread of the call and
/// only until it returns. All functions that return a number return a [`status`](crate::status); those
/// that build answer `INVALID` during a check.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct RulesHost {
    /// What was matched; borrowed until the plugin's next call into the host.
    ///
    /// - Since contract 1.1.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Gives: what is given is borrowed until the next call into the same table.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub matched: for<'a> extern "C" fn(cx: GraphContext, out: &mut MatchView<'a>) -> u32,
    /// Adds a node before the root and stores the ids of its outputs; the number of outputs is the
    /// slice's length.
    ///
    /// - Since contract 1.1.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: what is passed is borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub emit: extern "C" fn(cx: GraphContext, node: &NewNode<'_>, outputs: RSliceMut<'_, u64>) -> u32,
    /// Adds an initializer of little-endian, row-major `bytes` and stores its id.
    ///
    /// - Since contract 1.1.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: what is passed is borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub constant: extern "C" fn(
        cx: GraphContext,
        dtype: i32,
        dims: RSlice<'_, u64>,
        bytes: RSlice<'_, u8>,
        out: &mut u64,
    ) -> u32,
    /// Adds an initializer that shows the bytes of another one with its axes in the order `axes`, then
    /// with the extents `dims`, and stores its id. Nothing is copied before the model is written.
    /// `REFUSED` when such a view would need a copy.
    ///
    /// - Since contract 1.1.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: what is passed is borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID), [`REFUSED`](crate::status::REFUSED).
    pub view: extern "C" fn(
        cx: GraphContext,
        initializer: u64,
        axes: RSlice<'_, u32>,
        dims: RSlice<'_, u64>,
        out: &mut u64,
    ) -> u32,
    /// States the type of a value of the patch that the host could not infer.
    ///
    /// - Since contract 1.1.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: what is passed is borrowed until the call returns.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub set_type: extern "C" fn(cx: GraphContext, value: u64, ty: &TypeRecord<'_>) -> u32,
    /// Ends the patch: what stands for each output of the root; `NOTHING` for one that is not read.
    ///
    /// - Since contract 1.1.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: what is passed is borrowed until the call returns.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub finish: extern "C" fn(cx: GraphContext, outputs: RSlice<'_, u64>) -> u32,
    /// Says why the rule does not apply here. `code` is empty for the host's own code.
    ///
    /// - Since contract 1.1.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: what is passed is borrowed until the call returns.
    /// - Cannot fail.
    pub refuse: extern "C" fn(cx: GraphContext, code: RStr<'_>, message: RStr<'_>, help: RStr<'_>),
}

crate::table::interface!(RulesHost, INTERFACE, base: 7);
