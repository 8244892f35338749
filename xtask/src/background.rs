//! A command that runs beside the steps. When it is waited for, its output is printed as that of a step of its own.

use std::fs::File;
use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tempfile::NamedTempFile;

use crate::skipped::List;
use crate::step::Parser;

/// The pause between two looks for new output.
const PAUSE: Duration = Duration::from_millis(100);

/// A command that was started.
pub(crate) struct Background {
    /// The name of the step.
    pub name: String,
    /// Reads test counts from its output.
    pub parse: Parser,
    /// The tests that it skips.
    pub skipped: List,
    /// The reason why it could not be started, or the running command.
    pub started: Result<Running, String>,
}

/// A running command, whose output is kept in a file.
pub(crate) struct Running {
    waiting: JoinHandle<(bool, Duration)>,
    output: NamedTempFile,
}

impl Background {
    /// Starts a command that either succeeds or does not.
    pub(crate) fn check(name: &str, command: &mut Command) -> Self {
        Self::run(name, command, |_| None)
    }

    /// Starts a command whose output tells how many tests passed.
    pub(crate) fn run(name: &str, command: &mut Command, parse: Parser) -> Self {
        let skipped = List::of(command);
        let started = Running::start(command).map_err(|error| error.to_string());
        Self { name: name.to_owned(), parse, skipped, started }
    }
}

impl Running {
    fn start(command: &mut Command) -> io::Result<Self> {
        let output = NamedTempFile::new()?;
        let begin = Instant::now();
        let (out, err) = (output.as_file().try_clone()?, output.as_file().try_clone()?);
        let mut child = command.stdin(Stdio::null()).stdout(out).stderr(err).spawn()?;
        let waiting =
            thread::spawn(move || (child.wait().is_ok_and(|status| status.success()), begin.elapsed()));
        Ok(Self { waiting, output })
    }

    /// Gives the output to `read`, which reads it to its end as it appears. Returns whether the command succeeded, and
    /// its duration.
    ///
    /// # Errors
    /// The output cannot be read.
    pub(crate) fn follow(
        self,
        read: impl FnOnce(Output<'_>) -> io::Result<()>,
    ) -> io::Result<(bool, Duration)> {
        // With a position of its own, since the command writes at that of the other one.
        read(Output { file: self.output.reopen()?, waiting: &self.waiting })?;
        self.waiting.join().map_err(|_| io::Error::other("the waiting thread panicked"))
    }
}

/// The output of a running command, which ends when the command does.
pub(crate) struct Output<'a> {
    file: File,
    waiting: &'a JoinHandle<(bool, Duration)>,
}

impl Read for Output<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // Asked first: a command that has ended writes no more.
            let ended = self.waiting.is_finished();
            let read = self.file.read(buffer)?;
            if read > 0 || ended {
                return Ok(read);
            }
            thread::sleep(PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::process::Command;

    use super::Background;

    #[test]
    fn the_output_is_read_to_its_end() {
        let mut cargo = Command::new(env!("CARGO"));
        let running = Background::check("version", cargo.arg("--version")).started.unwrap();
        let mut text = String::new();
        let (ok, _) = running.follow(|mut output| output.read_to_string(&mut text).map(drop)).unwrap();
        assert!(ok && text.starts_with("cargo ") && text.ends_with('\n'), "{text}");
    }

    #[test]
    fn a_missing_program_is_an_error() {
        assert!(Background::check("missing", &mut Command::new("/no/such/program")).started.is_err());
    }
}
