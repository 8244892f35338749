//! Has regions compiled at once, or in processes of their own.
//!
//! Nothing depends on which of them is finished first: answers are taken in the order of the regions.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use onnxport_abi::backend::backend_flags;

use super::call::{self, Compile};
use super::compiling::{State, Work};
use super::isolated::{Copy, Worker};
use super::select::Selected;
use super::stage::Running;
use crate::diagnose::{Code, Diagnostic};
use crate::host::{Run, log};
use crate::ir::Model;
use crate::trace;

/// A region that a thread may compile, by its number.
struct Task<'a> {
    number: usize,
    backend: &'a Selected,
    compile: Box<Compile>,
}

impl Running<'_> {
    /// Compiles the regions of backends that may compile several at once, or that are isolated: `copy` is the model for
    /// their processes.
    pub(super) fn ask_ahead(&self, works: &mut [Work], copy: Option<&Copy>) {
        let mut tasks = Vec::new();
        for (number, work) in works.iter_mut().enumerate() {
            let backend = &self.backends[work.region.backend];
            let is_parallel = backend.entry.flags & backend_flags::PARALLEL != 0;
            if self.host.quarantine.holds(backend.plugin) || !(is_parallel || copy.is_some()) {
                continue;
            }
            if !matches!(work.state, State::Open(_)) {
                continue;
            }
            // Stays if a thread ends without an answer.
            let lost = State::Lost(Diagnostic::error(Code::INTERNAL, "the thread that asked it panicked"));
            if let State::Open(compile) = std::mem::replace(&mut work.state, lost) {
                tasks.push(Mutex::new(Some(Task { number, backend, compile })));
            }
        }
        let threads = thread::available_parallelism().map_or(1, usize::from).min(tasks.len());
        let (next, run) = (AtomicUsize::new(0), Run::current());
        let (model, host): (&Model, _) = (self.model, self.host);
        let work = || {
            run.join();
            let mut worker = None;
            let mut done = Vec::new();
            while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                let task = task.lock().unwrap_or_else(PoisonError::into_inner).take();
                let Some(Task { number, backend, compile }) = task else { continue };
                let (state, messages) = log::collect(|| match copy {
                    Some(copy) => Worker::ask(&mut worker, copy, host, backend, model, compile),
                    None => State::Asked(call::compile(model, compile, backend), Vec::new()),
                });
                let state = match state {
                    State::Asked(answer, _) => State::Asked(answer, messages),
                    State::Told(told, _) => State::Told(told, messages),
                    other => other,
                };
                done.push((number, state));
            }
            done
        };
        let done = thread::scope(|scope| {
            let spawn =
                |_| thread::Builder::new().name("regions".to_owned()).spawn_scoped(scope, trace::along(work));
            let others: Vec<_> = (1..threads).flat_map(spawn).collect();
            let mut done = work();
            done.extend(others.into_iter().filter_map(|thread| thread.join().ok()).flatten());
            done
        });
        for (number, state) in done {
            if let Some(work) = works.get_mut(number) {
                work.state = state;
            }
        }
    }
}
