//! `executor/1` for plugin authors: implement [`Executor`] and [`Session`], then export the plugin.
//!
//! ```ignore
//! onnxport_sdk::export_plugin! { id: "mine", executor: MyRuntime }
//! ```
//!
//! The glue owns handles, catches panics and carries errors over the boundary.

use crate::lent::Lent;
use std::path::Path;

use onnxport_abi::executor::{ExecutorTable, Handle, Meter, OptionRecord, Sink, TensorView};
use onnxport_abi::{RSlice, RStr};

use crate::comparer::{Metrics, Spread};
use crate::handle::{borrow, exclusive, guard, into_handle, release};

/// Why a runtime failed, and the next step.
#[derive(Clone, Debug, Default)]
pub struct Failure {
    /// The error, without a period.
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
        self.records.iter().find(|o| o.name.lent() == name).map(|o| o.value.lent())
    }

    /// Every option called `name`, in the user's order.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &'a str> {
        self.records.iter().filter(move |o| o.name.lent() == name).map(|o| o.value.lent())
    }

    /// The names of the options, in the user's order.
    pub fn names(&self) -> impl Iterator<Item = &'a str> {
        self.records.iter().map(|o| o.name.lent())
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

/// Receives the differences between results and expected values.
pub struct Measured<'a> {
    meter: &'a Meter,
}

impl Measured<'_> {
    /// States the comparison of the result called `name`; `first` are the bytes of its first element that is not the
    /// expected one, none where all are.
    pub fn push(&mut self, name: &str, metrics: &Metrics, spread: &Spread, first: &[u8]) {
        let lists = [&spread.ulps[..], &spread.decades[..]].map(RSlice::from_slice);
        (self.meter.found)(
            self.meter.receiver,
            RStr::from_str(name),
            &metrics.record(),
            &spread.record(),
            lists[0],
            lists[1],
            RSlice::from_slice(first),
        );
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
    /// Describes the runtime: its name, version and origin.
    fn describe(&self) -> String;
    /// Loads the model at `path`.
    fn load(&mut self, path: &Path) -> Result<Self::Session, Failure>;
    /// Loads the model so that runs also push the intermediate values called `values`, after the model's
    /// outputs and in this order.
    fn load_with(&mut self, path: &Path, values: &[&str]) -> Result<Self::Session, Failure> {
        if values.is_empty() {
            return self.load(path);
        }
        Err(Failure::new(format!("{} does not hand over intermediate values", Self::NAME)).unsupported())
    }
}

/// A loaded model.
pub trait Session: 'static {
    /// Runs the model and pushes every output in the model's order.
    fn run(&mut self, inputs: &[TensorView<'_>], outputs: &mut Outputs<'_>) -> Result<(), Failure>;
    /// Runs the model, and holds each result that has the name, the type and the sizes of one in `expected` against that,
    /// with tolerances of 0, where it is. All other results are pushed.
    fn measure(
        &mut self,
        inputs: &[TensorView<'_>],
        expected: &[TensorView<'_>],
        measured: &mut Measured<'_>,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), Failure> {
        let _ = (inputs, expected, measured, outputs);
        Err(Failure::new("results are not compared on the device").unsupported())
    }
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
        load_with: Some(load_with::<E>),
        measure: Some(measure::<E>),
    }
}

extern "C" fn open<E: Executor>(options: RSlice<'_, OptionRecord<'_>>, out: &mut Handle, sink: &Sink) -> u32 {
    guard(sink, || {
        *out = into_handle(E::open(Options::new(options.lent()))?);
        Ok(())
    })
}

extern "C" fn describe<E: Executor>(runtime: Handle, sink: &Sink) -> u32 {
    guard(sink, || {
        // SAFETY: the host passes back the handle from `open::<E>`, and has not closed it.
        let runtime = unsafe { borrow::<E>(runtime) }?;
        let text = runtime.borrow().describe();
        (sink.text)(sink.receiver, RStr::from_str(&text));
        Ok(())
    })
}

extern "C" fn load<E: Executor>(runtime: Handle, path: RStr<'_>, out: &mut Handle, sink: &Sink) -> u32 {
    guard(sink, || {
        // SAFETY: the host passes back the handle from `open::<E>`, and has not closed it.
        let runtime = unsafe { borrow::<E>(runtime) }?;
        *out = into_handle(exclusive(runtime)?.load(Path::new(path.lent()))?);
        Ok(())
    })
}

extern "C" fn load_with<E: Executor>(
    runtime: Handle,
    path: RStr<'_>,
    values: RSlice<'_, RStr<'_>>,
    out: &mut Handle,
    sink: &Sink,
) -> u32 {
    guard(sink, || {
        // SAFETY: the host passes back the handle from `open::<E>`, and has not closed it.
        let runtime = unsafe { borrow::<E>(runtime) }?;
        let values: Vec<&str> = values.lent().iter().map(|value| value.lent()).collect();
        *out = into_handle(exclusive(runtime)?.load_with(Path::new(path.lent()), &values)?);
        Ok(())
    })
}

extern "C" fn run<E: Executor>(session: Handle, inputs: RSlice<'_, TensorView<'_>>, sink: &Sink) -> u32 {
    guard(sink, || {
        // SAFETY: the host passes back the handle from `load::<E>`, and has not unloaded it.
        let session = unsafe { borrow::<E::Session>(session) }?;
        exclusive(session)?.run(inputs.lent(), &mut Outputs { sink })
    })
}

extern "C" fn measure<E: Executor>(
    session: Handle,
    inputs: RSlice<'_, TensorView<'_>>,
    expected: RSlice<'_, TensorView<'_>>,
    meter: &Meter,
    sink: &Sink,
) -> u32 {
    guard(sink, || {
        // SAFETY: the host passes back the handle from `load::<E>`, and has not unloaded it.
        let session = unsafe { borrow::<E::Session>(session) }?;
        let (mut measured, mut outputs) = (Measured { meter }, Outputs { sink });
        exclusive(session)?.measure(inputs.lent(), expected.lent(), &mut measured, &mut outputs)
    })
}

extern "C" fn unload<E: Executor>(session: Handle) {
    // SAFETY: the host passes back the handle from `load::<E>`, once.
    unsafe { release::<E::Session>(session) };
}

extern "C" fn close<E: Executor>(runtime: Handle) {
    // SAFETY: the host passes back the handle from `open::<E>`, once.
    unsafe { release::<E>(runtime) };
}
