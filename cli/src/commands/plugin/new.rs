//! `onnxport plugin new`.

use std::fmt::Write;

use onnxport_core::Host;
use onnxport_requests::Request;
use onnxport_requests::plugin::PluginNewRequest;

use crate::format::{bold, faint, good};
use crate::outcome::{CommandResult, Outcome};
use crate::progress::Progress;

/// Creates a plugin project.
pub(crate) fn run(request: &PluginNewRequest, progress: &Progress) -> CommandResult {
    let project = request.run(&Host::new(&[])?, &mut progress.clone())?;
    let (folder, library) = (project.folder.display().to_string(), project.library.display().to_string());
    let commands = [
        (format!("cd {folder}"), ""),
        ("cargo test".to_owned(), request.kind.tested()),
        ("cargo build --release".to_owned(), ""),
        (format!("onnxport plugin check {library}"), "everything that a host can ask of the library"),
    ];
    let mut outcome = Outcome::ok()
        .with("folder", &folder)
        .with("library", &library)
        .with("next", commands.iter().map(|(command, _)| command).collect::<Vec<_>>());
    outcome.summary = format!("{}  plugin `{}` in {folder}\n", good("made"), bold(&request.name));
    for (command, why) in commands {
        let why = if why.is_empty() { String::new() } else { faint(&format!("   # {why}")) };
        // Writing to a String cannot fail.
        let _ = writeln!(outcome.summary, "  {command}{why}");
    }
    Ok(outcome)
}
