//! Tracks which plugin this process is executing, so that a timeout or a crash can be attributed.
//!
//! Every call into a plugin's own code goes through [`cross`], which costs a few stores to memory that only its
//! thread writes. [`watch`](super::watch) reads it from another thread; the program's signal handler reads it
//! from the thread that crashed.

use std::cell::Cell;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::trace;

/// A call into a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The plugin's id, or its library while that is loaded.
    pub plugin: &'static str,
    /// The plugin's task: `lowering`, `attaching`.
    pub task: &'static str,
    /// The subject of the task, an operator for example; may be empty.
    pub subject: &'static str,
}

/// A text that another thread can read while it is being replaced.
#[derive(Default)]
struct SharedText {
    start: AtomicPtr<u8>,
    len: AtomicUsize,
}

impl SharedText {
    fn set(&self, text: &'static str) {
        self.start.store(text.as_ptr().cast_mut(), Ordering::Relaxed);
        self.len.store(text.len(), Ordering::Relaxed);
    }

    /// The start and the length, of two texts if one is replaced meanwhile.
    fn parts(&self) -> (*const u8, usize) {
        (self.start.load(Ordering::Relaxed), self.len.load(Ordering::Relaxed))
    }

    /// # Safety
    /// The parts are those of one text: no [`SharedText::set`] ran while they were read.
    unsafe fn text((start, len): (*const u8, usize)) -> &'static str {
        if start.is_null() {
            return "";
        }
        // SAFETY: both come from one text that lives as long as the process.
        unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(start, len)) }
    }
}

/// The scope of a time limit: work that was started together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run(u64);

impl Run {
    /// Creates a new run.
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns the run of this thread. Work that moves to a pool takes it along.
    pub fn current() -> Self {
        RUN.get()
    }

    /// From now on this thread works for the run.
    pub fn join(self) {
        RUN.set(self);
    }
}

/// The state of one thread. The count changes with every crossing; `depth` is the number of open ones.
#[derive(Default)]
struct Slot {
    run: AtomicU64,
    count: AtomicU64,
    depth: AtomicU64,
    plugin: SharedText,
    task: SharedText,
    subject: SharedText,
}

impl Slot {
    /// Returns the current call of the thread, if `count` has not changed.
    fn site(&self, count: u64) -> Option<Site> {
        let parts = [&self.plugin, &self.task, &self.subject].map(SharedText::parts);
        if self.count.load(Ordering::Acquire) != count {
            return None;
        }
        // SAFETY: the texts are set right after the count changes, and it did not.
        let [plugin, task, subject] = parts.map(|parts| unsafe { SharedText::text(parts) });
        Some(Site { plugin, task, subject })
    }
}

static SLOTS: Mutex<Vec<Weak<Slot>>> = Mutex::new(Vec::new());

thread_local! {
    /// The slot of this thread, which stays in the list of all as long as the thread lives.
    static OWN: Arc<Slot> = {
        let slot = Arc::new(Slot::default());
        let mut slots = SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
        slots.retain(|other| other.strong_count() > 0);
        slots.push(Arc::downgrade(&slot));
        slot
    };
    /// The innermost call. Separate from the slot because a signal handler reads it: it needs neither an
    /// initialisation nor a destructor.
    static SITE: Cell<Option<Site>> = const { Cell::new(None) };
    /// The run that this thread works for; 0 if it is not watched.
    static RUN: Cell<Run> = const { Cell::new(Run(0)) };
}

/// Runs `call`, which enters a plugin.
pub fn cross<T>(site: Site, call: impl FnOnce() -> T) -> T {
    let _crossing = Crossing { outer: SITE.replace(Some(site)) };
    let name = if site.subject.is_empty() { site.task } else { site.subject };
    let _span = trace::span("plugin", name).with("plugin", site.plugin).with("task", site.task);
    publish(Some(site), 1);
    call()
}

