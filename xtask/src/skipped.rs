//! Tests that did not run, and why, from their own lists and from pytest's output.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use serde::Deserialize;

use crate::counts::Counts;
use crate::target;

/// Names the file to which tests add a line each: see `tests/rust/harness/src/skipped.rs`.
const VARIABLE: &str = "ONNXPORT_SKIPPED";

/// A test that did not run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(crate) struct Skipped {
    reason: String,
    test: String,
    /// Whether its runner counts it as passed.
    passed: bool,
}

/// The file to which the tests of one step add lines.
pub(crate) struct List(PathBuf);

impl List {
    /// An empty list for the tests that `command` runs.
    pub(crate) fn of(command: &mut Command) -> Self {
        static LISTS: AtomicU32 = AtomicU32::new(0);
        let number = LISTS.fetch_add(1, Ordering::Relaxed);
        let path = target().join(format!("skipped.{number}.jsonl"));
        // One of a run that was stopped; there need not be one.
        let _ = fs::remove_file(&path);
        command.env(VARIABLE, &path);
        Self(path)
    }

    /// The listed tests, each test and reason once. `counts` are corrected: such a test did not pass.
    ///
    /// # Errors
    /// When a line cannot be read.
    pub(crate) fn read(self, counts: &mut Counts) -> Result<Vec<Skipped>, String> {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        let _ = fs::remove_file(&self.0);
        let lines = text.lines().map(serde_json::from_str::<Skipped>);
        let found: BTreeSet<Skipped> =
            lines.collect::<Result<_, _>>().map_err(|e| format!("{}: {e}", self.0.display()))?;
        let tests = |passed: bool| -> BTreeSet<&str> {
            found.iter().filter(|s| s.passed == passed).map(|s| s.test.as_str()).collect()
        };
        let passed = tests(true).len() as u64;
        counts.skipped += passed + tests(false).len() as u64;
        counts.passed = counts.passed.saturating_sub(passed);
        Ok(found.into_iter().collect())
    }
}

/// Reads a line of `pytest -rs`: `SKIPPED [2] tests/a.py:3: there is no GPU`.
pub(crate) fn of_pytest(line: &str) -> Option<Skipped> {
    let (count, rest) = line.trim().strip_prefix("SKIPPED [")?.split_once("] ")?;
    let (place, reason) = rest.split_once(": ")?;
    let test = if count == "1" { place.to_owned() } else { format!("{place}, {count} times") };
    Some(Skipped { reason: reason.to_owned(), test, passed: false })
}

/// A paragraph for each reason, with the tests below it.
pub(crate) fn text(skipped: &[Skipped]) -> String {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for Skipped { reason, test, .. } in skipped {
        by_reason.entry(reason).or_default().push(test);
    }
    let paragraph =
        |(reason, tests): (&str, Vec<&str>)| format!("skipped: {reason}\n  {}\n", tests.join("\n  "));
    by_reason.into_iter().map(paragraph).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_pytest_are_read() {
        let found = of_pytest("SKIPPED [2] tests/a.py:3: there is no GPU: none").unwrap();
        assert_eq!(
            (found.reason.as_str(), found.test.as_str()),
            ("there is no GPU: none", "tests/a.py:3, 2 times")
        );
        assert_eq!(of_pytest("1 skipped in 0.01s"), None);
    }

    #[test]
    fn a_test_that_lists_itself_did_not_pass() {
        let folder = std::env::temp_dir().join(format!("xtask-skipped-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let list = List(folder.join("list"));
        let line = |test: &str, passed: bool| {
            format!("{{\"test\":\"{test}\",\"reason\":\"no\",\"passed\":{passed}}}\n")
        };
        // The first one says it twice.
        fs::write(&list.0, [line("a", true), line("a", true), line("b", false)].concat()).unwrap();
        let mut counts = Counts { passed: 5, failed: 1, skipped: 0 };
        let found = list.read(&mut counts).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(counts, Counts { passed: 4, failed: 1, skipped: 2 });
        assert_eq!(text(&found), "skipped: no\n  a\n  b\n");
    }
}
