//! A probe's process, watched until it ends.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_core::host::ended;

/// How long to wait between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// How a probe ended.
pub(super) enum Ended {
    /// It did everything.
    Done,
    /// It ended before that, in this way.
    Crashed(String),
    /// It was ended because a step took too long.
    Hung,
}

pub(super) fn problem(error: &std::io::Error) -> Diagnostic {
    Diagnostic::error(Code::PLUGIN_CHECK, format!("a probe cannot be started: {error}"))
}

/// Runs `command` to its end. It is killed when `journal` does not grow for longer than `limit`.
pub(super) fn launch(mut command: Command, journal: &Path, limit: Duration) -> Result<Ended, Diagnostic> {
    let words = journal.with_extension("words");
    // Of an earlier probe.
    let _ = std::fs::remove_file(journal);
    let file = File::create(&words).map_err(|error| problem(&error))?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
    let mut child = command.spawn().map_err(|error| problem(&error))?;
    let mut size = 0;
    let mut since = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) => {}
            Err(error) => return Err(problem(&error)),
        }
        let now = journal.metadata().map_or(0, |data| data.len());
        if now != size {
            (size, since) = (now, Instant::now());
        } else if since.elapsed() > limit {
            // It may have ended by itself just now.
            let _ = child.kill();
            let _ = child.wait();
            return Ok(Ended::Hung);
        }
        std::thread::sleep(PAUSE);
    };
    if status.success() {
        return Ok(Ended::Done);
    }
    let said = std::fs::read(&words).unwrap_or_default();
    let how = ended::how(status, &String::from_utf8_lossy(&said));
    Ok(Ended::Crashed(format!("ended the process with {how}")))
}
