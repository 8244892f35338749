//! How wide text is, without a font: a picture states the width of each text, and browsers keep to it.

use onnxport_core::diagnose::render::printable;

/// The advance widths of Helvetica, which those of Arial and Liberation Sans are as well, from space to tilde, in
/// thousandths of the size.
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, // space to slash
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584,
    556, // digits to question mark
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, // at to O
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, // P to underscore
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, // backtick to o
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584, // p to tilde
];

/// How much wider bold letters are.
const BOLD: f64 = 1.07;

/// The width of `text` in letters of `size`.
pub(super) fn width(text: &str, size: f64, bold: bool) -> f64 {
    let one = |c: char| {
        let at = (c as usize).checked_sub(32);
        f64::from(at.and_then(|at| WIDTHS.get(at)).copied().unwrap_or(1000))
    };
    let sum: f64 = text.chars().map(one).sum();
    (sum * size / 1000.0 * if bold { BOLD } else { 1.0 }).ceil()
}

/// `text` if it is at most `most` wide, else its beginning and its end.
pub(super) fn fit(text: &str, size: f64, bold: bool, most: f64) -> String {
    let text = clean(text);
    if width(&text, size, bold) <= most {
        return text;
    }
    let letters: Vec<char> = text.chars().collect();
    // The longest that fits, by halves.
    let cut = |keep: usize| -> String {
        let head = keep.div_ceil(2);
        let tail = letters.len() - (keep - head);
        letters[..head].iter().chain(&['…']).chain(&letters[tail..]).collect()
    };
    let (mut fits, mut too_many) = (0, letters.len());
    while fits + 1 < too_many {
        let middle = usize::midpoint(fits, too_many);
        if width(&cut(middle), size, bold) <= most { fits = middle } else { too_many = middle }
    }
    cut(fits)
}

/// `text` with invisible characters as escapes, and without those that Unicode never assigns, which no SVG may
/// hold.
pub(super) fn clean(text: &str) -> String {
    printable(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

/// `text` as it stands in a file of XML, between tags or in an attribute.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_loses_its_middle() {
        assert_eq!(fit("Conv", 13.0, true, 100.0), "Conv");
        let short = fit("a_rather_long_name_of_a_value_in_a_model", 10.0, false, 80.0);
        assert!(short.contains('…') && short.starts_with("a_ra") && short.ends_with("del"), "{short}");
        assert!(width(&short, 10.0, false) <= 80.0);
        assert_eq!(fit("wide", 10.0, false, 0.0), "…");
    }

    #[test]
    fn nothing_breaks_the_file() {
        assert_eq!(escape("a<b>&\"\u{0}\u{1b}c"), "a&lt;b&gt;&amp;&quot;\\u{0}\\u{1b}c");
        assert_eq!(escape("\u{202e}\u{2066}\u{ffff}"), "\\u{202e}\\u{2066}\u{fffd}");
    }
}
