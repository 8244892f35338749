//! `lowering/1`: a plugin turns calls of exported operators into ONNX nodes.
//!
//! The host binds a call to the operator's schema, then calls [`LoweringTable::lower`] on the thread
//! of the conversion. Through [`LoweringHost`] the plugin reads the call and emits nodes. Everything
//! borrowed from the host is valid until the plugin's next call into the host.
// Generated from plugin-sdk/abi/contract.rs by `cargo xtask gen contract`. Do not edit.

use std::ffi::c_void;

use crate::{RSlice, RSliceMut, RStr, Table};
use abi_stable::StableAbi;

/// The name of the interface.
pub const INTERFACE: &str = "lowering/1";

/// The revision of the contract that brought the interface.
pub const SINCE: crate::Version = crate::Version { major: 1, minor: 0 };

/// The id that stands for an absent value.
pub const ABSENT: u32 = u32::MAX;

/// The functions and data that the plugin provides.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct LoweringTable {
    /// Schemas of operators, one `namespace::op.overload(...) -> ...` a line, sorted; lines that
    /// start with `#` are comments.
    pub schemas: RStr<'static>,
    /// The operators, each with the opsets for which it can be lowered.
    pub entries: RSlice<'static, LoweringEntry>,
    /// Lowers the call behind `cx` with the entry at `index`; `host` is the envelope of the
    /// [`LoweringHost`]. Returns a [`status`](crate::status).
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the conversion.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`INVALID`](crate::status::INVALID).
    pub lower: extern "C" fn(index: u32, host: &Table, cx: Context) -> u32,
}

crate::table::interface!(LoweringTable, INTERFACE, base: 3);

/// One operator that a plugin lowers.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct LoweringEntry {
    /// The operator and overload, `aten.add.Tensor`.
    pub target: RStr<'static>,
    /// The lowest opset at which this lowering is right.
    pub min_opset: u32,
    /// The highest opset at which this lowering is right.
    pub max_opset: u32,
    /// Among several lowerings of one operator the highest priority is used.
    pub priority: i32,
    /// [`entry_flags`].
    pub flags: u32,
}

/// Flags of [`LoweringEntry`].
pub mod entry_flags {
    /// The lowering takes calls with complex tensors, which arrive as pairs of reals in a last axis
    /// of extent 2. Without it the lowering is never given such a call.
    pub const COMPLEX: u32 = 1;
}

/// The call that is being lowered; meaningful only to the host that made it.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct Context(pub *mut c_void);

/// Kinds of [`ArgRecord`].
pub mod arg_kind {
    /// Python's `None`.
    pub const NONE: u32 = 0;
    /// A tensor: `value`; `int` is the element type that the program states, as for `DTYPE`; `len` is
    /// 1 when the program states that its elements lie row-major in memory, without gaps.
    pub const TENSOR: u32 = 1;
    /// A symbolic integer: `value` is an i64 tensor of shape `[1]`.
    pub const SYM_INT: u32 = 2;
    /// A symbolic float: `value` is an f64 tensor of shape `[1]`.
    pub const SYM_FLOAT: u32 = 3;
    /// A symbolic truth value: `value` is a bool tensor of shape `[1]`.
    pub const SYM_BOOL: u32 = 4;
    /// An integer: `int`.
    pub const INT: u32 = 5;
    /// A float: `float`.
    pub const FLOAT: u32 = 6;
    /// A truth value: `int` is 0 or 1.
    pub const BOOL: u32 = 7;
    /// A string: `text`.
    pub const STR: u32 = 8;
    /// A complex number: `float` and `imaginary`.
    pub const COMPLEX: u32 = 9;
    /// An element type: `int` is the number in `TensorProto.DataType`.
    pub const DTYPE: u32 = 10;
    /// A device: `text`.
    pub const DEVICE: u32 = 11;
    /// A layout: `text`.
    pub const LAYOUT: u32 = 12;
    /// A memory format: `text`.
    pub const MEMORY_FORMAT: u32 = 13;
    /// A list: `len` elements from `first` in [`CallView::elements`](super::CallView::elements).
    pub const LIST: u32 = 14;
    /// A dictionary, likewise; the elements carry names.
    pub const DICT: u32 = 15;
    /// A nested graph: `value` names it.
    pub const GRAPH: u32 = 16;
    /// An operator: `text`.
    pub const OPERATOR: u32 = 17;
}

