//! Conditions against cases that are known, without onnxport itself.

use super::is_inverse;

#[test]
fn an_order_and_its_inverse_cancel() {
    assert!(is_inverse(&[1, 2, 0], &[2, 0, 1]));
    assert!(is_inverse(&[1, 0], &[1, 0]));
}

#[test]
fn other_orders_do_not() {
    assert!(!is_inverse(&[1, 2, 0], &[1, 2, 0]));
    assert!(!is_inverse(&[1, 0], &[0, 1]));
    assert!(!is_inverse(&[1, 0], &[1, 0, 2]), "another number of axes");
    assert!(!is_inverse(&[1, 0], &[-1, 7]), "there are no such axes");
}
