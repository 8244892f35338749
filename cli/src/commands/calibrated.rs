//! A static quantization, as text.

use std::fmt::Write;

use onnxport_core::calibrate::{Calibration, LayerError};

use crate::format::{bold, count};
use crate::outcome::Outcome;

/// How many layers the table shows, those with the largest errors.
const SHOWN: usize = 10;

/// Adds the quantization to `outcome`, with a table of errors.
pub(crate) fn describe(calibration: &Calibration, outcome: &mut Outcome) {
    outcome.put("calibration", calibration);
    let text = &mut outcome.summary;
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "{}  {} for {}, with ranges ({}) of {} in {}",
        bold("quantized"),
        count(calibration.layers.len(), "node"),
        calibration.target,
        calibration.method,
        count(calibration.samples, "run"),
        // The library's location does not identify the runtime.
        calibration.runtime.split(", ").next().unwrap_or_default()
    );
    let is_sensed = calibration.layers.iter().any(|layer| layer.sensitivity.is_some());
    let mut worst: Vec<&LayerError> = calibration.layers.iter().collect();
    let ratio = |layer: &LayerError| layer.error.sqnr.unwrap_or(f64::INFINITY);
    worst.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    worst.truncate(SHOWN);
    let width = worst.iter().map(|layer| layer.value.chars().count()).max().unwrap_or(0);
    for layer in worst {
        let sensitivity = match layer.sensitivity {
            Some(ratio) => format!("  alone {ratio:.1} dB"),
            None if is_sensed => "  alone no error".to_owned(),
            None => String::new(),
        };
        let value = &layer.value;
        let error = error(&layer.error);
        let _ = writeln!(text, "  {value:width$}  {:8}  {error}{sensitivity}", layer.operator);
    }
    let rest = calibration.layers.len().saturating_sub(SHOWN);
    if rest > 0 {
        let _ = writeln!(text, "  and {} with smaller errors", count(rest, "node"));
    }
    for output in &calibration.outputs {
        let _ = writeln!(
            text,
            "{}  {}  {}; at least {} dB are required",
            bold("output"),
            output.name,
            error(&output.error),
            calibration.min_sqnr
        );
    }
}

fn error(error: &onnxport_core::calibrate::Error) -> String {
    match error.sqnr {
        Some(ratio) => format!("{ratio:.1} dB, relative error {:.2e}", error.relative),
        None => "no error".to_owned(),
    }
}