/// Returns the call that this thread is in. Safe in a signal handler.
pub fn current() -> Option<Site> {
    SITE.try_with(Cell::get).ok().flatten()
}

/// Returns a call that some thread is in, for a thread that is in none. Not for signal handlers.
pub fn anywhere() -> Option<Site> {
    let slots = SLOTS.try_lock().ok()?;
    let inside = |slot: &Arc<Slot>| slot.depth.load(Ordering::Acquire) > 0;
    let slot = slots.iter().filter_map(Weak::upgrade).find(inside)?;
    slot.site(slot.count.load(Ordering::Acquire))
}

/// Leaves the call on drop, also after a panic.
struct Crossing {
    outer: Option<Site>,
}

/// Tells other threads.
fn publish(site: Option<Site>, deeper: u64) {
    // A thread that is being torn down is not watched.
    let _ = OWN.try_with(|slot| {
        slot.count.fetch_add(1, Ordering::AcqRel);
        if let Some(site) = site {
            slot.plugin.set(site.plugin);
            slot.task.set(site.task);
            slot.subject.set(site.subject);
            slot.run.store(RUN.get().0, Ordering::Relaxed);
        }
        slot.depth.fetch_add(deeper, Ordering::AcqRel);
    });
}

impl Drop for Crossing {
    fn drop(&mut self) {
        SITE.set(self.outer);
        publish(self.outer, 1_u64.wrapping_neg());
    }
}

/// Detects calls of a run that do not return.
pub(super) struct Observer {
    run: Run,
    seen: Vec<(Weak<Slot>, u64)>,
}

impl Observer {
    pub(super) fn new(run: Run) -> Self {
        Self { run, seen: Vec::new() }
    }

    /// Returns a call that was already running at the last look, if there is one.
    pub(super) fn look(&mut self) -> Option<Site> {
        let slots: Vec<Weak<Slot>> = SLOTS.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut stuck = None;
        let mut seen = Vec::with_capacity(slots.len());
        for weak in slots {
            let Some(slot) = weak.upgrade() else { continue };
            let count = slot.count.load(Ordering::Acquire);
            let ours = slot.run.load(Ordering::Relaxed) == self.run.0;
            let inside = ours && slot.depth.load(Ordering::Acquire) > 0;
            let same = self.seen.iter().any(|(other, before)| other.ptr_eq(&weak) && *before == count);
            if inside && same {
                stuck = stuck.or(slot.site(count));
            }
            seen.push((weak, count));
        }
        self.seen = seen;
        stuck
    }
}

#[cfg(test)]
mod tests {
    use super::{Observer, Run, Site, cross, current};

    const OUTER: Site = Site { plugin: "a", task: "lowering", subject: "x" };
    const INNER: Site = Site { plugin: "b", task: "matching", subject: "" };

    #[test]
    fn the_innermost_call_is_known_and_left_again() {
        cross(OUTER, || {
            cross(INNER, || assert_eq!(current(), Some(INNER)));
            assert_eq!(current(), Some(OUTER));
        });
        assert_eq!(current(), None);
        let panicked = std::panic::catch_unwind(|| cross(OUTER, || panic!("on purpose")));
        assert!(panicked.is_err());
        assert_eq!(current(), None);
    }

    #[test]
    fn only_a_call_that_lasts_from_one_look_to_the_next_is_stuck() {
        let (mine, other) = (Run::new(), Run::new());
        let (mut observer, mut elsewhere) = (Observer::new(mine), Observer::new(other));
        mine.join();
        cross(OUTER, || {
            assert_eq!(observer.look(), None, "seen for the first time");
            assert_eq!(observer.look(), Some(OUTER));
            assert_eq!((elsewhere.look(), elsewhere.look()), (None, None), "another run's");
            cross(INNER, || {});
            assert_eq!(observer.look(), None, "it went on");
        });
        assert_eq!(observer.look(), None);
    }
}
