//! The plugins that are linked into this binary, those that the user adds, and the runtime that
//! verifies.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::host::{Host, OnPanic, PluginRoot, Search};
use onnxport_core::session::HOST_ROOT;
use onnxport_core::verify::{Apart, Executor, Runtime};
use serde_json::{Map, Value};

use crate::again;
use crate::commands::verify::{RuntimeArguments, RuntimeOptions};
use crate::config;
use crate::guests::{Guests, guests};
use crate::outcome::{CommandResult, Outcome};

/// Arguments about plugins.
#[derive(Debug, Args)]
#[command(next_help_heading = "Plugins")]
pub(crate) struct PluginArguments {
    /// A plugin library to load, or a folder of libraries with manifests; can be repeated. Also read
    /// from ONNXPORT_PLUGIN_PATH
    #[arg(long = "plugin", value_name = "PATH")]
    plugins: Vec<PathBuf>,
    /// The plugin that lowers an operator which several offer, such as aten.add.Tensor=mylib; can be
    /// repeated
    #[arg(long = "use", value_name = "OP=PLUGIN", value_parser = parse_choice)]
    choices: Vec<(String, String)>,
    /// An option of a plugin; can be repeated. `onnxport plugin info` lists what there is
    #[arg(long = "plugin-option", value_name = "ID.NAME=VALUE", value_parser = parse_option)]
    options: Vec<(String, String, String)>,
    /// A file, onnxport.toml, whose plugins and choices are used; none are unless it is named here or by --config
    #[arg(long, value_name = "FILE")]
    project: Option<PathBuf>,
    /// A list of the libraries that may be loaded, id = "SHA-256"; without one, those that are named
    #[arg(long, value_name = "FILE")]
    plugin_allow: Option<PathBuf>,
    /// What to do after a plugin panicked
    #[arg(long, value_enum, default_value_t = OnPluginPanic::Continue, value_name = "WHAT")]
    on_plugin_panic: OnPluginPanic,
}

impl PluginArguments {
    /// The libraries, and folders of libraries, that are named on the command line.
    pub(crate) fn libraries(&self) -> &[PathBuf] {
        &self.plugins
    }

    /// All else that is said of plugins, as options of a command by their names.
    pub(crate) fn further(&self) -> Map<String, Value> {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.to_string_lossy().into_owned());
        let choices = self.choices.iter().map(|(op, plugin)| format!("{op}={plugin}"));
        let options = self.options.iter().map(|(id, name, value)| format!("{id}.{name}={value}"));
        let stops = self.on_plugin_panic == OnPluginPanic::Stop;
        let said = [
            ("use", Value::from(choices.collect::<Vec<_>>())),
            ("plugin_option", Value::from(options.collect::<Vec<_>>())),
            ("project", Value::from(path(&self.project))),
            ("plugin_allow", Value::from(path(&self.plugin_allow))),
            ("on_plugin_panic", Value::from(stops.then_some("stop"))),
        ];
        let is_said = |value: &Value| !value.is_null() && value.as_array().is_none_or(|all| !all.is_empty());
        let said = said.into_iter().filter(|(_, value)| is_said(value));
        said.map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// What to do after a plugin panicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OnPluginPanic {
    /// Set the plugin aside, and go on as far as possible without it
    Continue,
    /// Stop at once
    Stop,
}

fn parse_choice(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((op, plugin)) if !op.is_empty() && !plugin.is_empty() => Ok((op.to_owned(), plugin.to_owned())),
        _ => Err("expected OP=PLUGIN".to_owned()),
    }
}

/// The plugins that are linked in.
pub(crate) const LINKED: &[&PluginRoot] = &[
    &onnxport_aten::ROOT,
    &onnxport_optimise::ROOT,
    &onnxport_fusions::ROOT,
    // Of two executors the first one runs models unless the user says otherwise.
    &onnxport_ort::ROOT,
    &onnxport_reference::ROOT,
    &onnxport_cuda_parity::ROOT,
    &onnxport_torchvision::ROOT,
];

/// The plugin of fusions. Of its rules only those run by default that state how exact they are: the others are not
/// proved.
pub(crate) const FUSIONS: &str = "fusions";

/// The plugin over ONNX Runtime.
const ORT: &str = "ort";

fn parse_option(text: &str) -> Result<(String, String, String), String> {
    let parts = text.split_once('=').and_then(|(key, value)| Some((key.rsplit_once('.')?, value)));
    match parts {
        Some(((id, name), value)) if !id.is_empty() && !name.is_empty() => {
            Ok((id.to_owned(), name.to_owned(), value.to_owned()))
        }
        _ => Err("expected ID.NAME=VALUE".to_owned()),
    }
}

