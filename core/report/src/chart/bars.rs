//! A histogram, small enough to stand in the row of a table.

use maud::{Markup, html};

/// One bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// The counted range, such as `1e-6 to 1e-5`.
    pub label: String,
    /// How many there are.
    pub count: u64,
    /// Whether the counted elements are faults.
    pub is_wrong: bool,
}

const WIDTH: f64 = 9.0;
const HEIGHT: f64 = 32.0;

/// Bars beside each other. Heights grow with the logarithm of the counts, so that a single element is seen beside a
/// million; the count stands in the title.
pub fn bars(bars: &[Bar], about: &str) -> Markup {
    let most = bars.iter().map(|bar| bar.count).max().unwrap_or(0);
    let height = |count: u64| match count {
        0 => 0.0,
        count => HEIGHT * (1.0 + (count as f64).log10()) / (1.0 + (most as f64).log10()),
    };
    let width = WIDTH * bars.len() as f64;
    html! {
        svg.bars role="img" aria-label=(about) width=(width) height=(HEIGHT + 1.0)
            viewBox={ "0 0 " (width) " " (HEIGHT + 1.0) } {
            line.axis x1="0" x2=(width) y1=(HEIGHT + 0.5) y2=(HEIGHT + 0.5) {}
            @for (at, bar) in bars.iter().enumerate().filter(|(_, bar)| bar.count > 0) {
                rect.wrong[bar.is_wrong] x=(WIDTH * at as f64 + 1.0) width=(WIDTH - 2.0)
                    y=(format!("{:.1}", HEIGHT - height(bar.count))) height=(format!("{:.1}", height(bar.count))) {
                    title { (bar.label) ": " (bar.count) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_element_is_seen_beside_a_million() {
        let bar = |label: &str, count, is_wrong| Bar { label: label.to_owned(), count, is_wrong };
        let given = [bar("0", 1_000_000, false), bar("1e-6", 0, false), bar("<1", 1, true)];
        let svg = bars(&given, "errors of `y`").into_string();
        assert_eq!(svg.matches("<rect").count(), 2);
        assert!(svg.contains(r#"class="wrong""#));
        assert!(svg.contains("<title>&lt;1: 1</title>"));
        assert!(svg.contains(r#"height="4.6""#), "{svg}");
    }

    #[test]
    fn nothing_is_an_empty_picture() {
        assert!(!bars(&[], "").into_string().contains("NaN"));
    }
}
