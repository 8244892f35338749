//! Running commands: their output passes through, and test counts and the names of failed tests are read from it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::background::{Background, Output};
use crate::counts::Counts;
use crate::failed;
use crate::skipped::{self, List, Skipped};

/// The tests that the output of runners names.
#[derive(Default)]
struct Tests {
    failed: Vec<String>,
    skipped: Vec<Skipped>,
    /// The slowest ones, with their seconds.
    slow: Vec<String>,
}

/// Reads the counts from a line of output.
pub(crate) type Parser = fn(&str) -> Option<Counts>;

/// The outcome of a sequence of steps.
#[derive(Default)]
pub(crate) struct Steps {
    /// The tests of all steps; a step that fails without a failed test counts as one.
    pub counts: Counts,
    failed: Vec<String>,
    tests: Tests,
    times: Vec<(String, Duration)>,
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
        let list = List::of(command);
        let outcome = stream(command, parse, &mut self.tests);
        let took = start.elapsed();
        let (ok, mut counts) = outcome.unwrap_or_else(|error| {
            println!("{error}");
            (false, Counts::default())
        });
        let listed = self.list(list, &mut counts);
        self.end(name, ok && listed, counts, took)
    }

    /// Prints the output of a command that runs beside the steps, and waits for it. Returns whether it succeeded.
    pub(crate) fn join(&mut self, background: Background) -> bool {
        let Background { name, parse, skipped, started } = background;
        println!("\n== {name}");
        let mut counts = Counts::default();
        let finished = started.and_then(|running| {
            let read = |output: Output<'_>| pass_through(output, parse, &mut counts, &mut self.tests);
            running.follow(read).map_err(|error| error.to_string())
        });
        let (ok, took) = finished.unwrap_or_else(|error| {
            println!("{error}");
            (false, Duration::ZERO)
        });
        let listed = self.list(skipped, &mut counts);
        self.end(&name, ok && listed, counts, took)
    }

    /// Adds the tests that a step skipped. Returns whether they could be read.
    fn list(&mut self, skipped: List, counts: &mut Counts) -> bool {
        match skipped.read(counts) {
            Ok(listed) => {
                self.tests.skipped.extend(listed);
                true
            }
            Err(error) => {
                println!("{error}");
                false
            }
        }
    }

    fn end(&mut self, name: &str, ok: bool, mut counts: Counts, took: Duration) -> bool {
        if !ok && counts.failed == 0 {
            counts.failed = 1;
        }
        if counts.failed > 0 {
            self.failed.push(name.to_owned());
        }
        self.counts += counts;
        self.times.push((name.to_owned(), took));
        println!("== {name}: {} in {:.1} s", if ok { "done" } else { "FAILED" }, took.as_secs_f64());
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
        println!("\n{}\n", table(&self.times));
        for test in &self.tests.slow {
            println!("{test}");
        }
        for name in self.failed.iter().chain(&self.tests.failed) {
            println!("failed: {name}");
        }
        print!("{}", skipped::text(&self.tests.skipped));
        let Counts { passed, failed, skipped } = self.counts;
        println!("{passed} passed, {failed} failed, {skipped} skipped");
        self.counts.failed == 0
    }
}

/// A line for each step that took a second or more, the longest first.
fn table(times: &[(String, Duration)]) -> String {
    let mut long: Vec<_> = times.iter().filter(|(_, took)| took.as_secs() > 0).collect();
    long.sort_by(|(a_name, a), (b_name, b)| b.cmp(a).then_with(|| a_name.cmp(b_name)));
    let line = |(name, took): &&(String, Duration)| format!("{:>7.1} s  {name}", took.as_secs_f64());
    long.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Reads a line of `pytest --durations` (`12.34s call     tests/a.py::test_b`), and returns it as a line of [`table`].
fn duration(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let seconds: f64 = words.next()?.strip_suffix('s')?.parse().ok()?;
    let phase = words.next().filter(|word| ["call", "setup", "teardown"].contains(word))?;
    let test = words.next().filter(|word| word.contains("::"))?;
    let phase = if phase == "call" { String::new() } else { format!(" ({phase})") };
    Some(format!("{seconds:>7.1} s  {test}{phase}"))
}

fn stream(command: &mut Command, parse: Parser, tests: &mut Tests) -> Result<(bool, Counts), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |error: std::io::Error| format!("{program}: {error}");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(failed)?;
    let mut counts = Counts::default();
    if let Some(stdout) = child.stdout.take() {
        pass_through(stdout, parse, &mut counts, tests).map_err(failed)?;
    }
    let status = child.wait().map_err(failed)?;
    Ok((status.success(), counts))
}

fn pass_through(
    stdout: impl Read,
    parse: Parser,
    counts: &mut Counts,
    tests: &mut Tests,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stdout);
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        std::io::stdout().write_all(&line)?;
        std::io::stdout().flush()?;
        let text = String::from_utf8_lossy(&line);
        if let Some(found) = parse(&text) {
            *counts += found;
        }
        tests.failed.extend(failed::of_line(&text));
        tests.skipped.extend(skipped::of_pytest(&text));
        tests.slow.extend(duration(&text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_steps_come_first_and_short_ones_are_left_out() {
        let times = [("a", 1_500), ("b", 90_000), ("c", 999)];
        let times = times.map(|(name, millis)| (name.to_owned(), Duration::from_millis(millis)));
        assert_eq!(table(&times), "   90.0 s  b\n    1.5 s  a");
    }

    #[test]
    fn durations_of_pytest_are_read() {
        let some = |line: &str| Some(line.to_owned());
        assert_eq!(
            duration("82.84s call     tests/a.py::test_b[c]\n"),
            some("   82.8 s  tests/a.py::test_b[c]")
        );
        assert_eq!(
            duration("2.00s setup    tests/a.py::test_b\n"),
            some("    2.0 s  tests/a.py::test_b (setup)")
        );
        assert_eq!(duration("5 passed in 3.21s"), None);
        assert_eq!(duration("3s of call time"), None);
    }
}
