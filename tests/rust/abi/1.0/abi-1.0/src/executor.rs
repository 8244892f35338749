//! `executor/1`: a plugin runs ONNX models.
//!
//! All functions may block. One runtime or session is used by one thread at a time.

use std::ffi::c_void;

use abi_stable::StableAbi;
use abi_stable::std_types::{RSlice, RStr};

/// The name of the interface.
pub const INTERFACE: &str = "executor/1";

/// What the plugin provides.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct ExecutorTable {
    /// The name to show, `ONNX Runtime`.
    pub name: RStr<'static>,
    /// Opens the runtime. Stores a handle for [`ExecutorTable::close`]. Returns a
    /// [`status`](crate::status).
    pub open: extern "C" fn(options: RSlice<'_, OptionRecord<'_>>, out: &mut Handle, sink: &Sink) -> u32,
    /// Says what the runtime is, through the sink's `text`: `ONNX Runtime 1.31.1, /path/to/library`.
    pub describe: extern "C" fn(runtime: Handle, sink: &Sink) -> u32,
    /// Loads the model at `path`. Stores a handle for [`ExecutorTable::unload`].
    pub load: extern "C" fn(runtime: Handle, path: RStr<'_>, out: &mut Handle, sink: &Sink) -> u32,
    /// Runs the model. The outputs arrive through the sink's `tensor`, in the model's order.
    pub run: extern "C" fn(session: Handle, inputs: RSlice<'_, TensorView<'_>>, sink: &Sink) -> u32,
    /// Releases a session.
    pub unload: extern "C" fn(session: Handle),
    /// Releases the runtime.
    pub close: extern "C" fn(runtime: Handle),
}

crate::table::interface!(ExecutorTable, INTERFACE, base: 7);

/// Something that the plugin owns.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct Handle(pub *mut c_void);

impl Handle {
    /// The handle of nothing.
    pub const NULL: Self = Self(std::ptr::null_mut());
}

/// An option, such as `library` = a path.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct OptionRecord<'a> {
    /// The name.
    pub name: RStr<'a>,
    /// The value.
    pub value: RStr<'a>,
}

/// A tensor in memory, borrowed for the call.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
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

/// Where a call's results and errors go; valid until the call returns.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
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
