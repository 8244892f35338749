use super::{BUILT_IN, Code, Target};
use crate::tensor::DType;

#[test]
fn what_comes_with_the_host_can_be_read() {
    assert!(Target::parse(include_str!("targets/onnxruntime-cpu.txt")).is_ok());
    assert!(BUILT_IN.iter().all(|name| Target::named(name).is_some_and(|t| t.name() == *name)));
    assert!(Target::named("onnxruntim").is_none());
}

#[test]
fn a_kernel_is_one_of_its_versions() {
    let target = Target::onnxruntime();
    let erf = target.forms("Erf", 13, 20).unwrap();
    assert_eq!(erf.len(), 1);
    assert!(target.accepts(DType::F32, &erf[0][0].1) && !target.accepts(DType::F64, &erf[0][0].1));
    // The runtime casts this one itself; this one is left to other providers.
    assert!(target.accepts(DType::F16, &erf[0][0].1) && target.accepts(DType::BF16, &erf[0][0].1));
    assert_eq!(target.forms("MaxRoiPool", 1, 20).unwrap().len(), 1);
    assert_eq!(target.forms("MaxRoiPool", 22, 22).unwrap().len(), 0);
}

#[test]
fn a_line_that_says_nothing_is_named() {
    for (text, line) in [
        ("target x\nkernel", "line 2"),
        ("kernel A 1 T=f31", "line 1"),
        ("target x\n\ncompute f64", "line 3"),
        ("# only this\n", "no name"),
        ("leave f99", "line 1"),
        ("target x\nkernel A x T=f32", "line 2"),
    ] {
        let found = Target::parse(text).unwrap_err();
        assert_eq!(found.code, Code::TARGET_FILE);
        assert!(found.message.contains(line), "{text}: {}", found.message);
    }
}
