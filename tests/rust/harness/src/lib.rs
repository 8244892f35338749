//! Runs the tests of a binary that has no harness of its own (`harness = false`): functions with `#[test]`, and
//! lists that are made when the binary starts, such as one test for each file of a folder. The arguments are
//! those of every Rust test binary.
//!
//! ```ignore
//! #[macro_use] // `#[test]`, in every module
//! extern crate onnxport_harness;
//!
//! #[test]
//! fn models_run() {
//!     let Some(runtime) = runtime() else { onnxport_harness::skip("there is no ONNX Runtime") };
//!     …
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     onnxport_harness::main()
//! }
//! ```
//!
//! A test that cannot run here calls [`skip`]: it counts as ignored, with the reason, and not as passed. One that
//! is not to run unless somebody asks says `#[ignore = "why"]`.

mod skipped;

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::cell::{Cell, RefCell};
use std::fmt::{Display, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Completion, Failed, Trial};

pub use inventory;
pub use onnxport_harness_attribute::test;
pub use skipped::note;

/// A function with `#[test]`.
pub struct Test {
    /// Its path, with the name of the crate.
    pub name: &'static str,
    /// Whether it runs only when it is asked for.
    pub ignored: bool,
    /// The function.
    pub run: fn(),
}

inventory::collect!(Test);

/// A test that was found when the binary started.
pub struct Case {
    /// Its path, without the name of the crate.
    pub name: String,
    /// Panics when it fails.
    pub run: Box<dyn FnOnce() + Send>,
}

/// Makes [`Case`]s. Submit one with `inventory`.
pub struct Cases(pub fn() -> Vec<Case>);

inventory::collect!(Cases);

/// Why a test did not run, as the payload of a panic.
struct Skipped(String);

/// Ends the test that runs on this thread: it cannot run here, for this reason, and counts as ignored.
pub fn skip(reason: impl Display) -> ! {
    // Not a panic: nothing is to be printed.
    resume_unwind(Box::new(Skipped(reason.to_string())))
}

thread_local! {
    /// Whether a test runs on this thread.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// The message and the position of the last panic on this thread.
    static LAST: RefCell<(String, String)> = RefCell::default();
}

/// Keeps what panics on the threads of tests say: many tests make plugins panic, and only the panic that ends a test
/// is of interest. Those of other threads are printed as ever.
fn keep_panics() {
    let print = take_hook();
    set_hook(Box::new(move |panic| {
        if !INSIDE.get() {
            return print(panic);
        }
        let mut place = panic.location().map(ToString::to_string).unwrap_or_default();
        let trace = Backtrace::capture();
        if trace.status() == BacktraceStatus::Captured {
            let _ = write!(place, "\n{trace}");
        }
        LAST.set((message(panic.payload()), place));
    }));
}

/// Returns the message of a panic.
fn message(payload: &dyn Any) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "it panicked".to_owned())
}

fn run(name: &str, test: impl FnOnce()) -> Result<Completion, Failed> {
    LAST.take();
    INSIDE.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(test));
    INSIDE.set(false);
    match outcome {
        Ok(()) => Ok(Completion::Completed),
        Err(payload) => match payload.downcast::<Skipped>() {
            Ok(skipped) => {
                skipped::list(name, &skipped.0, false);
                Ok(Completion::ignored_with(skipped.0))
            }
            Err(payload) => {
                let text = message(payload.as_ref());
                let (last, place) = LAST.take();
                // A panic of another thread that was handed on is not the last one of this.
                Err(if last == text { format!("{text}\nat {place}") } else { text }.into())
            }
        },
    }
}

/// Every test of the binary.
fn trials() -> Vec<Trial> {
    let functions = inventory::iter::<Test>.into_iter().map(|test| {
        let name = test.name.split_once("::").map_or(test.name, |(_, path)| path);
        Trial::ignorable_test(name, move || run(name, test.run)).with_ignored_flag(test.ignored)
    });
    let made = inventory::iter::<Cases>.into_iter().flat_map(|cases| cases.0());
    let made = made.map(|Case { name, run: test }| {
        let own = name.clone();
        Trial::ignorable_test(name, move || run(&own, test))
    });
    let mut all: Vec<Trial> = functions.chain(made).collect();
    all.sort_by(|a, b| a.name().cmp(b.name()));
    all
}

/// Runs the tests that the arguments of the process select.
///
/// # Panics
/// If two tests have one name.
pub fn main() -> ExitCode {
    let trials = trials();
    for pair in trials.windows(2) {
        assert!(pair[0].name() != pair[1].name(), "there are two tests `{}`", pair[0].name());
    }
    keep_panics();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
