//! Regions that are compiled at once, regions that are not worth it, and the record of compiled regions.

use std::sync::atomic::Ordering;

use onnxport_core::backend::{self, Backed, Stage};
use onnxport_core::ir::Model;

use super::plugin::COMPANY;
use super::{TWO, host, options, parse};
use crate::files::errors;

/// A region of three nodes, and one of one.
const UNEVEN: &str = "opset 20\ngraph {
  input %x: f32[s, 4]
  %a = Relu(%x)
  %b = Mul(%a, %a)
  %c = Relu(%b)
  %d = Tanh(%c)
  %e = Relu(%d)
  output %e as y
}
";

fn run(text: &str, id: &str) -> (Model, Backed) {
    let mut model = parse(text);
    let backed = backend::run(&host(), &mut model, &options(&[id]));
    (model, backed.unwrap_or_else(|report| panic!("{}", errors(&report))))
}

#[test]
fn regions_compiled_at_once_give_the_same_model() {
    let plain = run(TWO, "plain").0.to_text();
    for _ in 0..3 {
        let (model, backed) = run(TWO, "parallel");
        assert_eq!(model.to_text(), plain);
        let names: Vec<&str> =
            backed.partitioned.backends[0].regions.iter().map(|region| region.name.as_str()).collect();
        assert_eq!(names, ["parallel_0", "parallel_1"]);
    }
    if std::thread::available_parallelism().is_ok_and(|threads| threads.get() > 1) {
        assert_eq!(COMPANY.1.load(Ordering::SeqCst), 2, "both were compiled at once");
    }
}

#[test]
fn regions_that_take_longer_stay_with_figures() {
    let (model, backed) = run(UNEVEN, "distant");
    let [report] = backed.partitioned.backends.as_slice() else { panic!("{backed:?}") };
    let [region] = report.regions.as_slice() else { panic!("{backed:?}") };
    assert_eq!((region.nodes, region.name.as_str()), (3, "distant_0"));
    let estimate = region.estimate.expect("an estimate");
    // An input and an output of four floats each; the dynamic dimension counts as 1.
    assert_eq!(estimate.border_bytes, 32);
    assert!((estimate.border - 4.6e-6).abs() < 1e-12, "{estimate:?}");
    let refused: Vec<_> = report.refusals.iter().filter(|refusal| refusal.op == "Relu").collect();
    let [refusal] = refused.as_slice() else { panic!("{report:?}") };
    let why = "its region would take 5.6 µs, 4.6 µs of it at its border, and takes 3.0 µs in the runtime";
    assert_eq!((refusal.stage, refusal.reason.as_str()), (Stage::Cost, why));
    assert!(model.to_text().contains("Relu"), "{}", model.to_text());
    let report = backend::run(&host(), &mut parse(TWO), &options(&["lost"])).expect_err("it is no time");
    assert!(
        errors(&report).contains("estimates a cost of `lost_0` that is not a time"),
        "{}",
        errors(&report)
    );
}

#[test]
fn a_model_records_who_compiled_it_and_for_what() {
    let record = |id: &str| {
        let (model, _) = run(TWO, id);
        model.metadata.into_iter().find(|(key, _)| key == "onnxport.compiled").map(|(_, text)| text)
    };
    let kept = record("kept").expect("a record");
    assert!(
        kept.contains(r#""backend":"kept","plugin":"scripted""#) && kept.contains(r#""regions":2"#),
        "{kept}"
    );
    assert!(kept.contains(r#""environment":"driver "#), "{kept}");
    // There is nothing to check of those that state no environment and have no files.
    assert_eq!((record("plain"), record("nothing")), (None, None));
}
