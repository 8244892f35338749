//! The expected tensor is copied once where there is room for it, and compared all the same where there is none.

use std::sync::atomic::Ordering;

use onnxport_sdk::DType;
use onnxport_sdk::comparer::Comparison;
use onnxport_testkit::comparer::Suite;

use super::super::Running;
use super::super::format::Format;
use super::emulated::{Processor, ROOT};

/// Compares 20 floats in chunks; `ends` are where the scanned chunks end. Returns how many bytes were copied, and
/// the findings.
fn copied(ends: &[usize]) -> (usize, u64, Option<u64>) {
    let expected: Vec<u8> = (0..20).flat_map(|n| (n as f32).to_le_bytes()).collect();
    let mut got = expected.clone();
    got[4 * 13] ^= 1;
    let format = Format::for_type(DType::F32).unwrap();
    let engine = Processor::new(&format);
    let count = engine.copied.clone();
    let mut running = Running::exact(Box::new(engine), &format, 20);
    let mut from = 0;
    for end in ends {
        running.scan(&expected[from..*end]).unwrap();
        from = *end;
    }
    // Other chunks than those that were scanned.
    for (got, expected) in got.chunks(28).zip(expected.chunks(28)) {
        running.chunk(got, expected).unwrap();
    }
    let found = running.finish().unwrap();
    (count.load(Ordering::Relaxed), found.wrong, found.first)
}

#[test]
fn what_was_scanned_is_not_copied_again() {
    if let Err(why) = crate::compiled::can_compile() {
        return onnxport_harness::note(&why);
    }
    assert_eq!(copied(&[]), (160, 1, Some(13)));
    assert_eq!(copied(&[80]), (160, 1, Some(13)));
    assert_eq!(copied(&[24, 80]), (160, 1, Some(13)));
    // The scan was partial: the second and third chunk are not there as a whole.
    assert_eq!(copied(&[36]), (36 + 80 + 52, 1, Some(13)));
}

#[test]
fn what_does_not_fit_is_copied_twice() {
    if let Err(why) = crate::compiled::can_compile() {
        return onnxport_harness::note(&why);
    }
    let mut suite = Suite::of(&ROOT, "emulated", &[("room", "64")]).unwrap();
    suite.dtypes = vec![DType::F32, DType::U4, DType::C64];
    let found = suite.run();
    assert!(found.failures.is_empty() && found.cases > 50, "{found}");
}
