//! The labels of weights and constants.

use onnxport_core::tensor::{DType, LazyTensor};

/// So many elements are written out; of more, type and sizes are.
const WRITTEN: u64 = 6;

/// The elements of a small tensor, the type and the sizes of others.
pub(super) fn label(data: &LazyTensor) -> String {
    let few = data.shape.len() <= 1 && data.elements().is_some_and(|n| n <= WRITTEN);
    if let Some(elements) = few.then(|| elements(data)).flatten() {
        return if data.shape.is_empty() { elements.join("") } else { format!("[{}]", elements.join(", ")) };
    }
    let extents: Vec<String> = data.shape.iter().map(u64::to_string).collect();
    format!("{}[{}]", data.dtype, extents.join(", "))
}

/// How many parameters a tensor counts as: axes, shapes and single numbers are none.
pub(super) fn parameters(data: &LazyTensor) -> u64 {
    let is_list = matches!(data.dtype, DType::I64 | DType::I32) && data.shape.len() <= 1;
    match data.elements() {
        Some(1) => 0,
        _ if is_list => 0,
        elements => elements.unwrap_or(u64::MAX),
    }
}

fn elements(data: &LazyTensor) -> Option<Vec<String>> {
    if data.unbound().is_some() {
        return None;
    }
    let bytes = data.read()?;
    let shown = |size: usize, show: &dyn Fn(&[u8]) -> Option<String>| -> Option<Vec<String>> {
        bytes.chunks_exact(size).map(show).collect()
    };
    match data.dtype {
        DType::I64 => shown(8, &|b| Some(i64::from_le_bytes(b.try_into().ok()?).to_string())),
        DType::I32 => shown(4, &|b| Some(i32::from_le_bytes(b.try_into().ok()?).to_string())),
        DType::F32 => shown(4, &|b| Some(number(f64::from(f32::from_le_bytes(b.try_into().ok()?))))),
        DType::F64 => shown(8, &|b| Some(number(f64::from_le_bytes(b.try_into().ok()?)))),
        DType::Bool => shown(1, &|b| Some((*b.first()? != 0).to_string())),
        _ => None,
    }
}

fn number(x: f64) -> String {
    if x == 0.0 || (1e-3..1e6).contains(&x.abs()) {
        let text = format!("{x:.4}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        format!("{x:.3e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_elements_are_written_out() {
        let ints: Vec<u8> = [-1i64, 8].iter().flat_map(|n| n.to_le_bytes()).collect();
        let axes = LazyTensor::inline(DType::I64, vec![2], ints);
        assert_eq!((label(&axes).as_str(), parameters(&axes)), ("[-1, 8]", 0));
        let eps = LazyTensor::inline(DType::F32, vec![], 1e-5f32.to_le_bytes().to_vec());
        assert_eq!((label(&eps).as_str(), parameters(&eps)), ("1.000e-5", 0));
        let half = LazyTensor::inline(DType::F32, vec![1], 0.5f32.to_le_bytes().to_vec());
        assert_eq!(label(&half), "[0.5]");
        let weight = LazyTensor::inline(DType::F32, vec![4, 4], vec![0; 64]);
        assert_eq!((label(&weight).as_str(), parameters(&weight)), ("f32[4, 4]", 16));
    }
}
