//! Views of initializers: other axes and sizes over the same bytes.

use crate::tensor::LazyTensor;

/// The reason why there is no view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoView {
    /// Its elements would have to be copied.
    NeedsCopy,
    /// The axes or sizes are not those of the tensor.
    Invalid,
}

/// `data` with its axes in the order `axes`, then with the sizes `dims`.
pub(super) fn view(data: &LazyTensor, axes: &[u32], dims: &[u64]) -> Result<LazyTensor, NoView> {
    let rank = data.shape.len();
    let mut seen = vec![false; rank];
    for axis in axes {
        let seen = seen.get_mut(*axis as usize).ok_or(NoView::Invalid)?;
        if std::mem::replace(seen, true) {
            return Err(NoView::Invalid);
        }
    }
    let count = dims.iter().try_fold(1_u64, |n, extent| n.checked_mul(*extent));
    if axes.len() != rank || count.is_none() || count != data.elements() {
        return Err(NoView::Invalid);
    }
    // Elements smaller than a byte have no strides.
    if !data.dtype.bits().is_multiple_of(8) || data.dtype.bits() == 0 {
        let plain = data.strides.is_none() && axes.is_sorted();
        return if plain { data.reshape(dims).ok_or(NoView::NeedsCopy) } else { Err(NoView::NeedsCopy) };
    }
    let axes: Vec<usize> = axes.iter().map(|axis| *axis as usize).collect();
    let permuted = if axes.is_sorted() { Some(data.clone()) } else { data.permute(&axes) };
    permuted.and_then(|view| view.reshape(dims)).ok_or(NoView::NeedsCopy)
}

#[cfg(test)]
mod tests {
    use super::{NoView, view};
    use crate::tensor::{DType, LazyTensor};

    fn tensor() -> LazyTensor {
        let bytes: Vec<u8> = (0..24_i32).flat_map(i32::to_le_bytes).collect();
        LazyTensor::inline(DType::I32, vec![2, 3, 4], bytes)
    }

    fn elements(data: &LazyTensor) -> Vec<i32> {
        let bytes = data.read().unwrap();
        bytes.chunks(4).map(|c| i32::from_le_bytes(c.try_into().unwrap())).collect()
    }

    /// The elements in the order of the permuted tensor, by index arithmetic.
    fn permuted(axes: [usize; 3]) -> Vec<i32> {
        let (shape, strides) = ([2, 3, 4], [12, 4, 1]);
        let [a, b, c] = axes;
        let mut all = Vec::new();
        for i in 0..shape[a] {
            for j in 0..shape[b] {
                for k in 0..shape[c] {
                    all.push(i * strides[a] + j * strides[b] + k * strides[c]);
                }
            }
        }
        all
    }

    #[test]
    fn axes_are_permuted_and_regrouped() {
        let data = tensor();
        for (axes, dims) in [
            ([0, 1, 2], vec![24]),
            ([0, 1, 2], vec![6, 4]),
            ([0, 1, 2], vec![2, 1, 12]),
            ([0, 1, 2], vec![2, 3, 2, 2]),
            ([1, 0, 2], vec![3, 2, 4]),
            ([2, 0, 1], vec![4, 6]),
            ([2, 0, 1], vec![4, 1, 3, 2]),
            ([2, 1, 0], vec![2, 2, 3, 1, 2]),
        ] {
            let view = view(&data, &axes, &dims).expect("no copy is needed");
            assert_eq!(view.shape, dims);
            assert_eq!(elements(&view), permuted(axes.map(|a| a as usize)), "{axes:?} {dims:?}");
            assert!(view.source.bytes().as_ptr() == data.source.bytes().as_ptr());
        }
    }

    #[test]
    fn what_would_need_a_copy_is_refused() {
        let data = tensor();
        let refused = |axes: &[u32], dims: &[u64]| view(&data, axes, dims).unwrap_err();
        assert_eq!(refused(&[1, 0, 2], &[24]), NoView::NeedsCopy);
        assert_eq!(refused(&[2, 1, 0], &[12, 2]), NoView::NeedsCopy);
        let twice = view(&data, &[2, 0, 1], &[4, 6]).unwrap();
        assert!(view(&twice, &[1, 0], &[6, 4]).is_ok_and(|v| v.strides.is_none()));
    }

    #[test]
    fn what_is_no_view_is_invalid() {
        let data = tensor();
        assert_eq!(view(&data, &[0, 1], &[24]).unwrap_err(), NoView::Invalid);
        assert_eq!(view(&data, &[0, 1, 1], &[24]).unwrap_err(), NoView::Invalid);
        assert_eq!(view(&data, &[0, 1, 3], &[24]).unwrap_err(), NoView::Invalid);
        assert_eq!(view(&data, &[0, 1, 2], &[23]).unwrap_err(), NoView::Invalid);
        assert_eq!(view(&data, &[0, 1, 2], &[u64::MAX, 2]).unwrap_err(), NoView::Invalid);
    }
}
