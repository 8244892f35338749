//! The binary contract between the onnxport host and its plugins: its one specification.
//!
//! This file has Rust's syntax and is not compiled. `cargo xtask gen contract` reads it and writes
//!
//! - the Rust modules in `plugin-sdk/abi/src/interfaces`, one per module here,
//! - the C header `plugin-sdk/abi/include/onnxport.h`,
//! - the page `docs/contract.md`,
//! - the list in `plugin-sdk/abi/tests/contract` that the contract's tests go through.
//!
//! `cargo xtask gen --check` and `cargo xtask test` fail when one of them is stale. The envelope, the root, the
//! fingerprints and the element types are machinery and written by hand beside the generated modules.
//!
//! # The items
//!
//! - `#[interface(id = "name/1", since = 1.0)] pub mod name`: an interface. A module without it has only constants.
//! - `#[table(plugin)] pub struct`, `#[table(host)] pub struct`: the functions and data of that side, behind an
//!   envelope. A table only grows, at its end.
//! - `pub struct` without it: a record. It never changes once its revision is released; make a new one.
//! - `pub struct Name(pub *mut c_void)`: a handle, a pointer of one side that the other hands back. `#[null]`
//!   gives it the constant `NULL`.
//! - `pub const`, and groups of constants in a nested `pub mod`, in place of enums.
//! - `use crate::other::{Name}`: a type of another module. Numbers, `RStr`, `RSlice`, `RSliceMut`, `Table`,
//!   `Version` and `c_void` need none.
//!
//! Structs get `repr(C)`, `Clone`, `Copy` and `StableAbi`; a `derive` adds to them. Everything is documented.
//!
//! # The facts of a function
//!
//! `#[slot(...)]` at a function states them; `interface`, `table` and `record` take the same words as defaults.
//! Every function ends up with all facts that its type calls for, or nothing is generated.
//!
//! - `since = 1.1`: the revision that appended it. Such a function is an `Option` for Rust, because the other side
//!   may be older. Data can be appended as `u32` and `u64` only, which are 0 where they are not provided.
//! - `optional`: a plugin may leave it out: null in C, `None` in Rust. Optional slots come last in their table.
//! - `thread`: `any`; `one` (any, but one at a time for one handle); `conversion` (the thread of the conversion);
//!   `callback` (the thread of the call that passed this on, until that returns).
//! - `takes`: how long borrowed arguments stay valid: `call` or `process`. Only where something is borrowed.
//! - `gives`: how long results stay valid: `values` (nothing is borrowed), `next_call` (into
//!   the same table), `outer_call` (until the call that passed this on returns), `process`, `sink`,
//!   `until(function)`. A function whose only outlet is a sink needs none.
//! - `answers(OK, ...)`: the statuses of a function that returns a `u32`, or `answers = number` if the `u32` is not a
//!   status.

#![contract(current = 1.0)]

/// The status of a call across the boundary.
pub mod status {
    /// The call succeeded.
    pub const OK: u32 = 0;
    /// The callee reported why it refused.
    pub const REFUSED: u32 = 1;
    /// The callee panicked; its library must not be called again.
    pub const PANICKED: u32 = 2;
    /// An argument was not valid: a stale id, an unknown number.
    pub const INVALID: u32 = 3;
    /// The request is valid, but the callee does not support it: a missing kernel.
    pub const UNSUPPORTED: u32 = 4;
}

#[interface(id = "about/1", since = 1.0)]
pub mod about {
    //! `about/1`: the description of a plugin. The only table that may be read before the plugin is attached.

    use crate::executor::{OptionRecord, Sink};

    /// The description of the plugin.
    #[table(plugin)]
    pub struct AboutTable {
        /// The plugin's id, `aten`, used in diagnostics and options.
        pub id: RStr<'static>,
        /// The plugin's own version, `0.3.1`.
        pub version: RStr<'static>,
        /// One sentence; may be empty.
        pub description: RStr<'static>,
        /// The contract that the plugin was built with.
        pub contract: Version,
        /// The oldest contract of a host that the plugin works with.
        pub needs: Version,
        /// The interfaces that it provides besides this one, `lowering/1`.
        pub provides: RSlice<'static, RStr<'static>>,
        /// The options that the plugin takes, sorted by name.
        #[slot(optional, thread = any, gives = process)]
        pub options: extern "C" fn() -> RSlice<'static, OptionEntry<'static>>,
        /// Passes the options that the user set, with names and values that fit [`AboutTable::options`]; other options
        /// have their defaults. Called by every host after the plugin was attached and before another table is used, even
        /// if nothing was set. The options hold for the whole process; the last call counts.
        #[slot(optional, thread = one, takes = call, answers(OK, REFUSED, PANICKED))]
        pub configure: extern "C" fn(options: RSlice<'_, OptionRecord<'_>>, sink: &Sink) -> u32,
    }

    /// Kinds of [`OptionEntry`]: the form of a value.
    pub mod option_kind {
        /// Any text.
        pub const TEXT: u32 = 0;
        /// `true` or `false`.
        pub const BOOL: u32 = 1;
        /// A decimal integer of 64 bits.
        pub const INT: u32 = 2;
        /// A decimal number.
        pub const FLOAT: u32 = 3;
        /// A path of this system.
        pub const PATH: u32 = 4;
    }

    /// An option that a plugin takes.
    #[derive(Debug)]
    pub struct OptionEntry<'a> {
        /// The name, `threads`.
        pub name: RStr<'a>,
        /// One of [`option_kind`].
        pub kind: u32,
        /// 1 when a plugin without it cannot be used.
        pub required: u32,
        /// The default as text; empty when there is none.
        pub default: RStr<'a>,
        /// A description of one line.
        pub doc: RStr<'a>,
        /// The values that it may have; empty when every value of the kind is right.
        pub allowed: RSlice<'a, RStr<'a>>,
    }
}

#[interface(id = "lowering/1", since = 1.0)]
pub mod lowering {
    //! `lowering/1`: a plugin turns calls of exported operators into ONNX nodes.
    //!
    //! The host binds a call to the operator's schema, then calls [`LoweringTable::lower`] on the thread
    //! of the conversion. Through [`LoweringHost`] the plugin reads the call and emits nodes. Everything
    //! borrowed from the host is valid until the plugin's next call into the host.

    /// The id that stands for an absent value.
    pub const ABSENT: u32 = u32::MAX;

    /// The functions and data that the plugin provides.
    #[table(plugin)]
    pub struct LoweringTable {
        /// Schemas of operators, one `namespace::op.overload(...) -> ...` a line, sorted; lines that
        /// start with `#` are comments.
        pub schemas: RStr<'static>,
        /// The operators, each with the opsets for which it can be lowered.
        pub entries: RSlice<'static, LoweringEntry>,
        /// Lowers the call behind `cx` with the entry at `index`; `host` is the envelope of the
        /// [`LoweringHost`]. Returns a [`status`](crate::status).
        #[slot(thread = conversion, takes = call, answers(OK, REFUSED, PANICKED, INVALID))]
        pub lower: extern "C" fn(index: u32, host: &Table, cx: Context) -> u32,
    }

    /// One operator that a plugin lowers.
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
    #[derive(Debug)]
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
    #[derive(Debug)]
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
    #[derive(Debug, PartialEq, Eq)]
    pub struct DimRecord {
        /// One of [`dim_kind`].
        pub kind: u32,
        /// The expression.
        pub expr: u32,
        /// The number.
        pub value: i64,
    }

