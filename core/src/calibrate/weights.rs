//! Codes of weights, which are made from the float weights while the model is written.
//!
//! A scheme for weights states the scales of the channels; the codes are the nearest ones. Schemes that choose codes by
//! the samples (GPTQ, AWQ) are to implement [`Produce`] beside [`Rounded`].

use std::ops::Range;
use std::sync::Arc;

use crate::diagnose::{Code, Diagnostic};
use crate::tensor::Source;
use crate::tensor::{DType, Error, LazyTensor, Produce, Producer};

/// The bytes of a weight that are read at a time.
const PIECE: u64 = 1 << 20;

/// The layout of a weight's channels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Channels {
    /// The number of scales: 1 if all channels share one.
    pub count: u64,
    /// The number of elements behind an index of the axis of channels.
    inner: u64,
}

impl Channels {
    /// The channels of `data` along `axis`; `None` for a single scale.
    pub(super) fn of(data: &LazyTensor, axis: Option<usize>) -> Self {
        let Some(axis) = axis else { return Self { count: 1, inner: 1 } };
        let inner = data.shape.iter().skip(axis + 1).product();
        Self { count: data.shape.get(axis).copied().unwrap_or(1), inner }
    }

    /// The channel of an element.
    pub(super) fn channel(self, element: u64) -> usize {
        (element / self.inner.max(1) % self.count.max(1)) as usize
    }
}

/// Passes the elements of `data` in `range` to `take`, in order.
///
/// # Errors
/// If they cannot be read.
pub(super) fn each(
    data: &LazyTensor,
    range: Range<u64>,
    take: &mut (dyn FnMut(u64, f32) + Send),
) -> Result<(), Error> {
    let mut at = range.start;
    let mut rest: Vec<u8> = Vec::new();
    let sink = &mut |piece: &[u8]| {
        rest.extend_from_slice(piece);
        let (values, _) = rest.as_chunks::<4>();
        for value in values {
            take(at, f32::from_le_bytes(*value));
            at += 1;
        }
        let whole = values.len() * 4;
        rest.drain(..whole);
        Ok(())
    };
    data.stream(range.start * 4..range.end * 4, usize::MAX, sink)
}

/// The largest magnitude of each channel.
///
/// # Errors
/// `OP660` for a value that is NaN or infinite; if the weight cannot be read.
pub(super) fn largest(name: &str, data: &LazyTensor, channels: Channels) -> Result<Vec<f32>, Diagnostic> {
    let mut largest = vec![0.0_f32; channels.count as usize];
    let mut not_finite = 0_u64;
    let mut take = |at: u64, value: f32| {
        not_finite += u64::from(!value.is_finite());
        if let Some(largest) = largest.get_mut(channels.channel(at)) {
            *largest = largest.max(value.abs());
        }
    };
    each(data, 0..data.elements().unwrap_or(0), &mut take).map_err(|error| failed(error, name))?;
    if not_finite > 0 {
        let message =
            format!("`{name}` has {not_finite} values that are infinite or NaN and cannot be quantized");
        return Err(Diagnostic::error(Code::WEIGHT_VALUE, message));
    }
    Ok(largest)
}

fn failed(error: Error, name: &str) -> Diagnostic {
    let error = error.of(name);
    Diagnostic::error(error.code(), error.to_string())
}

/// The sums over a weight's summed channels of its rounding error times `means`, for each output channel: by how much
/// rounding the weight shifts the mean of its product.
///
/// # Errors
/// If the weight cannot be read.
pub(super) fn shift(
    name: &str,
    rounded: &Rounded,
    [axis, summed]: [usize; 2],
    groups: u64,
    means: &[f64],
) -> Result<Vec<f64>, Diagnostic> {
    let data = &rounded.data;
    let size = |axis: usize| data.shape.get(axis).copied().unwrap_or(1).max(1);
    let inner = |axis: usize| data.shape.iter().skip(axis + 1).product::<u64>().max(1);
    let (outputs, inputs) = (size(axis), size(summed));
    let (inner_output, inner_input) = (inner(axis), inner(summed));
    let of_group = (outputs / groups.max(1)).max(1);
    let mut sums = vec![0.0_f64; outputs as usize];
    let mut take = |at: u64, value: f32| {
        let (output, input) = (at / inner_output % outputs, at / inner_input % inputs);
        let mean = means.get((output / of_group * inputs + input) as usize).copied().unwrap_or(0.0);
        let error = rounded.dequantised(at, value) - f64::from(value);
        if let Some(sum) = sums.get_mut(output as usize) {
            *sum += error * mean;
        }
    };
    each(data, 0..data.elements().unwrap_or(0), &mut take).map_err(|error| failed(error, name))?;
    Ok(sums)
}

