//! Indices that differ from the expected ones, judged by the keys that they select.
//!
//! The index of a maximum, and the order of a sort or a top-k, is not unique where keys are equal, and rounding decides
//! where they are almost equal. PyTorch's own keys, which the reference states beside an index output, say which other
//! indices are right. The model has no part in this proof: keys that it computes may be as wrong as its indices.

use rustc_hash::FxHashMap;

use crate::compare::Tolerance;
use crate::ops::{Elements, Tensor};
use crate::tensor::{DType, LazyTensor};

/// The number of roundings at which two keys of a type still count as equal.
const ROUNDINGS: f64 = 64.0;

/// The keys of an output that holds indices, in one call.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The output, among those that are tensors or numbers.
    pub output: usize,
    /// The keys: a row for each lane along which an index counts.
    pub keys: LazyTensor,
    /// The lane of each element of the output.
    pub lanes: LazyTensor,
    /// Whether the keys are an input, so that the model has the same ones.
    pub exact: bool,
    /// Whether PyTorch promises the first of equal keys, or their order.
    pub stable: bool,
    /// Whether the selected keys may stand in any order.
    pub unordered: bool,
}

impl Selection {
    /// How far two keys may be apart, relative to the larger one, where `rtol` is the user's choice for values.
    ///
    /// Tolerances of values are not a measure: in a lane of many keys that are close to each other, they would accept
    /// an index that is off by one.
    pub(super) fn allowed(&self, rtol: Option<f64>) -> f64 {
        let rounding = match self.keys.dtype {
            _ if self.exact => return 0.0,
            DType::F64 => f64::EPSILON,
            DType::F32 => f32::EPSILON.into(),
            DType::F16 => half::f16::EPSILON.into(),
            DType::BF16 => half::bf16::EPSILON.into(),
            _ => return 0.0,
        };
        let tolerance = Tolerance::of(self.keys.dtype).rtol;
        rtol.unwrap_or(f64::INFINITY).min(tolerance).min(ROUNDINGS * rounding)
    }

    /// Whether the indices `got` select keys that are as good as those at the indices `expected`, with relative
    /// differences of at most `allowed`: the largest difference, or `None` where they do not.
    pub(super) fn accepts(&self, expected: &LazyTensor, got: &[u8], allowed: f64) -> Option<f64> {
        let [rows, extent] = self.keys.shape[..] else { return None };
        let (rows, extent) = (usize::try_from(rows).ok()?, usize::try_from(extent).ok()?);
        if self.lanes.shape != expected.shape {
            return None;
        }
        let keys = elements(&self.keys, &self.keys.read()?)?;
        let (Elements::Int(lanes), Elements::Int(wanted), Elements::Int(got)) = (
            elements(&self.lanes, &self.lanes.read()?)?,
            elements(expected, &expected.read()?)?,
            elements(expected, got)?,
        ) else {
            return None;
        };
        if lanes.len() != wanted.len() || wanted.len() != got.len() {
            return None;
        }
        let place = |lane: usize, index: i128| {
            let index = usize::try_from(index).ok().filter(|index| *index < extent)?;
            lane.checked_mul(extent)?.checked_add(index)
        };
        // The positions of the keys that both sides select, by lane.
        let mut selected: FxHashMap<usize, (Vec<usize>, Vec<usize>)> = FxHashMap::default();
        for ((lane, wanted), got) in lanes.iter().zip(&wanted).zip(&got) {
            let lane = usize::try_from(*lane).ok().filter(|lane| *lane < rows)?;
            let (ours, theirs) = selected.entry(lane).or_default();
            ours.push(place(lane, *got)?);
            theirs.push(place(lane, *wanted)?);
        }
        let mut largest = 0.0_f64;
        for (mut ours, mut theirs) in selected.into_values() {
            if is_distinct(&theirs) && !is_distinct(&ours) {
                return None;
            }
            if self.unordered {
                sort_by_key(&keys, &mut ours);
                sort_by_key(&keys, &mut theirs);
            }
            for (ours, theirs) in ours.into_iter().zip(theirs) {
                if ours == theirs {
                    continue;
                }
                let apart = apart(&keys, ours, theirs)?;
                if apart > allowed || apart == 0.0 && self.stable {
                    return None;
                }
                largest = largest.max(apart);
            }
        }
        Some(largest)
    }
}

fn elements(like: &LazyTensor, bytes: &[u8]) -> Option<Elements> {
    let shape = like.shape.iter().map(|extent| usize::try_from(*extent).ok()).collect::<Option<Vec<_>>>()?;
    Some(Tensor::packed(like.dtype, shape, bytes.to_vec().into()).ok()?.elements())
}

fn is_distinct(places: &[usize]) -> bool {
    let mut sorted = places.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair.first() != pair.last())
}