    /// Inclusive bounds; `i64::MIN` and `i64::MAX` are unbounded.
    #[derive(Debug, PartialEq, Eq)]
    pub struct RangeRecord {
        /// The smallest value.
        pub min: i64,
        /// The largest value.
        pub max: i64,
    }

    /// The type of a value or a result, as far as it is known.
    #[derive(Debug)]
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
    pub struct DataView<'a> {
        /// The number in `TensorProto.DataType`; 0 when the value is not a small constant.
        pub dtype: i32,
        /// The extents.
        pub dims: RSlice<'a, u64>,
        /// The elements, little-endian, row-major.
        pub bytes: RSlice<'a, u8>,
    }

    /// The symbolic contents of a vector of integers.
    pub struct ShapeView<'a> {
        /// 1 when the contents are known.
        pub known: u32,
        /// The elements.
        pub dims: RSlice<'a, DimRecord>,
    }

    /// The types of the inputs and outputs of a nested graph.
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
    #[table(host, thread = callback, takes = call, answers(OK, INVALID))]
    pub struct LoweringHost {
        /// The call; the view is valid until `lower` returns.
        #[slot(gives = outer_call)]
        pub call: for<'a> extern "C" fn(cx: Context, out: &mut CallView<'a>) -> u32,
        /// Facts about a value.
        #[slot(gives = next_call)]
        pub value_type: for<'a> extern "C" fn(cx: Context, value: u32, out: &mut TypeRecord<'a>) -> u32,
        /// The contents of a small constant (at most 64 KiB); `dtype` is 0 for any other value. The bytes of parameters
        /// and buffers are not read.
        #[slot(gives = next_call)]
        pub constant_data: for<'a> extern "C" fn(cx: Context, value: u32, out: &mut DataView<'a>) -> u32,
        /// The symbolic contents of a vector of integers.
        #[slot(gives = next_call)]
        pub shape_contents: for<'a> extern "C" fn(cx: Context, value: u32, out: &mut ShapeView<'a>) -> u32,
        /// Arithmetic on extents; an unknown operand gives an unknown result.
        #[slot(gives = values)]
        pub dim_op: extern "C" fn(cx: Context, op: u32, a: DimRecord, b: DimRecord) -> DimRecord,
        /// The bounds of an extent.
        #[slot(gives = values)]
        pub dim_range: extern "C" fn(cx: Context, dim: DimRecord) -> RangeRecord,
        /// Emits a node and stores the ids of its outputs; the number of outputs is the slice's length.
        #[slot(gives = values)]
        pub emit: extern "C" fn(cx: Context, node: &NodeRecord<'_>, outputs: RSliceMut<'_, u32>) -> u32,
        /// Makes a constant of little-endian, row-major `bytes` and stores its id.
        #[slot(gives = values)]
        pub constant: extern "C" fn(
            cx: Context,
            dtype: i32,
            dims: RSlice<'_, u64>,
            bytes: RSlice<'_, u8>,
            out: &mut u32,
        ) -> u32,
        /// Emits nodes that compute `dims` at run time, as an i64 vector, and stores its id.
        #[slot(gives = values)]
        pub dims_value: extern "C" fn(cx: Context, dims: RSlice<'_, DimRecord>, out: &mut u32) -> u32,
        /// States the type of a value that the host could not infer.
        pub set_type: extern "C" fn(cx: Context, value: u32, ty: &TypeRecord<'_>) -> u32,
        /// The types of the inputs and outputs of a nested graph.
        #[slot(gives = next_call)]
        pub graph: for<'a> extern "C" fn(cx: Context, graph: u32, out: &mut GraphView<'a>) -> u32,
        /// Begins a block inside the current one; nodes are emitted there until it ends.
        pub begin_block: extern "C" fn(cx: Context) -> u32,
        /// Adds an input to the current block and stores its id.
        #[slot(gives = values)]
        pub block_input: extern "C" fn(cx: Context, ty: &TypeRecord<'_>, out: &mut u32) -> u32,
        /// Lowers a nested graph into the current block with `inputs` for its inputs, and stores the ids
        /// of its outputs.
        #[slot(gives = values)]
        pub inline_graph:
            extern "C" fn(cx: Context, graph: u32, inputs: RSlice<'_, u32>, outputs: RSliceMut<'_, u32>) -> u32,
        /// Ends the current block with these outputs and stores its id, for a `BLOCK` attribute.
        #[slot(gives = values)]
        pub end_block: extern "C" fn(cx: Context, outputs: RSlice<'_, u32>, out: &mut u32) -> u32,
        /// Sets the results of the call, one per result; [`ABSENT`] for one that is not computed, which
        /// is an error if the program uses it.
        pub finish: extern "C" fn(cx: Context, results: RSlice<'_, u32>) -> u32,
        /// Reports why the call cannot be lowered. `code` is empty for the host's own code; any other is shown after
        /// the plugin's id, `mylib:W01`.
        pub refuse: extern "C" fn(cx: Context, code: RStr<'_>, message: RStr<'_>, help: RStr<'_>),
        /// Begins the body of a local function. `call` is a call of it: its domain, its name, the values and
        /// attributes that are passed. Nodes are emitted into the body until it ends, and a value from outside is
        /// not valid there. Stores the ids of the body's inputs, one of the same type for each value that is passed.
        #[slot(gives = values)]
        pub begin_function:
            extern "C" fn(cx: Context, call: &NodeRecord<'_>, inputs: RSliceMut<'_, u32>) -> u32,
        /// Ends the body with these outputs, calls the function where it began, and stores the ids of the
        /// call's outputs, one for each. `REFUSED` when the model has a function of this name with another body.
        #[slot(gives = values, answers(OK, REFUSED, INVALID))]
        pub end_function:
            extern "C" fn(cx: Context, outputs: RSlice<'_, u32>, results: RSliceMut<'_, u32>) -> u32,
        /// Where the call comes from: its module, and the line of the user's code.
        #[slot(gives = next_call)]
        pub origin: for<'a> extern "C" fn(cx: Context, out: &mut OriginView<'a>) -> u32,
        /// The contents of a parameter or buffer of at most 1 MiB, in the form of `constant_data`; `dtype` is 0 for
        /// other values, larger ones, and missing bytes. Contents that were read become part of the model: they do
        /// not change when the model is given other weights.
        #[slot(gives = next_call)]
        pub weight_data: for<'a> extern "C" fn(cx: Context, value: u32, out: &mut DataView<'a>) -> u32,
        /// The node that computes a value.
        #[slot(gives = next_call)]
        pub definition: for<'a> extern "C" fn(cx: Context, value: u32, out: &mut DefinitionView<'a>) -> u32,
        /// An integer attribute of the node that computes a value. `REFUSED` if the node does not state it.
        #[slot(takes = call, gives = values, answers(OK, REFUSED, INVALID))]
        pub definition_int: extern "C" fn(cx: Context, value: u32, name: RStr<'_>, out: &mut i64) -> u32,
        /// Puts an entry into the metadata of the node that computes a value; a later entry with the same key replaces
        /// it. The host's own entries stay as they are. `REFUSED` where no node computes the value.
        #[slot(takes = call, answers(OK, REFUSED, INVALID))]
        pub metadata: extern "C" fn(cx: Context, value: u32, key: RStr<'_>, text: RStr<'_>) -> u32,
    }

    /// The node that computes a value. It is empty for inputs, constants, and operators that are not ONNX's own.
    pub struct DefinitionView<'a> {
        /// The operator: `Cast`.
        pub op: RStr<'a>,
        /// Its inputs; [`ABSENT`] for one that is left out.
        pub inputs: RSlice<'a, u32>,
    }

    /// Where a call comes from. Unknown texts are empty, and an unknown line is 0.
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
}

