//! `rules/1`: a plugin rewrites small parts of the graph.
//!
//! A rule is a pattern, which is text, and at most two functions. The host compiles all patterns and finds their
//! matches; only there it asks [`RulesTable::check`] (when the rule has a condition) and then
//! [`RulesTable::build`], which describes a patch through [`RulesHost`]. The host checks the patch, sets the
//! origin of its nodes, and applies it or leaves the graph as it was. `docs/optimizer-plugins.md` has the grammar
//! of patterns. It may grow; a host refuses and reports a rule that it cannot read.
// Generated from plugin-sdk/abi/contract.rs by `cargo xtask gen contract`. Do not edit.

use crate::graph::AttributeView;
use crate::graph::GraphContext;
use crate::graph::NewNode;
use crate::lowering::DimRecord;
use crate::lowering::TypeRecord;
use crate::{RSlice, RSliceMut, RStr, Table};
use abi_stable::StableAbi;

/// The name of the interface.
pub const INTERFACE: &str = "rules/1";

/// The revision of the contract that brought the interface.
pub const SINCE: crate::Version = crate::Version { major: 1, minor: 0 };

/// The functions and data that the plugin provides.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct RulesTable {
    /// The rules.
    pub rules: RSlice<'static, RuleText>,
    /// Whether the rule at `index` applies where its pattern fits. `host` and `graph` are the envelopes
    /// of [`RulesHost`] and `GraphHost`. Called on the thread of the conversion; the graph does not
    /// change meanwhile. `OK`, or `REFUSED` after [`RulesHost::refuse`], or `PANICKED`.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the conversion.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`INVALID`](crate::status::INVALID).
    pub check: extern "C" fn(index: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32,
    /// Describes the replacement of a match of the rule at `index`. `OK` after
    /// [`RulesHost::finish`], or as for [`RulesTable::check`].
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the conversion.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`INVALID`](crate::status::INVALID).
    pub build: extern "C" fn(index: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32,
    /// States how exact the rule at `index` is. Without this function a rule is one of class `UNSTATED`. `INVALID`
    /// for an unknown index.
    ///
    /// - Since contract 1.0; `None` where it is not provided.
    /// - Thread: the one of the conversion.
    /// - Takes: nothing borrowed.
    /// - Gives: the value stays valid for the rest of the process.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub class_of: Option<extern "C" fn(index: u32, out: &mut ClassRecord) -> u32>,
}

crate::table::interface!(RulesTable, INTERFACE, base: 3);

/// The exactness of a rule or a pass. A result may change by the larger of the bounds `relative` and `ulps`;
/// infinities and NaN are preserved, unless `finite` is 1.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct ClassRecord {
    /// One of [`class`].
    pub kind: u32,
    /// The bound of the change, relative to the larger of 1 and the magnitude of the result; 0 if not stated.
    pub relative: f64,
    /// The bound of the change, in units in the last place of the element type; 0 if not stated.
    pub ulps: f64,
    /// The target whose own operators a rule of class [`class::TARGET`] emits: `onnxruntime`. Empty for the others.
    pub target: RStr<'static>,
    /// 1 if this holds for finite inputs only; 0 if it always does.
    pub finite: u32,
}

/// Classes of [`ClassRecord`].
pub mod class {
    /// Results may differ by an unknown amount.
    pub const UNSTATED: u32 = 0;
    /// Results stay the same, bit for bit.
    pub const EXACT: u32 = 1;
    /// Results differ by no more than the bound.
    pub const BOUNDED: u32 = 2;
    /// As `BOUNDED`, and it emits operators that only the target has. Without a bound it is exact.
    pub const TARGET: u32 = 3;
}

/// A rule.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct RuleText {
    /// The name, unique in the plugin: `transpose_transpose`.
    pub name: RStr<'static>,
    /// Its effect, in a line.
    pub documentation: RStr<'static>,
    /// The pattern that it replaces: `Transpose(Transpose(x, perm = p), perm = q)`.
    pub pattern: RStr<'static>,
    /// The lowest opset at which it is right.
    pub min_opset: u32,
    /// The highest opset at which it is right.
    pub max_opset: u32,
    /// Among several rules for one node, the highest priority is tried first.
    pub priority: i32,
    /// [`rule_flags`].
    pub flags: u32,
    /// The names of nodes in the pattern, in the order of [`Bindings::nodes`].
    pub nodes: RSlice<'static, RStr<'static>>,
    /// The variables of values, in the order of [`Bindings::values`].
    pub values: RSlice<'static, RStr<'static>>,
    /// The variables of extents, in the order of [`Bindings::dims`].
    pub dims: RSlice<'static, RStr<'static>>,
    /// The variables of attributes, which [`RulesHost::attribute`] returns.
    pub attributes: RSlice<'static, RStr<'static>>,
}

/// Flags of [`RuleText`].
pub mod rule_flags {
    /// The host calls `check` before `build`.
    pub const CONDITION: u32 = 1;
}

/// A match of a rule.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct Bindings<'a> {
    /// The roots of the pattern, whose outputs the patch replaces.
    pub roots: RSlice<'a, u64>,
    /// One per name in [`RuleText::nodes`]; `NOTHING` for a part that is left out.
    pub nodes: RSlice<'a, u64>,
    /// One per name in [`RuleText::values`]; `NOTHING` for a part that is left out.
    pub values: RSlice<'a, u64>,
    /// One per name in [`RuleText::dims`]; `UNKNOWN` for a part that is left out.
    pub dims: RSlice<'a, DimRecord>,
}

/// Functions of the host for checking a rule and building its patch. Used on the thread of the call and
/// only until it returns. All functions that return a number return a [`status`](crate::status); functions
/// that build return `INVALID` during a check.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct RulesHost {
    /// The match; borrowed until the plugin's next call into the host.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Gives: the value is borrowed until the next call into the same table.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub bindings: for<'a> extern "C" fn(cx: GraphContext, out: &mut Bindings<'a>) -> u32,
    /// The attribute of the variable at `index` in [`RuleText::attributes`]: the stated one, or else the default;
    /// its kind is `NONE` if there is neither.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Gives: the value is borrowed until the next call into the same table.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub attribute: for<'a> extern "C" fn(cx: GraphContext, index: u32, out: &mut AttributeView<'a>) -> u32,
    /// Adds a node before the replaced nodes and stores the ids of its outputs; the number of outputs is the
    /// slice's length.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub emit: extern "C" fn(cx: GraphContext, node: &NewNode<'_>, outputs: RSliceMut<'_, u64>) -> u32,
    /// Adds an initializer of little-endian, row-major `bytes` and stores its id.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
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
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
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
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub set_type: extern "C" fn(cx: GraphContext, value: u64, ty: &TypeRecord<'_>) -> u32,
    /// Ends the patch with the replacement of each output of each root, one root after the other; `NOTHING` for
    /// an output that is not read.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub finish: extern "C" fn(cx: GraphContext, outputs: RSlice<'_, u64>) -> u32,
    /// Reports why the rule does not apply here. `code` is empty for the host's own code.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Cannot fail.
    pub refuse: extern "C" fn(cx: GraphContext, code: RStr<'_>, message: RStr<'_>, help: RStr<'_>),
}

crate::table::interface!(RulesHost, INTERFACE, base: 8);
