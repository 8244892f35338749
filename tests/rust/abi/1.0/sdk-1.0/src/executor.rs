//! `executor/1` for plugin authors: implement [`Executor`] and [`Session`], then export the plugin.
//!
//! ```ignore
//! onnxport_sdk::export_plugin! { id: "mine", executor: MyRuntime }
//! ```
//!
//! The glue owns handles, catches panics and carries errors over the boundary.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use onnxport_abi::abi_stable::std_types::{RSlice, RStr};
use onnxport_abi::executor::{ExecutorTable, Handle, OptionRecord, Sink, TensorView};
use onnxport_abi::status;

use crate::panic;

/// Why a runtime could not do what was asked, and the next step.
#[derive(Clone, Debug, Default)]
pub struct Failure {
    /// What went wrong, without a final stop.
    pub message: String,
    /// The next step; empty when there is none to offer.
    pub help: String,
    /// Whether the runtime lacks something that a right model may use, such as a kernel.
    pub unsupported: bool,
}

impl Failure {
    /// A failure without a next step.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// Sets the next step.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }

    /// Says that the runtime, not the model, falls short.
    #[must_use]
    pub fn unsupported(mut self) -> Self {
        self.unsupported = true;
        self
    }
}

/// The options that the user gave, by name.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    records: &'a [OptionRecord<'a>],
}

impl<'a> Options<'a> {
    /// Options from their records.
    pub fn new(records: &'a [OptionRecord<'a>]) -> Self {
        Self { records }
    }

    /// The option called `name`.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.records.iter().find(|o| o.name.as_str() == name).map(|o| o.value.as_str())
    }

    /// The option called `name` as a number.
    pub fn number(&self, name: &str) -> Result<Option<usize>, Failure> {
        self.get(name)
            .map(|text| text.parse().map_err(|_| Failure::new(format!("{name} = {text:?} is not a number"))))
            .transpose()
    }
}

/// Takes the outputs of a run.
pub struct Outputs<'a> {
    sink: &'a Sink,
}

impl Outputs<'_> {
    /// Hands over the next output; `bytes` are little-endian and row-major.
    pub fn push(&mut self, name: &str, dtype: i32, dims: &[i64], bytes: &[u8]) {
        let view = TensorView {
            name: RStr::from_str(name),
            dtype,
            dims: RSlice::from_slice(dims),
            bytes: RSlice::from_slice(bytes),
        };
        (self.sink.tensor)(self.sink.receiver, &view);
    }
}

/// A runtime that runs ONNX models.
pub trait Executor: Sized + 'static {
    /// The name to show, `ONNX Runtime`.
    const NAME: &'static str;
    /// A loaded model.
    type Session: Session;

    /// Opens the runtime.
    fn open(options: Options<'_>) -> Result<Self, Failure>;
    /// Says what the runtime is: its name, version and where it comes from.
    fn describe(&self) -> String;
    /// Loads the model at `path`.
    fn load(&mut self, path: &Path) -> Result<Self::Session, Failure>;
}

/// A loaded model.
pub trait Session: 'static {
    /// Runs the model and pushes every output in the model's order.
    fn run(&mut self, inputs: &[TensorView<'_>], outputs: &mut Outputs<'_>) -> Result<(), Failure>;
}

/// The table of an executor, to be stored in a static.
pub const fn table<E: Executor>() -> ExecutorTable {
    ExecutorTable {
        name: RStr::from_str(E::NAME),
        open: open::<E>,
        describe: describe::<E>,
        load: load::<E>,
        run: run::<E>,
        unload: unload::<E>,
        close: close::<E>,
    }
}

extern "C" fn open<E: Executor>(options: RSlice<'_, OptionRecord<'_>>, out: &mut Handle, sink: &Sink) -> u32 {
    guard(sink, || {
        *out = into_handle(E::open(Options::new(options.as_slice()))?);
        Ok(())
    })
}

extern "C" fn describe<E: Executor>(runtime: Handle, sink: &Sink) -> u32 {
    guard(sink, || {
        // SAFETY: the host passes back what `open::<E>` stored, and has not closed it.
        let runtime = unsafe { borrow::<E>(runtime) }?;
        let text = runtime.borrow().describe();
        (sink.text)(sink.receiver, RStr::from_str(&text));
        Ok(())
    })
}

extern "C" fn load<E: Executor>(runtime: Handle, path: RStr<'_>, out: &mut Handle, sink: &Sink) -> u32 {
    guard(sink, || {
        // SAFETY: the host passes back what `open::<E>` stored, and has not closed it.
        let runtime = unsafe { borrow::<E>(runtime) }?;
        *out = into_handle(exclusive(runtime)?.load(Path::new(path.as_str()))?);
        Ok(())
    })
}

extern "C" fn run<E: Executor>(session: Handle, inputs: RSlice<'_, TensorView<'_>>, sink: &Sink) -> u32 {
    guard(sink, || {
        // SAFETY: the host passes back what `load::<E>` stored, and has not unloaded it.
        let session = unsafe { borrow::<E::Session>(session) }?;
        exclusive(session)?.run(inputs.as_slice(), &mut Outputs { sink })
    })
}

extern "C" fn unload<E: Executor>(session: Handle) {
    // SAFETY: the host passes back what `load::<E>` stored, once.
    unsafe { release::<E::Session>(session) };
}

extern "C" fn close<E: Executor>(runtime: Handle) {
    // SAFETY: the host passes back what `open::<E>` stored, once.
    unsafe { release::<E>(runtime) };
}

fn into_handle<T>(value: T) -> Handle {
    Handle(Box::into_raw(Box::new(RefCell::new(value))).cast())
}

/// # Safety
/// `handle` is null or comes from [`into_handle`] of a `T` that was not released.
unsafe fn borrow<'a, T>(handle: Handle) -> Result<&'a RefCell<T>, Failure> {
    // SAFETY: see above.
    unsafe { handle.0.cast::<RefCell<T>>().as_ref() }.ok_or_else(|| Failure::new("the handle is null"))
}

fn exclusive<T>(cell: &RefCell<T>) -> Result<std::cell::RefMut<'_, T>, Failure> {
    cell.try_borrow_mut().map_err(|_| Failure::new("the handle is in use by a call"))
}

/// # Safety
/// `handle` is null or comes from [`into_handle`] of a `T` that was not released.
unsafe fn release<T>(handle: Handle) {
    if !handle.0.is_null() {
        // A destructor's panic has nobody to go to, and must not unwind into the host.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: see above.
            drop(unsafe { Box::from_raw(handle.0.cast::<RefCell<T>>()) });
        }));
    }
}

fn guard(sink: &Sink, body: impl FnOnce() -> Result<(), Failure>) -> u32 {
    let report = |failure: &Failure| {
        (sink.error)(sink.receiver, RStr::from_str(&failure.message), RStr::from_str(&failure.help));
    };
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => status::OK,
        Ok(Err(failure)) => {
            report(&failure);
            if failure.unsupported { status::UNSUPPORTED } else { status::REFUSED }
        }
        Err(payload) => {
            report(&Failure::new(panic::message(payload.as_ref())));
            status::PANICKED
        }
    }
}
