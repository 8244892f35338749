//! ONNX Runtime as an onnxport executor.
//!
//! The library is loaded at run time; see [`discover`] for where it is looked for. Options:
//! `library` (a path), `threads` (per operator; 0 lets ONNX Runtime choose) and `custom_ops` (the path of a
//! library of custom operators; can be given several times).

pub mod discover;
mod session;
mod tapped;
mod tensor;

use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use onnxport_sdk::executor::{Executor, Failure, Options};
use ort::ErrorCode;
use ort::environment::Environment;
use ort::session::Session;
use ort::session::builder::SessionBuilder;

onnxport_sdk::export_plugin! { id: "ort", executor: OnnxRuntime, options: Settings }

onnxport_sdk::options! {
    /// What holds for every runtime that is opened, unless it is opened with an option of its own.
    struct Settings {
        /// Threads per operator; 0 lets ONNX Runtime choose.
        threads: usize = 0,
        /// The ONNX Runtime library; otherwise it is searched for.
        library: Option<PathBuf>,
        /// Whether what `python3` says about where the library is, is kept in the user's cache folder.
        remember: bool = true,
    }
}

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
    threads: usize,
    custom_ops: Vec<PathBuf>,
}

impl Executor for OnnxRuntime {
    const NAME: &'static str = "ONNX Runtime";
    type Session = session::OrtSession;

    fn open(options: Options<'_>) -> Result<Self, Failure> {
        let settings = Settings::get()?;
        let threads = options.number("threads")?.unwrap_or(settings.threads);
        let wanted = options.get("library").map(Path::new).or(settings.library.as_deref());
        let mut slot = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        let loaded = match slot.as_ref() {
            Some(loaded) => {
                if let Some(path) = wanted.filter(|p| canonical(p) != canonical(&loaded.path)) {
                    let message = format!(
                        "{} cannot be loaded: this process already uses {}",
                        path.display(),
                        loaded.path.display()
                    );
                    return Err(Failure::new(message));
                }
                loaded.clone()
            }
            None => slot.insert(load_library(wanted)?).clone(),
        };
        let custom_ops: Vec<PathBuf> = options.all("custom_ops").map(PathBuf::from).collect();
        if let Some(missing) = custom_ops.iter().find(|path| !path.is_file()) {
            return Err(Failure::new(format!(
                "there is no library of custom operators at {}",
                missing.display()
            )));
        }
        Ok(Self { loaded, threads, custom_ops })
    }

    fn describe(&self) -> String {
        format!("ONNX Runtime {}, {}", self.loaded.version, self.loaded.path.display())
    }

    fn load(&mut self, path: &Path) -> Result<session::OrtSession, Failure> {
        let mut builder = self.builder().map_err(|e| unloadable(&e))?;
        let session = builder.commit_from_file(path).map_err(|e| self.refused(&e))?;
        Ok(session::OrtSession::new(session))
    }

    fn load_with(&mut self, path: &Path, values: &[&str]) -> Result<session::OrtSession, Failure> {
        let model = tapped::model(path, values)?;
        let folder = path.parent().map_or("", |folder| folder.to_str().unwrap_or_default());
        let mut builder = self
            .builder()
            .and_then(|builder| {
                // The bytes have no place of their own; weights beside the model are found through it.
                let key = "session.model_external_initializers_file_folder_path";
                builder.with_config_entry(key, folder).map_err(|e| e.to_string())
            })
            .map_err(|e| unloadable(&e))?;
        let session = builder.commit_from_memory(&model).map_err(|e| self.refused(&e))?;
        Ok(session::OrtSession::new(session))
    }
}

impl OnnxRuntime {
    /// Why ONNX Runtime does not take a model.
    fn refused<T>(&self, error: &ort::Error<T>) -> Failure {
        let message = first_line(&error.to_string());
        let unknown = UNKNOWN_OPERATOR.iter().any(|text| message.contains(text));
        let failure = unloadable(&message);
        if unknown && self.custom_ops.is_empty() {
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

    fn builder(&self) -> Result<SessionBuilder, String> {
        let builder = Session::builder(&self.loaded.environment).map_err(|e| e.to_string())?;
        // Errors arrive as results; printing them as well would break quiet and JSON output.
        let mut builder = builder.with_log_level(ort::logging::LogLevel::Fatal).map_err(|e| e.to_string())?;
        for library in &self.custom_ops {
            let path = canonical(library);
            let failed = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
            builder = builder.with_operator_library(&path).map_err(|e| failed(&e))?;
        }
        if self.threads == 0 {
            return Ok(builder);
        }
        builder.with_intra_threads(self.threads).map_err(|e| e.to_string())
    }
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
        return Err(Failure::new(format!("there is no library at {}", found.display())));
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
