//! Transforms of the scores of one row.

use super::super::Res;
use super::super::error::invalid;

/// A function of the scores of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transform {
    None,
    Softmax,
    Logistic,
    SoftmaxZero,
    Probit,
}

impl Transform {
    /// The one that an attribute names.
    pub(super) fn named(name: &str) -> Res<Self> {
        Ok(match name {
            "NONE" | "" => Self::None,
            "SOFTMAX" => Self::Softmax,
            "LOGISTIC" => Self::Logistic,
            "SOFTMAX_ZERO" => Self::SoftmaxZero,
            "PROBIT" => Self::Probit,
            other => return invalid!("unknown transform `{other}` of scores"),
        })
    }

    /// The one of this number.
    pub(super) fn numbered(number: i64) -> Res<Self> {
        Ok(match number {
            0 => Self::None,
            1 => Self::Softmax,
            2 => Self::Logistic,
            3 => Self::SoftmaxZero,
            4 => Self::Probit,
            other => return invalid!("unknown transform {other} of scores"),
        })
    }

    pub(super) fn apply(self, scores: &mut [f64]) {
        match self {
            Self::None => {}
            Self::Softmax => softmax(scores, |_| false),
            // Scores of nothing stay nothing.
            Self::SoftmaxZero => softmax(scores, |x| x.abs() <= 1e-7),
            Self::Logistic => scores.iter_mut().for_each(|x| *x = logistic(*x)),
            Self::Probit => scores.iter_mut().for_each(|x| *x = probit(*x)),
        }
    }
}

fn softmax(scores: &mut [f64], nothing: impl Fn(f64) -> bool) {
    let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for x in scores.iter_mut() {
        *x = if nothing(*x) { 0.0 } else { (*x - max).exp() };
        sum += *x;
    }
    if sum != 0.0 {
        for x in scores.iter_mut() {
            *x /= sum;
        }
    }
}

/// `1 / (1 + exp(-x))`.
pub(super) fn logistic(x: f64) -> f64 {
    crate::ops::activation::sigmoid(x)
}

/// Where a normal distribution has gathered the share `p`: the inverse of `(1 + erf(x / √2)) / 2`.
fn probit(p: f64) -> f64 {
    match p {
        p if !(0.0..=1.0).contains(&p) => return f64::NAN,
        0.0 => return f64::NEG_INFINITY,
        1.0 => return f64::INFINITY,
        _ => {}
    }
    // Bisection of a function that only grows: 64 halvings reach the precision of a double.
    let (mut low, mut high) = (-40.0f64, 40.0f64);
    for _ in 0..64 {
        let middle = low.midpoint(high);
        let share = 0.5 * libm::erfc(-middle / std::f64::consts::SQRT_2);
        if share < p { low = middle } else { high = middle }
    }
    low.midpoint(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probit_is_the_inverse_of_a_normal_distribution() {
        for (p, expected) in [(0.5, 0.0), (0.975, 1.959_963_984_540_054), (0.001, -3.090_232_306_167_813)] {
            assert!((probit(p) - expected).abs() < 1e-12, "{p}: {}", probit(p));
        }
        assert!(probit(1.5).is_nan() && probit(0.0) == f64::NEG_INFINITY);
    }

    #[test]
    fn scores_of_nothing_stay_nothing() {
        let mut scores = [0.0, 1.0, 1.0];
        Transform::SoftmaxZero.apply(&mut scores);
        assert_eq!(scores, [0.0, 0.5, 0.5]);
    }
}
