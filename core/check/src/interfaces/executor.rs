//! `executor/1`: handles, files that are not models, two runtimes at once.

use onnxport_abi::RSlice;
use onnxport_abi::executor::Handle;
use onnxport_abi::status;

use super::Subject;
use crate::Finding;
use crate::journal::Journal;
use crate::threads::at_once;
use onnxport_core::diagnose::Code;
use onnxport_core::verify::{Executor, discard};

pub(super) fn probe(subject: &Subject, journal: &mut Journal) {
    let Some(executor) = Executor::of(&subject.plugin) else { return };
    let Some(table) = subject.plugin.executor else { return };
    let name = |what: &str| format!("executor/1 {what}");
    let check = name("null handles");
    journal.step(&check, |_| {
        let mut out = Handle::NULL;
        let run = discard(|sink| (table.run)(Handle::NULL, RSlice::EMPTY, sink));
        let load = discard(|sink| (table.load)(Handle::NULL, "".into(), &mut out, sink));
        let describe = discard(|sink| (table.describe)(Handle::NULL, sink));
        (table.unload)(Handle::NULL);
        (table.close)(Handle::NULL);
        Some(if [run, load, describe].contains(&status::OK) {
            Finding::fail(&check, "a call with the handle of nothing succeeds")
        } else if [run, load, describe].contains(&status::PANICKED) {
            Finding::fail(&check, "a call with the handle of nothing panics")
        } else {
            Finding::pass(&check, "are refused, and released without harm")
        })
    });
    let check = name("open");
    let mut opens = false;
    journal.step(&check, |_| {
        let runtime = executor.open(&[]);
        Some(match runtime.and_then(|runtime| runtime.describe()) {
            Ok(text) if text.is_empty() => Finding::fail(&check, "the description of the runtime is empty"),
            Ok(text) => {
                opens = true;
                Finding::pass(&check, text)
            }
            Err(problem) if [Code::PLUGIN_PANIC, Code::PLUGIN_CONTRACT].contains(&problem.code) => {
                Finding::from_diagnostic(&check, &problem)
            }
            Err(problem) => {
                Finding::skip(&check, format!("the runtime is not available: {}", problem.message))
            }
        })
    });
    if !opens {
        return;
    }
    let check = name("no model");
    journal.step(&check, |_| {
        let refused = |path: &std::path::Path| match executor.open(&[]) {
            Ok(runtime) => runtime.load(path).map(|_| ()).err(),
            Err(problem) => Some(problem),
        };
        let folder = tempfile::tempdir().ok()?;
        let text = folder.path().join("text.onnx");
        std::fs::write(&text, "not a model").ok()?;
        for path in [folder.path().join("missing.onnx"), text] {
            match refused(&path) {
                None => {
                    let what = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    return Some(Finding::fail(&check, format!("{what} is loaded as a model")));
                }
                Some(problem) if problem.code == Code::PLUGIN_PANIC => {
                    return Some(Finding::from_diagnostic(&check, &problem));
                }
                Some(_) => {}
            }
        }
        Some(Finding::pass(&check, "a missing file and a text are refused"))
    });
    let check = name("two at once");
    journal.step(&check, |_| {
        let open = || executor.open(&[]).and_then(|runtime| runtime.describe()).is_ok();
        Some(match at_once(2, open) {
            Err(why) => Finding::skip(&check, why),
            Ok(opened) if opened.iter().all(|opened| matches!(opened, Ok(true))) => {
                Finding::pass(&check, "two threads each open a runtime")
            }
            Ok(_) => Finding::fail(&check, "two threads cannot each open a runtime"),
        })
    });
}
