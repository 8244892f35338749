//! `executor/1`: a plugin runs ONNX models.
//!
//! All functions may block. One runtime or session is used by one thread at a time.
// Generated from plugin-sdk/abi/contract.rs by `cargo xtask gen contract`. Do not edit.

use std::ffi::c_void;

use crate::compare::MetricsRecord;
use crate::compare::SpreadRecord;
use crate::{RSlice, RStr};
use abi_stable::StableAbi;

/// The name of the interface.
pub const INTERFACE: &str = "executor/1";

/// The revision of the contract that brought the interface.
pub const SINCE: crate::Version = crate::Version { major: 1, minor: 0 };

/// The functions and data that the plugin provides.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct ExecutorTable {
    /// The name to show, `ONNX Runtime`.
    pub name: RStr<'static>,
    /// Opens the runtime. Stores a handle for [`ExecutorTable::close`]. Returns a
    /// [`status`](crate::status).
    ///
    /// - Since contract 1.0.
    /// - Thread: any, but one at a time for one handle.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: the value stays valid until `close` takes it back.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`UNSUPPORTED`](crate::status::UNSUPPORTED).
    pub open: extern "C" fn(options: RSlice<'_, OptionRecord<'_>>, out: &mut Handle, sink: &Sink) -> u32,
    /// Describes the runtime through the sink's `text`: `ONNX Runtime 1.31.1, /path/to/library`.
    ///
    /// - Since contract 1.0.
    /// - Thread: any, but one at a time for one handle.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: through the sink; borrowed until the sink's function returns.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`UNSUPPORTED`](crate::status::UNSUPPORTED).
    pub describe: extern "C" fn(runtime: Handle, sink: &Sink) -> u32,
    /// Loads the model at `path`. Stores a handle for [`ExecutorTable::unload`].
    ///
    /// - Since contract 1.0.
    /// - Thread: any, but one at a time for one handle.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: the value stays valid until `unload` takes it back.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`UNSUPPORTED`](crate::status::UNSUPPORTED).
    pub load: extern "C" fn(runtime: Handle, path: RStr<'_>, out: &mut Handle, sink: &Sink) -> u32,
    /// Runs the model. The outputs arrive through the sink's `tensor`, in the model's order.
    ///
    /// - Since contract 1.0.
    /// - Thread: any, but one at a time for one handle.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: through the sink; borrowed until the sink's function returns.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`UNSUPPORTED`](crate::status::UNSUPPORTED).
    pub run: extern "C" fn(session: Handle, inputs: RSlice<'_, TensorView<'_>>, sink: &Sink) -> u32,
    /// Releases a session.
    ///
    /// - Since contract 1.0.
    /// - Thread: any, but one at a time for one handle.
    /// - Takes: nothing borrowed.
    /// - Cannot fail.
    pub unload: extern "C" fn(session: Handle),
    /// Releases the runtime.
    ///
    /// - Since contract 1.0.
    /// - Thread: any, but one at a time for one handle.
    /// - Takes: nothing borrowed.
    /// - Cannot fail.
    pub close: extern "C" fn(runtime: Handle),
    /// Loads the model at `path` so that a run also hands over the intermediate values of these names: after
    /// the model's outputs, in the order of `values`. Refused when the model has no such value.
    ///
    /// - Since contract 1.0; `None` where it is not provided.
    /// - Thread: any, but one at a time for one handle.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: the value stays valid until `unload` takes it back.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`UNSUPPORTED`](crate::status::UNSUPPORTED).
    pub load_with: Option<
        extern "C" fn(
            runtime: Handle,
            path: RStr<'_>,
            values: RSlice<'_, RStr<'_>>,
            out: &mut Handle,
            sink: &Sink,
        ) -> u32,
    >,
    /// Runs the model like [`ExecutorTable::run`], but compares results in place: a result with the name, the element
    /// type and the extents of a tensor in `expected` is compared with it, as `compare/1` does with tolerances of 0,
    /// and `meter` gets the metrics instead of the tensor. All other results arrive through the sink's `tensor`.
    /// `UNSUPPORTED` if the plugin does not compare.
    ///
    /// - Since contract 1.0; `None` where it is not provided.
    /// - Thread: any, but one at a time for one handle.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: through the sink; borrowed until the sink's function returns.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`UNSUPPORTED`](crate::status::UNSUPPORTED).
    pub measure: Option<
        extern "C" fn(
            session: Handle,
            inputs: RSlice<'_, TensorView<'_>>,
            expected: RSlice<'_, TensorView<'_>>,
            meter: &Meter,
            sink: &Sink,
        ) -> u32,
    >,
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

/// The receiver of a call's results and errors; valid until the call returns.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct Sink {
    /// The receiver, passed to the functions.
    pub receiver: *mut c_void,
    /// Takes a tensor.
    ///
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Cannot fail.
    pub tensor: extern "C" fn(receiver: *mut c_void, tensor: &TensorView<'_>),
    /// Takes a text.
    ///
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Cannot fail.
    pub text: extern "C" fn(receiver: *mut c_void, text: RStr<'_>),
    /// Takes the reason why the call failed, and the next step (may be empty).
    ///
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Cannot fail.
    pub error: extern "C" fn(receiver: *mut c_void, message: RStr<'_>, help: RStr<'_>),
}

/// The receiver of the metrics of [`ExecutorTable::measure`]; valid until the call returns.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct Meter {
    /// The receiver, passed to the function.
    pub receiver: *mut c_void,
    /// Takes the metrics of the result called `name`, as `finish` and `spread` of `compare/1` state them, and the bytes
    /// of its first element that differs from the expected one; empty if none does.
    ///
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Cannot fail.
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
