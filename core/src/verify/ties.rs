//! Sorts and top-k whose indices differ from the expected ones among equal keys only.
//!
//! Nothing says in which order equal keys stand, unless the sort is stable. The keys of a program are not known, but where
//! it returns the sorted values as well, those at the expected indices are: an index is right where the key that it
//! selects equals the value that is expected at its position. An index that is not among the expected ones of its lane
//! selects an unknown key and is not accepted.

use rustc_hash::FxHashMap;

use crate::ir::{Def, Graph, NodeId, ValueId};
use crate::op;
use crate::ops::{Elements, Tensor};
use crate::tensor::{DType, LazyTensor};

/// The sort whose indices the output `value` is: its node and its axis, which may count from the end.
pub(super) fn sort(graph: &Graph, opset: i64, mut value: ValueId) -> Option<(NodeId, i64)> {
    loop {
        let Def::Node(id, output) = graph.values[value].def else { return None };
        let node = graph.nodes.find(id).filter(|node| node.domain.is_empty())?;
        match (node.op.as_str(), output) {
            (op::TopK, 1) => return Some((id, node.at(opset).int("axis")?)),
            (op::Cast, 0) => value = node.inputs.first().copied().flatten()?,
            _ => return None,
        }
    }
}

/// Whether `value` is the values of the sort `node`, or the elements that its indices select.
pub(super) fn is_sorted_by(graph: &Graph, value: ValueId, node: NodeId) -> bool {
    let Def::Node(id, 0) = graph.values[value].def else { return false };
    let selected = || {
        let gather = graph.nodes.find(id).filter(|n| n.domain.is_empty() && n.op == op::GatherElements)?;
        let indices = gather.inputs.get(1).copied().flatten()?;
        Some(matches!(graph.values[indices].def, Def::Node(id, 1) if id == node))
    };
    id == node || selected() == Some(true)
}

/// Whether the indices `got`, the bytes of a tensor like `indices`, select the keys that the program's `values` and
/// `indices` of a sort along `axis` state. `None` where that is not known.
pub(super) fn select_equal_keys(
    values: &LazyTensor,
    indices: &LazyTensor,
    got: &[u8],
    axis: i64,
) -> Option<bool> {
    if values.shape != indices.shape {
        return None;
    }
    let shape: Vec<usize> = indices.shape.iter().map(|d| usize::try_from(*d).ok()).collect::<Option<_>>()?;
    let rank = i64::try_from(shape.len()).ok()?;
    let axis = usize::try_from(if axis < 0 { axis.checked_add(rank)? } else { axis }).ok()?;
    let volume = |dims: &[usize]| dims.iter().try_fold(1_usize, |n, d| n.checked_mul(*d));
    let (extent, inner) = (*shape.get(axis)?, volume(shape.get(axis.checked_add(1)?..)?)?);
    let lanes = volume(shape.get(..axis)?)?.checked_mul(inner)?;
    let elements = |dtype: DType, bytes: &[u8]| {
        let tensor = Tensor::packed(dtype, shape.clone(), bytes.to_vec().into()).ok()?;
        Some(tensor.elements())
    };
    let keys = elements(values.dtype, &values.read()?)?;
    let (Elements::Int(expected), Elements::Int(got)) =
        (elements(indices.dtype, &indices.read()?)?, elements(indices.dtype, got)?)
    else {
        return None;
    };
    let (mut got_is_stable, mut expected_is_stable) = (true, true);
    for lane in 0..lanes {
        let (outer, within) = (lane.checked_div(inner)?, lane.checked_rem(inner)?);
        let at = |position: usize| {
            outer.checked_mul(extent)?.checked_add(position)?.checked_mul(inner)?.checked_add(within)
        };
        // The index at each position, and the key at the position.
        let mut expected_at: FxHashMap<i128, usize> = FxHashMap::default();
        let mut last: Option<(usize, i128, i128)> = None;
        let mut used = Vec::with_capacity(extent);
        for position in 0..extent {
            if expected_at.insert(*expected.get(at(position)?)?, at(position)?).is_some() {
                return None;
            }
        }
        for position in 0..extent {
            let here = at(position)?;
            let (index, wanted) = (*got.get(here)?, *expected.get(here)?);
            let selected = expected_at.get(&index);
            if selected.is_none_or(|selected| !are_equal(&keys, *selected, here)) {
                return Some(false);
            }
            used.push(index);
            if let Some((before, got_before, wanted_before)) = last
                && are_equal(&keys, before, here)
            {
                got_is_stable &= got_before < index;
                expected_is_stable &= wanted_before < wanted;
            }
            last = Some((here, index, wanted));
        }
        used.sort_unstable();
        used.dedup();
        if used.len() != extent {
            return Some(false);
        }
    }
    // A sort that keeps the order of equal keys has one result.
    Some(got_is_stable || !expected_is_stable)
}

