//! The host's side of `executor/1`: safe handles over a plugin's table.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use onnxport_abi::executor::{ExecutorTable, Handle, OptionRecord, Sink, TensorView};
use onnxport_abi::{Malformed, RSlice, RStr, Version, status};

use super::place::Place;
use crate::diagnose::{Code, Diagnostic};
use crate::host::{CONTRACT, Host, Known, Plugin};
use crate::tensor::DType;

/// A plugin that runs ONNX models.
#[derive(Clone, Copy)]
pub struct Executor {
    id: &'static str,
    /// The contract that the plugin was built with.
    contract: Version,
    table: ExecutorTable,
}

impl Executor {
    /// The executor that a plugin provides, if it provides one.
    pub fn of(plugin: &Plugin) -> Option<Self> {
        plugin.executor.map(|table| Self { id: plugin.id, contract: plugin.contract, table })
    }

    /// The executor of the plugin `id`; without one the first, in the order of the plugins.
    ///
    /// # Errors
    /// `OP702` when no plugin runs models; `OP807` when the one that is wanted does not.
    pub fn find(host: &Host, id: Option<&str>) -> Result<Self, Diagnostic> {
        let mut all = host.plugins.iter().filter_map(Self::of);
        let Some(id) = id else {
            return all.next().ok_or_else(none);
        };
        all.find(|executor| executor.id == id).ok_or_else(|| {
            let ids: Vec<&str> =
                host.plugins.iter().filter(|plugin| plugin.executor.is_some()).map(|p| p.id).collect();
            let message = format!("there is no executor `{id}`");
            Diagnostic::error(Code::PLUGIN_CHOICE, message).help(format!("there are {}", ids.join(", ")))
        })
    }

    /// The plugin's id, `ort`.
    pub fn id(&self) -> &'static str {
        self.id
    }

    /// The name to show, `ONNX Runtime`.
    pub fn name(&self) -> &'static str {
        self.table.name.known()
    }

    fn call<'a>(&self, take: &'a mut dyn FnMut(Output<'_>)) -> Call<'a> {
        Call::new(self.id, self.name(), take)
    }

    /// Opens the runtime with options such as `library` = a path.
    pub fn open(&self, options: &[(&str, &str)]) -> Result<Runtime, Diagnostic> {
        let records: Vec<OptionRecord<'_>> = options
            .iter()
            .map(|(name, value)| OptionRecord { name: RStr::from_str(name), value: RStr::from_str(value) })
            .collect();
        let mut handle = Handle::NULL;
        self.call(&mut |_| {}).run(Code::VERIFY_NO_EXECUTOR, |sink| {
            (self.table.open)(RSlice::from_slice(&records), &mut handle, sink)
        })?;
        Ok(Runtime { executor: *self, handle })
    }
}

fn none() -> Diagnostic {
    Diagnostic::error(Code::VERIFY_NO_EXECUTOR, "no plugin can run models")
}

/// An open runtime.
pub struct Runtime {
    executor: Executor,
    handle: Handle,
}

impl Runtime {
    /// Opens the first executor of `host` whose runtime is there, in the order of the plugins. That of `ort` looks for
    /// ONNX Runtime where the command does; behind it `reference` can stand in for it.
    ///
    /// # Errors
    /// `OP702` when there is none, with what the first one says; what else keeps one from being opened.
    pub fn find(host: &Host) -> Result<Self, Diagnostic> {
        let mut missing = None;
        for executor in host.plugins.iter().filter_map(Executor::of) {
            match executor.open(&[]) {
                Err(problem) if problem.code == Code::VERIFY_NO_EXECUTOR => {
                    missing.get_or_insert(problem);
                }
                opened => return opened,
            }
        }
        Err(missing.unwrap_or_else(none))
    }

