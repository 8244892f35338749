//! Checks shared by `rules/1`, `pass/1` and `backend/1`: named entries for ranges of opsets, and functions that work on
//! a graph, here on none.

use std::collections::BTreeSet;

use onnxport_abi::RStr;
use onnxport_abi::graph::{self, GraphContext};
use onnxport_abi::{Table, status};

use crate::Finding;
use crate::journal::Journal;
use onnxport_core::host::Validated;
use onnxport_core::ir::opset::{MAX_OPSET, MIN_OPSET};

/// An entry of a table: its name, and the opsets that it is for.
pub(super) struct Named {
    pub name: RStr<'static>,
    pub opsets: (u32, u32),
}

/// Names are texts, of one line, and unique; the opsets exist.
pub(super) fn entries(check: &str, entries: &[Named], journal: &mut Journal) {
    journal.step(check, |_| {
        let mut problems = Vec::new();
        let mut seen = BTreeSet::new();
        for Named { name, opsets: (min, max) } in entries {
            let Ok(name) = name.get() else {
                problems.push("a name is not UTF-8".to_owned());
                continue;
            };
            if name.is_empty() || name.chars().any(|c| c.is_control() || c.is_whitespace()) {
                problems.push(format!("`{}` is not a name", name.escape_debug()));
            }
            if !seen.insert(name) {
                problems.push(format!("`{name}` is listed twice"));
            }
            if min > max || i64::from(*max) < MIN_OPSET || i64::from(*min) > MAX_OPSET {
                problems.push(format!("`{name}` is for opsets {min} to {max}, of which there are none"));
            }
        }
        if entries.is_empty() {
            problems.push("there are no entries".to_owned());
        }
        Some(if problems.is_empty() {
            Finding::pass(check, format!("{} of them, none twice", entries.len()))
        } else {
            Finding::fail(check, problems.join("; "))
        })
    });
}

/// A function of a table that works on a graph.
pub(super) type Function = extern "C" fn(index: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32;

/// Calls `function` of `interface` for every entry and for one that does not exist, on no graph: the host
/// answers every question with `INVALID`. Nothing may succeed or panic.
pub(super) fn without_graph(
    interface: &str,
    name: &str,
    names: &[Named],
    function: Function,
    journal: &mut Journal,
) {
    let host = onnxport_core::session::query(RStr::from_str(interface));
    let graph = onnxport_core::session::query(RStr::from_str(graph::INTERFACE));
    let nothing = GraphContext(std::ptr::null_mut());
    let check = format!("{interface} {name}, no graph");
    let (mut panicked, mut unknown) = (Vec::new(), status::INVALID);
    for (index, entry) in names.iter().enumerate() {
        journal.step(&format!("{check}, {}", entry.name.validated()), |_| {
            if function(index as u32, &host, &graph, nothing) == status::PANICKED {
                panicked.push(entry.name.validated());
            }
            None
        });
    }
    journal.step(&format!("{check}, unknown entry"), |_| {
        unknown = function(u32::MAX, &host, &graph, nothing);
        None
    });
    journal.step(&check, |_| {
        Some(if !panicked.is_empty() {
            Finding::fail(&check, format!("panics: `{}`", panicked.join("`, `")))
                .next("read values from the host with `?`, not with `unwrap` or an index")
        } else if [status::OK, status::PANICKED].contains(&unknown) {
            Finding::fail(&check, "an entry that does not exist is not refused").next("answer `INVALID`")
        } else {
            Finding::pass(&check, "no panic, and an unknown entry is refused")
        })
    });
}
