//! The error of a quantized model against the float one.

use schemars::JsonSchema;
use serde::Serialize;

/// A calibration, and the errors of its result.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Calibration {
    /// The target whose rules apply.
    pub target: String,
    /// The source of the rules.
    pub source: String,
    /// The runtime that ran both models.
    pub runtime: String,
    /// The method by which ranges were chosen.
    pub method: String,
    /// The number of runs that activations were measured on.
    pub samples: usize,
    /// The number of runs, the first ones, that errors were measured on.
    pub compared: usize,
    /// The number of distinct scales of activations.
    pub scales: usize,
    /// The quantized nodes, in topological order.
    pub layers: Vec<LayerError>,
    /// The outputs of the model.
    pub outputs: Vec<OutputError>,
    /// The nodes that stay floats although the target has a rule for their operators.
    pub kept: Vec<Kept>,
    /// The smallest signal-to-noise ratio of an output, in decibels, with which the model passes. The tolerances of
    /// floats do not apply.
    pub min_sqnr: f64,
}

/// A node that stays a float.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Kept {
    /// The operator.
    pub operator: String,
    /// Its result.
    pub value: String,
    /// The reason.
    pub why: String,
}

/// The error of a quantized node.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct LayerError {
    /// The operator.
    pub operator: String,
    /// Its result, behind the operators that are fused with it.
    pub value: String,
    /// The weight, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<String>,
    /// The error of the result in the quantized model.
    #[serde(flatten)]
    pub error: Error,
    /// The smallest signal-to-noise ratio of an output, in decibels, if only this node is quantized; absent if it was
    /// not requested, or if there is no difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<f64>,
}

/// The error of an output.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct OutputError {
    /// The output.
    pub name: String,
    /// Its error.
    #[serde(flatten)]
    pub error: Error,
}

/// The error of a value over all compared runs.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
pub struct Error {
    /// The number of compared elements: those that are finite in the float model.
    pub elements: u64,
    /// The ratio of the sums of squares of the float values and of their errors, in decibels; absent without an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sqnr: Option<f64>,
    /// The root of that ratio's inverse.
    pub relative: f64,
    /// The largest error.
    pub largest: f64,
}

impl Calibration {
    /// The errors that judge the model: those of its outputs, or of its layers if no element of an output was compared, as
    /// for outputs of integers.
    fn judging(&self) -> Vec<Error> {
        let outputs: Vec<Error> = self.outputs.iter().map(|output| output.error).collect();
        if outputs.iter().any(|error| error.elements > 0) {
            return outputs;
        }
        self.layers.iter().map(|layer| layer.error).collect()
    }

    /// Whether there is an element to judge the model by.
    pub(super) fn is_compared(&self) -> bool {
        self.judging().iter().any(|error| error.elements > 0)
    }

    /// The smallest signal-to-noise ratio among the outputs, or among the layers if no output can be compared; `None` if
    /// nothing changed.
    pub fn sqnr(&self) -> Option<f64> {
        self.judging().iter().filter_map(|error| error.sqnr).min_by(f64::total_cmp)
    }
}

/// Sums of squares.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    elements: u64,
    signal: f64,
    noise: f64,
    largest: f64,
    /// Whether an element is not finite, or a size differs.
    is_worst: bool,
}

impl Sums {
    /// Adds the elements of a run of both models. A value of another size is the worst error.
    pub(super) fn add_all(&mut self, float: &[f32], quantised: impl ExactSizeIterator<Item = f32>) {
        self.is_worst |= float.len() != quantised.len();
        float.iter().zip(quantised).for_each(|(float, quantised)| self.add(*float, quantised));
    }

    /// Adds an element of both models. Elements that are not finite in the float model are not counted.
    fn add(&mut self, float: f32, quantised: f32) {
        if !float.is_finite() {
            return;
        }
        self.elements += 1;
        let error = f64::from(float) - f64::from(quantised);
        self.is_worst |= !error.is_finite();
        self.signal += f64::from(float).powi(2);
        self.noise += error.powi(2);
        self.largest = self.largest.max(error.abs());
    }

    /// The error.
    pub(super) fn error(&self) -> Error {
        let elements = self.elements;
        if self.is_worst {
            let worst = f64::MAX;
            return Error { elements, sqnr: Some(-worst), relative: worst, largest: worst };
        }
        if self.noise <= 0.0 {
            return Error { elements, sqnr: None, relative: 0.0, largest: 0.0 };
        }
        // A float result of zeros has no signal.
        let ratio = self.signal.max(f64::MIN_POSITIVE) / self.noise;
        let (sqnr, relative) = (Some(10.0 * ratio.log10()), ratio.sqrt().recip());
        Error { elements, sqnr, relative, largest: self.largest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_in_decibels() {
        let mut sums = Sums::default();
        for (a, b) in [(3.0, 3.0), (4.0, 4.5), (f32::NAN, 1.0)] {
            sums.add(a, b);
        }
        let error = sums.error();
        assert!((error.sqnr.unwrap() - 20.0).abs() < 1e-9);
        assert!((error.relative - 0.1).abs() < 1e-12 && error.largest == 0.5);
        assert_eq!(Sums::default().error().sqnr, None);
    }

    #[test]
    fn a_result_of_another_size_is_the_worst() {
        let mut sums = Sums::default();
        sums.add_all(&[1.0, 2.0], [1.0].into_iter());
        assert!(sums.error().sqnr.unwrap() < -1e300);
    }

    #[test]
    fn a_result_that_is_not_finite_is_the_worst() {
        let mut sums = Sums::default();
        sums.add(1.0, f32::NAN);
        assert!(sums.error().sqnr.unwrap() < -1e300);
    }
}