    /// The name to show, `ONNX Runtime`.
    pub fn name(&self) -> &'static str {
        self.executor.name()
    }

    /// What the runtime is: name, version, where it comes from.
    pub fn describe(&self) -> Result<String, Diagnostic> {
        let mut ignore = |_: Output<'_>| {};
        let mut call = self.executor.call(&mut ignore);
        call.run(Code::VERIFY_EXECUTOR, |sink| (self.executor.table.describe)(self.handle, sink))?;
        Ok(call.text)
    }

    /// Loads the model at `path`.
    pub fn load(&self, path: &Path) -> Result<Session<'_>, Diagnostic> {
        let place = Place::of(path)?;
        let mut handle = Handle::NULL;
        self.executor.call(&mut |_| {}).run(Code::VERIFY_EXECUTOR, |sink| {
            (self.executor.table.load)(self.handle, RStr::from_str(place.text()), &mut handle, sink)
        })?;
        Ok(Session { runtime: self, handle, _place: place })
    }

    /// Loads the model at `path` so that runs also give the intermediate values called `values`, after the
    /// model's outputs and in this order.
    ///
    /// # Errors
    /// [`Code::PLUGIN_VERSION`] when the plugin is older than contract 1.1, which brought this;
    /// [`Code::VERIFY_NO_EXECUTOR`] when the runtime cannot do it.
    pub fn load_with(&self, path: &Path, values: &[&str]) -> Result<Session<'_>, Diagnostic> {
        let Executor { id, contract, table } = self.executor;
        let Some(load_with) = table.load_with else {
            let message = format!(
                "plugin `{id}` of plugin contract {contract} cannot hand over intermediate values; this host \
                 has {CONTRACT}"
            );
            let mut problem = Diagnostic::error(Code::PLUGIN_VERSION, message)
                .help("use a version of the plugin that is built for contract 1.1 or later");
            problem.provider = Some(id.to_owned());
            return Err(problem);
        };
        let values: Vec<RStr<'_>> = values.iter().map(|name| RStr::from_str(name)).collect();
        let place = Place::of(path)?;
        let text = RStr::from_str(place.text());
        let mut handle = Handle::NULL;
        self.executor.call(&mut |_| {}).run(Code::VERIFY_EXECUTOR, |sink| {
            load_with(self.handle, text, RSlice::from_slice(&values), &mut handle, sink)
        })?;
        Ok(Session { runtime: self, handle, _place: place })
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        (self.executor.table.close)(self.handle);
    }
}

/// A loaded model.
pub struct Session<'r> {
    runtime: &'r Runtime,
    handle: Handle,
    /// An executor may read weights when they are needed.
    _place: Place,
}

impl Session<'_> {
    /// Runs the model; `take` is given every output in the model's order.
    pub fn run(&mut self, feeds: &[Feed<'_>], take: &mut dyn FnMut(Output<'_>)) -> Result<(), Diagnostic> {
        let views: Vec<TensorView<'_>> = feeds
            .iter()
            .map(|feed| TensorView {
                name: RStr::from_str(feed.name),
                dtype: feed.dtype.onnx(),
                dims: RSlice::from_slice(&feed.dims),
                bytes: RSlice::from_slice(feed.bytes),
            })
            .collect();
        let executor = &self.runtime.executor;
        executor.call(take).run(Code::VERIFY_EXECUTOR, |sink| {
            (executor.table.run)(self.handle, RSlice::from_slice(&views), sink)
        })
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        (self.runtime.executor.table.unload)(self.handle);
    }
}

/// An input of a run.
pub struct Feed<'a> {
    /// The name in the model.
    pub name: &'a str,
    /// Element type.
    pub dtype: DType,
    /// The extents.
    pub dims: Vec<i64>,
    /// The elements, little-endian, row-major.
    pub bytes: &'a [u8],
}

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

/// One call into the plugin and what it reported.
pub(super) struct Call<'a> {
    plugin: &'static str,
    name: &'static str,
    take: &'a mut dyn FnMut(Output<'_>),
    text: String,
    error: Option<(String, String)>,
    malformed: Option<Malformed>,
    panicked: bool,
}

impl<'a> Call<'a> {
    /// A call to the plugin with this id, which calls what it does `name`.
    pub(super) fn new(plugin: &'static str, name: &'static str, take: &'a mut dyn FnMut(Output<'_>)) -> Self {
        Self { plugin, name, take, text: String::new(), error: None, malformed: None, panicked: false }
    }

    pub(super) fn run(&mut self, refusal: Code, call: impl FnOnce(&Sink) -> u32) -> Result<(), Diagnostic> {
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

/// The output that a plugin hands over.
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

/// Makes a call whose outputs nobody wants, and returns its status.
pub fn discard(call: impl FnOnce(&Sink) -> u32) -> u32 {
    extern "C" fn tensor(_: *mut c_void, _: &TensorView<'_>) {}
    extern "C" fn text(_: *mut c_void, _: RStr<'_>) {}
    extern "C" fn error(_: *mut c_void, _: RStr<'_>, _: RStr<'_>) {}
    call(&Sink { receiver: std::ptr::null_mut(), tensor, text, error })
}
