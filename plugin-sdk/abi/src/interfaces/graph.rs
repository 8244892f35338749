//! `graph/1`: a plugin reads an ONNX graph.
//!
//! A host-side interface: no plugin provides it. The interfaces that hand graphs to plugins (`rules/1`,
//! `pass/1`, `backend/1`) pass the envelope of the [`GraphHost`] beside that of their own table, with
//! one context for both.
//!
//! Ids are 64 bits wide. The upper half holds the kind of the object and the call of the plugin that got the
//! id. An id of another call, of another kind, or of an object that was removed is
//! [`INVALID`](crate::status::INVALID).
//!
//! Everything borrowed from the host is valid until the plugin's next call into the host.
// Generated from plugin-sdk/abi/contract.rs by `cargo xtask gen contract`. Do not edit.

use std::ffi::c_void;

use crate::lowering::DataView;
use crate::lowering::DimRecord;
use crate::lowering::RangeRecord;
use crate::lowering::ShapeView;
use crate::{RSlice, RSliceMut, RStr};
use abi_stable::StableAbi;

/// The name of the interface.
pub const INTERFACE: &str = "graph/1";

/// The revision of the contract that brought the interface.
pub const SINCE: crate::Version = crate::Version { major: 1, minor: 0 };

/// The id of an optional input that is left out.
pub const NOTHING: u64 = 0;

/// The graph that a plugin was called for; meaningful only to the host that made it.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct GraphContext(pub *mut c_void);

/// A block: the main graph, or the body of a control-flow node.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct BlockView<'a> {
    /// The block around this one; [`NOTHING`] for the main block.
    pub parent: u64,
    /// Its inputs, values.
    pub inputs: RSlice<'a, u64>,
    /// Its outputs, values; a value may occur more than once.
    pub outputs: RSlice<'a, u64>,
    /// Its nodes, in order, without the nodes of nested blocks.
    pub nodes: RSlice<'a, u64>,
}

/// Traits of operators: facts of their definitions, as bits of [`NodeView::traits`]. An unknown operator has none.
pub mod op_trait {
    /// Where all inputs but the first have one element, each element of the result is computed from the element of the
    /// first input at the same indices.
    pub const ELEMENTWISE: u64 = 1;
    /// Each element of the result is computed from one element of each input; the inputs are broadcast together.
    pub const BROADCASTING: u64 = 2;
    /// The first two inputs can be swapped: the result stays the same, bit for bit.
    pub const COMMUTATIVE: u64 = 4;
    /// Each element of the results is an element of the first input.
    pub const MOVES: u64 = 8;
    /// The result has the elements of the first input, in the same row-major order, and possibly another shape.
    pub const RESHAPES: u64 = 16;
    /// It reduces axes to one element each.
    pub const REDUCTION: u64 = 32;
    /// It adds or multiplies elements of one input: floating-point results depend on the order in which a runtime does so.
    pub const ACCUMULATES: u64 = 64;
    /// Results differ between runs, or between implementations.
    pub const RANDOM: u64 = 128;
    /// The result depends on the element types: it converts, saturates or scales.
    pub const TYPED: u64 = 256;
    /// It converts between numbers and quantized codes. Runtimes look for it beside each operator, so it is not moved.
    pub const QUANTIZES: u64 = 512;
    /// It rounds, compares or selects: a tiny difference in an input can make a large one in a result.
    pub const DISCONTINUOUS: u64 = 1024;
    /// Results differ by no more than the first input does.
    pub const NONEXPANSIVE: u64 = 2048;
    /// It works on the bits of integers.
    pub const BITWISE: u64 = 4096;
    /// The result is the first input with some elements replaced by those of other inputs.
    pub const UPDATES: u64 = 8192;
}

/// A node.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct NodeView<'a> {
    /// The block that holds it.
    pub block: u64,
    /// The domain; empty for ONNX's own operators.
    pub domain: RStr<'a>,
    /// The operator.
    pub op: RStr<'a>,
    /// The inputs, values; [`NOTHING`] where an optional one is left out.
    pub inputs: RSlice<'a, u64>,
    /// The outputs, values; [`NOTHING`] where an optional one is left out.
    pub outputs: RSlice<'a, u64>,
    /// The names of the attributes that the node states, sorted.
    pub attributes: RSlice<'a, RStr<'a>>,
    /// The exported node that it comes from, `conv2d_3`; empty where there is none.
    pub exported: RStr<'a>,
    /// The exported operator that it comes from, `aten.conv2d.default`; empty where there is none.
    pub target: RStr<'a>,
    /// The path of the module that it comes from, `layer1.0.conv1`; empty for the root.
    pub module: RStr<'a>,
    /// Bits of [`op_trait`], from the definition of the operator.
    pub traits: u64,
}

/// Kinds of [`AttributeView`] that `attr_kind` of `lowering/1` does not have; the others are as there.
pub mod attribute_kind {
    /// The node has no such attribute.
    pub const NONE: u32 = 0;
    /// The attribute `text` of the function that holds the node.
    pub const REFERENCE: u32 = 9;
}