/// A weight whose codes are the nearest ones.
#[derive(Clone, Debug)]
pub(super) struct Rounded {
    data: LazyTensor,
    channels: Channels,
    scales: Arc<[f32]>,
    largest: i32,
}

impl Rounded {
    /// The codes of `data` between -`largest` and `largest`, with a scale for each channel.
    pub(super) fn new(data: LazyTensor, channels: Channels, scales: &[f32], largest: i32) -> Self {
        Self { data, channels, scales: scales.into(), largest }
    }

    fn scale(&self, element: u64) -> f32 {
        self.scales.get(self.channels.channel(element)).copied().unwrap_or(1.0)
    }

    fn code(&self, element: u64, value: f32) -> i32 {
        let code = (f64::from(value) / f64::from(self.scale(element))).round_ties_even() as i32;
        code.clamp(-self.largest, self.largest)
    }

    fn dequantised(&self, element: u64, value: f32) -> f64 {
        f64::from(self.code(element, value)) * f64::from(self.scale(element))
    }

    /// The codes as a tensor of int8.
    pub(super) fn into_codes(self) -> LazyTensor {
        let shape = self.data.shape.clone();
        let source = Source::Produced(Producer::new(self));
        LazyTensor { dtype: DType::I8, shape, source, offset: 0, strides: None }
    }
}

impl Produce for Rounded {
    fn len(&self) -> u64 {
        self.data.elements().unwrap_or(0)
    }

    fn fill(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        let mut start = offset;
        for piece in out.chunks_mut(PIECE as usize) {
            let end = start + piece.len() as u64;
            let mut slots = piece.iter_mut();
            let mut take = |at: u64, value: f32| {
                if let Some(slot) = slots.next() {
                    *slot = self.code(at, value) as i8 as u8;
                }
            };
            each(&self.data, start..end, &mut take)?;
            start = end;
        }
        Ok(())
    }

    fn describe(&self) -> String {
        "quantised weights".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(shape: &[u64], values: &[f32]) -> LazyTensor {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        LazyTensor::inline(DType::F32, shape.to_vec(), bytes)
    }

    #[test]
    fn channels_have_scales_of_their_own() {
        let data = weight(&[2, 3], &[1.27, -0.5, 0.0, 12.7, 0.04, -12.7]);
        let rows = Channels::of(&data, Some(0));
        assert_eq!(largest("w", &data, rows).unwrap(), [1.27, 12.7]);
        let codes = Rounded::new(data.clone(), rows, &[0.01, 0.1], 127).into_codes();
        let read: Vec<i8> = codes.read().unwrap().iter().map(|byte| *byte as i8).collect();
        assert_eq!(read, [127, -50, 0, 127, 0, -127]);
        assert_eq!(largest("w", &data, Channels::of(&data, Some(1))).unwrap(), [12.7, 0.5, 12.7]);
        assert_eq!(largest("w", &data, Channels::of(&data, None)).unwrap(), [12.7]);
    }

    #[test]
    fn a_weight_that_is_not_finite_is_refused() {
        let data = weight(&[2], &[1.0, f32::NAN]);
        let problem = largest("w", &data, Channels::of(&data, None)).unwrap_err();
        assert_eq!(problem.code, Code::WEIGHT_VALUE);
    }

    #[test]
    fn shifts_are_those_of_the_mean() {
        // Two groups with one input and two outputs each, and kernels of two elements.
        let data = weight(&[4, 1, 2], &[0.4, 0.4, 1.0, 1.0, 0.4, 1.0, 0.0, 0.4]);
        let rounded = Rounded::new(data.clone(), Channels::of(&data, None), &[1.0], 127);
        let shifts = shift("w", &rounded, [0, 1], 2, &[1.0, 10.0]).unwrap();
        let expected = [-0.8, 0.0, -4.0, -4.0];
        assert!(shifts.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{shifts:?}");
    }
}
