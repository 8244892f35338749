//! The host's side of `executor/1`: safe handles over a plugin's table.

use std::path::Path;

use onnxport_abi::executor::{ExecutorTable, Handle, OptionRecord, TensorView};
use onnxport_abi::{RSlice, RStr};

use super::isolated::{Isolation, Remote, RemoteSession};
use super::measure::Measuring;
use super::model_path::ModelPath;
use crate::compare::Difference;
use crate::diagnose::{Code, Diagnostic};
pub use crate::host::Output;
use crate::host::{Call, Host, Plugin, Validated};
use crate::tensor::DType;
use crate::trace;

/// A plugin that runs ONNX models.
#[derive(Clone, Copy)]
pub struct Executor {
    id: &'static str,
    table: ExecutorTable,
}

impl Executor {
    /// The executor that a plugin provides, if it provides one.
    pub fn of(plugin: &Plugin) -> Option<Self> {
        plugin.executor.map(|table| Self { id: plugin.id, table })
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
            let message = format!("unknown executor `{id}`");
            Diagnostic::error(Code::PLUGIN_CHOICE, message).help(host.instead_of(id, &ids))
        })
    }

    /// The plugin's id, `ort`.
    pub fn id(&self) -> &'static str {
        self.id
    }

    /// The name to show, `ONNX Runtime`.
    pub fn name(&self) -> &'static str {
        self.table.name.validated()
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
        Ok(Runtime { executor: *self, seat: Seat::Here(handle) })
    }

    /// Opens the runtime of `plugin` in processes of its own, as [`open`](Self::open) does in this one.
    ///
    /// # Errors
    /// `OP807` when the plugin runs no models; `OP702` when no process can be started, or the runtime is not there; `OP705`
    /// and `OP708` when it does not answer.
    pub fn open_isolated(
        plugin: &Plugin,
        options: &[(&str, &str)],
        isolation: Isolation,
    ) -> Result<Runtime, Diagnostic> {
        let Some(executor) = Self::of(plugin) else {
            let message = format!("unknown executor `{}`", plugin.id);
            return Err(Diagnostic::error(Code::PLUGIN_CHOICE, message));
        };
        let remote = Remote::open(plugin, executor.name(), options, isolation)?;
        Ok(Runtime { executor, seat: Seat::Isolated(Box::new(remote)) })
    }
}

fn none() -> Diagnostic {
    Diagnostic::error(Code::VERIFY_NO_EXECUTOR, "no plugin can run models")
}

/// An open runtime.
pub struct Runtime {
    executor: Executor,
    seat: Seat,
}

/// Where a runtime is.
enum Seat {
    /// In this process.
    Here(Handle),
    /// In others.
    Isolated(Box<Remote>),
}

impl Runtime {
    /// Opens the first executor of `host` whose runtime is there, in the order of the plugins. That of `ort` looks for
    /// ONNX Runtime where the command does; behind it `reference` can stand in for it.
    ///
    /// # Errors
    /// `OP702` when there is none, with the error of the first one; other errors while opening one.
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

    /// The plugin's id, `ort`.
    pub fn id(&self) -> &'static str {
        self.executor.id
    }

    /// The name to show, `ONNX Runtime`.
    pub fn name(&self) -> &'static str {
        self.executor.name()
    }

    /// The runtime: name, version, origin.
    pub fn describe(&self) -> Result<String, Diagnostic> {
        let handle = match &self.seat {
            Seat::Here(handle) => *handle,
            Seat::Isolated(remote) => return Ok(format!("{}, in a separate process", remote.text)),
        };
        let mut ignore = |_: Output<'_>| {};
        let mut call = self.executor.call(&mut ignore);
        call.run(Code::VERIFY_EXECUTOR, |sink| (self.executor.table.describe)(handle, sink))?;
        Ok(call.text)
    }

    /// Loads the model at `path`.
    pub fn load(&self, path: &Path) -> Result<Session<'_>, Diagnostic> {
        let place = ModelPath::of(path)?;
        let _span = trace::span("plugin", "loading the model").with("plugin", self.executor.id);
        let runtime = match &self.seat {
            Seat::Here(handle) => *handle,
            Seat::Isolated(remote) => {
                return Ok(Session::isolated(self, remote.load(place.text(), None)?, place));
            }
        };
        let mut handle = Handle::NULL;
        self.executor.call(&mut |_| {}).run(Code::VERIFY_EXECUTOR, |sink| {
            (self.executor.table.load)(runtime, RStr::from_str(place.text()), &mut handle, sink)
        })?;
        Ok(Session::here(self, handle, place))
    }

    /// Loads the model at `path` so that runs also give the intermediate values called `values`, after the
    /// model's outputs and in this order.
    ///
    /// # Errors
    /// [`Code::VERIFY_NO_EXECUTOR`] when the plugin or its runtime cannot do it.
    pub fn load_with(&self, path: &Path, values: &[&str]) -> Result<Session<'_>, Diagnostic> {
        let Executor { id, table } = self.executor;
        let Some(load_with) = table.load_with else {
            let message = format!("the executor of plugin `{id}` does not return intermediate values");
            let mut problem = Diagnostic::error(Code::VERIFY_NO_EXECUTOR, message)
                .help("name another one: `--executor reference` and `--executor ort` return them");
            problem.provider = Some(id.to_owned());
            return Err(problem);
        };
        let place = ModelPath::of(path)?;
        let _span = trace::span("plugin", "loading the model").with("plugin", id);
        let runtime = match &self.seat {
            Seat::Here(handle) => *handle,
            Seat::Isolated(remote) => {
                return Ok(Session::isolated(self, remote.load(place.text(), Some(values))?, place));
            }
        };
        let values: Vec<RStr<'_>> = values.iter().map(|name| RStr::from_str(name)).collect();
        let text = RStr::from_str(place.text());
        let mut handle = Handle::NULL;
        self.executor.call(&mut |_| {}).run(Code::VERIFY_EXECUTOR, |sink| {
            load_with(runtime, text, RSlice::from_slice(&values), &mut handle, sink)
        })?;
        Ok(Session::here(self, handle, place))
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if let Seat::Here(handle) = &self.seat {
            (self.executor.table.close)(*handle);
        }
    }
}