/// Whether two keys are equal; all NaN are.
fn are_equal(keys: &Elements, a: usize, b: usize) -> bool {
    match keys {
        Elements::Int(keys) => keys.get(a) == keys.get(b),
        Elements::Bool(keys) => keys.get(a) == keys.get(b),
        Elements::Float(keys) => {
            let pair = keys.get(a).zip(keys.get(b));
            pair.is_some_and(|(a, b)| a == b || a.is_nan() && b.is_nan())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Against, Case, Executor, Expected, Options, verify};
    use super::*;
    use crate::host::Host;
    use crate::ir::Model;
    use crate::write::{self, WriteOptions};

    fn bytes(indices: &[i64]) -> Vec<u8> {
        indices.iter().flat_map(|index| index.to_le_bytes()).collect()
    }

    /// Of `[2, 3]`, sorted along `axis`.
    fn select(values: [f32; 6], expected: [i64; 6], got: [i64; 6], axis: i64) -> Option<bool> {
        let values: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let values = LazyTensor::inline(DType::F32, vec![2, 3], values);
        let expected = LazyTensor::inline(DType::I64, vec![2, 3], bytes(&expected));
        select_equal_keys(&values, &expected, &bytes(&got), axis)
    }

    const VALUES: [f32; 6] = [9.0, 5.0, 5.0, 7.0, 7.0, 7.0];

    #[test]
    fn equal_keys_may_stand_in_another_order() {
        let expected = [4, 2, 1, 8, 0, 3];
        assert_eq!(select(VALUES, expected, [4, 1, 2, 0, 3, 8], -1), Some(true));
        assert_eq!(select(VALUES, expected, [4, 1, 2, 0, 3, 8], 1), Some(true));
        let nan = [f32::NAN, f32::NAN, 1.0, 1.0, 1.0, 1.0];
        assert_eq!(select(nan, expected, [2, 4, 1, 0, 3, 8], 1), Some(true));
    }

    #[test]
    fn indices_that_select_other_keys_are_wrong() {
        let expected = [4, 2, 1, 8, 0, 3];
        for got in [
            // Another key.
            [2, 4, 1, 8, 0, 3],
            // One that is not known.
            [4, 2, 3, 8, 0, 3],
            [4, 2, -1, 8, 0, 3],
            // One twice.
            [4, 2, 2, 8, 0, 3],
            [4, 1, 2, 0, 0, 0],
            // That of another lane.
            [4, 2, 1, 8, 0, 1],
        ] {
            assert_eq!(select(VALUES, expected, got, 1), Some(false), "{got:?}");
        }
        // Lanes are those of the axis.
        assert_eq!(select([1.0; 6], [0, 0, 0, 1, 1, 1], [1, 0, 0, 0, 1, 1], 0), Some(false));
        assert_eq!(select([1.0; 6], [1, 1, 0, 0, 0, 1], [0, 0, 0, 1, 1, 1], 0), Some(true));
        assert_eq!(select([1.0; 6], [1, 1, 0, 0, 0, 1], [0, 0, 0, 1, 1, 1], 1), None);
        assert_eq!(select([1.0; 6], [1, 1, 0, 0, 0, 1], [0, 0, 0, 1, 1, 1], 2), None);
    }

    const MODEL: &str = "\
opset 20
graph {
  constant %k: i64[1] = [3]
  input %x: f32[4]
  %values: f32[3], %at: i64[3] = TopK(%x, %k)
  output %values as values
  output %at as at
}
";

    /// The problem and the remarks of the indices of a run on 5, 7, 5, 5 where these are expected.
    fn verified(text: &str, values: [f32; 3], indices: [i64; 3]) -> (Option<String>, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.onnx");
        write::write(&Model::parse(text).unwrap(), &path, &WriteOptions::default()).unwrap();
        let floats = |all: &[f32]| {
            let bytes: Vec<u8> = all.iter().flat_map(|value| value.to_le_bytes()).collect();
            LazyTensor::inline(DType::F32, vec![all.len() as u64], bytes)
        };
        let mut case = Case::new("traced", vec![("x".to_owned(), floats(&[5.0, 7.0, 5.0, 5.0]))]);
        let outputs = vec![floats(&values), LazyTensor::inline(DType::I64, vec![3], bytes(&indices))];
        let outputs = if text.contains("as values") { outputs } else { outputs[1..].to_vec() };
        case.expected = Some(Expected { outputs, ..Expected::default() });
        let against = Against { cases: vec![case], ..Against::default() };
        let host = Host::new(&[&onnxport_reference::ROOT]).unwrap();
        let runtime = Executor::find(&host, Some("reference")).unwrap().open(&[]).unwrap();
        let found = verify(&runtime, &path, &against, &Options::default(), &mut |_| {}).unwrap();
        let output = found.cases[0].outputs.last().unwrap();
        (output.problem.clone(), output.remarks.clone())
    }

    #[test]
    fn a_verification_accepts_equal_keys_with_a_remark() {
        let (problem, remarks) = verified(MODEL, [7.0, 5.0, 5.0], [1, 2, 0]);
        assert_eq!(problem, None);
        assert_eq!(remarks, ["2 of 3 indices differ from the expected ones, and select equal elements"]);
        let wrong = |text: &str, values: [f32; 3], indices: [i64; 3]| {
            let (problem, remarks) = verified(text, values, indices);
            assert!(problem.is_some() && remarks.is_empty(), "{indices:?}: {problem:?}, {remarks:?}");
        };
        // The keys differ, one is not known, and those of a sort whose values are not returned.
        wrong(MODEL, [7.0, 6.0, 5.0], [1, 2, 0]);
        wrong(MODEL, [7.0, 5.0, 5.0], [1, 3, 2]);
        wrong(&MODEL.replace("  output %values as values\n", ""), [7.0, 5.0, 5.0], [1, 2, 0]);
    }

    #[test]
    fn a_stable_sort_has_one_result() {
        let stable = [4, 1, 2, 0, 3, 8];
        assert_eq!(select(VALUES, stable, [4, 2, 1, 0, 3, 8], 1), Some(false));
    }
}
