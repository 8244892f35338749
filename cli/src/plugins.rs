//! The plugins that are linked into this binary, those that the user adds, and the runtime for
//! verification.

use std::process::Command;
use std::sync::OnceLock;

use onnxport_check::Probe;
use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::host::{Absent, Host, PluginRoot, Search};
use onnxport_core::session::HOST_ROOT;
use onnxport_core::verify::Executor;
use onnxport_requests::Plugins;
use onnxport_requests::progress::StartProbe;
use onnxport_requests::runtime::{ORT, Running, RuntimeOptions};

use crate::again;
use crate::guests::{Guests, guests};
use crate::known;
use crate::outcome::{CommandResult, Outcome};

/// The plugins that are linked into this crate.
const LINKED: &[&PluginRoot] = &[
    &onnxport_aten::ROOT,
    &onnxport_optimise::ROOT,
    &onnxport_fusions::ROOT,
    // Of two executors, the first one is the default.
    &onnxport_ort::ROOT,
    &onnxport_reference::ROOT,
    &onnxport_openvino::ROOT,
    &onnxport_torchvision::ROOT,
    &onnxport_torchaudio::ROOT,
];

/// The plugins of this repository that are not linked into this crate.
const ABSENT: &[Absent] = &[Absent {
    id: "cuda-parity",
    help: "this build leaves it out: in a clone of onnxport, `cargo xtask plugins` builds and installs it",
}];

/// The plugins that the program adds.
static ADDED: OnceLock<Vec<&'static PluginRoot>> = OnceLock::new();

/// Adds plugins that a program links, before it runs a command. Only the first call in a process has an effect.
///
/// Programs with different plugins share one build of this crate, since no feature of it selects them.
pub fn link(plugins: &[&'static PluginRoot]) {
    let _ = ADDED.set(plugins.to_vec());
}

/// Returns the linked-in plugins.
pub(crate) fn linked() -> Vec<&'static PluginRoot> {
    LINKED.iter().chain(ADDED.get().into_iter().flatten()).copied().collect()
}

/// Creates the host with the bundled plugins and those that the user adds.
pub(crate) fn host(plugins: &Plugins) -> Result<Host, Report> {
    let Guests { roots, choices } = guests();
    let search = plugins.search();
    let search = Search {
        sections: known::tables(),
        absent: ABSENT,
        // The last one counts: the command's own.
        choices: choices.into_iter().chain(search.choices).collect(),
        ..search
    };
    let linked: Vec<&PluginRoot> = linked().into_iter().chain(roots).collect();
    Host::with(&linked, &search)
}

/// Creates the command of a process that runs models: this program again.
pub(crate) fn restart() -> Result<Command, Diagnostic> {
    let mut command = again::command(Code::VERIFY_NO_EXECUTOR)?;
    command.args(["plugin", "serve"]);
    Ok(command)
}

/// Returns the function that creates the command of a process for a step of `plugin check`: this program again, with
/// `plugin probe`.
pub(crate) fn probe() -> Result<StartProbe, Diagnostic> {
    let found = again::command(Code::PLUGIN_CHECK)?;
    Ok(Box::new(move |probe: &Probe| {
        let mut command = Command::new(found.get_program());
        command.args(found.get_args()).args(["plugin", "probe"]).arg(&probe.library);
        command.args(["--name", &probe.name]).arg("--journal").arg(&probe.journal);
        command.args(["--skip", &probe.skip.to_string()]);
        command
    }))
}

/// The work of a process created with [`restart`].
pub(crate) fn serve() -> CommandResult {
    onnxport_core::verify::serve(&linked(), &HOST_ROOT)?;
    Ok(Outcome::ok())
}

/// Starts to look for ONNX Runtime in the background, if it is going to run a model and its location is not given.
pub(crate) fn prepare(host: &Host, running: &Running) {
    prepare_for(host, running.executor.as_deref(), &running.options);
}

/// [`prepare`] for the plugin `id`, else for the first.
pub(crate) fn prepare_for(host: &Host, id: Option<&str>, options: &RuntimeOptions) {
    let is_linked = |id: &str| host.plugins.iter().any(|plugin| plugin.id == id && plugin.library.is_none());
    let is_searched = |executor: Executor| executor.id() == ORT && is_linked(ORT);
    if options.ort_library.is_none() && Executor::find(host, id).is_ok_and(is_searched) {
        onnxport_ort::prepare();
    }
}