#[interface(id = "executor/1", since = 1.0)]
pub mod executor {
    //! `executor/1`: a plugin runs ONNX models.
    //!
    //! All functions may block. One runtime or session is used by one thread at a time.

    use crate::compare::{MetricsRecord, SpreadRecord};

    /// The functions and data that the plugin provides.
    #[table(plugin, thread = one, takes = call, answers(OK, REFUSED, PANICKED, UNSUPPORTED))]
    pub struct ExecutorTable {
        /// The name to show, `ONNX Runtime`.
        pub name: RStr<'static>,
        /// Opens the runtime. Stores a handle for [`ExecutorTable::close`]. Returns a
        /// [`status`](crate::status).
        #[slot(gives = until(close))]
        pub open: extern "C" fn(options: RSlice<'_, OptionRecord<'_>>, out: &mut Handle, sink: &Sink) -> u32,
        /// Describes the runtime through the sink's `text`: `ONNX Runtime 1.31.1, /path/to/library`.
        pub describe: extern "C" fn(runtime: Handle, sink: &Sink) -> u32,
        /// Loads the model at `path`. Stores a handle for [`ExecutorTable::unload`].
        #[slot(gives = until(unload))]
        pub load: extern "C" fn(runtime: Handle, path: RStr<'_>, out: &mut Handle, sink: &Sink) -> u32,
        /// Runs the model. The outputs arrive through the sink's `tensor`, in the model's order.
        pub run: extern "C" fn(session: Handle, inputs: RSlice<'_, TensorView<'_>>, sink: &Sink) -> u32,
        /// Releases a session.
        pub unload: extern "C" fn(session: Handle),
        /// Releases the runtime.
        pub close: extern "C" fn(runtime: Handle),
        /// Loads the model at `path` so that a run also hands over the intermediate values of these names: after
        /// the model's outputs, in the order of `values`. Refused when the model has no such value.
        #[slot(optional, gives = until(unload))]
        pub load_with: extern "C" fn(
            runtime: Handle,
            path: RStr<'_>,
            values: RSlice<'_, RStr<'_>>,
            out: &mut Handle,
            sink: &Sink,
        ) -> u32,
        /// Runs the model like [`ExecutorTable::run`], but compares results in place: a result with the name, the element
        /// type and the extents of a tensor in `expected` is compared with it, as `compare/1` does with tolerances of 0,
        /// and `meter` gets the metrics instead of the tensor. All other results arrive through the sink's `tensor`.
        /// `UNSUPPORTED` if the plugin does not compare.
        #[slot(optional)]
        pub measure: extern "C" fn(
            session: Handle,
            inputs: RSlice<'_, TensorView<'_>>,
            expected: RSlice<'_, TensorView<'_>>,
            meter: &Meter,
            sink: &Sink,
        ) -> u32,
    }

    /// Something that the plugin owns.
    #[derive(Debug)]
    #[null]
    pub struct Handle(pub *mut c_void);

    /// An option, such as `library` = a path.
    pub struct OptionRecord<'a> {
        /// The name.
        pub name: RStr<'a>,
        /// The value.
        pub value: RStr<'a>,
    }

    /// A tensor in memory, borrowed for the call.
    pub struct TensorView<'a> {
        /// The name of the input or output.
        pub name: RStr<'a>,
        /// The number in `TensorProto.DataType`.
        pub dtype: i32,
        /// The extents.
        pub dims: RSlice<'a, i64>,
        /// The elements, little-endian, row-major.
        pub bytes: RSlice<'a, u8>,
    }

    /// The receiver of a call's results and errors; valid until the call returns.
    #[record(thread = callback, takes = call)]
    pub struct Sink {
        /// The receiver, passed to the functions.
        pub receiver: *mut c_void,
        /// Takes a tensor.
        pub tensor: extern "C" fn(receiver: *mut c_void, tensor: &TensorView<'_>),
        /// Takes a text.
        pub text: extern "C" fn(receiver: *mut c_void, text: RStr<'_>),
        /// Takes the reason why the call failed, and the next step (may be empty).
        pub error: extern "C" fn(receiver: *mut c_void, message: RStr<'_>, help: RStr<'_>),
    }

    /// The receiver of the metrics of [`ExecutorTable::measure`]; valid until the call returns.
    #[record(thread = callback, takes = call)]
    pub struct Meter {
        /// The receiver, passed to the function.
        pub receiver: *mut c_void,
        /// Takes the metrics of the result called `name`, as `finish` and `spread` of `compare/1` state them, and the bytes
        /// of its first element that differs from the expected one; empty if none does.
        pub found: extern "C" fn(
            receiver: *mut c_void,
            name: RStr<'_>,
            metrics: &MetricsRecord,
            spread: &SpreadRecord,
            ulps: RSlice<'_, u64>,
            decades: RSlice<'_, u64>,
            first: RSlice<'_, u8>,
        ),
    }
}

#[interface(id = "graph/1", since = 1.0)]
pub mod graph {
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

    use crate::lowering::{DataView, DimRecord, RangeRecord, ShapeView};

    /// The id of an optional input that is left out.
    pub const NOTHING: u64 = 0;

    /// The graph that a plugin was called for; meaningful only to the host that made it.
    #[derive(Debug)]
    pub struct GraphContext(pub *mut c_void);

    /// A block: the main graph, or the body of a control-flow node.
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
    pub struct UseRecord {
        /// The node.
        pub node: u64,
        /// The position among its inputs.
        pub index: u32,
    }

    /// The uses of a value.
    pub struct UsesView<'a> {
        /// The nodes, in the order of their creation.
        pub uses: RSlice<'a, UseRecord>,
        /// How often it is an output of a block.
        pub returned: u32,
    }

    /// The description of an initializer, without its bytes.
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
    #[table(host, thread = callback, takes = call, answers(OK, INVALID))]
    pub struct GraphHost {
        /// The version of a domain's operator set, the empty domain being ONNX's own; 0 when the model does
        /// not import it.
        #[slot(gives = values)]
        pub opset: extern "C" fn(cx: GraphContext, domain: RStr<'_>) -> i64,
        /// The main block.
        #[slot(gives = values)]
        pub main: extern "C" fn(cx: GraphContext, out: &mut u64) -> u32,
        /// A block.
        #[slot(gives = next_call)]
        pub block: for<'a> extern "C" fn(cx: GraphContext, block: u64, out: &mut BlockView<'a>) -> u32,
        /// A node.
        #[slot(gives = next_call)]
        pub node: for<'a> extern "C" fn(cx: GraphContext, node: u64, out: &mut NodeView<'a>) -> u32,
        /// An attribute of a node. One that the node does not state has the default of the operator's version in the
        /// model; its kind is `NONE` if there is no default. `NodeView::attributes` lists the attributes that the node
        /// states.
        #[slot(gives = next_call)]
        pub attribute: for<'a> extern "C" fn(
            cx: GraphContext,
            node: u64,
            name: RStr<'_>,
            out: &mut AttributeView<'a>,
        ) -> u32,
        /// A value.
        #[slot(gives = next_call)]
        pub value: for<'a> extern "C" fn(cx: GraphContext, value: u64, out: &mut ValueView<'a>) -> u32,
        /// The uses of a value.
        #[slot(gives = next_call)]
        pub uses: for<'a> extern "C" fn(cx: GraphContext, value: u64, out: &mut UsesView<'a>) -> u32,
        /// The name of the model's output at `index`. Outputs have their own names, since a value may be returned
        /// twice.
        #[slot(gives = next_call)]
        pub output_name: for<'a> extern "C" fn(cx: GraphContext, index: u32, out: &mut RStr<'a>) -> u32,
        /// The contents of an initializer of at most 64 KiB; `dtype` is 0 for any other value. Parameters and buffers
        /// are excluded, since the graph must not depend on their bytes.
        #[slot(gives = next_call)]
        pub constant: for<'a> extern "C" fn(cx: GraphContext, value: u64, out: &mut DataView<'a>) -> u32,
        /// The symbolic contents of a vector of integers, where the host knows them.
        #[slot(gives = next_call)]
        pub contents: for<'a> extern "C" fn(cx: GraphContext, value: u64, out: &mut ShapeView<'a>) -> u32,
        /// The description of an initializer; `dtype` is 0 if the value is not an initializer.
        #[slot(gives = next_call)]
        pub initializer:
            for<'a> extern "C" fn(cx: GraphContext, value: u64, out: &mut InitializerView<'a>) -> u32,
        /// Copies `out.len()` of an initializer's bytes from byte `offset` of its row-major form. `REFUSED`
        /// if they cannot be read, such as the bytes of a missing weight; `INVALID` if the range ends behind the last
        /// byte.
        #[slot(gives = values, answers(OK, INVALID, REFUSED))]
        pub read: extern "C" fn(cx: GraphContext, value: u64, offset: u64, out: RSliceMut<'_, u8>) -> u32,
        /// The bounds of an extent.
        #[slot(gives = values)]
        pub dim_range: extern "C" fn(cx: GraphContext, dim: DimRecord) -> RangeRecord,
        /// An extent as text, `s0` or `2*batch + 1`; `?` for an unknown one.
        #[slot(gives = next_call)]
        pub dim_text: for<'a> extern "C" fn(cx: GraphContext, dim: DimRecord, out: &mut RStr<'a>) -> u32,
        /// Adds an initializer that is computed from others when the model is written, piece by piece, and stores its
        /// id. `INVALID` unless the call builds a patch or edits the graph. `REFUSED` if the operation does not support
        /// the inputs: types without arithmetic, shapes that do not fit, elements that share bytes. Each operation
        /// rounds once, to the type of its inputs.
        #[slot(gives = values, answers(OK, INVALID, REFUSED))]
        pub derive: extern "C" fn(cx: GraphContext, derivation: &Derivation<'_>, out: &mut u64) -> u32,
    }
}