/// The value of an attribute, to read or to set.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct AttributeView<'a> {
    /// The name.
    pub name: RStr<'a>,
    /// One of `attr_kind` of `lowering/1`, or of [`attribute_kind`].
    pub kind: u32,
    /// The block of a `BLOCK`.
    pub block: u64,
    /// Integers; one for an `INT`.
    pub ints: RSlice<'a, i64>,
    /// Floats; one for a `FLOAT`.
    pub floats: RSlice<'a, f32>,
    /// The text of a `STR` or `REFERENCE`.
    pub text: RStr<'a>,
    /// The texts of `STRS`.
    pub texts: RSlice<'a, RStr<'a>>,
    /// The tensor of a `TENSOR`. One of more than 64 KiB shows no bytes.
    pub tensor: DataView<'a>,
}

/// Kinds of [`ValueView`].
pub mod value_kind {
    /// The kind is not known.
    pub const UNKNOWN: u32 = 0;
    /// A tensor.
    pub const TENSOR: u32 = 1;
    /// A sequence of tensors.
    pub const SEQUENCE: u32 = 2;
}

/// The kinds of definitions of values.
pub mod definition {
    /// It is the input at `index` of the block `by`.
    pub const INPUT: u32 = 1;
    /// It is an initializer, visible in every block.
    pub const INITIALIZER: u32 = 2;
    /// It is the output at `index` of the node `by`.
    pub const NODE: u32 = 3;
}

/// A value.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct ValueView<'a> {
    /// The name; empty for an unnamed value. It may be made unique when the model is written.
    pub name: RStr<'a>,
    /// One of [`value_kind`].
    pub kind: u32,
    /// The element type, a number of `TensorProto.DataType`; 0 where unknown.
    pub dtype: i32,
    /// The number of axes; -1 where unknown.
    pub rank: i32,
    /// One of [`definition`].
    pub definition: u32,
    /// The extents, `rank` of them.
    pub dims: RSlice<'a, DimRecord>,
    /// The node or block that defines it; [`NOTHING`] for an initializer.
    pub by: u64,
    /// The position among the outputs of the node or the inputs of the block.
    pub index: u32,
}

/// A use of a value.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct UseRecord {
    /// The node.
    pub node: u64,
    /// The position among its inputs.
    pub index: u32,
}

/// The uses of a value.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct UsesView<'a> {
    /// The nodes, in the order of their creation.
    pub uses: RSlice<'a, UseRecord>,
    /// How often it is an output of a block.
    pub returned: u32,
}

/// The description of an initializer, without its bytes.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct InitializerView<'a> {
    /// The element type, a number of `TensorProto.DataType`.
    pub dtype: i32,
    /// 1 when its elements lie row-major and without gaps where they are stored.
    pub dense: u32,
    /// The extents.
    pub dims: RSlice<'a, u64>,
    /// The number of bytes of its elements, row-major and without gaps.
    pub byte_length: u64,
    /// The number of the storage that holds it; initializers with the same number share bytes. Counted from 1 in
    /// the order of the graph's initializers; valid during the call.
    pub storage: u64,
    /// The offset of its first element in the storage, in elements.
    pub offset: u64,
}

/// Operations of a [`Derivation`].
pub mod derive {
    /// The inputs, concatenated; `parameters`: the axis.
    pub const CONCAT: u32 = 0;
    /// The sum of two inputs, which are broadcast as ONNX does.
    pub const ADD: u32 = 1;
    /// The first input minus the second one.
    pub const SUB: u32 = 2;
    /// The product of two inputs.
    pub const MUL: u32 = 3;
    /// The first input divided by the second one.
    pub const DIV: u32 = 4;
    /// The input, negated.
    pub const NEG: u32 = 5;
    /// The square root of the input.
    pub const SQRT: u32 = 6;
    /// One divided by the input.
    pub const RECIPROCAL: u32 = 7;
    /// The input in another type, rounded to the nearest value; `parameters`: the type.
    pub const CAST: u32 = 8;
    /// The input, transposed; `parameters`: the axes.
    pub const TRANSPOSE: u32 = 9;
    /// The input in another shape, in the same order; `parameters`: the extents.
    pub const RESHAPE: u32 = 10;
    /// The input, repeated along axes of extent 1 and new leading ones; `parameters`: the extents.
    pub const EXPAND: u32 = 11;
    /// A slice of the input; `parameters`: the axis, the first index, the index behind the last one, and the
    /// step, which is positive.
    pub const SLICE: u32 = 12;
    /// A scalar of the input's type: `number`, rounded to the nearest value.
    pub const FILL: u32 = 13;
    /// The sums along axes, which are removed; `parameters`: the axes.
    pub const SUM: u32 = 14;
}

/// The operation that computes an initializer from others.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct Derivation<'a> {
    /// One of [`derive`].
    pub operation: u32,
    /// The inputs, initializers.
    pub inputs: RSlice<'a, u64>,
    /// The parameters of the operation.
    pub parameters: RSlice<'a, i64>,
    /// The number of a `FILL`.
    pub number: f64,
}

