//! Tests of the measure of a difference, on the cases that its definitions distinguish.

use super::{Comparison, Difference, Spread, Tolerance, compare, decade_edges};
use crate::tensor::DType;

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn the_first_wrong_element_is_named_by_its_index() {
    let expected = f32s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let got = f32s(&[1.0, 2.0, 3.0, 4.0, 5.5, 7.0]);
    let found = compare(DType::F32, &[2, 3], &got, &expected, Tolerance::of(DType::F32));
    assert_eq!((found.wrong, found.elements), (2, 6));
    let first = found.first.as_ref().map(|w| (w.index.as_slice(), w.got.as_str(), w.expected.as_str()));
    assert_eq!(first, Some(([1, 1].as_slice(), "5.5", "5")));
    assert!((found.max_abs - 1.0).abs() < 1e-12);
}

#[test]
fn equal_infinities_and_nans_agree_and_others_do_not() {
    let expected = f32s(&[f32::INFINITY, f32::NAN, 1.0, f32::NEG_INFINITY]);
    assert_eq!(compare(DType::F32, &[4], &expected, &expected, Tolerance::EXACT).wrong, 0);
    let got = f32s(&[f32::INFINITY, 0.0, f32::NAN, f32::INFINITY]);
    let found = compare(DType::F32, &[4], &got, &expected, Tolerance::of(DType::F32));
    assert_eq!((found.wrong, found.not_finite), (3, 3));
}

#[test]
fn integers_and_truth_values_are_exact() {
    let found = compare(DType::U8, &[2], &[1, 255], &[1, 254], Tolerance::of(DType::U8));
    assert_eq!((found.wrong, found.max_abs), (1, 1.0));
    assert_eq!(compare(DType::Bool, &[2], &[2, 0], &[1, 0], Tolerance::EXACT).wrong, 0);
    let (big, bigger) = (i64::MIN.to_le_bytes(), i64::MAX.to_le_bytes());
    assert_eq!(compare(DType::I64, &[], &big, &bigger, Tolerance::EXACT).wrong, 1);
}

#[test]
fn the_absolute_tolerance_grows_with_the_largest_expected_value() {
    let expected = f32s(&[500.0, 0.0]);
    let found = compare(DType::F32, &[2], &f32s(&[500.0, 0.04]), &expected, Tolerance::of(DType::F32));
    assert_eq!(found.wrong, 0);
    assert!((found.allowed.atol - 0.05).abs() < 1e-9);
}

#[test]
fn the_absolute_tolerance_is_bounded() {
    let tolerance = Tolerance::of(DType::F32);
    let wrong = |expected: &[f32], got: &[f32]| {
        compare(DType::F32, &[expected.len() as u64], &f32s(got), &f32s(expected), tolerance).wrong
    };
    // A million in a tensor allows no more than a thousand does: 0.1 beside it.
    assert_eq!(wrong(&[1e6, 0.0], &[1e6, 0.05]), 0);
    assert_eq!(wrong(&[1e6, 0.0], &[1e6, 0.2]), 1);
    // It shrinks with small outputs, to a hundredth: a tenth of the output is not noise.
    assert_eq!(wrong(&[0.1, 0.0], &[0.1, 9e-6]), 0);
    assert_eq!(wrong(&[1e-3, 0.0], &[1e-3, 9e-5]), 1);
    assert_eq!(wrong(&[1e-5, 0.0], &[1e-5, 9e-7]), 0);
}

#[test]
fn a_comparison_that_zeros_would_pass_is_known() {
    let compare = |values: &[f32]| {
        let bytes = f32s(values);
        compare(DType::F32, &[values.len() as u64], &bytes, &bytes, Tolerance::of(DType::F32))
    };
    assert!(compare(&[0.0, 1e-9]).is_vacuous());
    assert!(!compare(&[0.0, 1e-3]).is_vacuous());
    assert!(!compare(&[]).is_vacuous());
}

#[test]
fn scalars_and_empty_tensors_compare() {
    let one = 1.5f64.to_le_bytes();
    let wrong = compare(DType::F64, &[], &2.5f64.to_le_bytes(), &one, Tolerance::of(DType::F64));
    assert_eq!(wrong.first.map(|w| w.index), Some(vec![]));
    assert_eq!(compare(DType::F32, &[0, 3], &[], &[], Tolerance::EXACT).wrong, 0);
}

fn spread(found: &Difference) -> &Spread {
    found.spread.as_ref().unwrap()
}

/// The places of a histogram that are not empty.
fn counted(buckets: &[u64]) -> Vec<(usize, u64)> {
    buckets.iter().copied().enumerate().filter(|(_, count)| *count > 0).collect()
}

#[test]
fn distances_are_counted_in_units_of_the_last_place_across_zero() {
    let expected = f32s(&[1.0, -f32::from_bits(1), 0.0, 2.0, f32::MAX]);
    let got = f32s(&[f32::from_bits(1.0_f32.to_bits() + 5), f32::from_bits(2), -0.0, 2.0, f32::MIN]);
    let found = compare(DType::F32, &[5], &got, &expected, Tolerance::EXACT);
    let distance = 2 * u64::from(f32::MAX.to_bits());
    assert_eq!(spread(&found).max_ulps, distance);
    assert_eq!(counted(&spread(&found).ulps), [(0, 2), (2, 1), (3, 1), (32, 1)]);
    assert_eq!((found.wrong, spread(&found).zero), (3, 0));
}

