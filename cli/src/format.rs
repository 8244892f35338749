//! Small pieces of text.

use std::fmt::Write;
use std::time::Duration;

/// Bold text; the streams drop the escape sequences where they do not belong.
pub(crate) fn bold(text: &str) -> String {
    let style = anstyle::Style::new().bold();
    format!("{style}{text}{style:#}")
}

/// Text in the colour of success.
pub(crate) fn good(text: &str) -> String {
    let style = anstyle::AnsiColor::Green.on_default().bold();
    format!("{style}{text}{style:#}")
}

/// Text in the colour of failure.
pub(crate) fn bad(text: &str) -> String {
    let style = anstyle::AnsiColor::Red.on_default().bold();
    format!("{style}{text}{style:#}")
}

/// Text that steps back.
pub(crate) fn faint(text: &str) -> String {
    let style = anstyle::Style::new().dimmed();
    format!("{style}{text}{style:#}")
}

/// A number of bytes: `1.5 MB`.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if count < 1000 {
        return format!("{count} bytes");
    }
    let mut value = count as f64;
    let mut unit = "";
    for next in UNITS {
        if value < 1000.0 {
            break;
        }
        value /= 1000.0;
        unit = next;
    }
    format!("{value:.1} {unit}")
}

/// A duration: `12 ms`, `3.4 s`.
pub(crate) fn duration(time: Duration) -> String {
    if time < Duration::from_millis(10) {
        return format!("{:.1} ms", time.as_secs_f64() * 1e3);
    }
    if time < Duration::from_secs(1) {
        return format!("{} ms", time.as_millis());
    }
    format!("{:.1} s", time.as_secs_f64())
}

/// `1 input`, `2 inputs`.
pub(crate) fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// Rows with aligned columns, two spaces apart, each line indented by two.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|r| r.get(column)).map(|c| c.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::from(" ");
        for (cell, width) in row.iter().zip(&widths) {
            // Writing to a String cannot fail.
            let _ = write!(line, " {cell:<width$} ");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_short() {
        assert_eq!(bytes(999), "999 bytes");
        assert_eq!(bytes(1_530_000), "1.5 MB");
        assert_eq!(duration(Duration::from_micros(1234)), "1.2 ms");
        assert_eq!(duration(Duration::from_millis(3400)), "3.4 s");
        assert_eq!(count(1, "input"), "1 input");
        assert_eq!(
            table(&[vec!["a".into(), "b".into()], vec!["long".into(), "c".into()]]),
            "  a     b\n  long  c\n"
        );
    }
}