/// An argument.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct ArgRecord<'a> {
    /// The name in the operator's schema.
    pub name: RStr<'a>,
    /// The text of a string, device, layout, memory format or operator.
    pub text: RStr<'a>,
    /// The integer, truth value or element type.
    pub int: i64,
    /// The float, or the real part.
    pub float: f64,
    /// The imaginary part.
    pub imaginary: f64,
    /// The value or graph.
    pub value: u32,
    /// Where the elements of a list start.
    pub first: u32,
    /// How many elements the list has.
    pub len: u32,
    /// One of [`arg_kind`].
    pub kind: u32,
}

/// Kinds of [`DimRecord`].
pub mod dim_kind {
    /// The extent is not known.
    pub const UNKNOWN: u32 = 0;
    /// A number: `value`.
    pub const CONST: u32 = 1;
    /// An expression of the program: `expr`.
    pub const EXPR: u32 = 2;
}

/// The extent of an axis.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, StableAbi)]
pub struct DimRecord {
    /// One of [`dim_kind`].
    pub kind: u32,
    /// The expression.
    pub expr: u32,
    /// The number.
    pub value: i64,
}

/// Inclusive bounds; `i64::MIN` and `i64::MAX` are unbounded.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, StableAbi)]
pub struct RangeRecord {
    /// The smallest value.
    pub min: i64,
    /// The largest value.
    pub max: i64,
}

/// The type of a value or a result, as far as it is known.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct TypeRecord<'a> {
    /// One of [`arg_kind`]: `TENSOR`, `SYM_INT`, `SYM_FLOAT`, `SYM_BOOL` or `NONE`.
    pub kind: u32,
    /// The number in `TensorProto.DataType`; 0 where unknown.
    pub dtype: i32,
    /// The number of axes; -1 where unknown.
    pub rank: i32,
    /// The extents, `rank` of them.
    pub dims: RSlice<'a, DimRecord>,
}

/// The call to lower, bound to its schema: every argument is there, defaults filled in.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct CallView<'a> {
    /// The operator and overload, `aten.add.Tensor`.
    pub target: RStr<'a>,
    /// The opset to emit.
    pub opset: i64,
    /// The arguments in schema order.
    pub args: RSlice<'a, ArgRecord<'a>>,
    /// The elements of all lists.
    pub elements: RSlice<'a, ArgRecord<'a>>,
    /// The results with their types as the program states them; lists are flattened.
    pub results: RSlice<'a, TypeRecord<'a>>,
}

/// Kinds of [`AttrRecord`].
pub mod attr_kind {
    /// `ints[0]`.
    pub const INT: u32 = 1;
    /// `floats[0]`.
    pub const FLOAT: u32 = 2;
    /// `text`.
    pub const STR: u32 = 3;
    /// `ints`.
    pub const INTS: u32 = 4;
    /// `floats`.
    pub const FLOATS: u32 = 5;
    /// `texts`.
    pub const STRS: u32 = 6;
    /// A constant: `value` is the id of an initializer.
    pub const TENSOR: u32 = 7;
    /// A block that was ended: `value`.
    pub const BLOCK: u32 = 8;
    /// The attribute `text` of the call of the surrounding function, for ONNX's own
    /// operators only.
    pub const REF: u32 = 9;
}

/// An attribute of a node.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct AttrRecord<'a> {
    /// The name.
    pub name: RStr<'a>,
    /// One of [`attr_kind`].
    pub kind: u32,
    /// The block or initializer.
    pub value: u32,
    /// Integers.
    pub ints: RSlice<'a, i64>,
    /// Floats.
    pub floats: RSlice<'a, f32>,
    /// The text.
    pub text: RStr<'a>,
    /// The texts.
    pub texts: RSlice<'a, RStr<'a>>,
}

/// A node to emit.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct NodeRecord<'a> {
    /// The domain; empty for ONNX's own operators.
    pub domain: RStr<'a>,
    /// The version of the domain's operator set; ignored for ONNX's own.
    pub version: i64,
    /// The operator.
    pub op: RStr<'a>,
    /// The inputs; [`ABSENT`] where an optional one is left out.
    pub inputs: RSlice<'a, u32>,
    /// The attributes.
    pub attributes: RSlice<'a, AttrRecord<'a>>,
}

