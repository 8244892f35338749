//! Counts of passed and failed tests, read from the output of test runners.

use std::ops::AddAssign;

/// Numbers of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed, or could not be started.
    pub failed: u64,
    /// Tests that did not run here, for a reason that they give.
    pub skipped: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl Counts {
    /// Reads a line of `cargo test`: `test result: ok. 7 passed; 0 failed; 1 ignored; …`. What is ignored says so
    /// itself ([`Skipped`](crate::skipped::Skipped)), or is run by another step.
    pub(crate) fn of_cargo(line: &str) -> Option<Self> {
        let rest = line.trim().strip_prefix("test result: ")?;
        let (passed, failed) = (number_before(rest, "passed"), number_before(rest, "failed"));
        Some(Self { passed, failed, ..Self::default() })
    }

    /// Reads the last line of pytest: `2 failed, 5 passed, 1 xfailed in 3.21s`.
    ///
    /// An expected failure counts as neither; an error counts as a failure.
    pub(crate) fn of_pytest(line: &str) -> Option<Self> {
        let line = line.trim().trim_matches('=').trim();
        let (summary, time) = line.rsplit_once(" in ")?;
        let is_time = time.split(['s', ' ']).next().is_some_and(|t| t.parse::<f64>().is_ok());
        let is_summary =
            summary.split(", ").all(|part| part.split(' ').next().is_some_and(|n| n.parse::<u64>().is_ok()));
        (is_time && is_summary).then(|| Self {
            passed: number_before(summary, "passed"),
            failed: number_before(summary, "failed")
                + number_before(summary, "error")
                + number_before(summary, "errors"),
            skipped: number_before(summary, "skipped"),
        })
    }
}

/// The number before the word `what`, 0 when there is none.
fn number_before(text: &str, what: &str) -> u64 {
    let words: Vec<&str> = text.split([' ', ';', ',', '.']).filter(|word| !word.is_empty()).collect();
    let at = words.windows(2).find(|pair| pair[1] == what);
    at.and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn lines_of_cargo_are_read() {
        let line = "test result: FAILED. 7 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out";
        assert_eq!(Counts::of_cargo(line), Some(Counts { passed: 7, failed: 2, skipped: 0 }));
        assert_eq!(Counts::of_cargo("test a ... ok"), None);
    }

    #[test]
    fn lines_of_pytest_are_read() {
        let some = |passed, failed, skipped| Some(Counts { passed, failed, skipped });
        assert_eq!(Counts::of_pytest("5 passed in 3.21s"), some(5, 0, 0));
        assert_eq!(
            Counts::of_pytest("== 2 failed, 5 passed, 3 xfailed, 1 error in 63.21s (0:01:03) =="),
            some(5, 3, 0)
        );
        assert_eq!(Counts::of_pytest("1 skipped in 0.01s"), some(0, 0, 1));
        assert_eq!(Counts::of_pytest("no tests ran in 0.01s"), None);
        assert_eq!(Counts::of_pytest("found it in 3 places"), None);
    }
}
