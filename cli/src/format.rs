//! Small pieces of text.

use std::fmt::Write;
use std::time::Duration;

use onnxport_core::diagnose::render::{one_line, printable};

/// The start of a style: a noncharacter of Unicode, which no text contains. [`painted`] converts it to escape
/// sequences at the very end, so that sequences from files or plugins never reach the terminal.
const BOLD: char = '\u{fdd0}';
const GOOD: char = '\u{fdd1}';
const BAD: char = '\u{fdd2}';
const FAINT: char = '\u{fdd3}';
/// The end of a style.
const END: char = '\u{fdd4}';

fn is_mark(c: char) -> bool {
    (BOLD..=END).contains(&c)
}

/// Bold text.
pub(crate) fn bold(text: &str) -> String {
    format!("{BOLD}{text}{END}")
}

/// Text in the colour of success.
pub(crate) fn good(text: &str) -> String {
    format!("{GOOD}{text}{END}")
}

/// Text in the colour of failure.
pub(crate) fn bad(text: &str) -> String {
    format!("{BAD}{text}{END}")
}

/// Formats text of less importance.
pub(crate) fn faint(text: &str) -> String {
    format!("{FAINT}{text}{END}")
}

/// Formats the text for a terminal: its styles become escape sequences, which streams drop if they do not
/// support them, and other control characters are removed.
pub(crate) fn painted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for part in text.split_inclusive(is_mark) {
        let words = part.strip_suffix(is_mark).unwrap_or(part);
        out.push_str(&printable(words));
        let style = match part.chars().next_back() {
            Some(BOLD) => "\x1b[1m",
            Some(GOOD) => "\x1b[1m\x1b[32m",
            Some(BAD) => "\x1b[1m\x1b[31m",
            Some(FAINT) => "\x1b[2m",
            Some(END) => "\x1b[0m",
            _ => "",
        };
        out.push_str(style);
    }
    out
}

/// The text without styles.
pub(crate) fn unstyled(text: &str) -> String {
    text.replace(is_mark, "")
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

/// Returns a name from a file, without characters that would move the cursor of a terminal or break a row.
pub(crate) fn plain(name: &str) -> String {
    one_line(name).into_owned()
}

/// Cells wider than this shift the rest of their own row only.
const WIDEST: usize = 48;

/// Formats a title and the first `shown` rows, with a note about the others; empty if there are none.
pub(crate) fn limited(
    out: &mut String,
    title: &str,
    rows: impl ExactSizeIterator<Item = Vec<String>>,
    shown: usize,
) {
    let total = rows.len();
    if total == 0 {
        return;
    }
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{}", bold(title));
    out.push_str(&table(&rows.take(shown).collect::<Vec<_>>()));
    if total > shown {
        let _ = writeln!(out, "  {}", faint(&format!("... {} more, see --all", total - shown)));
    }
}

/// Formats rows with aligned columns, separated by two spaces; each line is indented by two.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|r| r.get(column)).map(|c| shown(c));
        cells.filter(|width| *width <= WIDEST).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::from(" ");
        for (cell, width) in row.iter().zip(&widths) {
            // Writing to a String cannot fail.
            let _ = write!(line, " {cell}{:1$} ", "", width.saturating_sub(shown(cell)));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Returns the visible width of a cell, without its styles.
fn shown(cell: &str) -> usize {
    cell.chars().filter(|c| !is_mark(*c)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_escape_sequence_but_our_own_is_printed() {
        let name = "a\u{1b}[31mb\u{1b}]0;t\u{7}\u{202e}c";
        let shown = painted(&format!("{}\n{name}\n", bold(name)));
        let clean = "a\\u{1b}[31mb\\u{1b}]0;t\\u{7}\\u{202e}c";
        assert_eq!(shown, format!("\u{1b}[1m{clean}\u{1b}[0m\n{clean}\n"));
        assert_eq!(unstyled(&good("pass")), "pass");
        let rows = [vec![bold("a"), "b".to_owned()], vec!["long".to_owned(), "c".to_owned()]];
        assert_eq!(unstyled(&table(&rows)), "  a     b\n  long  c\n");
    }

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
        let wide = "w".repeat(WIDEST + 1);
        assert_eq!(
            table(&[vec!["a".into(), "b".into()], vec![wide.clone(), "c".into()]]),
            format!("  a  b\n  {wide}  c\n")
        );
        assert_eq!(plain("layer.0\u{1b}[2J\n\u{e9}"), "layer.0\\u{1b}[2J\\n\u{e9}");
    }
}
