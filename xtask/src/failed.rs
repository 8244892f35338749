//! The names of failed tests, read from the output of test runners, so that the last lines of a long run name them.

/// The most characters of a line: pytest adds the message of the assertion.
const MOST: usize = 200;

/// Reads a line of `pytest -rfE` (`FAILED tests/a.py::test_b - message`), or the line that libtest and libtest-mimic
/// print above the output of a failed test (`---- module::test stdout ----`).
pub(crate) fn of_line(line: &str) -> Option<String> {
    let line = line.trim_end();
    let of_pytest = || line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR "));
    let of_cargo = || line.strip_prefix("---- ")?.strip_suffix(" ----");
    let name = of_pytest().filter(|name| name.contains(".py")).or_else(of_cargo)?;
    let name = name.strip_suffix(" stdout").unwrap_or(name);
    Some(name.chars().take(MOST).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_runners_are_read() {
        let name = |line: &str| of_line(line);
        let some = |name: &str| Some(name.to_owned());
        assert_eq!(
            name("FAILED tests/a.py::test_b - assert 1 == 2\n"),
            some("tests/a.py::test_b - assert 1 == 2")
        );
        assert_eq!(name("ERROR tests/a.py\n"), some("tests/a.py"));
        assert_eq!(name("---- a::b stdout ----\n"), some("a::b"));
        assert_eq!(name("---- a::b ----\n"), some("a::b"));
        assert_eq!(name("ERROR: a message of pip"), None);
        assert_eq!(name("ERROR no file"), None);
        assert_eq!(name("---- a line of a table"), None);
    }

    #[test]
    fn a_long_message_is_cut() {
        let line = format!("FAILED tests/a.py::b - {}", "x".repeat(1000));
        assert_eq!(of_line(&line).map(|name| name.chars().count()), Some(MOST));
    }
}