/// The host with the bundled plugins and those that the user adds.
pub(crate) fn host(arguments: &PluginArguments) -> Result<Host, Report> {
    let Guests { roots, choices } = guests();
    let search = Search {
        plugins: arguments.plugins.clone(),
        project: arguments.project.clone(),
        sections: config::sections(),
        // The last one counts: the command's own.
        choices: choices.into_iter().chain(arguments.choices.iter().cloned()).collect(),
        options: arguments.options.clone(),
        allow: arguments.plugin_allow.clone(),
        on_panic: match arguments.on_plugin_panic {
            OnPluginPanic::Continue => OnPanic::Continue,
            OnPluginPanic::Stop => OnPanic::Stop,
        },
        ..Search::of_environment()
    };
    let linked: Vec<&PluginRoot> = LINKED.iter().copied().chain(roots).collect();
    Host::with(&linked, &search)
}

/// Opens the runtime that runs models.
pub(crate) fn runtime(host: &Host, arguments: &RuntimeArguments) -> Result<Runtime, Diagnostic> {
    runtime_of(host, arguments.executor.as_deref(), &arguments.options)
}

/// The help for a library of ONNX Runtime that another executor is given.
const WITHOUT_ORT: &str = "leave out `--ort-library`, or add `--executor ort`";

/// Opens the runtime of the plugin `id`, else of the first.
pub(crate) fn runtime_of(
    host: &Host,
    id: Option<&str>,
    arguments: &RuntimeOptions,
) -> Result<Runtime, Diagnostic> {
    let executor = Executor::find(host, id)?;
    if arguments.ort_library.is_some() && executor.id() != ORT {
        let message =
            format!("--ort-library names a library of ONNX Runtime, and {} runs the model", executor.name());
        return Err(Diagnostic::error(Code::USAGE, message).help(WITHOUT_ORT));
    }
    open(host, executor, arguments)
}

/// Opens the runtimes of the plugins `ids`, or the first. Options that name one of them as `ort:NAME=VALUE` are for that
/// one.
pub(crate) fn runtimes(
    host: &Host,
    ids: &[String],
    arguments: &RuntimeOptions,
) -> Result<Vec<Runtime>, Diagnostic> {
    if ids.len() < 2 {
        return Ok(vec![runtime_of(host, ids.first().map(String::as_str), arguments)?]);
    }
    let twice = ids.iter().enumerate().find(|(at, id)| ids.iter().take(*at).any(|before| before == *id));
    if let Some((_, id)) = twice {
        return Err(Diagnostic::error(Code::USAGE, format!("the executor `{id}` is given twice"))
            .help("name each executor once"));
    }
    if arguments.ort_library.is_some() && !ids.iter().any(|id| id == ORT) {
        let message = "--ort-library names a library of ONNX Runtime, which is not among the executors";
        return Err(Diagnostic::error(Code::USAGE, message).help(WITHOUT_ORT));
    }
    ids.iter().map(|id| open(host, Executor::find(host, Some(id))?, arguments)).collect()
}

fn open(host: &Host, executor: Executor, arguments: &RuntimeOptions) -> Result<Runtime, Diagnostic> {
    let text = |path: &PathBuf| {
        let shown = path.display();
        let problem =
            || Diagnostic::error(Code::VERIFY_NO_EXECUTOR, format!("the path `{shown}` is not UTF-8"));
        path.to_str().map(str::to_owned).ok_or_else(problem)
    };
    let library = arguments.ort_library.as_ref().filter(|_| executor.id() == ORT).map(text).transpose()?;
    let library = library.iter().map(|path| ("library", path.as_str()));
    let named = arguments.executor_options.iter().filter_map(|(name, value)| {
        let name = match name.split_once(':') {
            Some((id, name)) if id == executor.id() => name,
            Some(_) => return None,
            None => name.as_str(),
        };
        Some((name, value.as_str()))
    });
    let options: Vec<(&str, &str)> = library.chain(named).collect();
    let found = host.plugins.iter().find(|plugin| plugin.id == executor.id() && plugin.executor.is_some());
    match found.filter(|_| arguments.isolate) {
        Some(plugin) => Executor::open_apart(plugin, &options, apart(arguments.timeout)),
        None => executor.open(&options),
    }
}

/// This program again, for a runtime alone.
fn apart(limit: Option<Duration>) -> Apart {
    let command = || {
        let mut command = again::command(Code::VERIFY_NO_EXECUTOR)?;
        command.args(["plugin", "serve"]);
        Ok(command)
    };
    Apart { command: Box::new(command), limit }
}

/// What a process that [`apart`] starts does.
pub(crate) fn serve() -> CommandResult {
    onnxport_core::verify::serve(LINKED, &HOST_ROOT)?;
    Ok(Outcome::ok())
}

/// Starts to look for ONNX Runtime in the background, where it is going to run a model and nobody said where it is.
pub(crate) fn prepare(host: &Host, arguments: &RuntimeArguments) {
    prepare_for(host, arguments.executor.as_deref(), &arguments.options);
}

/// [`prepare`] for the plugin `id`, else for the first.
pub(crate) fn prepare_for(host: &Host, id: Option<&str>, arguments: &RuntimeOptions) {
    let is_linked = |id: &str| host.plugins.iter().any(|plugin| plugin.id == id && plugin.library.is_none());
    let is_searched = |executor: Executor| executor.id() == ORT && is_linked(ORT);
    if arguments.ort_library.is_none() && Executor::find(host, id).is_ok_and(is_searched) {
        onnxport_ort::prepare();
    }
}
