//! The options about runtimes, and running models in them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use onnxport_core::Host;
use onnxport_core::backend::Isolated;
use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_core::verify::{self, Against, Case, Executor, Isolation, Options, Runtime, Verification};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::progress::{Progress, Restart};
use crate::value::{NameValue, Seconds};

/// The plugin over ONNX Runtime.
pub const ORT: &str = "ort";

/// The help for a library of ONNX Runtime if another executor is selected.
const WITHOUT_ORT: &str = "leave out `--ort-library`, or add `--executor ort`";

/// The runtime that runs a model.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct Running {
    /// The plugin to run the model: ort for ONNX Runtime, openvino for OpenVINO, reference for onnxport's own exact but
    /// slow evaluator, or a loaded plugin [default: the first available]
    #[arg(long, value_name = "PLUGIN")]
    pub executor: Option<String>,
    /// Its options.
    #[command(flatten)]
    #[serde(flatten)]
    pub options: RuntimeOptions,
}

/// The options of a runtime.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct RuntimeOptions {
    /// The ONNX Runtime library; by default, onnxport searches ORT_DYLIB_PATH, the active Python's packages and system
    /// folders
    #[arg(long, value_name = "PATH")]
    pub ort_library: Option<PathBuf>,
    /// An option for the runtime, such as `custom_ops=PATH` for a library of custom operators, or `bytes=NUMBER`,
    /// `steps=NUMBER` and `seconds=NUMBER` for the budgets of the evaluator; with several executors, prefix it, as in
    /// `reference:bytes=NUMBER`; can be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub executor_option: Vec<NameValue>,
    /// Run the model, and compile regions for backends, in separate processes, so that a crash or hang is reported and ends
    /// nothing else
    #[arg(long)]
    pub isolate: bool,
    /// Time limit in seconds for loading the model and running all cases, for PyTorch to compute expected values (300 by
    /// default), and for compiling a region in a separate process
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<Seconds>,
}

impl Running {
    /// Opens the runtime; `restart` as in [`RuntimeOptions::open`].
    ///
    /// # Errors
    /// Those of [`RuntimeOptions::open`].
    pub fn open(&self, host: &Host, restart: Restart) -> Result<Runtime, Diagnostic> {
        self.options.open(host, self.executor.as_deref(), restart)
    }
}

impl RuntimeOptions {
    /// Returns the time limit of a runtime, isolated or not.
    pub fn limit(&self) -> Option<Duration> {
        self.timeout.map(|Seconds(limit)| limit)
    }

    /// Returns the time after which this process ends if a runtime in it has not returned; of an isolated runtime,
    /// only its own process is ended.
    pub fn deadline(&self) -> Option<Duration> {
        self.limit().filter(|_| !self.isolate)
    }

    /// How backends are started if they are isolated, by `restart`.
    pub fn isolated(&self, restart: Restart) -> Option<Isolated> {
        self.isolate.then(|| Isolated { command: restart, limit: self.limit() })
    }

    /// These with `more` options of the runtime.
    #[must_use]
    pub fn with(&self, more: impl IntoIterator<Item = NameValue>) -> Self {
        let executor_option = self.executor_option.iter().cloned().chain(more).collect();
        Self { executor_option, ..self.clone() }
    }

    /// Returns the options for an executor other than ONNX Runtime.
    #[must_use]
    pub fn without_library(&self) -> Self {
        Self { ort_library: None, ..self.clone() }
    }

    /// Opens the runtime of the plugin `id`, or else of the first one. If it is isolated, `restart` starts its
    /// process.
    ///
    /// # Errors
    /// `OP807` for a plugin that runs no models, `OP001` for options of another runtime, and the errors of opening
    /// it.
    pub fn open(&self, host: &Host, id: Option<&str>, restart: Restart) -> Result<Runtime, Diagnostic> {
        let executor = Executor::find(host, id)?;
        if self.ort_library.is_some() && executor.id() != ORT {
            let message =
                format!("--ort-library applies only to ONNX Runtime, but {} runs the model", executor.name());
            return Err(Diagnostic::error(Code::USAGE, message).help(WITHOUT_ORT));
        }
        self.open_executor(host, executor, restart)
    }