/// The contents of a small constant.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct DataView<'a> {
    /// The number in `TensorProto.DataType`; 0 when the value is not a small constant.
    pub dtype: i32,
    /// The extents.
    pub dims: RSlice<'a, u64>,
    /// The elements, little-endian, row-major.
    pub bytes: RSlice<'a, u8>,
}

/// The symbolic contents of a vector of integers.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct ShapeView<'a> {
    /// 1 when the contents are known.
    pub known: u32,
    /// The elements.
    pub dims: RSlice<'a, DimRecord>,
}

/// The types of the inputs and outputs of a nested graph.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct GraphView<'a> {
    /// The inputs.
    pub inputs: RSlice<'a, TypeRecord<'a>>,
    /// The outputs.
    pub outputs: RSlice<'a, TypeRecord<'a>>,
}

/// Operations of [`LoweringHost::dim_op`].
pub mod dim_op {
    /// `a + b`.
    pub const ADD: u32 = 0;
    /// `a - b`.
    pub const SUB: u32 = 1;
    /// `a * b`.
    pub const MUL: u32 = 2;
    /// `floor(a / b)`.
    pub const FLOOR_DIV: u32 = 3;
    /// `a mod b`.
    pub const MOD: u32 = 4;
    /// The smaller.
    pub const MIN: u32 = 5;
    /// The larger.
    pub const MAX: u32 = 6;
}

