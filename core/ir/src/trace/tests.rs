use std::thread;

use serde_json::Value;

use super::{Trace, along, current, memory, span, span_of, stage};

fn written(trace: &Trace) -> Value {
    let mut bytes = Vec::new();
    trace.write_chrome(&mut bytes).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

fn spans(trace: &Trace) -> Vec<Value> {
    let all = written(trace)["traceEvents"].as_array().unwrap().clone();
    all.into_iter().filter(|event| event["ph"] == "X").collect()
}

#[test]
fn nothing_is_recorded_outside() {
    let trace = Trace::new();
    drop(span_of("x", || -> String { unreachable!("a name is made for nobody") }));
    assert!(current().is_none());
    trace.record(|| drop(span("x", "inside")));
    assert!(current().is_none());
    drop(span("x", "behind"));
    let names: Vec<Value> = spans(&trace).into_iter().map(|span| span["name"].clone()).collect();
    assert_eq!(names, ["inside"]);
}

#[test]
fn spans_lie_inside_of_each_other() {
    let trace = Trace::new();
    trace.record(|| {
        let _outer = span("x", "outer").with("plugin", "mine");
        drop(span("x", "first"));
        drop(span("x", "second"));
    });
    let all = spans(&trace);
    let of = |name: &str| all.iter().find(|span| span["name"] == name).unwrap();
    let ends = |span: &Value| {
        let start = span["ts"].as_f64().unwrap();
        (start, start + span["dur"].as_f64().unwrap())
    };
    let (start, end) = ends(of("outer"));
    let ((a, b), (c, d)) = (ends(of("first")), ends(of("second")));
    assert!(start <= a && a <= b && b <= c + 1e-3 && c <= d && d <= end + 1e-3);
    assert_eq!(of("outer")["args"]["plugin"], "mine");
}

#[test]
fn other_threads_are_told_apart() {
    let trace = Trace::new();
    trace.record(|| {
        drop(span("x", "here"));
        let there = along(|| drop(span("x", "there")));
        thread::scope(|scope| {
            scope.spawn(there);
            scope.spawn(|| drop(span("x", "nowhere")));
        });
    });
    let all = spans(&trace);
    assert_eq!(all.len(), 2);
    assert_ne!(all[0]["tid"], all[1]["tid"]);
}

#[test]
fn a_trace_inside_of_another_takes_its_place() {
    let (outer, inner) = (Trace::new(), Trace::new());
    outer.record(|| {
        inner.record(|| drop(span("x", "a")));
        drop(span("x", "b"));
    });
    assert_eq!(
        (spans(&inner)[0]["name"].clone(), spans(&outer)[0]["name"].clone()),
        ("a".into(), "b".into())
    );
}

#[test]
fn a_panic_ends_spans() {
    let trace = Trace::new();
    let panicked = std::panic::catch_unwind(|| {
        trace.record(|| {
            let _span = span("x", "broken");
            panic!("on purpose");
        });
    });
    assert!(panicked.is_err() && current().is_none());
    assert_eq!(spans(&trace)[0]["name"], "broken");
}

#[test]
fn a_stage_says_what_memory_it_took() {
    assert!(stage("quiet").end().memory.is_none(), "nobody asked");
    if memory::anonymous().is_none() {
        return onnxport_harness::note("the system does not say how much memory is anonymous");
    }
    let trace = Trace::new();
    let (large, kept) = trace.record(|| {
        let open = stage("large");
        let held = vec![1u8; 64 << 20];
        // The pages have to be there.
        assert_eq!(held.iter().step_by(4096).map(|b| usize::from(*b)).sum::<usize>(), (64 << 20) / 4096);
        thread::sleep(std::time::Duration::from_millis(100));
        drop(held);
        (open.end(), stage("small").end())
    });
    let (large, kept) = (large.memory.unwrap(), kept.memory.unwrap());
    assert!(large.peak >= large.end + (32 << 20), "{large:?}");
    assert!(kept.peak < large.peak, "{kept:?} after {large:?}");
    let counters =
        written(&trace)["traceEvents"].as_array().unwrap().iter().filter(|e| e["ph"] == "C").count();
    assert!(counters >= 4);
}
