use super::built_in::{OTHERS, QUANTISE};
use super::condition::{Condition, Test};
use super::{BUILT_IN, Code, Target, form};
use crate::tensor::DType;

#[test]
fn what_comes_with_the_host_can_be_read() {
    assert!(Target::parse(include_str!("targets/onnxruntime-cpu.txt")).is_ok());
    for (name, text) in OTHERS {
        let target = Target::parse(text).unwrap_or_else(|found| panic!("{name}: {found}"));
        assert!(!target.source().is_empty() && !target.date().is_empty() && target.opsets().is_some());
    }
    assert!(BUILT_IN.iter().all(|name| Target::named(name).is_some_and(|t| t.name() == *name)));
    assert!(Target::named("onnxruntim").is_none());
}

#[test]
fn rules_of_quantization_can_be_read() {
    for (name, text) in QUANTISE {
        let rules = Target::parse(&format!("target {name}\n{text}"))
            .unwrap_or_else(|found| panic!("{name}: {found}"));
        let rules = rules.quantization();
        assert!(!rules.is_empty() && !rules.source.is_empty() && !rules.date.is_empty(), "{name}");
        assert_eq!(rules, Target::named(name).unwrap().quantization());
    }
    assert!(!Target::named("onnxruntime-cpu").unwrap().quantization().is_empty());
    assert!(Target::named("onnx").unwrap().quantization().is_empty());
    let own = Target::parse("base qnn\ntarget chip\nquantize Conv shares").unwrap();
    assert_ne!(own.quantization().of("Conv"), Target::named("qnn").unwrap().quantization().of("Conv"));
    assert_eq!(own.quantization().of("Gemm"), Target::named("qnn").unwrap().quantization().of("Gemm"));
    assert!(Target::parse("target chip\nquantize Conv").is_err());
}

#[test]
fn every_form_can_be_read() {
    let read: Vec<_> = form::FILES.iter().map(|text| form::parse(text)).collect();
    assert!(read.iter().all(Option::is_some), "{:?}", read.iter().map(Option::is_some).collect::<Vec<_>>());
    let heads = form::FILES.iter().flat_map(|text| text.lines());
    let stated = heads.filter(|line| line.starts_with("form ") || line.starts_with("rather form ")).count();
    assert_eq!(form::forms().len(), stated);
}

#[test]
fn what_is_no_form_is_not_passed_over() {
    assert!(form::parse("form Tan T=f64 in T=f32").is_some_and(|forms| forms.len() == 1));
    for text in [
        "form Tan",
        "form Tan T=f64",
        "form Tan T=f64 in f32",
        "fork Tan T=f64 in T=f32",
        "form Tan T=f64 {\n  %y = Sin(%x)\n}",
    ] {
        assert!(form::parse(text).is_none(), "{text}");
    }
}

#[test]
fn a_word_says_what_is_asked() {
    let types = Condition::Types("T".to_owned(), vec![DType::F16, DType::Bool]);
    assert_eq!(Condition::parse("T=f16,bool"), Some(types));
    let input = || "X".to_owned();
    let ranks = |among, ranks| Some(Condition::Rank { input: input(), among, ranks });
    assert_eq!(Condition::parse("rank(X)=4"), ranks(true, vec![4]));
    assert_eq!(Condition::parse("rank(X)!=3,4"), ranks(false, vec![3, 4]));
    assert_eq!(Condition::parse("!B"), Some(Condition::Given("B".to_owned(), false)));
    assert_eq!(Condition::parse("!const(X)"), Some(Condition::Constant(input(), false)));
    assert_eq!(Condition::parse("static(X)"), Some(Condition::Static(input(), true)));
    let dim = Condition::Dim { input: input(), axis: -1, test: Some((Test::More, 4096)) };
    assert_eq!(Condition::parse("dim(X,-1)>4096"), Some(dim));
    let dynamic = Condition::Dim { input: input(), axis: 1, test: None };
    assert_eq!(Condition::parse("dim(X,1)=?"), Some(dynamic));
    let element = Condition::Element { input: input(), test: Test::Other, number: 0.0 };
    assert_eq!(Condition::parse("value(X)!=0"), Some(element));
    for text in
        ["", "!", "rank(X)=many", "a b", "rank(X)", "!rank(X)=4", "dim(X)>4", "dim(X,1)~4", "size(X)=1"]
    {
        assert_eq!(Condition::parse(text), None, "{text}");
    }
}

#[test]
fn a_kernel_is_one_of_its_versions() {
    let target = Target::onnxruntime();
    let erf = target.kernels("Erf", 13).unwrap();
    assert_eq!(erf.len(), 1);
    assert!(target.accepts(DType::F32, &erf[0][0].1) && !target.accepts(DType::F64, &erf[0][0].1));
    // The runtime casts this one itself; this one is left to other providers.
    assert!(target.accepts(DType::F16, &erf[0][0].1) && target.accepts(DType::BF16, &erf[0][0].1));
    assert_eq!(target.kernels("MaxRoiPool", 1).unwrap().len(), 1);
    assert_eq!(target.kernels("MaxRoiPool", 22).unwrap().len(), 0);
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
        ("target x\nkernel A 1 mode=a", "line 2"),
        ("target x\nlacks A", "line 2"),
        ("target x\nlacks A 1 rank(X)=x", "line 2"),
        ("target x\nunsure A", "line 2"),
        ("target x\nopset 18-x", "line 2"),
        ("target x\nfallback y", "line 2"),
        ("base y\ntarget x", "line 1"),
    ] {
        let found = Target::parse(text).unwrap_err();
        assert_eq!(found.code, Code::TARGET_FILE);
        assert!(found.message.contains(line), "{text}: {}", found.message);
    }
}
