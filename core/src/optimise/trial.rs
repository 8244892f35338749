//! Trials of rules: ONNX's evaluator computes a model with an instance of the pattern, before and after the rule.

mod instance;

use std::collections::BTreeMap;

use super::{OptimiseOptions, optimise};
use crate::host::Host;
use crate::ir::{Attr, Model};
use crate::ops::{self, Limits, Tensor, Value};
use crate::tensor::{DType, Kind};
use crate::valid::StatedTypes;

/// A rule, with bindings for the names of its pattern.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    /// The rule, by name.
    pub name: String,
    /// Its pattern.
    pub pattern: String,
    /// Types of the values; optional parts without a type are omitted.
    pub values: BTreeMap<String, (DType, Vec<u64>)>,
    /// Values of the attributes; one without a value is omitted.
    pub attributes: BTreeMap<String, Attr>,
    /// The opset of the model.
    pub opset: i64,
    /// The bound on the difference of results, relative to the larger of 1 and the value; 0 for equality.
    pub bound: f64,
    /// The seed for drawn values.
    pub seed: u64,
}

/// The outcome of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The rule was applied, and both sides agree.
    Agree,
    /// The rule was not applied, for this reason.
    NotApplied(String),
    /// Both sides differ, with a description.
    Differ(String),
}

impl Trial {
    /// Draws values, and computes them before and after the rule. If the seed is odd, an exact rule is also tried with
    /// NaN, infinities and -0.
    ///
    /// # Errors
    /// The reason why the pattern cannot be tried: a type is missing, or its operators do not run with these.
    pub fn run(&self, host: &Host) -> Result<Verdict, String> {
        let mut random = Random { state: self.seed, special: self.bound == 0.0 && self.seed % 2 == 1 };
        let (before, inputs) = instance::of(self, &mut random)?;
        let compute = |model: &Model, inputs: &[Value]| {
            let inputs = inputs.iter().cloned().map(Some).collect();
            ops::run(model, inputs, Limits::default()).map_err(|fault| format!("{fault:?}"))
        };
        let wanted = compute(&before, &inputs).map_err(|why| format!("the pattern does not run: {why}"))?;
        let mut after = before.clone();
        let options =
            OptimiseOptions { explain: Some(self.name.clone()), fold: 0, ..OptimiseOptions::default() };
        let optimised = optimise(host, &mut after, &mut StatedTypes::default(), &options);
        let (done, found) = optimised.map_err(|problem| problem.message)?;
        if done.applied == 0 {
            let reasons = found.into_iter().map(|diagnostic| diagnostic.message);
            let places =
                done.places.into_iter().map(|place| place.reason).filter(|reason| !reason.is_empty());
            let why: Vec<String> = reasons.chain(places).collect();
            return Ok(Verdict::NotApplied(why.join("; ")));
        }
        let found = match compute(&after, &inputs) {
            Ok(found) => found,
            Err(why) => return Ok(Verdict::Differ(format!("the replacement does not run: {why}"))),
        };
        for (at, (wanted, found)) in wanted.iter().zip(&found).enumerate() {
            let (Some(wanted), Some(found)) = (wanted.tensor(), found.tensor()) else { continue };
            if let Some(difference) = differs(wanted, found, self.bound) {
                return Ok(Verdict::Differ(format!("output {at}: {difference}")));
            }
        }
        Ok(Verdict::Agree)
    }
}

/// Describes the first difference of two tensors beyond `bound`.
fn differs(wanted: &Tensor, found: &Tensor, bound: f64) -> Option<String> {
    if (wanted.dtype(), wanted.shape()) != (found.dtype(), found.shape()) {
        return Some(format!("{} became {}", wanted.describe(), found.describe()));
    }
    let (Ok(a), Ok(b)) = (wanted.floats(), found.floats()) else {
        return (wanted != found).then(|| format!("{wanted:?} became {found:?}"));
    };
    let close = |a: f64, b: f64| {
        let same = a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
        same || bound > 0.0 && (a == b || (a - b).abs() <= bound * a.abs().max(1.0))
    };
    let (at, (a, b)) = a.into_iter().zip(b).enumerate().find(|(_, (a, b))| !close(*a, *b))?;
    Some(format!("element {at} is {b:?} instead of {a:?}"))
}

/// Draws numbers; the same for the same seed.
struct Random {
    state: u64,
    /// Whether to draw values that arithmetic treats specially.
    special: bool,
}

impl Random {
    /// `SplitMix64`.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.state;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// Between -4 and 4.
    fn float(&mut self) -> f64 {
        let drawn = self.next();
        if self.special {
            match drawn % 29 {
                0 => return f64::NAN,
                1 => return f64::INFINITY,
                2 => return f64::NEG_INFINITY,
                3 => return -0.0,
                4 => return 0.0,
                _ => {}
            }
        }
        f64::from((drawn % 8001) as u32) / 1000.0 - 4.0
    }

    /// A tensor of this type.
    fn tensor(&mut self, dtype: DType, shape: &[u64]) -> Result<Tensor, String> {
        let shape: Option<Vec<usize>> = shape.iter().map(|extent| usize::try_from(*extent).ok()).collect();
        let count = shape.as_ref().and_then(|shape| shape.iter().try_fold(1_usize, |n, d| n.checked_mul(*d)));
        let (Some(shape), Some(count)) = (shape, count.filter(|count| *count <= MAX_ELEMENTS)) else {
            return Err(format!("a tensor of a trial has at most {MAX_ELEMENTS} elements"));
        };
        let made = match dtype.kind() {
            Kind::Bool => {
                Tensor::of_bools(shape, (0..count).map(|_| self.next().is_multiple_of(2)).collect())
            }
            Kind::Int => {
                let low = if dtype.as_str().starts_with('i') { -50 } else { 0 };
                let drawn = (0..count).map(|_| i128::from(self.next() % 100) + low);
                Tensor::of_ints(dtype, shape, drawn.collect())
            }
            Kind::Float => Tensor::of_floats(dtype, shape, (0..count).map(|_| self.float()).collect()),
            _ => return Err(format!("no values of type {dtype} are generated")),
        };
        made.map_err(|fault| format!("{fault:?}"))
    }
}

/// The limit on elements of a drawn tensor.
const MAX_ELEMENTS: usize = 1 << 20;
