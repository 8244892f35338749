//! The JSON format of Chrome's trace viewer ("Trace Event Format"): complete events for spans, counters for memory.
//! Times are in microseconds.

use std::io::{self, Write};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::Events;

/// There is one process.
const PROCESS: u32 = 1;

pub(super) fn write(said: &Events, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{\"traceEvents\":[")?;
    event(
        out,
        "",
        &json!({"ph": "M", "name": "process_name", "pid": PROCESS, "args": {"name": "onnxport"}}),
    )?;
    for (at, (_, name)) in said.threads.iter().enumerate() {
        let args = json!({ "name": name });
        event(out, ",", &json!({"ph": "M", "name": "thread_name", "pid": PROCESS, "tid": at, "args": args}))?;
    }
    for span in &said.spans {
        let details = span.details.iter().map(|(key, value)| ((*key).to_owned(), value.as_ref().into()));
        let details: Map<String, Value> = details.collect();
        let shown = json!({
            "ph": "X",
            "cat": span.category,
            "name": span.name,
            "pid": PROCESS,
            "tid": span.thread,
            "ts": micros(span.start),
            "dur": micros(span.time),
            "args": details,
        });
        event(out, ",", &shown)?;
    }
    for (at, bytes) in &said.memory {
        let args = json!({ "bytes": bytes });
        let name = "anonymous memory";
        event(out, ",", &json!({"ph": "C", "name": name, "pid": PROCESS, "ts": micros(*at), "args": args}))?;
    }
    let about = json!({ "version": env!("CARGO_PKG_VERSION"), "spans_left_out": said.dropped });
    write!(out, "\n],\"displayTimeUnit\":\"ms\",\"otherData\":{about}}}\n")
}

fn event(out: &mut dyn Write, before: &str, event: &Value) -> io::Result<()> {
    write!(out, "{before}\n{event}")
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}