#[test]
fn errors_are_counted_by_powers_of_ten() {
    let edges: Vec<f64> = decade_edges().collect();
    let got: Vec<u8> = [0.0, 1e-300, edges[0], 0.99e-3, 1e-3, 1e20, 1e300]
        .iter()
        .flat_map(|x: &f64| x.to_le_bytes())
        .collect();
    let found = compare(DType::F64, &[7], &got, &[0; 56], Tolerance::EXACT);
    assert_eq!(counted(&spread(&found).decades), [(0, 1), (1, 1), (2, 1), (18, 1), (19, 1), (42, 2)]);
    assert_eq!((edges[17], edges[40], edges.len()), (1e-3, 1e20, 41));
    assert_eq!(spread(&found).zero, 6);
}

#[test]
fn mismatches_of_nan_infinity_and_zero_are_counted_once() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let expected = f32s(&[nan, nan, inf, inf, 0.0, 0.0, 1.0, inf, nan, 0.0]);
    let got = f32s(&[nan, inf, inf, -inf, nan, inf, 0.0, 0.0, 0.0, -0.0]);
    let found = compare(DType::F32, &[10], &got, &expected, Tolerance::of(DType::F32));
    let Spread { nan, infinite, zero, ulps, decades, .. } = spread(&found);
    assert_eq!((*nan, *infinite, *zero, found.not_finite, found.wrong), (3, 3, 1, 6, 7));
    assert_eq!(ulps.iter().sum::<u64>(), 4);
    assert_eq!(counted(decades), [(0, 3), (22, 1)]);
}

#[test]
fn integers_do_not_pass_through_floats() {
    let near = (1_i64 << 60) + 1;
    let found =
        compare(DType::I64, &[1], &near.to_le_bytes(), &(1_i64 << 60).to_le_bytes(), Tolerance::EXACT);
    assert_eq!((found.wrong, found.max_abs, spread(&found).max_ulps), (1, 1.0, 1));
    let (most, least) = (i64::MAX.to_le_bytes(), i64::MIN.to_le_bytes());
    let found = compare(DType::I64, &[1], &most, &least, Tolerance::EXACT);
    assert_eq!((spread(&found).max_ulps, counted(&spread(&found).ulps)), (u64::MAX, vec![(64, 1)]));
    let one = Tolerance { rtol: 0.0, atol: 1.5 };
    assert_eq!(compare(DType::U8, &[3], &[1, 2, 3], &[0, 2, 5], one).wrong, 0);
    assert_eq!(compare(DType::U8, &[3], &[1, 2, 3], &[0, 2, 7], Tolerance { atol: 0.5, rtol: 0.0 }).wrong, 1);
}

#[test]
fn small_types_are_compared_by_value() {
    // Both codes of NaN, both zeros, a neighbour.
    let (got, expected) = ([0xff, 0x80, 0x39], [0x7f, 0x00, 0x38]);
    let found = compare(DType::F8E4M3FN, &[3], &got, &expected, Tolerance::EXACT);
    assert_eq!((found.wrong, found.max_abs, spread(&found).max_ulps), (1, 0.125, 1));
    assert_eq!(found.first.unwrap().got, "1.125");
    // -8 and 7 in one byte, then 1; the last four bits are padding.
    let found = compare(DType::I4, &[3], &[0x78, 0xf1], &[0x77, 0x01], Tolerance::EXACT);
    assert_eq!((found.elements, found.wrong, found.max_abs), (3, 1, 15.0));
    let first = found.first.unwrap();
    assert_eq!((first.index.as_slice(), first.got.as_str(), first.expected.as_str()), (&[0][..], "-8", "7"));
    // 28 and 1 in six bits, which cross a byte.
    let found = compare(DType::F6E3M2, &[2], &[0x1c, 0x01], &[0x1c, 0x02], Tolerance::EXACT);
    assert_eq!((found.elements, found.wrong), (2, 1));
    assert_eq!(found.first.unwrap().index, [1]);
}

#[test]
fn how_tensors_are_cut_changes_nothing() {
    let expected: Vec<f32> = (0..5000).map(|n| (n as f32 * 0.7).sin() * 10.0).collect();
    let got: Vec<f32> = expected.iter().enumerate().map(|(n, x)| x + (n % 7) as f32 * 1e-3).collect();
    let (got, expected) = (f32s(&got), f32s(&expected));
    let tolerance = Tolerance::of(DType::F32);
    let whole = compare(DType::F32, &[50, 100], &got, &expected, tolerance);
    assert!(whole.wrong > 0 && whole.rms > 0.0);
    for size in [4, 12, 4096, 4100] {
        let mut comparison = Comparison::new(DType::F32, &[50, 100], tolerance);
        expected.chunks(size).for_each(|chunk| comparison.scan(chunk));
        got.chunks(size)
            .zip(expected.chunks(size))
            .for_each(|(got, expected)| comparison.chunk(got, expected));
        assert_eq!(comparison.finish(), whole);
    }
}
