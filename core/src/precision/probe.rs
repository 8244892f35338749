//! Statistics of a weight's values, collected by streaming through it once.

use crate::tensor::{DType, Error, LazyTensor, Transform};

/// The memory limit of a probe, in bytes.
const BUDGET: usize = 8 << 20;

/// The result.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    /// The number of finite values that overflow the type, and of infinite ones if it has no infinity.
    pub(super) beyond: u64,
    /// The largest of them, without its sign.
    pub(super) largest: f64,
    /// The number of infinite and NaN values.
    pub(super) not_finite: u64,
}

/// Examines the values of `data` for a conversion to `to`. A missing weight has no values.
pub(super) fn probe(data: &LazyTensor, to: DType) -> Result<Probe, Error> {
    let mut found = Probe::default();
    if data.unbound().is_some() {
        return Ok(found);
    }
    let limit = limit(to);
    let mut take = |value: f64| {
        found.not_finite += u64::from(!value.is_finite());
        // An infinity is kept if the type has one.
        if value.abs() > limit && (value.is_finite() || to.bits() == 8) {
            found.beyond += 1;
            found.largest = found.largest.max(value.abs());
        }
    };
    let wide = if data.dtype == DType::F64 { None } else { data.then(Transform::Cast(DType::F32)) };
    match wide {
        Some(wide) => wide.stream(0..wide.byte_len().unwrap_or(0), BUDGET, &mut |bytes: &[u8]| {
            // Whole chunks first: almost no weight has such values.
            let values = || bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b));
            let largest = values().fold(0f32, |most, value| {
                let value = value.abs();
                if value > most || value.is_nan() { value } else { most }
            });
            if !(f64::from(largest) <= limit && largest.is_finite()) {
                values().for_each(|value| take(f64::from(value)));
            }
            Ok(())
        })?,
        None => data.stream(0..data.byte_len().unwrap_or(0), BUDGET, &mut |bytes: &[u8]| {
            bytes.as_chunks::<8>().0.iter().for_each(|b| take(f64::from_le_bytes(*b)));
            Ok(())
        })?,
    }
    Ok(found)
}

/// Returns the largest number that rounds to a finite one, or to the largest one without saturation. A
/// number halfway to the next power of two would round up to it.
fn limit(to: DType) -> f64 {
    let half = f64::midpoint;
    match to {
        DType::F16 => half(65504.0, 65536.0).next_down(),
        DType::F32 => half(f64::from(f32::MAX), 2f64.powi(128)).next_down(),
        DType::BF16 => half(f64::from(f32::from_bits(0x7f7f_0000)), 2f64.powi(128)).next_down(),
        DType::F8E4M3FN => half(448.0, 480.0),
        DType::F8E4M3FNUZ => half(240.0, 256.0),
        DType::F8E5M2 | DType::F8E5M2FNUZ => half(57344.0, 65536.0),
        _ => f64::INFINITY,
    }
}
