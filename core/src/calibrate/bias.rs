//! Biases as int32 codes, whose scale is that of the products: `scale of the activation * scale of the weight`.

use crate::diagnose::{Code, Diagnostic};
use crate::tensor::LazyTensor;

/// The largest code of a bias: sums of products come on top.
const LARGEST: f64 = (1_u32 << 30) as f64;

/// The bias of a weight, from which its scales follow besides the weight itself.
pub(super) struct Bias<'a> {
    /// The bias.
    pub old: Option<&'a [f32]>,
    /// The scale of the activation.
    pub scale: f32,
    /// Whether the bias becomes codes.
    pub codes: bool,
}

/// The elements of a bias.
///
/// # Errors
/// If it cannot be read, or is not finite.
pub(super) fn read(data: &LazyTensor) -> Result<Vec<f32>, Diagnostic> {
    let bytes = data.read().ok_or_else(|| Diagnostic::error(Code::READ_PAYLOAD, "a bias cannot be read"))?;
    let values: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|value| f32::from_le_bytes(*value)).collect();
    if values.iter().all(|value| value.is_finite()) {
        return Ok(values);
    }
    Err(Diagnostic::error(Code::WEIGHT_VALUE, "a bias has values that are infinite or NaN"))
}

/// The scales of a weight with these largest magnitudes, so large that the codes of the bias fit.
pub(super) fn scales(largest: &[f32], code: i32, bias: &Bias<'_>) -> Vec<f32> {
    let of_bias = |channel: usize| -> f32 {
        let all = bias.old.filter(|_| bias.codes).unwrap_or_default();
        let own = if largest.len() == 1 { all } else { all.get(channel..=channel).unwrap_or_default() };
        own.iter().fold(0.0, |most: f32, value| most.max(value.abs()))
    };
    let scale = |(channel, largest): (usize, &f32)| {
        let least = f64::from(of_bias(channel)) / (f64::from(bias.scale) * LARGEST);
        let scale = (f64::from(*largest) / f64::from(code)).max(least);
        // A channel of zeros has any scale. The product with the activation's scale must be a normal number.
        let smallest = f64::from(f32::MIN_POSITIVE) * 2.0 / f64::from(bias.scale).min(1.0);
        if scale > 0.0 { scale.max(smallest).min(f64::from(f32::MAX)) as f32 } else { 1.0 }
    };
    largest.iter().enumerate().map(scale).collect()
}

/// The codes of a bias, for a scale of each element or of all.
pub(super) fn codes(bias: &[f32], scales: &[f32]) -> Vec<i32> {
    let code = |(at, value): (usize, &f32)| {
        let scale = scales.get(at).or(scales.first()).copied().unwrap_or(1.0);
        // A cast of a float saturates.
        (f64::from(*value) / f64::from(scale)).round_ties_even() as i32
    };
    bias.iter().enumerate().map(code).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_those_of_weights() {
        let bias = Bias { old: Some(&[1.0, -2.0]), scale: 0.5, codes: true };
        assert_eq!(scales(&[1.27, 2.54], 127, &bias), [0.01, 0.02]);
        assert_eq!(codes(&[1.0, -2.0], &[0.005, 0.01]), [200, -200]);
        assert_eq!(codes(&[1.0, -2.0], &[0.5]), [2, -4]);
    }

    #[test]
    fn a_large_bias_of_a_small_weight_still_fits() {
        for (largest, old) in [(1e-30, 3.0), (0.0, 3.0), (1e-6, 1e20), (0.0, 0.0)] {
            let bias = Bias { old: Some(&[old]), scale: 1e-3, codes: true };
            let scales = scales(&[largest], 127, &bias);
            let step = scales[0] * 1e-3;
            assert!(step.is_normal(), "{largest} {old}");
            let code = codes(&[old], &[step])[0];
            let back = f64::from(code) * f64::from(step);
            assert!((back - f64::from(old)).abs() <= f64::from(old) * 1e-6, "{largest} {old} {back}");
        }
    }
}
