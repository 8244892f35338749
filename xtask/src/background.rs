//! A command that runs beside the steps, and is printed as a step of its own when it is waited for.

use std::fs::File;
use std::io::{Read, Seek};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A running command whose output is kept in an unnamed file.
pub(crate) struct Background {
    name: String,
    started: Result<(JoinHandle<(bool, Duration)>, File), String>,
}

impl Background {
    /// Starts `command`.
    pub(crate) fn start(name: &str, command: &mut Command) -> Self {
        let started = start(command).map_err(|error| error.to_string());
        Self { name: name.to_owned(), started }
    }

    /// Waits for the command. Returns its name, whether it succeeded, its output and its duration.
    pub(crate) fn finish(self) -> (String, bool, String, Duration) {
        let finished = self.started.and_then(|(waiting, mut output)| {
            let (ok, took) = waiting.join().map_err(|_| "the waiting thread panicked".to_owned())?;
            let mut text = Vec::new();
            let read = output.rewind().and_then(|()| output.read_to_end(&mut text));
            read.map_err(|error| error.to_string())?;
            Ok((ok, String::from_utf8_lossy(&text).into_owned(), took))
        });
        let (ok, text, took) = finished.unwrap_or_else(|error| (false, error, Duration::ZERO));
        (self.name, ok, text, took)
    }
}

fn start(command: &mut Command) -> std::io::Result<(JoinHandle<(bool, Duration)>, File)> {
    let output = tempfile::tempfile()?;
    let begin = Instant::now();
    let mut child: Child =
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?).spawn()?;
    let waiting = thread::spawn(move || (child.wait().is_ok_and(|status| status.success()), begin.elapsed()));
    Ok((waiting, output))
}

#[cfg(test)]
mod tests {
    use super::Background;

    #[test]
    fn the_output_of_a_command_is_kept_until_it_is_waited_for() {
        let mut cargo = std::process::Command::new(env!("CARGO"));
        let (name, ok, text, _) = Background::start("version", cargo.arg("--version")).finish();
        assert_eq!((name.as_str(), ok), ("version", true));
        assert!(text.starts_with("cargo "), "{text}");
        let missing = Background::start("missing", &mut std::process::Command::new("/no/such/program"));
        assert!(!missing.finish().1);
    }
}
