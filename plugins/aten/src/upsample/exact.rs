//! Resampling as products with matrices of weights, for constant extents.

use std::f64::consts::PI;

use onnxport_sdk::prelude::*;

use super::resize::Sizes;
use crate::matmul::along;

/// The function of the distance that gives weights.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
    Linear,
    Cubic,
    /// The sinc function, windowed by its first three lobes.
    Lanczos,
}

/// How elements are weighted.
#[derive(Clone, Copy)]
pub(super) struct Filter {
    pub(super) kernel: Kernel,
    /// Whether the first and the last elements keep their positions.
    pub(super) corners: bool,
    /// Whether elements are smoothed where they become fewer.
    pub(super) antialias: bool,
}

impl Filter {
    /// `x`, resampled along every axis from and to these extents.
    pub(super) fn resampled(self, cx: &Lower, x: Value, sizes: &Sizes, extents: &[(i64, i64)]) -> Res<Value> {
        let dtype = cx.dtype(x)?;
        let mut y = x;
        for (i, (n, m)) in extents.iter().enumerate() {
            let factor = sizes.scales.as_ref().and_then(|scales| scales.get(i).copied());
            let weights = self.weights(*n, *m, factor);
            y = along(cx, cx.numbers_shaped(&weights, &[*m as u64, *n as u64], dtype), y, sizes.axis(i))?;
        }
        Ok(y)
    }

    /// A row of `n` weights for each of `m` elements.
    fn weights(self, n: i64, m: i64, factor: Option<f64>) -> Vec<f64> {
        let step = match factor {
            _ if self.corners && m > 1 => (n - 1) as f64 / (m - 1) as f64,
            _ if self.corners => 0.0,
            Some(factor) => 1.0 / factor,
            None => n as f64 / m as f64,
        };
        (0..m)
            .flat_map(|i| if self.antialias { self.smooth(i, n, step) } else { self.sharp(i, n, step) })
            .collect()
    }

    /// Between the nearest two or four elements; those outside repeat the edge.
    fn sharp(self, i: i64, n: i64, step: f64) -> Vec<f64> {
        let at = if self.corners { step * i as f64 } else { step * (i as f64 + 0.5) - 0.5 };
        let cubic = self.kernel == Kernel::Cubic;
        let at = if cubic { at } else { at.max(0.0) };
        let first = at.floor() as i64;
        let rest = at - first as f64;
        let near = if cubic { -1..=2 } else { 0..=1 };
        let mut row = vec![0.0; n as usize];
        for k in near {
            let weight = self.at(rest - k as f64, -0.75);
            if let Some(entry) = row.get_mut((first + k).clamp(0, n - 1) as usize) {
                *entry += weight;
            }
        }
        row
    }

    /// Of all elements that the filter reaches, without those outside.
    fn smooth(self, i: i64, n: i64, step: f64) -> Vec<f64> {
        let wide = step.max(1.0);
        let reach = wide
            * match self.kernel {
                Kernel::Linear => 1.0,
                Kernel::Cubic => 2.0,
                Kernel::Lanczos => 3.0,
            };
        let center = step * (i as f64 + 0.5);
        let first = ((center - reach + 0.5) as i64).max(0);
        let end = ((center + reach + 0.5) as i64).min(n);
        let weight = |j: i64| {
            let inside = (first..end).contains(&j);
            if inside { self.at((j as f64 - center + 0.5) / wide, -0.5) } else { 0.0 }
        };
        let row: Vec<f64> = (0..n).map(weight).collect();
        let sum: f64 = row.iter().sum();
        row.into_iter().map(|weight| if sum == 0.0 { weight } else { weight / sum }).collect()
    }

    /// The weight at a distance; `a` is the coefficient of the cubic.
    fn at(self, distance: f64, a: f64) -> f64 {
        let x = distance.abs();
        match (self.kernel, x) {
            (Kernel::Linear, x) => (1.0 - x).max(0.0),
            (Kernel::Cubic, x) if x < 1.0 => ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0,
            (Kernel::Cubic, x) if x < 2.0 => (((x - 5.0) * x + 8.0) * x - 4.0) * a,
            (Kernel::Lanczos, 0.0) => 1.0,
            (Kernel::Lanczos, x) if x < 3.0 => {
                let angle = PI * x;
                angle.sin() / angle * ((angle / 3.0).sin() / (angle / 3.0))
            }
            _ => 0.0,
        }
    }
}
