//! `compare/1`: null handles, and opening twice.

use onnxport_abi::RSlice;
use onnxport_abi::executor::Handle;
use onnxport_abi::status;

use super::Subject;
use crate::Finding;
use crate::journal::Journal;
use onnxport_core::verify::discard;

pub(super) fn probe(subject: &Subject, journal: &mut Journal) {
    let Some(table) = subject.plugin.comparer else { return };
    let check = "compare/1 null handles";
    journal.step(check, |_| {
        let scan = discard(|sink| (table.scan)(Handle::NULL, RSlice::EMPTY, sink));
        let chunk = discard(|sink| (table.chunk)(Handle::NULL, RSlice::EMPTY, RSlice::EMPTY, sink));
        (table.end)(Handle::NULL);
        (table.close)(Handle::NULL);
        Some(if [scan, chunk].contains(&status::OK) {
            Finding::fail(check, "a call with the handle of nothing succeeds")
        } else if [scan, chunk].contains(&status::PANICKED) {
            Finding::fail(check, "a call with the handle of nothing panics")
        } else {
            Finding::pass(check, "are refused, and released without harm")
        })
    });
    let check = "compare/1 open";
    journal.step(check, |_| {
        let mut handles = [Handle::NULL; 2];
        let answers = handles.each_mut().map(|out| discard(|sink| (table.open)(RSlice::EMPTY, out, sink)));
        for (handle, answer) in handles.iter().zip(answers) {
            if answer == status::OK {
                (table.close)(*handle);
            }
        }
        Some(match answers {
            [status::OK, status::OK] => Finding::pass(check, "twice at once, and closed"),
            [status::PANICKED, _] | [_, status::PANICKED] => Finding::fail(check, "panics"),
            [status::OK, _] => Finding::fail(check, "a second comparer cannot be opened"),
            _ => Finding::skip(check, "the comparer is not available here"),
        })
    });
}
