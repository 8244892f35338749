//! Describes in words how a process ended.

use std::process::ExitStatus;

/// Describes the exit status of a process, with the end of its output.
pub fn how(status: ExitStatus, words: &str) -> String {
    const SHOWN: usize = 160;
    let lines: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let error = lines.iter().rfind(|line| line.starts_with("error["));
    // A panic message has the location, and the reason on the next line.
    let panic =
        || lines.iter().rposition(|line| line.contains("panicked at")).and_then(|at| lines.get(at + 1));
    let said = error.or_else(panic).or(lines.last());
    let said = said
        .map_or(String::new(), |line| format!(", saying: {}", line.chars().take(SHOWN).collect::<String>()));
    format!("{}{said}", name(status))
}

/// The signal that ended a process, or its exit code.
#[cfg(unix)]
pub fn name(status: ExitStatus) -> String {
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

/// The exit code of a process.
#[cfg(not(unix))]
pub fn name(status: ExitStatus) -> String {
    format!("exit code {}", status.code().unwrap_or(-1))
}

/// Whether another process killed it, which it cannot do by mistake.
#[cfg(unix)]
pub fn is_killed(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.signal() == Some(libc::SIGKILL)
}

/// Whether another process killed it: unknown on other systems.
#[cfg(not(unix))]
pub fn is_killed(_: ExitStatus) -> bool {
    false
}