/// A node that a plugin adds to the graph.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct NewNode<'a> {
    /// The domain; empty for ONNX's own operators.
    pub domain: RStr<'a>,
    /// The version of the domain's operator set; ignored for ONNX's own, and refused when the model
    /// imports another one.
    pub version: i64,
    /// The operator.
    pub op: RStr<'a>,
    /// The inputs, values; [`NOTHING`] where an optional one is left out.
    pub inputs: RSlice<'a, u64>,
    /// The attributes.
    pub attributes: RSlice<'a, AttributeView<'a>>,
}

/// Reads the graph. Used on the thread that called the plugin and only until that call returns. All
/// functions that return a number return a [`status`](crate::status).
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct GraphHost {
    /// The version of a domain's operator set, the empty domain being ONNX's own; 0 when the model does
    /// not import it.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Cannot fail.
    pub opset: extern "C" fn(cx: GraphContext, domain: RStr<'_>) -> i64,
    /// The main block.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub main: extern "C" fn(cx: GraphContext, out: &mut u64) -> u32,
    /// A block.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Gives: the value is borrowed until the next call into the same table.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub block: for<'a> extern "C" fn(cx: GraphContext, block: u64, out: &mut BlockView<'a>) -> u32,
    /// A node.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Gives: the value is borrowed until the next call into the same table.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub node: for<'a> extern "C" fn(cx: GraphContext, node: u64, out: &mut NodeView<'a>) -> u32,
    /// An attribute of a node. One that the node does not state has the default of the operator's version in the
    /// model; its kind is `NONE` if there is no default. `NodeView::attributes` lists the attributes that the node
    /// states.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: the value is borrowed until the next call into the same table.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub attribute: for<'a> extern "C" fn(
        cx: GraphContext,
        node: u64,
        name: RStr<'_>,
        out: &mut AttributeView<'a>,
    ) -> u32,
    /// A value.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Gives: the value is borrowed until the next call into the same table.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub value: for<'a> extern "C" fn(cx: GraphContext, value: u64, out: &mut ValueView<'a>) -> u32,
    /// The uses of a value.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Gives: the value is borrowed until the next call into the same table.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub uses: for<'a> extern "C" fn(cx: GraphContext, value: u64, out: &mut UsesView<'a>) -> u32,
    /// The name of the model's output at `index`. Outputs have their own names, since a value may be returned
    /// twice.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Gives: the value is borrowed until the next call into the same table.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub output_name: for<'a> extern "C" fn(cx: GraphContext, index: u32, out: &mut RStr<'a>) -> u32,
    /// The contents of an initializer of at most 64 KiB; `dtype` is 0 for any other value. Parameters and buffers
    /// are excluded, since the graph must not depend on their bytes.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Gives: the value is borrowed until the next call into the same table.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub constant: for<'a> extern "C" fn(cx: GraphContext, value: u64, out: &mut DataView<'a>) -> u32,
    /// The symbolic contents of a vector of integers, where the host knows them.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Gives: the value is borrowed until the next call into the same table.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub contents: for<'a> extern "C" fn(cx: GraphContext, value: u64, out: &mut ShapeView<'a>) -> u32,
    /// The description of an initializer; `dtype` is 0 if the value is not an initializer.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Gives: the value is borrowed until the next call into the same table.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub initializer:
        for<'a> extern "C" fn(cx: GraphContext, value: u64, out: &mut InitializerView<'a>) -> u32,
    /// Copies `out.len()` of an initializer's bytes from byte `offset` of its row-major form. `REFUSED`
    /// if they cannot be read, such as the bytes of a missing weight; `INVALID` if the range ends behind the last
    /// byte.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID), [`REFUSED`](crate::status::REFUSED).
    pub read: extern "C" fn(cx: GraphContext, value: u64, offset: u64, out: RSliceMut<'_, u8>) -> u32,
    /// The bounds of an extent.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Gives: plain values, the caller's own.
    /// - Cannot fail.
    pub dim_range: extern "C" fn(cx: GraphContext, dim: DimRecord) -> RangeRecord,
    /// An extent as text, `s0` or `2*batch + 1`; `?` for an unknown one.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Gives: the value is borrowed until the next call into the same table.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub dim_text: for<'a> extern "C" fn(cx: GraphContext, dim: DimRecord, out: &mut RStr<'a>) -> u32,
    /// Adds an initializer that is computed from others when the model is written, piece by piece, and stores its
    /// id. `INVALID` unless the call builds a patch or edits the graph. `REFUSED` if the operation does not support
    /// the inputs: types without arithmetic, shapes that do not fit, elements that share bytes. Each operation
    /// rounds once, to the type of its inputs.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID), [`REFUSED`](crate::status::REFUSED).
    pub derive: extern "C" fn(cx: GraphContext, derivation: &Derivation<'_>, out: &mut u64) -> u32,
}

crate::table::interface!(GraphHost, INTERFACE, base: 15);
