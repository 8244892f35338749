//! ONNX Runtime as an onnxport executor.
//!
//! The library is loaded at run time; see [`discover`] for where it is looked for. [`options`] lists what a runtime is
//! opened with; beside those, `custom_ops` is the path of a library of custom operators, and can be given several times.

pub mod discover;
mod options;
mod profiled;
mod provider;
mod session;
mod tapped;
mod tensor;
mod twin;

use std::any::Any;
use std::ffi::CStr;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use onnxport_sdk::executor::{Executor, Failure, Options};
use options::{Chosen, Settings};
use ort::ErrorCode;
use ort::environment::Environment;
use ort::session::Session;
use ort::session::builder::{GraphOptimizationLevel, SessionBuilder};

onnxport_sdk::export_plugin! { id: "ort", executor: OnnxRuntime, options: Settings }

/// Starts to look for the library in the background, unless it is known: a model will be run soon.
pub fn prepare() {
    let is_loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner).is_some();
    if let Ok(settings) = Settings::get()
        && settings.library.is_none()
        && !is_loaded
    {
        discover::begin();
    }
}

/// The library that the process uses, once one was loaded: ONNX Runtime allows one environment.
static LOADED: Mutex<Option<Loaded>> = Mutex::new(None);

#[derive(Clone)]
struct Loaded {
    path: PathBuf,
    version: String,
    environment: Environment,
}

/// How ONNX Runtime says that it does not have an operator at all.
const UNKNOWN_OPERATOR: [&str; 2] = ["is not a registered function/op", "No Op registered for"];

/// How ONNX Runtime says that the system starts no thread for it.
const NO_THREAD: &str = "pthread_create failed";

struct OnnxRuntime {
    loaded: Loaded,
    chosen: Chosen,
}

impl Executor for OnnxRuntime {
    const NAME: &'static str = "ONNX Runtime";
    type Session = session::OrtSession;

    fn open(options: Options<'_>) -> Result<Self, Failure> {
        let chosen = Chosen::from_options(options)?;
        let loaded = library(chosen.settings.library.as_deref())?;
        let runtime = Self { loaded, chosen };
        if runtime.chosen.settings.provider != "cpu" {
            // Whether it is there is said before a model is read.
            runtime.builder()?;
        }
        Ok(runtime)
    }

    fn describe(&self) -> String {
        let provider = provider::describe(&self.chosen);
        format!("ONNX Runtime {}{provider}, {}", self.loaded.version, self.loaded.path.display())
    }

    fn load(&mut self, path: &Path) -> Result<session::OrtSession, Failure> {
        self.load_or_widen(path, None)
    }

    fn load_with(&mut self, path: &Path, values: &[&str]) -> Result<session::OrtSession, Failure> {
        self.load_or_widen(path, Some(values))
    }
}

impl OnnxRuntime {
    /// Loads a model, or its twin in float32 where the CPU has no kernels for it.
    fn load_or_widen(&self, path: &Path, values: Option<&[&str]>) -> Result<session::OrtSession, Failure> {
        let refused = match self.commit(path, values) {
            Ok(session) => return Ok(session::OrtSession::new(session, None, self.chosen.is_profiled())),
            Err(failure) => failure,
        };
        let Settings { upcast, provider, .. } = &self.chosen.settings;
        if !refused.unsupported || !*upcast || provider != "cpu" {
            return Err(refused);
        }
        // Why the twin is not taken either says less than why the model is not.
        let Some(twin) = twin::make(path)? else { return Err(refused) };
        let Ok(session) = self.commit(&twin.path, values) else { return Err(refused) };
        let is_profiled = self.chosen.is_profiled();
        onnxport_sdk::log::warn!(
            "this processor has no kernels for the {} of the model, so it runs in float32 and rounds the results",
            twin.narrow.describe()
        );
        Ok(session::OrtSession::new(session, Some(twin), is_profiled))
    }

    /// The model at `path` as a session, whose runs also give `values`.
    fn commit(&self, path: &Path, values: Option<&[&str]>) -> Result<Session, Failure> {
        let made = panic::catch_unwind(AssertUnwindSafe(|| self.session(path, values)));
        made.unwrap_or_else(|payload| match undescribed(&*payload) {
            Some(reason) => Err(unloadable(&format!("an input or output has an invalid type: {reason}"))
                .help("a size may be negative, as behind a window that is larger than its axis; `onnxport optimize` checks the shapes")),
            None => panic::resume_unwind(payload),
        })
    }

    fn session(&self, path: &Path, values: Option<&[&str]>) -> Result<Session, Failure> {
        let Some(values) = values else {
            if let Some(folder) = &self.chosen.settings.profile {
                return profiled::commit(path, folder, || self.builder(), |e| self.refused(e));
            }
            return self.builder()?.commit_from_file(path).map_err(|e| self.refused(&e));
        };
        let model = tapped::model(path, values)?;
        let folder = path.parent().map_or("", |folder| folder.to_str().unwrap_or_default());
        // The bytes have no place of their own; weights beside the model are found through it.
        let key = "session.model_external_initializers_file_folder_path";
        let mut builder =
            self.builder()?.with_config_entry(key, folder).map_err(|e| unloadable(&e.to_string()))?;
        builder.commit_from_memory(&model).map_err(|e| self.refused(&e))
    }

