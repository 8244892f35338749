//! The times of nodes, as an array of events in the JSON format of Chrome's trace viewer, as ONNX Runtime writes them.
//!
//! OpenVINO states how long a node took, and not when it began: each node has a row of its own, in which it begins with
//! the run.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::ptr;
use std::time::Instant;

use onnxport_sdk::executor::Failure;
use serde_json::{Value, json};

use crate::api::{Api, EXECUTED, NodeTimes, Owned, Request};
use crate::status::text;

/// The trace of a session.
pub(crate) struct Trace {
    folder: PathBuf,
    clock: Instant,
    events: Vec<Value>,
}

impl Trace {
    /// Begins a trace in a folder of its own inside of `folder`.
    pub(crate) fn begin(folder: &Path) -> Result<Self, Failure> {
        let own = tempfile::Builder::new().prefix("session-").disable_cleanup(true).tempdir_in(folder);
        let own = own.map_err(|error| {
            Failure::new(format!("no profile can be written into {}: {error}", folder.display()))
        })?;
        Ok(Self { folder: own.path().to_owned(), clock: Instant::now(), events: Vec::new() })
    }

    /// Microseconds since the trace began.
    pub(crate) fn now(&self) -> f64 {
        self.clock.elapsed().as_secs_f64() * 1e6
    }

    /// Records the run that began at `begun` and has just ended.
    pub(crate) fn record(&mut self, api: &Api, request: &Owned<Request>, begun: f64) -> Result<(), Failure> {
        let took = self.now() - begun;
        let run = json!({"cat": "Session", "name": "model_run", "ph": "X", "pid": 0, "tid": 0, "ts": begun, "dur": took});
        self.events.push(run);
        let mut times = NodeTimes { items: ptr::null_mut(), size: 0 };
        // SAFETY: the request lives, and the function fills the struct.
        let status = unsafe { (api.ov_infer_request_get_profiling_info)(request.get(), &raw mut times) };
        api.check(status, "state the times of nodes")?;
        for at in 0..times.size {
            // SAFETY: the library says that so many nodes are there, which it frees below.
            let node = unsafe { &*times.items.add(at) };
            if node.status != EXECUTED {
                continue;
            }
            // SAFETY: the library's strings end, and live until the list is freed.
            let [name, kernel, operator] =
                [node.name, node.kernel, node.operator].map(|said| unsafe { text(said) }.unwrap_or_default());
            let args = json!({"op_name": operator, "provider": format!("OpenVINO {kernel}"), "node_index": at.to_string()});
            self.events.push(json!({
                "cat": "Node", "name": format!("{name}_kernel_time"), "ph": "X", "pid": 0, "tid": at + 1,
                "ts": begun, "dur": node.real, "args": args,
            }));
        }
        // SAFETY: the struct was filled by the library, and is freed once.
        unsafe { (api.ov_profiling_info_list_free)(&raw mut times) };
        Ok(())
    }

    /// Writes the trace.
    pub(crate) fn end(self) -> std::io::Result<()> {
        let file = BufWriter::new(File::create(self.folder.join("profile.json"))?);
        Ok(serde_json::to_writer(file, &self.events)?)
    }
}
