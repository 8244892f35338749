//! Running commands: their output passes through, and test counts are read from it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::counts::Counts;

/// Reads the counts from a line of output.
pub(crate) type Parser = fn(&str) -> Option<Counts>;

/// The outcome of a sequence of steps.
#[derive(Default)]
pub(crate) struct Steps {
    /// The tests of all steps; a step that fails without a failed test counts as one.
    pub counts: Counts,
    failed: Vec<String>,
}

impl Steps {
    /// Runs a command that either succeeds or does not. Returns whether it did.
    pub(crate) fn check(&mut self, name: &str, command: &mut Command) -> bool {
        self.run(name, command, |_| None)
    }

    /// Runs a command whose output tells how many tests passed.
    pub(crate) fn run(&mut self, name: &str, command: &mut Command, parse: Parser) -> bool {
        println!("\n== {name}");
        let start = Instant::now();
        let outcome = stream(command, parse);
        let seconds = start.elapsed().as_secs_f64();
        let (ok, mut counts) = outcome.unwrap_or_else(|error| {
            println!("{error}");
            (false, Counts::default())
        });
        if !ok && counts.failed == 0 {
            counts.failed = 1;
        }
        if counts.failed > 0 {
            self.failed.push(name.to_owned());
        }
        self.counts += counts;
        println!("== {name}: {} in {seconds:.1} s", if ok { "done" } else { "FAILED" });
        ok
    }

    /// Records a step that could not even start.
    pub(crate) fn fail(&mut self, name: &str, why: &str) {
        println!("\n== {name}: FAILED: {why}");
        self.counts.failed += 1;
        self.failed.push(name.to_owned());
    }

    /// Prints the closing line; returns whether nothing failed.
    pub(crate) fn close(self) -> bool {
        println!();
        for name in &self.failed {
            println!("failed: {name}");
        }
        println!("{} passed, {} failed", self.counts.passed, self.counts.failed);
        self.counts.failed == 0
    }
}

fn stream(command: &mut Command, parse: Parser) -> Result<(bool, Counts), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |error: std::io::Error| format!("{program}: {error}");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(failed)?;
    let mut counts = Counts::default();
    if let Some(stdout) = child.stdout.take() {
        pass_through(stdout, parse, &mut counts).map_err(failed)?;
    }
    let status = child.wait().map_err(failed)?;
    Ok((status.success(), counts))
}

fn pass_through(stdout: impl Read, parse: Parser, counts: &mut Counts) -> std::io::Result<()> {
    let mut reader = BufReader::new(stdout);
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        std::io::stdout().write_all(&line)?;
        std::io::stdout().flush()?;
        if let Some(found) = parse(&String::from_utf8_lossy(&line)) {
            *counts += found;
        }
    }
}
