//! Histograms of the errors of outputs, as text.

use std::fmt::Write;

use onnxport_core::compare::{Spread, decade_edges};
use onnxport_core::verify::Verification;

use crate::format::{plain, table};

/// Returns a histogram of the errors of each output, by powers of ten.
pub(crate) fn histograms(found: &[Verification]) -> String {
    let mut text = String::new();
    for verification in found {
        for case in &verification.cases {
            for output in &case.outputs {
                let Some(spread) = output.difference.as_ref().and_then(|d| d.spread.as_ref()) else {
                    continue;
                };
                let name = plain(&output.tensor.name);
                // Writing to a String cannot fail.
                let _ =
                    writeln!(text, "{}, {}, {name}: elements by |error|", verification.executor, case.name);
                text.push_str(&histogram(spread));
            }
        }
    }
    text
}

fn histogram(spread: &Spread) -> String {
    let edges: Vec<f64> = decade_edges().collect();
    let most = spread.decades.iter().copied().max().unwrap_or(0).max(1);
    let rows = spread.decades.iter().enumerate().filter(|(_, count)| **count > 0).map(|(at, count)| {
        let below = |at: usize| edges.get(at).map(|edge| format!("{edge:.0e}"));
        let range = match (at, at.checked_sub(2).and_then(below), at.checked_sub(1).and_then(below)) {
            (0, ..) => "none".to_owned(),
            (_, None, Some(high)) => format!("below {high}"),
            (_, Some(low), Some(high)) => format!("{low} to {high}"),
            (_, Some(low), None) => format!("from {low}"),
            (_, None, None) => String::new(),
        };
        let bar = (*count as f64 / most as f64 * BAR).ceil() as usize;
        vec![range, count.to_string(), "#".repeat(bar)]
    });
    table(&rows.collect::<Vec<_>>())
}

/// The longest bar of a histogram, in characters.
const BAR: f64 = 40.0;