#[interface(id = "rules/1", since = 1.0)]
pub mod rules {
    //! `rules/1`: a plugin rewrites small parts of the graph.
    //!
    //! A rule is a pattern, which is text, and at most two functions. The host compiles all patterns and finds their
    //! matches; only there it asks [`RulesTable::check`] (when the rule has a condition) and then
    //! [`RulesTable::build`], which describes a patch through [`RulesHost`]. The host checks the patch, sets the
    //! origin of its nodes, and applies it or leaves the graph as it was. `docs/optimizer-plugins.md` has the grammar
    //! of patterns. It may grow; a host refuses and reports a rule that it cannot read.

    use crate::graph::{AttributeView, GraphContext, NewNode};
    use crate::lowering::{DimRecord, TypeRecord};

    /// The functions and data that the plugin provides.
    #[table(plugin, thread = conversion, takes = call, answers(OK, REFUSED, PANICKED, INVALID))]
    pub struct RulesTable {
        /// The rules.
        pub rules: RSlice<'static, RuleText>,
        /// Whether the rule at `index` applies where its pattern fits. `host` and `graph` are the envelopes
        /// of [`RulesHost`] and `GraphHost`. Called on the thread of the conversion; the graph does not
        /// change meanwhile. `OK`, or `REFUSED` after [`RulesHost::refuse`], or `PANICKED`.
        pub check: extern "C" fn(index: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32,
        /// Describes the replacement of a match of the rule at `index`. `OK` after
        /// [`RulesHost::finish`], or as for [`RulesTable::check`].
        pub build: extern "C" fn(index: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32,
        /// States how exact the rule at `index` is. Without this function a rule is one of class `UNSTATED`. `INVALID`
        /// for an unknown index.
        #[slot(optional, gives = process, answers(OK, INVALID))]
        pub class_of: extern "C" fn(index: u32, out: &mut ClassRecord) -> u32,
    }

    /// The exactness of a rule or a pass. A result may change by the larger of the bounds `relative` and `ulps`;
    /// infinities and NaN are preserved, unless `finite` is 1.
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
    #[table(host, thread = callback, takes = call, answers(OK, INVALID))]
    pub struct RulesHost {
        /// The match; borrowed until the plugin's next call into the host.
        #[slot(gives = next_call)]
        pub bindings: for<'a> extern "C" fn(cx: GraphContext, out: &mut Bindings<'a>) -> u32,
        /// The attribute of the variable at `index` in [`RuleText::attributes`]: the stated one, or else the default;
        /// its kind is `NONE` if there is neither.
        #[slot(gives = next_call)]
        pub attribute: for<'a> extern "C" fn(cx: GraphContext, index: u32, out: &mut AttributeView<'a>) -> u32,
        /// Adds a node before the replaced nodes and stores the ids of its outputs; the number of outputs is the
        /// slice's length.
        #[slot(gives = values)]
        pub emit: extern "C" fn(cx: GraphContext, node: &NewNode<'_>, outputs: RSliceMut<'_, u64>) -> u32,
        /// Adds an initializer of little-endian, row-major `bytes` and stores its id.
        #[slot(gives = values)]
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
        #[slot(gives = values, answers(OK, INVALID, REFUSED))]
        pub view: extern "C" fn(
            cx: GraphContext,
            initializer: u64,
            axes: RSlice<'_, u32>,
            dims: RSlice<'_, u64>,
            out: &mut u64,
        ) -> u32,
        /// States the type of a value of the patch that the host could not infer.
        pub set_type: extern "C" fn(cx: GraphContext, value: u64, ty: &TypeRecord<'_>) -> u32,
        /// Ends the patch with the replacement of each output of each root, one root after the other; `NOTHING` for
        /// an output that is not read.
        pub finish: extern "C" fn(cx: GraphContext, outputs: RSlice<'_, u64>) -> u32,
        /// Reports why the rule does not apply here. `code` is empty for the host's own code.
        pub refuse: extern "C" fn(cx: GraphContext, code: RStr<'_>, message: RStr<'_>, help: RStr<'_>),
    }
}

#[interface(id = "pass/1", since = 1.0)]
pub mod pass {
    //! `pass/1`: a plugin edits the whole graph.
    //!
    //! A pass reads through `graph/1` and edits through [`PassHost`], in a transaction: when it returns, the host
    //! checks the graph against the rules of ONNX and the types that the program states. It rolls all edits back if
    //! the graph is not valid, or if the pass refused or panicked.

    use crate::graph::{AttributeView, GraphContext, NewNode};
    use crate::lowering::TypeRecord;
    use crate::rules::ClassRecord;

    /// The functions and data that the plugin provides.
    #[table(plugin, thread = conversion, takes = call, answers(OK, REFUSED, PANICKED, INVALID))]
    pub struct PassTable {
        /// The passes.
        pub passes: RSlice<'static, PassRecord>,
        /// Runs the pass at `index`. `host` and `graph` are the envelopes of [`PassHost`] and `GraphHost`.
        /// Called on the thread of the conversion. Returns a [`status`](crate::status).
        pub run: extern "C" fn(index: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32,
        /// States how exact the pass at `index` is. Without this function a pass is one of class `UNSTATED`. `INVALID`
        /// for an unknown index.
        #[slot(optional, gives = process, answers(OK, INVALID))]
        pub class_of: extern "C" fn(index: u32, out: &mut ClassRecord) -> u32,
    }

    /// A pass.
    pub struct PassRecord {
        /// The name, unique in the plugin: `conv_to_matmul`.
        pub name: RStr<'static>,
        /// Its effect, in a line.
        pub documentation: RStr<'static>,
        /// The lowest version of ONNX's own operator set that it knows.
        pub min_opset: u32,
        /// The highest.
        pub max_opset: u32,
        /// Among several passes the highest priority runs first.
        pub priority: i32,
        /// One of [`when`].
        pub when: u32,
        /// The further domains that it needs; it does not run on a model that imports one of them at
        /// another version. The model need not import them.
        pub domains: RSlice<'static, DomainRecord>,
    }

    /// When a pass runs.
    pub mod when {
        /// Before the rules, which then simplify its results.
        pub const BEFORE_RULES: u32 = 0;
        /// After the rules.
        pub const AFTER_RULES: u32 = 1;
    }

    /// A domain and the versions of its operator set that a pass knows.
    pub struct DomainRecord {
        /// The domain.
        pub domain: RStr<'static>,
        /// The lowest version.
        pub min: u32,
        /// The highest version.
        pub max: u32,
    }

    /// Where nodes are added, relative to a node.
    pub mod place {
        /// Before it, in the order in which they are added.
        pub const BEFORE: u32 = 0;
        /// After it, in the order in which they are added.
        pub const AFTER: u32 = 1;
    }

    /// Functions of the host for a pass. Used on the thread of the call and only until it returns. All
    /// functions that return a number return a [`status`](crate::status).
    #[table(host, thread = callback, takes = call, answers(OK, INVALID))]
    pub struct PassHost {
        /// Sets the position of nodes that are added from now on: one of [`place`], relative to `node`, whose origin
        /// they get. Initially there is no position.
        pub place: extern "C" fn(cx: GraphContext, node: u64, place: u32) -> u32,
        /// Adds a node and stores the ids of its outputs; the number of outputs is the slice's length.
        #[slot(gives = values)]
        pub emit: extern "C" fn(cx: GraphContext, node: &NewNode<'_>, outputs: RSliceMut<'_, u64>) -> u32,
        /// Adds an initializer of little-endian, row-major `bytes` and stores its id.
        #[slot(gives = values)]
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
        #[slot(gives = values, answers(OK, INVALID, REFUSED))]
        pub view: extern "C" fn(
            cx: GraphContext,
            initializer: u64,
            axes: RSlice<'_, u32>,
            dims: RSlice<'_, u64>,
            out: &mut u64,
        ) -> u32,
        /// States the type of a value that the pass added and the host could not infer.
        pub set_type: extern "C" fn(cx: GraphContext, value: u64, ty: &TypeRecord<'_>) -> u32,
        /// Replaces all uses of `old`, including outputs of blocks, with `new`; only the node that computes `new` goes
        /// on reading `old`. If `new` has no name, it gets the name of `old`, if a node computes that.
        /// `REFUSED` if their types are incompatible.
        #[slot(answers(OK, INVALID, REFUSED))]
        pub replace_uses: extern "C" fn(cx: GraphContext, old: u64, new: u64) -> u32,
        /// Makes input `index` of a node read `value`; `NOTHING` leaves an optional one out.
        pub set_input: extern "C" fn(cx: GraphContext, node: u64, index: u32, value: u64) -> u32,
        /// Sets an attribute; one of kind `NONE` is removed. Blocks cannot be set.
        pub set_attribute: extern "C" fn(cx: GraphContext, node: u64, attribute: &AttributeView<'_>) -> u32,
        /// Removes a node. `REFUSED` when one of its outputs is still read.
        #[slot(answers(OK, INVALID, REFUSED))]
        pub remove: extern "C" fn(cx: GraphContext, node: u64) -> u32,
        /// Adds a note for the user about an edit, or a node that the pass does not change; shown with `--explain-rule`.
        pub note: extern "C" fn(cx: GraphContext, node: u64, message: RStr<'_>) -> u32,
        /// Reports why the pass does not apply to this graph; all its edits are rolled back. `code` is empty for the
        /// host's own code.
        pub refuse: extern "C" fn(cx: GraphContext, code: RStr<'_>, message: RStr<'_>, help: RStr<'_>),
    }
}

#[interface(id = "compare/1", since = 1.0)]
pub mod compare {
    //! `compare/1`: a plugin compares tensors with expected ones.
    //!
    //! A comparison gets two tensors of one element type and shape in chunks, so that neither has to be in
    //! the plugin's memory, or on its device, as a whole. The host gives all chunks of the expected tensor
    //! to [`CompareTable::scan`] first, then all pairs to [`CompareTable::chunk`], both in order. One
    //! comparison is used by one thread at a time. All functions may block.

    use crate::executor::{Handle, OptionRecord, Sink};

    /// The position if there is none.
    pub const NOWHERE: u64 = u64::MAX;

    /// The buckets of the histogram of distances in units of the last place: a distance is counted at the number
    /// of its bits, 0 at 0, 1 at 1, 2 and 3 at 2, 4 to 7 at 3.
    pub const ULP_BUCKETS: u32 = 65;

    /// The buckets of the histogram of `|got - expected|`: at 0 the number of zeros, at 1 of numbers below
    /// `10^FIRST_DECADE`, then one for each power of ten, from the power itself to below the next, and at the end
    /// one for `10^20` and more. The powers are rounded to the nearest `f64`.
    pub const DECADE_BUCKETS: u32 = 43;

    /// The exponent of the first power of ten with a bucket of its own.
    pub const FIRST_DECADE: i32 = -20;

    /// The functions and data that the plugin provides.
    #[table(plugin, thread = one, takes = call, answers(OK, REFUSED, PANICKED, UNSUPPORTED))]
    pub struct CompareTable {
        /// The name to show, `CUDA`.
        pub name: RStr<'static>,
        /// Opens the comparer. Stores a handle for [`CompareTable::close`]. Returns a
        /// [`status`](crate::status).
        #[slot(gives = until(close))]
        pub open: extern "C" fn(options: RSlice<'_, OptionRecord<'_>>, out: &mut Handle, sink: &Sink) -> u32,
        /// Begins a comparison. Stores a handle for [`CompareTable::end`]. `UNSUPPORTED` for an element type
        /// that the plugin does not compare.
        #[slot(gives = until(end))]
        pub begin: extern "C" fn(comparer: Handle, pair: &PairRecord<'_>, out: &mut Handle, sink: &Sink) -> u32,
        /// Looks at the next elements of the expected tensor.
        pub scan: extern "C" fn(comparison: Handle, expected: RSlice<'_, u8>, sink: &Sink) -> u32,
        /// Compares the next elements, whole ones and as many of both.
        pub chunk:
            extern "C" fn(comparison: Handle, got: RSlice<'_, u8>, expected: RSlice<'_, u8>, sink: &Sink) -> u32,
        /// Returns the metrics. Afterwards only `spread` and `end` are called.
        #[slot(gives = values)]
        pub finish: extern "C" fn(comparison: Handle, out: &mut MetricsRecord, sink: &Sink) -> u32,
        /// Releases a comparison.
        pub end: extern "C" fn(comparison: Handle),
        /// Releases the comparer.
        pub close: extern "C" fn(comparer: Handle),
        /// States how the differences are spread. Called after [`CompareTable::finish`] answered `OK`, at most
        /// once. `ulps` has [`ULP_BUCKETS`] numbers and `decades` has [`DECADE_BUCKETS`], all 0. Pairs of NaN and pairs of
        /// equal infinities are counted at 0 in both; other pairs with a NaN or an infinity in neither.
        /// `UNSUPPORTED` if the plugin does not count them.
        #[slot(optional, gives = values)]
        pub spread: extern "C" fn(
            comparison: Handle,
            out: &mut SpreadRecord,
            ulps: RSliceMut<'_, u64>,
            decades: RSliceMut<'_, u64>,
            sink: &Sink,
        ) -> u32,
    }

    /// The tensors of a comparison, and the tolerance: an element is wrong if
    /// `|got - expected| > atol * s + rtol * |expected|`, where `s` is the largest finite `|expected|` of
    /// the tensor, clamped to `scale_min` and `scale_max`. A NaN equals a NaN, an infinity the same one.
    pub struct PairRecord<'a> {
        /// The name of the output.
        pub name: RStr<'a>,
        /// The number in `TensorProto.DataType`; complex numbers count as two elements.
        pub dtype: i32,
        /// The extents.
        pub dims: RSlice<'a, u64>,
        /// The relative tolerance.
        pub rtol: f64,
        /// The absolute tolerance.
        pub atol: f64,
        /// The smallest factor of the absolute tolerance.
        pub scale_min: f64,
        /// The largest factor of the absolute tolerance.
        pub scale_max: f64,
    }

    /// The metrics of a comparison.
    #[derive(Debug)]
    pub struct MetricsRecord {
        /// The number of elements that were compared.
        pub elements: u64,
        /// How many of them are wrong.
        pub wrong: u64,
        /// The position of the first wrong one, row-major; [`NOWHERE`] if none is wrong.
        pub first: u64,
        /// The largest `|got - expected|` over the finite elements.
        pub max_abs: f64,
        /// The largest `|got - expected| / |expected|` where `|expected|` exceeds the absolute tolerance.
        pub max_rel: f64,
        /// The largest finite `|expected|`.
        pub largest: f64,
        /// The square root of the mean of `(got - expected)²` over the finite elements.
        pub rms: f64,
        /// The cosine of the angle between the two as vectors, over the finite elements; 1 when both are
        /// zero.
        pub cosine: f64,
    }

    /// How the differences of a comparison are spread. `nan`, `infinite` and `zero` count no element twice.
    #[derive(Debug)]
    pub struct SpreadRecord {
        /// The mean of `|got - expected|` over the elements that are finite in both; 0 where there are none.
        pub mean: f64,
        /// How many elements are NaN in one tensor only.
        pub nan: u64,
        /// How many of the others are infinite in one tensor only, or with another sign.
        pub infinite: u64,
        /// How many of the others are zero, of any sign, in one tensor only.
        pub zero: u64,
        /// The largest distance in units of the last place over the elements that are finite in both: how many
        /// numbers of the element type lie between, plus one; zeros of both signs are one number. Of integers
        /// and truth values it is the difference.
        pub max_ulps: u64,
    }
}

#[interface(id = "backend/1", since = 1.0)]
pub mod backend {
    //! `backend/1`: a plugin takes parts of a model for hardware.
    //!
    //! A backend states its capabilities as data ([`BackendEntry`]). The host passes the nodes that they cover to
    //! [`BackendTable::claim`], which takes or refuses each of them. The host then forms regions: convex sets of claimed
    //! nodes of one block, as large as possible. [`BackendTable::compile`] is called once for each region and emits
    //! its replacement.
    //!
    //! Both read the model through [`GraphHost`](crate::graph::GraphHost), with the context that they were
    //! called with. All calls come from one thread, one at a time, unless a backend has the flag
    //! [`PARALLEL`](backend_flags::PARALLEL). Everything borrowed from the host is valid until the plugin's next call into
    //! the host; ids are valid until `claim` or `compile` returns.

    use crate::graph::{AttributeView, GraphContext};
    use crate::lowering::TypeRecord;

    /// The functions and data that the plugin provides.
    #[table(plugin, thread = conversion, takes = call, answers(OK, REFUSED, PANICKED, INVALID))]
    pub struct BackendTable {
        /// The backends; users choose one by its id.
        pub entries: RSlice<'static, BackendEntry>,
        /// Takes or refuses the nodes of [`BackendHost::offered`] for the backend at `index`; `host` and
        /// `graph` are the envelopes of the [`BackendHost`] and the `GraphHost`. Called once per conversion.
        /// Returns a [`status`](crate::status); after anything but `OK` no node is claimed. Ids are not valid in
        /// `compile`: nodes may be renumbered in between.
        pub claim: extern "C" fn(index: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32,
        /// Compiles [`BackendHost::region`] for the backend at `index`: emits its replacement and calls
        /// [`BackendHost::finish`]. Called once per region, in the order of their first nodes, or for several regions at
        /// once if the backend has the flag [`PARALLEL`](backend_flags::PARALLEL). Returns a
        /// [`status`](crate::status); after `REFUSED` the region stays, and the report says so, or the host compiles what
        /// remains of it without the nodes that [`BackendHost::refuse_node`] named.
        /// Equal regions must give equal results, byte for byte.
        pub compile: extern "C" fn(index: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32,
        /// States in one line everything that results of the backend at `index` depend on besides the region, the plugin
        /// and its options: versions of the SDK and of drivers, and the hardware. While the text is the same, the host may
        /// use the results of earlier runs. Without this function, or after anything but `OK`, it does not.
        #[slot(optional, gives = process)]
        pub environment: extern "C" fn(index: u32, out: &mut RStr<'static>) -> u32,
        /// Estimates the cost of [`BackendHost::region`] for the backend at `index`. Called once for each region before any
        /// is compiled; the functions of [`BackendHost`] that make something are of no use in it. The host leaves regions
        /// that take longer than their nodes do otherwise. Without this function, or after anything but `OK`, it keeps them.
        #[slot(optional, gives = values)]
        pub cost: extern "C" fn(
            index: u32,
            host: &Table,
            graph: &Table,
            cx: GraphContext,
            out: &mut CostRecord,
        ) -> u32,
    }

    /// An estimate of [`BackendTable::cost`], in seconds: finite numbers that are not negative.
    pub struct CostRecord {
        /// The time that the region takes on the device, without transfers.
        pub device: f64,
        /// The time that its nodes take in the runtime, without the backend.
        pub runtime: f64,
        /// The time to enter and leave the region, whatever crosses its border.
        pub entry: f64,
        /// The time for each byte of an input or output to cross the border. Weights do not cross it; a dynamic dimension
        /// counts as 1.
        pub byte: f64,
    }

    /// A backend and its capabilities. Read once, when the plugin is attached.
    pub struct BackendEntry {
        /// The id that users write, `npu`: lower-case letters, digits, `-` and `_`.
        pub id: RStr<'static>,
        /// One sentence; may be empty.
        pub description: RStr<'static>,
        /// Where the user names the plugin rather than one of its backends, the highest claims first.
        pub priority: i32,
        /// [`backend_flags`].
        pub flags: u32,
        /// Regions of fewer nodes are not compiled; their nodes stay.
        pub min_nodes: u32,
        /// The version of [`BackendEntry::domain`] that the model imports.
        pub domain_version: i64,
        /// The domain of the operators that it emits besides ONNX's own, `com.example.npu`; may be empty.
        pub domain: RStr<'static>,
        /// The operators that it supports. A node that no record covers is not offered.
        pub ops: RSlice<'static, OpRecord>,
    }

    /// Flags of [`BackendEntry`].
    pub mod backend_flags {
        /// Every claim is a region: the host does not join neighbours.
        pub const SEPARATE: u32 = 1;
        /// The runtime takes one region of a model. The host keeps the one with the most nodes; others stay.
        pub const SINGLE: u32 = 2;
        /// `compile` may be called for several regions at once, each on a thread of its own.
        pub const PARALLEL: u32 = 4;
    }

    /// Operators that a backend supports, with types and ranks. An empty list of types allows all types.
    pub struct OpRecord {
        /// The domain; empty for ONNX's own operators.
        pub domain: RStr<'static>,
        /// The operator; `*` for all of the domain.
        pub op: RStr<'static>,
        /// The lowest version of the domain's operator set.
        pub min_version: u32,
        /// The highest version of the domain's operator set.
        pub max_version: u32,
        /// The element types that inputs may have, numbers of `TensorProto.DataType`.
        pub inputs: RSlice<'static, i32>,
        /// The element types that outputs may have.
        pub outputs: RSlice<'static, i32>,
        /// The least number of axes of the first input and of the outputs.
        pub min_rank: u32,
        /// The largest number of axes of the first input and of the outputs; `u32::MAX` for any, an
        /// unknown one included.
        pub max_rank: u32,
        /// One of [`layout`].
        pub layout: u32,
        /// [`op_flags`].
        pub flags: u32,
    }

    /// The position of the channels of images. ONNX's own operators have them first; for operators of other domains,
    /// the host relies on the record.
    pub mod layout {
        /// Any position, or the operator has no channels.
        pub const ANY: u32 = 0;
        /// `N, C, H, W`.
        pub const CHANNELS_FIRST: u32 = 1;
        /// `N, H, W, C`.
        pub const CHANNELS_LAST: u32 = 2;
    }

    /// Flags of [`OpRecord`].
    pub mod op_flags {
        /// Extents may be expressions over symbols, or unknown.
        pub const DYNAMIC: u32 = 1;
    }

    /// Flags of [`BackendHost::claim`].
    pub mod claim_flags {
        /// The nodes belong to one region, or none of them does. Without it, each node is claimed separately.
        pub const TOGETHER: u32 = 1;
    }

    /// A region that is to be compiled.
    pub struct RegionView<'a> {
        /// The name, unique in the model: `npu_0`.
        pub name: RStr<'a>,
        /// The nodes, all of one block, in topological order.
        pub nodes: RSlice<'a, u64>,
        /// Values from outside that its nodes use, without initializers, in the order of their first use.
        pub inputs: RSlice<'a, u64>,
        /// Values of its nodes that are used outside, in the order of the nodes.
        pub outputs: RSlice<'a, u64>,
        /// Initializers that its nodes use, in the order of their first use. Others may use them too.
        pub weights: RSlice<'a, u64>,
    }

    /// The number of [`EmitRecord::blob`] for a node without a blob.
    pub const NO_BLOB: u32 = u32::MAX;

    /// A node of the replacement of a region.
    pub struct EmitRecord<'a> {
        /// The domain: empty for ONNX's own operators, or [`BackendEntry::domain`].
        pub domain: RStr<'a>,
        /// The operator.
        pub op: RStr<'a>,
        /// The inputs: the region's inputs and weights, and constants and outputs that were created in this call;
        /// [`NOTHING`](crate::graph::NOTHING) where an optional one is left out.
        pub inputs: RSlice<'a, u64>,
        /// The attributes, with different names. Blocks are not allowed.
        pub attributes: RSlice<'a, AttributeView<'a>>,
        /// The types of the outputs, of kind `TENSOR`. The host infers the types of ONNX's own operators, and uses
        /// these where it cannot.
        pub outputs: RSlice<'a, TypeRecord<'a>>,
        /// The blob that belongs to the node, or [`NO_BLOB`]. A blob belongs to one node.
        pub blob: u32,
        /// The attribute that holds the blob, as a tensor of bytes. It is left out for a blob in its own file;
        /// `<name>_file` then is the file, relative to the model, `<name>_size` its length in bytes
        /// and `<name>_sha256` its hash in hexadecimal.
        pub blob_attribute: RStr<'a>,
    }

    /// Functions of the host for [`BackendTable::claim`] and [`BackendTable::compile`]. Used on the thread
    /// that made the call and only until that returns. All functions that return a number return a
    /// [`status`](crate::status); `INVALID` changes nothing.
    #[table(host, thread = callback, takes = call, answers(OK, INVALID))]
    pub struct BackendHost {
        /// In `claim`: the nodes that the backend's capabilities cover and that no earlier backend took, by
        /// block and in order. Invalid in `compile`.
        #[slot(gives = next_call)]
        pub offered: for<'a> extern "C" fn(cx: GraphContext, out: &mut RSlice<'a, u64>) -> u32,
        /// In `claim`: claims nodes, in any order. Invalid if one was not offered, occurs twice or was
        /// claimed before; the conversion then fails. `flags` are [`claim_flags`].
        pub claim: extern "C" fn(cx: GraphContext, nodes: RSlice<'_, u64>, flags: u32) -> u32,
        /// In `claim`: states in a sentence why a node is not claimed. The last reason counts; it is ignored if the
        /// node is claimed. In `compile`: states why a node of the region cannot be compiled; after `REFUSED`, the host
        /// compiles the rest of the region.
        pub refuse_node: extern "C" fn(cx: GraphContext, node: u64, reason: RStr<'_>) -> u32,
        /// In `compile`: the region. Invalid in `claim`, as are all functions below but the last.
        #[slot(gives = next_call)]
        pub region: for<'a> extern "C" fn(cx: GraphContext, out: &mut RegionView<'a>) -> u32,
        /// In `compile`: makes a constant of little-endian, row-major `bytes` and stores its id.
        #[slot(gives = values)]
        pub constant: extern "C" fn(
            cx: GraphContext,
            dtype: i32,
            dims: RSlice<'_, u64>,
            bytes: RSlice<'_, u8>,
            out: &mut u64,
        ) -> u32,
        /// In `compile`: appends to a blob; the first call for a number creates it. Large blobs are stored on disk.
        /// Refused if they cannot be written.
        #[slot(answers(OK, INVALID, REFUSED))]
        pub blob: extern "C" fn(cx: GraphContext, blob: u32, bytes: RSlice<'_, u8>) -> u32,
        /// In `compile`: emits a node and stores the ids of its outputs. Invalid if the record does not allow an
        /// input, or the number of outputs differs from that of `node.outputs`.
        #[slot(gives = values)]
        pub emit: extern "C" fn(cx: GraphContext, node: &EmitRecord<'_>, outputs: RSliceMut<'_, u64>) -> u32,
        /// In `compile`: sets the replacements of the outputs of the region, in their order. The host then checks
        /// that types and shapes are the same, and fails the conversion if they are not.
        pub finish: extern "C" fn(cx: GraphContext, outputs: RSlice<'_, u64>) -> u32,
        /// Reports why the plugin returns `REFUSED`. `code` is empty for the host's own code.
        pub refuse: extern "C" fn(cx: GraphContext, code: RStr<'_>, message: RStr<'_>, help: RStr<'_>),
    }
}

#[interface(id = "log/1", since = 1.0)]
pub mod log {
    //! `log/1`: a plugin sends messages to the user.
    //!
    //! A host-side interface: no plugin provides it. The host collects messages during a run and shows them with its
    //! own diagnostics, never on standard output.

    use crate::lowering::Context;

    /// The importance of a message.
    pub mod level {
        /// The result may not be what the user expects.
        pub const WARN: u32 = 1;
        /// Progress, for an interested user.
        pub const INFO: u32 = 2;
        /// For the plugin's author.
        pub const DEBUG: u32 = 3;
    }

    /// Takes messages.
    #[table(host, thread = any, takes = call)]
    pub struct LogHost {
        /// The largest [`level`] that is shown; messages above it need not be created.
        #[slot(answers = number)]
        pub level: extern "C" fn() -> u32,
        /// Takes one message of the plugin with this id. `cx` is the context of the call of `lowering/1` that the message
        /// is about, on its thread and before it returns; null if there is none.
        pub message: extern "C" fn(plugin: RStr<'_>, level: u32, text: RStr<'_>, cx: Context),
    }
}

#[interface(id = "weights/1", since = 1.0)]
pub mod weights {
    //! `weights/1`: a plugin generates weights, or changes weights when they are written.
    //!
    //! This happens only when the model is written, in pieces, from several threads at a time. The same piece
    //! always gets the same bytes.

    use crate::executor::Sink;

    /// The functions and data that the plugin provides.
    #[table(plugin, thread = any, takes = call, answers(OK, REFUSED, PANICKED, INVALID))]
    pub struct WeightsTable {
        /// The tensors that the plugin generates.
        pub tensors: RSlice<'static, TensorEntry>,
        /// The transforms that the plugin has.
        pub transforms: RSlice<'static, TransformEntry>,
        /// Fills `out` with the bytes of the tensor at `index` from byte `offset` on: dense, row-major,
        /// little-endian. The range lies inside the tensor. Returns a [`status`](crate::status).
        #[slot(gives = values)]
        pub fill: extern "C" fn(index: u32, offset: u64, out: RSliceMut<'_, u8>, sink: &Sink) -> u32,
        /// States the type of the result of the transform at `index` for `input`: hands one tensor without a name and
        /// without bytes to the sink. `REFUSED` for an unsupported input.
        #[slot(gives = sink)]
        pub output: extern "C" fn(index: u32, input: &WeightRecord<'_>, sink: &Sink) -> u32,
        /// Transforms `bytes`, whole granules of the input from number `first` on, into `out`. All granules become
        /// the same number of bytes, except that the last one may become fewer.
        #[slot(gives = values)]
        pub apply: extern "C" fn(
            index: u32,
            input: &WeightRecord<'_>,
            first: u64,
            bytes: RSlice<'_, u8>,
            out: RSliceMut<'_, u8>,
            sink: &Sink,
        ) -> u32,
        /// The quantizers of the plugin.
        #[slot(optional, gives = process)]
        pub quantisers: extern "C" fn() -> RSlice<'static, QuantiserEntry>,
        /// Quantizes a part of a weight with the quantizer at `index`: `weight ≈ (code - zero) * scale`.
        /// `codes` has an element for each value; `scales` and `zeros` have one for each block of each row. All elements
        /// are 0 at first. Codes must fit the scales as rounded to the type of the weight: nothing is rounded
        /// afterwards.
        ///
        /// Scales are finite, not 0, and numbers of that type; they are positive, except for symmetric codes of 4 bits.
        /// Symmetric: every zero is 0, and codes lie between `-2^(bits-1)` and `2^(bits-1) - 1`; otherwise zeros and codes
        /// lie between 0 and `2^bits - 1`.
        /// The host refuses other answers.
        ///
        /// A granule gets the same answer in every call, on every thread and in every process, alone and in
        /// any part: scales, zeros and codes are written at different times, and from answers to different
        /// calls.
        #[slot(optional, gives = values)]
        pub quantise: extern "C" fn(
            index: u32,
            part: &RectangleRecord<'_>,
            scales: RSliceMut<'_, f32>,
            zeros: RSliceMut<'_, i32>,
            codes: RSliceMut<'_, i32>,
            sink: &Sink,
        ) -> u32,
    }

    /// A tensor that the plugin generates.
    pub struct TensorEntry {
        /// The name, as the program has it.
        pub name: RStr<'static>,
        /// The number in `TensorProto.DataType`.
        pub dtype: i32,
        /// The extents.
        pub dims: RSlice<'static, u64>,
    }

    /// A transform of the plugin.
    pub struct TransformEntry {
        /// The name; unique in the plugin.
        pub name: RStr<'static>,
        /// One of [`granule`].
        pub granule: u32,
        /// The elements of a granule of the kind `BLOCK`; 0 otherwise.
        pub block: u64,
    }

    /// The smallest piece of a weight that a transform can change on its own, in row-major order.
    pub mod granule {
        /// `block` elements.
        pub const BLOCK: u32 = 1;
        /// The elements along the last axis.
        pub const ROW: u32 = 2;
        /// Everything.
        pub const WHOLE: u32 = 3;
    }

    /// A weight that goes into a transform.
    pub struct WeightRecord<'a> {
        /// The number in `TensorProto.DataType`.
        pub dtype: i32,
        /// The extents.
        pub dims: RSlice<'a, u64>,
    }

    /// A quantizer of the plugin: it chooses the scales, the zero points and the codes of weights that the host
    /// stores as integers.
    pub struct QuantiserEntry {
        /// The name; unique in the plugin.
        pub name: RStr<'static>,
        /// Its effect, in one line; may be empty.
        pub doc: RStr<'static>,
        /// One of [`quantiser_granule`].
        pub granule: u32,
    }

    /// The values that a quantizer needs at once. A call is given whole ones.
    pub mod quantiser_granule {
        /// The weights of a block, which share a scale.
        pub const BLOCK: u32 = 1;
        /// All blocks of a row.
        pub const ROW: u32 = 2;
    }

    /// A part of a weight that is quantized. The weight is a matrix with a row per output; each row, over which a sum
    /// runs, is divided into blocks.
    pub struct RectangleRecord<'a> {
        /// The name of the weight, as the program has it. Tied weights have the name of the first of them.
        pub name: RStr<'a>,
        /// The number in `TensorProto.DataType` of the type of the weight, and so of its scales.
        pub dtype: i32,
        /// The bits of a code.
        pub bits: u32,
        /// 1 when every zero point is 0.
        pub symmetric: u32,
        /// The weights of a block; the last block of a row may have fewer.
        pub block: u64,
        /// The rows of the whole matrix.
        pub rows: u64,
        /// The columns of the whole matrix.
        pub columns: u64,
        /// The first row of the part.
        pub first_row: u64,
        /// The row behind the last one.
        pub end_row: u64,
        /// The first column of the part, where a block starts.
        pub first_column: u64,
        /// The column behind the last one, where a block starts or the matrix ends.
        pub end_column: u64,
        /// The weights of the part, row by row, all finite.
        pub values: RSlice<'a, f32>,
    }
}