/// Functions of the host for lowering a call. Used on the thread that called
/// [`LoweringTable::lower`] and only until that returns.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct LoweringHost {
    /// The call; the view is valid until `lower` returns.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Gives: the value is borrowed until the call that passed this on returns.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub call: for<'a> extern "C" fn(cx: Context, out: &mut CallView<'a>) -> u32,
    /// Facts about a value.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Gives: the value is borrowed until the next call into the same table.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub value_type: for<'a> extern "C" fn(cx: Context, value: u32, out: &mut TypeRecord<'a>) -> u32,
    /// The contents of a small constant (at most 64 KiB); `dtype` is 0 for any other value. The bytes of parameters
    /// and buffers are not read.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Gives: the value is borrowed until the next call into the same table.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub constant_data: for<'a> extern "C" fn(cx: Context, value: u32, out: &mut DataView<'a>) -> u32,
    /// The symbolic contents of a vector of integers.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Gives: the value is borrowed until the next call into the same table.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub shape_contents: for<'a> extern "C" fn(cx: Context, value: u32, out: &mut ShapeView<'a>) -> u32,
    /// Arithmetic on extents; an unknown operand gives an unknown result.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Gives: plain values, the caller's own.
    /// - Cannot fail.
    pub dim_op: extern "C" fn(cx: Context, op: u32, a: DimRecord, b: DimRecord) -> DimRecord,
    /// The bounds of an extent.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Gives: plain values, the caller's own.
    /// - Cannot fail.
    pub dim_range: extern "C" fn(cx: Context, dim: DimRecord) -> RangeRecord,
    /// Emits a node and stores the ids of its outputs; the number of outputs is the slice's length.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub emit: extern "C" fn(cx: Context, node: &NodeRecord<'_>, outputs: RSliceMut<'_, u32>) -> u32,
    /// Makes a constant of little-endian, row-major `bytes` and stores its id.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub constant: extern "C" fn(
        cx: Context,
        dtype: i32,
        dims: RSlice<'_, u64>,
        bytes: RSlice<'_, u8>,
        out: &mut u32,
    ) -> u32,
    /// Emits nodes that compute `dims` at run time, as an i64 vector, and stores its id.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub dims_value: extern "C" fn(cx: Context, dims: RSlice<'_, DimRecord>, out: &mut u32) -> u32,
    /// States the type of a value that the host could not infer.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub set_type: extern "C" fn(cx: Context, value: u32, ty: &TypeRecord<'_>) -> u32,
    /// The types of the inputs and outputs of a nested graph.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Gives: the value is borrowed until the next call into the same table.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub graph: for<'a> extern "C" fn(cx: Context, graph: u32, out: &mut GraphView<'a>) -> u32,
    /// Begins a block inside the current one; nodes are emitted there until it ends.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub begin_block: extern "C" fn(cx: Context) -> u32,
    /// Adds an input to the current block and stores its id.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub block_input: extern "C" fn(cx: Context, ty: &TypeRecord<'_>, out: &mut u32) -> u32,
    /// Lowers a nested graph into the current block with `inputs` for its inputs, and stores the ids
    /// of its outputs.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub inline_graph:
        extern "C" fn(cx: Context, graph: u32, inputs: RSlice<'_, u32>, outputs: RSliceMut<'_, u32>) -> u32,
    /// Ends the current block with these outputs and stores its id, for a `BLOCK` attribute.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub end_block: extern "C" fn(cx: Context, outputs: RSlice<'_, u32>, out: &mut u32) -> u32,
    /// Sets the results of the call, one per result; [`ABSENT`] for one that is not computed, which
    /// is an error if the program uses it.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub finish: extern "C" fn(cx: Context, results: RSlice<'_, u32>) -> u32,
    /// Reports why the call cannot be lowered. `code` is empty for the host's own code; any other is shown after
    /// the plugin's id, `mylib:W01`.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Cannot fail.
    pub refuse: extern "C" fn(cx: Context, code: RStr<'_>, message: RStr<'_>, help: RStr<'_>),
    /// Begins the body of a local function. `call` is a call of it: its domain, its name, the values and
    /// attributes that are passed. Nodes are emitted into the body until it ends, and a value from outside is
    /// not valid there. Stores the ids of the body's inputs, one of the same type for each value that is passed.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub begin_function: extern "C" fn(cx: Context, call: &NodeRecord<'_>, inputs: RSliceMut<'_, u32>) -> u32,
    /// Ends the body with these outputs, calls the function where it began, and stores the ids of the
    /// call's outputs, one for each. `REFUSED` when the model has a function of this name with another body.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`INVALID`](crate::status::INVALID).
    pub end_function:
        extern "C" fn(cx: Context, outputs: RSlice<'_, u32>, results: RSliceMut<'_, u32>) -> u32,
    /// Where the call comes from: its module, and the line of the user's code.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Gives: the value is borrowed until the next call into the same table.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub origin: for<'a> extern "C" fn(cx: Context, out: &mut OriginView<'a>) -> u32,
    /// The contents of a parameter or buffer of at most 1 MiB, in the form of `constant_data`; `dtype` is 0 for
    /// other values, larger ones, and missing bytes. Contents that were read become part of the model: they do
    /// not change when the model is given other weights.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Gives: the value is borrowed until the next call into the same table.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub weight_data: for<'a> extern "C" fn(cx: Context, value: u32, out: &mut DataView<'a>) -> u32,
    /// The node that computes a value.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Gives: the value is borrowed until the next call into the same table.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub definition: for<'a> extern "C" fn(cx: Context, value: u32, out: &mut DefinitionView<'a>) -> u32,
    /// An integer attribute of the node that computes a value. `REFUSED` if the node does not state it.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`INVALID`](crate::status::INVALID).
    pub definition_int: extern "C" fn(cx: Context, value: u32, name: RStr<'_>, out: &mut i64) -> u32,
    /// Puts an entry into the metadata of the node that computes a value; a later entry with the same key replaces
    /// it. The host's own entries stay as they are. `REFUSED` where no node computes the value.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`INVALID`](crate::status::INVALID).
    pub metadata: extern "C" fn(cx: Context, value: u32, key: RStr<'_>, text: RStr<'_>) -> u32,
}

crate::table::interface!(LoweringHost, INTERFACE, base: 24);

/// The node that computes a value. It is empty for inputs, constants, and operators that are not ONNX's own.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct DefinitionView<'a> {
    /// The operator: `Cast`.
    pub op: RStr<'a>,
    /// Its inputs; [`ABSENT`] for one that is left out.
    pub inputs: RSlice<'a, u32>,
}

/// Where a call comes from. Unknown texts are empty, and an unknown line is 0.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct OriginView<'a> {
    /// The exported node, `conv2d_3`.
    pub node: RStr<'a>,
    /// The path of the module, `layer1.0.conv1`; empty for the root.
    pub module: RStr<'a>,
    /// The class of the module, `torch.nn.modules.conv.Conv2d`.
    pub class: RStr<'a>,
    /// The file of the user's code.
    pub file: RStr<'a>,
    /// The function in it.
    pub function: RStr<'a>,
    /// The text of the line.
    pub code: RStr<'a>,
    /// The line, from 1.
    pub line: u32,
}