fn sort_by_key(keys: &Elements, places: &mut [usize]) {
    match keys {
        Elements::Int(keys) => places.sort_by_key(|place| keys.get(*place).copied()),
        Elements::Bool(keys) => places.sort_by_key(|place| keys.get(*place).copied()),
        Elements::Float(keys) => places.sort_by(|a, b| {
            let key = |place: usize| keys.get(place).copied().unwrap_or(f64::NAN);
            key(*a).total_cmp(&key(*b))
        }),
        _ => {}
    }
}

/// The difference of two keys relative to the larger one: infinite for integers that differ.
fn apart(keys: &Elements, a: usize, b: usize) -> Option<f64> {
    let exactly = |equal: bool| if equal { 0.0 } else { f64::INFINITY };
    Some(match keys {
        Elements::Int(keys) => exactly(keys.get(a)? == keys.get(b)?),
        Elements::Bool(keys) => exactly(keys.get(a)? == keys.get(b)?),
        Elements::Float(keys) => {
            let (a, b) = (*keys.get(a)?, *keys.get(b)?);
            if a == b || a.is_nan() && b.is_nan() {
                0.0
            } else if a.is_finite() && b.is_finite() {
                (a - b).abs() / a.abs().max(b.abs())
            } else {
                f64::INFINITY
            }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Against, Case, Executor, Expected, Options, verify};
    use super::*;
    use crate::host::Host;
    use crate::ir::Model;
    use crate::write::{self, WriteOptions};

    fn floats(shape: &[u64], all: &[f32]) -> LazyTensor {
        let bytes: Vec<u8> = all.iter().flat_map(|value| value.to_le_bytes()).collect();
        LazyTensor::inline(DType::F32, shape.to_vec(), bytes)
    }

    fn longs(shape: &[u64], all: &[i64]) -> LazyTensor {
        let bytes: Vec<u8> = all.iter().flat_map(|value| value.to_le_bytes()).collect();
        LazyTensor::inline(DType::I64, shape.to_vec(), bytes)
    }

    /// That of the two largest of each row of `[2, 4]`.
    fn selection(keys: [f32; 8]) -> Selection {
        Selection {
            output: 0,
            keys: floats(&[2, 4], &keys),
            lanes: longs(&[2, 2], &[0, 0, 1, 1]),
            exact: false,
            stable: false,
            unordered: false,
        }
    }

    fn accepts(selection: &Selection, expected: [i64; 4], got: [i64; 4]) -> bool {
        let got = longs(&[2, 2], &got).read().unwrap().into_owned();
        selection.accepts(&longs(&[2, 2], &expected), &got, selection.allowed(None)).is_some()
    }

    const NEAR: f32 = 5.000_001;
    const KEYS: [f32; 8] = [1.0, NEAR, 5.0, 5.0, 9.0, 1.0, 2.0, 9.0];
    const EXPECTED: [i64; 4] = [1, 2, 0, 3];

    #[test]
    fn indices_of_equal_and_almost_equal_keys_are_accepted() {
        let of = selection(KEYS);
        for got in [
            // Another key at the border of the selection, another order of equal keys, and of almost equal ones.
            [1, 3, 0, 3],
            [1, 2, 3, 0],
            [2, 1, 0, 3],
            [3, 2, 3, 0],
        ] {
            assert!(accepts(&of, EXPECTED, got), "{got:?}");
        }
        let nan = selection([f32::NAN, f32::NAN, 1.0, 1.0, 9.0, 1.0, 2.0, 9.0]);
        assert!(accepts(&nan, [0, 1, 0, 3], [1, 0, 0, 3]));
    }

    #[test]
    fn indices_of_other_keys_are_refused() {
        let of = selection(KEYS);
        for got in [
            // Off by one, of another lane, of the smallest, out of range, one twice.
            [2, 3, 1, 4],
            [0, 3, 1, 2],
            [0, 2, 1, 2],
            [1, -2, 0, 3],
            [1, 4, 0, 3],
            [2, 2, 0, 3],
        ] {
            assert!(!accepts(&of, EXPECTED, got), "{got:?}");
        }
        // Infinities of both signs, and keys of which one is not finite.
        let infinite = selection([f32::INFINITY, 1.0, f32::NEG_INFINITY, 2.0, 9.0, 1.0, 2.0, 9.0]);
        assert!(!accepts(&infinite, [0, 3, 0, 3], [2, 3, 0, 3]));
        assert!(!accepts(&infinite, [0, 3, 0, 3], [1, 3, 0, 3]));
        // Lanes that do not fit.
        let strange = Selection { lanes: longs(&[2, 2], &[0, 0, 2, 2]), ..of.clone() };
        assert!(!accepts(&strange, EXPECTED, [1, 3, 0, 3]));
        let strange = Selection { lanes: longs(&[4], &[0, 0, 1, 1]), ..of };
        assert!(!accepts(&strange, EXPECTED, [1, 3, 0, 3]));
    }

    #[test]
    fn a_promised_order_and_equal_inputs_leave_no_choice() {
        let stable = Selection { stable: true, ..selection(KEYS) };
        assert!(!accepts(&stable, EXPECTED, [1, 3, 0, 3]));
        assert!(accepts(&stable, EXPECTED, [2, 1, 0, 3]), "rounding may order keys that are almost equal");
        let exact = Selection { exact: true, ..selection(KEYS) };
        assert!(!accepts(&exact, EXPECTED, [2, 1, 0, 3]));
        assert!(accepts(&exact, EXPECTED, [1, 3, 0, 3]));
    }

    #[test]
    fn keys_in_any_order_are_compared_as_a_set() {
        let keys = [4.0, 7.0, 7.0, 5.0, 9.0, 1.0, 2.0, 8.0];
        let unordered = Selection { unordered: true, ..selection(keys) };
        assert!(accepts(&unordered, [1, 2, 0, 3], [2, 1, 3, 0]));
        assert!(!accepts(&unordered, [1, 2, 0, 3], [1, 3, 3, 0]));
        assert!(!accepts(&selection(keys), [1, 2, 0, 3], [1, 2, 3, 0]));
    }

    /// A sort of many keys that are close to each other: an order that is off by one is not that of ties.
    #[test]
    fn an_order_that_is_off_by_one_is_refused_among_close_keys() {
        let keys: Vec<f32> = (0..4096).map(|n| 1.0 - n as f32 * 3e-5).collect();
        let expected: Vec<i64> = (0..4096).collect();
        let mut shifted = expected.clone();
        shifted.rotate_left(1);
        let reversed: Vec<i64> = (0..4096).rev().collect();
        let mut swapped = expected.clone();
        swapped.swap(7, 8);
        let of = Selection {
            keys: floats(&[1, 4096], &keys),
            lanes: longs(&[4096], &vec![0; 4096]),
            ..selection(KEYS)
        };
        for got in [shifted, reversed, swapped] {
            let got = longs(&[4096], &got).read().unwrap().into_owned();
            assert_eq!(of.accepts(&longs(&[4096], &expected), &got, of.allowed(None)), None);
        }
    }

    /// Runs a model on 5, 7, 5, 5 where PyTorch gives `expected`; returns the problem and the remarks.
    fn verified(text: &str, expected: i64, stable: bool) -> (Option<String>, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.onnx");
        write::write(&Model::parse(text).unwrap(), &path, &WriteOptions::default()).unwrap();
        let keys = floats(&[1, 4], &[5.0, 7.0, 5.0, 5.0]);
        let mut case = Case::new("traced", vec![("x".to_owned(), floats(&[4], &[5.0, 7.0, 5.0, 5.0]))]);
        let lanes = longs(&[1], &[0]);
        let found = Selection { keys, lanes, stable, ..selection(KEYS) };
        let outputs = vec![longs(&[1], &[expected])];
        case.expected = Some(Expected { outputs, selections: vec![found], ..Expected::default() });
        let against = Against { cases: vec![case], ..Against::default() };
        let host = Host::new(&[&onnxport_reference::ROOT]).unwrap();
        let runtime = Executor::find(&host, Some("reference")).unwrap().open(&[]).unwrap();
        let found = verify(&runtime, &path, &against, &Options::default(), &mut |_| {}).unwrap();
        let output = &found.cases[0].outputs[0];
        (output.problem.clone(), output.remarks.clone())
    }

    const SMALLEST: &str = "\
opset 20
graph {
  input %x: f32[4]
  %at: i64[1] = ArgMin(%x) {axis = 0}
  output %at as at
}
";

    #[test]
    fn a_verification_counts_accepted_ties_and_refuses_mutants() {
        let (problem, remarks) = verified(SMALLEST, 2, false);
        assert_eq!(problem, None);
        assert_eq!(remarks, ["1 of 1 indices differ from the expected ones, and select equal elements"]);
        let mutants = [
            SMALLEST.replace("ArgMin", "ArgMax"),
            SMALLEST
                .replace("  input", "  constant %k: i64[1] = [1]\n  input")
                .replace("output %at as", "%one: i64[1] = Add(%at, %k)\n  output %one as"),
        ];
        for mutant in mutants {
            assert!(verified(&mutant, 2, false).0.is_some(), "{mutant}");
        }
        // PyTorch promises the first one.
        assert!(verified(SMALLEST, 2, true).0.is_some());
        assert_eq!(verified(SMALLEST, 0, true).0, None);
    }
}
