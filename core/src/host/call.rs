//! Calls into plugins that answer through a sink.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use onnxport_abi::executor::{Sink, TensorView};
use onnxport_abi::{Malformed, RStr, status};

use crate::diagnose::{Code, Diagnostic};
use crate::tensor::DType;

/// An output of a run, borrowed from the runtime.
#[derive(Clone, Copy)]
pub struct Output<'a> {
    /// The name in the model.
    pub name: &'a str,
    /// Element type; `None` for one that this host does not know.
    pub dtype: Option<DType>,
    /// The extents.
    pub dims: &'a [i64],
    /// The elements, little-endian, row-major.
    pub bytes: &'a [u8],
}

/// One call into the plugin, and its messages.
pub(crate) struct Call<'a> {
    plugin: &'static str,
    name: &'static str,
    take: &'a mut dyn FnMut(Output<'_>),
    /// The plugin's text.
    pub(crate) text: String,
    error: Option<(String, String)>,
    malformed: Option<Malformed>,
    panicked: bool,
}

impl<'a> Call<'a> {
    /// Creates a call to the plugin with this id; `name` describes the task.
    pub(crate) fn new(plugin: &'static str, name: &'static str, take: &'a mut dyn FnMut(Output<'_>)) -> Self {
        Self { plugin, name, take, text: String::new(), error: None, malformed: None, panicked: false }
    }

    /// Makes the call; `refusal` is the code of a refusal by the plugin.
    pub(crate) fn run(&mut self, refusal: Code, call: impl FnOnce(&Sink) -> u32) -> Result<(), Diagnostic> {
        let receiver = std::ptr::from_mut(self).cast::<c_void>();
        let outcome = call(&Sink { receiver, tensor: on_tensor, text: on_text, error: on_error });
        if self.panicked {
            return Err(Diagnostic::error(Code::INTERNAL, "the comparison of an output panicked"));
        }
        let (message, help) = self.error.take().unwrap_or_default();
        let name = self.name;
        if let Some(malformed) = self.malformed.take() {
            let message = format!("{name} handed over an output with {malformed}");
            let mut problem = Diagnostic::error(Code::PLUGIN_CONTRACT, message);
            problem.provider = Some(self.plugin.to_owned());
            return Err(problem);
        }
        let mut diagnostic = match outcome {
            status::OK => return Ok(()),
            status::REFUSED => Diagnostic::error(refusal, message),
            status::UNSUPPORTED => Diagnostic::error(Code::VERIFY_NO_EXECUTOR, message),
            status::PANICKED => Diagnostic::error(Code::PLUGIN_PANIC, format!("{name} panicked: {message}")),
            other => Diagnostic::error(Code::PLUGIN_CONTRACT, format!("{name} answered with status {other}")),
        };
        diagnostic.provider = Some(self.plugin.to_owned());
        diagnostic.help = (!help.is_empty()).then_some(help);
        Err(diagnostic)
    }
}

/// Reads an output that a plugin hands over.
fn read<'a>(view: &TensorView<'a>) -> Result<Output<'a>, Malformed> {
    let (name, dims, bytes) = (view.name.get()?, view.dims.list()?, view.bytes.get()?);
    Ok(Output { name, dtype: DType::from_onnx(view.dtype), dims, bytes })
}

extern "C" fn on_tensor(receiver: *mut c_void, view: &TensorView<'_>) {
    // SAFETY: the sink is only alive during `Call::run`, which holds the call exclusively.
    let call = unsafe { &mut *receiver.cast::<Call<'_>>() };
    let output = match read(view) {
        Ok(output) => output,
        Err(malformed) => {
            call.malformed.get_or_insert(malformed);
            return;
        }
    };
    // Unwinding into the plugin would end the process.
    call.panicked |= catch_unwind(AssertUnwindSafe(|| (call.take)(output))).is_err();
}

extern "C" fn on_text(receiver: *mut c_void, text: RStr<'_>) {
    // SAFETY: as in `on_tensor`.
    let call = unsafe { &mut *receiver.cast::<Call<'_>>() };
    call.text.push_str(&text.message());
}

extern "C" fn on_error(receiver: *mut c_void, message: RStr<'_>, help: RStr<'_>) {
    // SAFETY: as in `on_tensor`.
    let call = unsafe { &mut *receiver.cast::<Call<'_>>() };
    call.error = Some((message.message().into_owned(), help.message().into_owned()));
}

/// Makes a call whose outputs are discarded, and returns its status.
pub fn discard(call: impl FnOnce(&Sink) -> u32) -> u32 {
    extern "C" fn tensor(_: *mut c_void, _: &TensorView<'_>) {}
    extern "C" fn text(_: *mut c_void, _: RStr<'_>) {}
    extern "C" fn error(_: *mut c_void, _: RStr<'_>, _: RStr<'_>) {}
    call(&Sink { receiver: std::ptr::null_mut(), tensor, text, error })
}
