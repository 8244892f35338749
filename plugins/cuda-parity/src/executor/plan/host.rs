//! Arithmetic of shapes, which stays on the host.

use onnxport_ir::ops::{Tensor, Traits, lookup};

/// The number of elements beyond which a tensor is not a shape.
pub(crate) const SMALL: usize = 1024;

/// Whether the operator is computed on the host when its inputs are there by their nature: they are constants, sizes, or
/// made of such. Its result is not larger than all of them together, except for ranges, whose inputs are numbers.
pub(crate) fn is_small_arithmetic(op: &str, inputs: &[&Tensor]) -> bool {
    computes_small(op)
        && inputs.iter().all(|x| x.len() <= SMALL)
        && (op != "Range"
            || inputs.iter().all(|x| x.longs().is_ok_and(|n| n.iter().all(|n| n.abs() <= SMALL as i64))))
}

/// Whether shapes are computed with the operator, and its results are not larger than its inputs. `Range` is asked about its
/// inputs.
fn computes_small(op: &str) -> bool {
    let Some(op) = lookup("", op) else { return false };
    let arithmetic = [Traits::ELEMENTWISE, Traits::BROADCASTING, Traits::RESHAPES, Traits::REDUCTION];
    // The elements of their inputs say how large these are.
    let grows = matches!(op.name, "ConstantOfShape" | "Expand");
    arithmetic.iter().any(|one| op.traits().has(*one)) || op.computes_sizes() && !grows
}

#[cfg(test)]
mod tests {
    use onnxport_ir::tensor::DType;

    use super::*;

    #[test]
    fn small_integers_stay_on_the_host() {
        let list = |count: usize| Tensor::of_longs(vec![count], 0..count as i64).unwrap();
        assert!(is_small_arithmetic("Add", &[&list(4), &list(4)]));
        assert!(!is_small_arithmetic("Add", &[&list(2000), &list(1)]));
        assert!(!is_small_arithmetic("Conv", &[&list(4)]));
        let number = |n: i64| Tensor::of_longs(Vec::new(), [n]).unwrap();
        assert!(is_small_arithmetic("Range", &[&number(0), &number(9), &number(1)]));
        assert!(!is_small_arithmetic("Range", &[&number(0), &number(1 << 40), &number(1)]));
        let float = Tensor::of_floats(DType::F32, vec![], vec![0.5]).unwrap();
        assert!(!is_small_arithmetic("Range", &[&float, &float, &float]));
    }
}