    /// Why ONNX Runtime does not take a model.
    fn refused<T>(&self, error: &ort::Error<T>) -> Failure {
        let message = first_line(&error.to_string());
        let unknown = UNKNOWN_OPERATOR.iter().any(|text| message.contains(text));
        let failure = unloadable(&message);
        if unknown && self.chosen.custom_ops.is_empty() {
            return failure.unsupported().help(
                "if a backend's runtime has the operator, load its library: --executor-option custom_ops=PATH",
            );
        }
        if message.contains(NO_THREAD) {
            return failure.unsupported().help(
                "raise the limit on processes that is met, or do without threads: --executor-option threads=1",
            );
        }
        if error.code() == ErrorCode::NotImplemented { failure.unsupported() } else { failure }
    }

    fn builder(&self) -> Result<SessionBuilder, Failure> {
        let Chosen { settings, session, custom_ops, .. } = &self.chosen;
        let failed = |e: &dyn std::fmt::Display| unloadable(&e.to_string());
        let builder = Session::builder(&self.loaded.environment).map_err(|e| failed(&e))?;
        // Errors arrive as results; printing them as well would break quiet and JSON output.
        let mut builder = builder.with_log_level(ort::logging::LogLevel::Fatal).map_err(|e| failed(&e))?;
        for library in custom_ops {
            let path = canonical(library);
            let refused = |e: &dyn std::fmt::Display| failed(&format!("{}: {e}", path.display()));
            builder = builder.with_operator_library(&path).map_err(|e| refused(&e))?;
        }
        let level = match settings.optimisation.as_str() {
            "none" => GraphOptimizationLevel::Disable,
            "basic" => GraphOptimizationLevel::Level1,
            "extended" => GraphOptimizationLevel::Level2,
            "layout" => GraphOptimizationLevel::Level3,
            _ => GraphOptimizationLevel::All,
        };
        builder = builder.with_optimization_level(level).map_err(|e| failed(&e))?;
        for (key, value) in session {
            builder = builder.with_config_entry(key, value).map_err(|e| failed(&e))?;
        }
        if settings.threads != 0 {
            builder = builder.with_intra_threads(settings.threads).map_err(|e| failed(&e))?;
        }
        if settings.inter_threads != 1 {
            builder = builder.with_inter_threads(settings.inter_threads).map_err(|e| failed(&e))?;
            builder = builder.with_parallel_execution(true).map_err(|e| failed(&e))?;
        }
        provider::register(&mut builder, &self.chosen, &self.loaded)?;
        Ok(builder)
    }
}

/// The library of this process, loaded when it is first asked for.
fn library(wanted: Option<&Path>) -> Result<Loaded, Failure> {
    let mut slot = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(loaded) = slot.as_ref() else {
        return Ok(slot.insert(load_library(wanted)?).clone());
    };
    if let Some(path) = wanted.filter(|p| canonical(p) != canonical(&loaded.path)) {
        let message = format!(
            "{} cannot be loaded: this process already uses {}",
            path.display(),
            loaded.path.display()
        );
        return Err(Failure::new(message));
    }
    Ok(loaded.clone())
}

/// The reason that ONNX Runtime gives for not describing a type that it inferred, of a panic of `ort`, which expects that
/// it describes every type. `None` for other panics.
fn undescribed(payload: &(dyn Any + Send)) -> Option<&str> {
    let text = payload.downcast_ref::<String>()?.strip_prefix("infallible: Error {")?;
    let (_, reason) = text.split_once("message: \"")?;
    reason.split_once('"').map(|(reason, _)| reason)
}

fn unloadable(message: &str) -> Failure {
    Failure::new(format!("ONNX Runtime does not load the model: {}", first_line(message)))
}

fn load_library(wanted: Option<&Path>) -> Result<Loaded, Failure> {
    let found = match wanted {
        Some(path) => path.to_owned(),
        None => discover::find().ok_or_else(|| {
            Failure::new("no ONNX Runtime library was found")
                .help("run `pip install onnxruntime`, name a library with --ort-library or ORT_DYLIB_PATH, or use --executor reference")
        })?,
    };
    if !found.is_file() {
        return Err(Failure::new(format!("no library at {}", found.display())));
    }
    // A relative path would be looked for beside the executable.
    let path = canonical(&found);
    // `ort::init` would panic where this returns an error.
    let environment = ort::init_from(&path)
        .map_err(|e| unusable(&path, &e.to_string()))?
        .with_telemetry(false)
        .build()
        .map_err(|e| unusable(&path, &e.to_string()))?;
    environment.set_log_level(ort::logging::LogLevel::Fatal);
    let version = version(&path).unwrap_or_else(|| "of unknown version".to_owned());
    Ok(Loaded { path, version, environment })
}

fn unusable(path: &Path, reason: &str) -> Failure {
    Failure::new(format!("{} is not a usable ONNX Runtime library: {reason}", path.display()))
        .help("ONNX Runtime 1.24 or newer is needed: `pip install onnxruntime`")
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The version that a loaded library states.
fn version(path: &Path) -> Option<String> {
    type GetApiBase = unsafe extern "C" fn() -> *const ort::sys::OrtApiBase;
    // SAFETY: `ort` has loaded this library, so that its initialisers ran; this only counts up.
    let library = unsafe { libloading::Library::new(path) }.ok()?;
    // SAFETY: every ONNX Runtime exports this function with this type, and `ort` has called it.
    let base = unsafe { library.get::<GetApiBase>(b"OrtGetApiBase").ok()?().as_ref() }?;
    // SAFETY: the library returns a string that lives as long as itself, and it stays loaded.
    let text = unsafe { CStr::from_ptr((base.GetVersionString)()) };
    text.to_str().ok().map(str::to_owned)
}

fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or("no reason given").to_owned()
}
