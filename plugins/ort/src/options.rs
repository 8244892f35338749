//! Options of a runtime.

use std::path::PathBuf;

use onnxport_sdk::executor::{Failure, Options};
use onnxport_sdk::options::PluginOptions;

onnxport_sdk::options! {
    /// Defaults for every runtime that is opened without its own options.
    pub(crate) struct Settings {
        /// Threads within an operator; 0 lets ONNX Runtime choose.
        threads: usize = 0,
        /// Operators that run side by side; 1 runs one after the other.
        inter_threads: usize = 1,
        /// The execution provider; cuda uses the first GPU, openvino the CPU unless provider_options name another
        /// device_type. The CPU runs the operators that it lacks.
        provider: String = "cpu" in ["cpu", "cuda", "openvino"],
        /// Options of the provider as ONNX Runtime calls them, such as device_id=1,gpu_mem_limit=4294967296.
        provider_options: Option<String>,
        /// Entries of the session's configuration, such as session.set_denormal_as_zero=1.
        session_options: Option<String>,
        /// How far ONNX Runtime changes the graph before it runs it.
        optimisation: String = "all" in ["none", "basic", "extended", "layout", "all"],
        /// Whether float16 and bfloat16 models that the CPU has no kernels for are computed in float32, which is said.
        upcast: bool = true,
        /// The ONNX Runtime library; otherwise it is searched for.
        library: Option<PathBuf>,
        /// The library of the OpenVINO provider; otherwise it is searched for.
        provider_library: Option<PathBuf>,
        /// A folder into which each session writes how long its nodes took, and the graph that it ran, when it ends.
        profile: Option<PathBuf>,
        /// Whether the location of the library that `python3` reports is kept in the user's cache folder.
        remember: bool = true,
    }
}

/// Options that can be repeated and are not part of the settings.
const CUSTOM_OPS: &str = "custom_ops";

/// How alike two names are that one may have been typed for the other.
const ALIKE: f64 = 0.8;

/// The settings of one runtime.
pub(crate) struct Chosen {
    pub(crate) settings: Settings,
    /// Pairs of `provider_options`.
    pub(crate) provider: Vec<(String, String)>,
    /// Pairs of `session_options`.
    pub(crate) session: Vec<(String, String)>,
    /// Libraries of custom operators.
    pub(crate) custom_ops: Vec<PathBuf>,
}

impl Chosen {
    /// Whether sessions write how long their nodes take.
    pub(crate) fn is_profiled(&self) -> bool {
        self.settings.profile.is_some()
    }

    /// The values of `options`, or else the settings of the process.
    ///
    /// # Errors
    /// For a name that there is none of, with the one that was meant, and a value that does not fit.
    pub(crate) fn from_options(options: Options<'_>) -> Result<Self, Failure> {
        let names: Vec<&str> =
            Settings::entries().iter().map(|entry| entry.name).chain([CUSTOM_OPS]).collect();
        if let Some(unknown) = options.names().find(|name| !names.contains(name)) {
            return Err(unknown_option(unknown, &names));
        }
        let settings = Settings::get()?.over(options)?;
        let pairs = |name: &str, set: Option<&String>| -> Result<Vec<(String, String)>, Failure> {
            let given: Vec<&str> = options.all(name).collect();
            let texts = if given.is_empty() { set.map(String::as_str).into_iter().collect() } else { given };
            let items = texts.iter().flat_map(|text| text.split(',')).filter(|item| !item.is_empty());
            items
                .map(|item| match item.split_once('=') {
                    Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
                    _ => Err(Failure::new(format!("the option `{name}` has {item:?}, not NAME=VALUE"))),
                })
                .collect()
        };
        let provider = pairs("provider_options", settings.provider_options.as_ref())?;
        let session = pairs("session_options", settings.session_options.as_ref())?;
        if settings.provider == "cpu" && !provider.is_empty() {
            return Err(Failure::new("the CPU takes no `provider_options`")
                .help("add provider=cuda or provider=openvino"));
        }
        let custom_ops: Vec<PathBuf> = options.all(CUSTOM_OPS).map(PathBuf::from).collect();
        if let Some(missing) = custom_ops.iter().find(|path| !path.is_file()) {
            return Err(Failure::new(format!("no library of custom operators at {}", missing.display())));
        }
        Ok(Self { settings, provider, session, custom_ops })
    }
}

fn unknown_option(unknown: &str, names: &[&str]) -> Failure {
    let failure = Failure::new(format!("ONNX Runtime takes no option `{unknown}` here"));
    let near = names.iter().map(|name| (strsim::jaro_winkler(unknown, name), *name));
    match near.filter(|(alike, _)| *alike >= ALIKE).max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((_, name)) => failure.help(format!("did you mean `{name}`?")),
        None => failure.help(format!("there are {}", names.join(", "))),
    }
}
