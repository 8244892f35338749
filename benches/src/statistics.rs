//! Medians, and tables in Markdown.

use std::fmt::Write as _;

/// The median; `None` of nothing.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    values.get(middle - 1).map(|lower| f64::midpoint(*lower, upper))
}

/// A table in Markdown: the first column to the left, the others to the right.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let cell = |row: &[String], column: usize| row.get(column).cloned().unwrap_or_default();
    let widths: Vec<usize> = (0..head.len())
        .map(|column| rows.iter().map(|row| cell(row, column).chars().count()).max().unwrap_or(0))
        .zip(head)
        .map(|(width, title)| width.max(title.chars().count()).max(2))
        .collect();
    let mut text = String::new();
    let mut line = |cells: Vec<String>| {
        for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            let _ = if column == 0 {
                write!(text, "| {cell:width$} |")
            } else {
                write!(text, " {cell:>width$} |")
            };
        }
        text.push('\n');
    };
    line(head.iter().map(|title| (*title).to_owned()).collect());
    let rule = |(column, width): (usize, &usize)| match column {
        0 => "-".repeat(*width),
        _ => format!("{}:", "-".repeat(width - 1)),
    };
    line(widths.iter().enumerate().map(rule).collect());
    for row in rows {
        line((0..head.len()).map(|column| cell(row, column)).collect());
    }
    text
}

/// Bytes as MiB.
pub(crate) fn mebibytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_lie_in_the_middle() {
        assert_eq!(median([]), None);
        assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn tables_are_aligned() {
        let rows = [vec!["a".to_owned(), "1.0".to_owned()], vec!["long name".to_owned()]];
        let expected =
            "| model     | CPU s |\n| --------- | ----: |\n| a         |   1.0 |\n| long name |       |\n";
        assert_eq!(table(&["model", "CPU s"], &rows), expected);
    }
}
