//! Options: objects of options are read or refused, and values are written as they are read.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use onnxport_core::optimise::Level;
use onnxport_requests::axes::{Axis, DynamicAxis};
use onnxport_requests::object::read;
use onnxport_requests::value::{Budget, ByteSize, Draw, NameValue, Seconds, Tolerance};
use onnxport_requests::{ConvertRequest, Hosted, OptimizeRequest, Request, RunRequest, VerifyRequest};
use serde_json::Value;

pub(crate) fn run(data: &[u8]) {
    let Some((kind, rest)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    match kind % 12 {
        0 => object(text),
        1 => same::<ByteSize>(text),
        2 => same::<Budget>(text),
        3 => same::<NameValue>(text),
        4 => same::<Draw>(text),
        5 => same::<DynamicAxis>(text),
        6 => same::<Level>(text),
        7 => axis(text),
        8 => {
            // A time of more than 2^53 nanoseconds is rounded.
            let _ = text.parse::<Seconds>().map(|seconds| seconds.to_string().parse::<Seconds>());
        }
        9 => {
            if let Ok(Tolerance(number)) = text.parse::<Tolerance>() {
                assert!(number >= 0.0);
            }
        }
        _ => object(text),
    }
}

/// A value that is read is written as a text that reads back the same.
fn same<T: FromStr + Display + PartialEq + Debug>(text: &str) {
    let Ok(value) = text.parse::<T>() else { return };
    let written = value.to_string();
    let again = written.parse::<T>().ok();
    assert_eq!(again, Some(value), "{text:?} is written as {written:?}");
}

fn axis(text: &str) {
    let Ok(axis) = text.parse::<Axis>() else { return };
    let written = serde_json::to_value(&axis).expect("JSON");
    assert_eq!(serde_json::from_value::<Axis>(written.clone()).expect("an axis"), axis, "{written}");
}

/// The options of several commands.
fn object(text: &str) {
    let Ok(Value::Object(object)) = serde_json::from_str(text) else { return };
    macro_rules! each {
        ($($name:literal $request:ty),*) => {$(
            if let Ok(job) = read::<Hosted<$request>>($name, &object) {
                let written = serde_json::to_value(&job).expect("JSON");
                let again = serde_json::from_value::<Hosted<$request>>(written.clone());
                assert!(again.as_ref().is_ok_and(|again| *again == job), "{text} is written as {written}: {again:?}");
                let _ = job.request.check();
            }
        )*};
    }
    each!("optimize" OptimizeRequest, "convert" ConvertRequest, "run" RunRequest, "verify" VerifyRequest);
}