/// A loaded model.
pub struct Session<'r> {
    runtime: &'r Runtime,
    seat: Loaded<'r>,
    /// An executor may read weights when they are needed.
    _place: ModelPath,
}

/// Where a model was loaded.
enum Loaded<'r> {
    /// In this process.
    Here(Handle),
    /// In another one.
    Isolated(Box<RemoteSession<'r>>),
}

impl<'r> Session<'r> {
    fn here(runtime: &'r Runtime, handle: Handle, place: ModelPath) -> Self {
        Self { runtime, seat: Loaded::Here(handle), _place: place }
    }

    fn isolated(runtime: &'r Runtime, session: RemoteSession<'r>, place: ModelPath) -> Self {
        Self { runtime, seat: Loaded::Isolated(Box::new(session)), _place: place }
    }

    /// Runs the model; `take` is given every output in the model's order.
    pub fn run(&mut self, feeds: &[Feed<'_>], take: &mut dyn FnMut(Output<'_>)) -> Result<(), Diagnostic> {
        let _span = trace::span("plugin", "running the model").with("plugin", self.runtime.executor.id);
        let handle = match &mut self.seat {
            Loaded::Here(handle) => *handle,
            Loaded::Isolated(session) => return session.run(feeds, take),
        };
        let views = views(feeds);
        let executor = &self.runtime.executor;
        executor
            .call(take)
            .run(Code::VERIFY_EXECUTOR, |sink| (executor.table.run)(handle, RSlice::from_slice(&views), sink))
    }

    /// Runs the model, and has the runtime compare its results with `expected` where they are, exactly: `measured` is
    /// given the difference of each, by its name. Results that it does not compare go to `take`. Returns why the runtime
    /// cannot do it, if it cannot: it is in another process,or the plugin does not compare.
    ///
    /// # Errors
    /// Those of the runtime; [`Code::PLUGIN_CONTRACT`] when they are invalid.
    pub fn measure(
        &mut self,
        feeds: &[Feed<'_>],
        expected: &[Feed<'_>],
        measured: &mut dyn FnMut(&str, Difference),
        take: &mut dyn FnMut(Output<'_>),
    ) -> Result<Result<(), String>, Diagnostic> {
        let executor = &self.runtime.executor;
        let Loaded::Here(handle) = &self.seat else {
            return Ok(Err(format!("`{}` runs in a separate process", executor.id)));
        };
        let Some(measure) = executor.table.measure else {
            return Ok(Err(format!("`{}` does not compare results on its device", executor.id)));
        };
        let _span = trace::span("plugin", "running the model").with("plugin", executor.id);
        let (inputs, wanted) = (views(feeds), views(expected));
        let mut measuring = Measuring::new(executor.id, expected, measured);
        let meter = measuring.meter();
        let done = executor.call(take).run(Code::VERIFY_EXECUTOR, |sink| {
            measure(*handle, RSlice::from_slice(&inputs), RSlice::from_slice(&wanted), &meter, sink)
        });
        match done {
            Err(problem) if problem.code == Code::VERIFY_NO_EXECUTOR => Ok(Err(problem.message)),
            done => done.and_then(|()| measuring.end()).map(Ok),
        }
    }
}

fn views<'a>(feeds: &'a [Feed<'_>]) -> Vec<TensorView<'a>> {
    let view = |feed: &'a Feed<'_>| TensorView {
        name: RStr::from_str(feed.name),
        dtype: feed.dtype.onnx(),
        dims: RSlice::from_slice(&feed.dims),
        bytes: RSlice::from_slice(feed.bytes),
    };
    feeds.iter().map(view).collect()
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if let Loaded::Here(handle) = &self.seat {
            (self.runtime.executor.table.unload)(*handle);
        }
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
