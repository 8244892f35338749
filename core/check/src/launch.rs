//! A probe's process, watched until it ends.

use std::fs::File;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use onnxport_core::diagnose::{Code, Diagnostic};

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
    Ok(Ended::Crashed(how(status, &String::from_utf8_lossy(&said))))
}

/// How the process ended, with what it said last.
fn how(status: ExitStatus, words: &str) -> String {
    const SHOWN: usize = 160;
    let lines: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let error = lines.iter().rfind(|line| line.starts_with("error["));
    // A panic says where, and in the next line why.
    let panic =
        || lines.iter().rposition(|line| line.contains("panicked at")).and_then(|at| lines.get(at + 1));
    let said = error.or_else(panic).or(lines.last());
    let said = said
        .map_or(String::new(), |line| format!(", saying: {}", line.chars().take(SHOWN).collect::<String>()));
    format!("ended the process with {}{said}", name(status))
}

#[cfg(unix)]
fn name(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match status.signal() {
        Some(signal) => match signal {
            libc::SIGABRT => "SIGABRT".to_owned(),
            libc::SIGSEGV => "SIGSEGV".to_owned(),
            libc::SIGBUS => "SIGBUS".to_owned(),
            libc::SIGILL => "SIGILL".to_owned(),
            libc::SIGFPE => "SIGFPE".to_owned(),
            libc::SIGKILL => "SIGKILL".to_owned(),
            other => format!("signal {other}"),
        },
        None => format!("exit code {}", status.code().unwrap_or(-1)),
    }
}

#[cfg(not(unix))]
fn name(status: ExitStatus) -> String {
    format!("exit code {}", status.code().unwrap_or(-1))
}
