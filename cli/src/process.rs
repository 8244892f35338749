//! The program: a command that owns its process.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_core::host::log::{self, Level};
use onnxport_core::host::watch;
use onnxport_core::write::interrupt;

use crate::args::{Cli, Command};
use crate::config::{self, Line};
use crate::exit::Exit;
use crate::global::Color;
use crate::outcome::{CommandResult, Outcome};
use crate::progress::Progress;
use crate::{crash, dispatch, ending, render, sandbox, scratch, signals, truncated, usage};

/// The location of the last panic; the hook stores it instead of printing.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Whether a command was started: signals and the end of the process belong to it.
static STARTED: AtomicBool = AtomicBool::new(false);

/// Runs the command line `arguments`, the name of the program first, and returns the exit code.
///
/// Takes over the process: its panics, its signals and its output. The process must end after the command; a second
/// call is refused.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    run(arguments.into_iter().collect()) as u8
}

fn run(arguments: Vec<OsString>) -> Exit {
    std::panic::set_hook(Box::new(|info| {
        if let Ok(mut slot) = PANIC.lock() {
            *slot = Some(info.to_string());
        }
    }));
    let line = catch_unwind(AssertUnwindSafe(|| config::line(arguments.clone())));
    let (arguments, joined) = match line {
        Ok(Ok(Line::Run(arguments, joined))) => (arguments, joined),
        Ok(Ok(Line::Show(name, outcome))) => return usage::show(Some(&name), &outcome, &arguments),
        Ok(Err(report)) => return usage::refuse(report, &arguments),
        Err(_) => return usage::show(None, &defect(), &arguments),
    };
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return usage::answer(error, &arguments, joined.used.as_ref()),
    };
    match cli.global.color {
        Color::Auto => {}
        Color::Always => anstream::ColorChoice::Always.write_global(),
        Color::Never => anstream::ColorChoice::Never.write_global(),
    }
    let Cli { global, command, .. } = cli;
    if STARTED.swap(true, Ordering::AcqRel) {
        let problem = Diagnostic::error(Code::USAGE, "a process runs one command, and this is the second")
            .help("start a process for each command");
        let outcome = Outcome::from(problem);
        return render::exit(&render::print(command.name(), &outcome, global), &outcome);
    }
    // Before any other thread starts.
    if global.sandbox
        && let Err(problem) = sandbox::enter(&arguments)
    {
        let outcome = Outcome::from(problem);
        return render::exit(&render::print(command.name(), &outcome, global), &outcome);
    }
    crash::report(Exit::Internal as u8);
    log::show(match global.verbose {
        0 => Level::Warnings,
        1 => Level::Info,
        _ => Level::Debug,
    });
    let name = command.name();
    let progress = Progress::new(!global.quiet && !global.json);
    truncated::report(Exit::Io as u8, global.json, ending::take_last_word);
    ending::prepare(name, global, &progress);
    signals::handle();
    let shown = progress.clone();
    // A plugin that does not return is abandoned on that thread.
    let result = watch::run(global.plugin_timeout.map(|limit| limit.0), move || {
        catch_unwind(AssertUnwindSafe(|| heard(&command, &shown)))
    });
    ending::done();
    // An abandoned thread may own hidden files.
    let is_abandoned = result.is_err();
    let _stopped = is_abandoned.then(interrupt::stop);
    progress.clear();
    let mut outcome = match result {
        Ok(Ok(Ok(outcome) | Err(outcome))) => outcome,
        Ok(Err(_)) => defect(),
        Err(problem) => problem.into(),
    };
    joined.describe(&mut outcome);
    let exit = render::exit(&render::print(name, &outcome, global), &outcome);
    scratch::remove();
    if is_abandoned {
        ending::leave(exit);
    }
    crash::done();
    exit
}

/// Runs the command, and adds the messages of plugins from outside a conversion, which reports its own.
fn heard(command: &Command, progress: &Progress) -> CommandResult {
    let (mut result, messages) = log::collect(|| dispatch::run(command, progress));
    let (Ok(outcome) | Err(outcome)) = &mut result;
    outcome.report.diagnostics.extend(messages.into_iter().chain(log::others()));
    result
}

fn defect() -> Outcome {
    let said = PANIC.lock().ok().and_then(|mut slot| slot.take()).unwrap_or_default();
    Outcome::defect(&said, "command")
}