    /// Opens the runtimes of the plugins `ids`, or the first one. An option of the form `ort:NAME=VALUE` applies to the
    /// named plugin only.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), and `OP001` for an executor that is named twice.
    pub fn open_all(
        &self,
        host: &Host,
        ids: &[String],
        restart: Restart,
    ) -> Result<Vec<Runtime>, Diagnostic> {
        if ids.len() < 2 {
            return Ok(vec![self.open(host, ids.first().map(String::as_str), restart)?]);
        }
        let twice = ids.iter().enumerate().find(|(at, id)| ids.iter().take(*at).any(|before| before == *id));
        if let Some((_, id)) = twice {
            return Err(Diagnostic::error(Code::USAGE, format!("the executor `{id}` is given twice"))
                .help("name each executor once"));
        }
        if self.ort_library.is_some() && !ids.iter().any(|id| id == ORT) {
            let message = "--ort-library applies only to ONNX Runtime, which is not among the executors";
            return Err(Diagnostic::error(Code::USAGE, message).help(WITHOUT_ORT));
        }
        ids.iter().map(|id| self.open_executor(host, Executor::find(host, Some(id))?, restart)).collect()
    }

    fn open_executor(
        &self,
        host: &Host,
        executor: Executor,
        restart: Restart,
    ) -> Result<Runtime, Diagnostic> {
        let text = |path: &PathBuf| {
            let shown = path.display();
            let problem =
                || Diagnostic::error(Code::VERIFY_NO_EXECUTOR, format!("the path `{shown}` is not UTF-8"));
            path.to_str().map(str::to_owned).ok_or_else(problem)
        };
        let library = self.ort_library.as_ref().filter(|_| executor.id() == ORT).map(text).transpose()?;
        let library = library.iter().map(|path| ("library", path.as_str()));
        let named = self.executor_option.iter().filter_map(|NameValue { name, value }| {
            let name = match name.split_once(':') {
                Some((id, name)) if id == executor.id() => name,
                Some(_) => return None,
                None => name.as_str(),
            };
            Some((name, value.as_str()))
        });
        let options: Vec<(&str, &str)> = library.chain(named).collect();
        let found =
            host.plugins.iter().find(|plugin| plugin.id == executor.id() && plugin.executor.is_some());
        match found.filter(|_| self.isolate) {
            Some(plugin) => {
                let isolation = Isolation { command: Box::new(restart), limit: self.limit() };
                Executor::open_isolated(plugin, &options, isolation)
            }
            None => executor.open(&options),
        }
    }
}

/// Runs the model on every case. The process ends if it takes longer than `limit`.
///
/// # Errors
/// Those of the runtime.
pub fn execute(
    runtime: &Runtime,
    model: &Path,
    against: &Against,
    options: &Options<'_>,
    limit: Option<Duration>,
    progress: &mut dyn Progress,
) -> Result<Verification, Diagnostic> {
    watched(runtime, limit, progress, |report| verify::verify(runtime, model, against, options, report))
}

/// Runs the model on every case, as [`execute`] does, and uses its results as the expected values of cases that have
/// none.
///
/// # Errors
/// Those of the runtime.
pub fn consult(
    runtime: &Runtime,
    model: &Path,
    against: &mut Against,
    options: &Options<'_>,
    limit: Option<Duration>,
    progress: &mut dyn Progress,
) -> Result<Verification, Diagnostic> {
    watched(runtime, limit, progress, |report| against.consult(runtime, model, options, report))
}

/// Calls `run` within `limit`, with a function that reports the case that begins.
fn watched<T>(
    runtime: &Runtime,
    limit: Option<Duration>,
    progress: &mut dyn Progress,
    run: impl FnOnce(&mut dyn FnMut(&Case)) -> Result<T, Diagnostic>,
) -> Result<T, Diagnostic> {
    progress.stage("loading the model");
    let deadline = progress.deadline(limit, runtime.name(), "loading the model")?;
    run(&mut |case| {
        progress.stage(&format!("running {} in {}", case.name, runtime.name()));
        deadline.doing(format!("running the case {}", case.name));
    })
}
