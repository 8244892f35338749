//! `onnxport`: argument parsing, progress and rendering. What the commands do is in `onnxport-core`.

mod args;
mod backends;
mod commands;
mod crash;
mod deadline;
mod decomposing;
mod ending;
mod exit;
mod format;
mod outcome;
mod plugins;
mod precision;
mod progress;
mod reference;
mod render;
mod signals;
mod target;
mod tensors;
mod truncated;
mod usage;
mod weights;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;

use clap::Parser;
use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_core::host::log::{self, Level};
use onnxport_core::host::watch;
use onnxport_core::write::interrupt;

use crate::args::{Cli, Color, Command};
use crate::outcome::CommandResult;
use crate::progress::Progress;

/// A graph is many small allocations; the system's allocator takes twice the time for a long one.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Where the last panic happened; the hook writes it instead of printing.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|info| {
        if let Ok(mut slot) = PANIC.lock() {
            *slot = Some(info.to_string());
        }
    }));
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage::answer(&error).into(),
    };
    match cli.global.color {
        Color::Auto => {}
        Color::Always => anstream::ColorChoice::Always.write_global(),
        Color::Never => anstream::ColorChoice::Never.write_global(),
    }
    crash::report(exit::Exit::Internal as u8);
    let Cli { global, command } = cli;
    log::show(match global.verbose {
        0 => Level::Warnings,
        1 => Level::Info,
        _ => Level::Debug,
    });
    let name = command.name();
    let progress = Progress::new(!global.quiet && !global.json);
    truncated::report(exit::Exit::Io as u8, global.json);
    ending::prepare(name, global, &progress);
    signals::handle();
    let shown = progress.clone();
    // A plugin that does not come back is left behind on that thread.
    let result =
        watch::run(global.plugin_timeout, move || catch_unwind(AssertUnwindSafe(|| heard(&command, &shown))));
    ending::done();
    // A thread that was left behind may own hidden files.
    let _stopped = result.is_err().then(interrupt::stop);
    progress.clear();
    let outcome = match result {
        Ok(Ok(Ok(outcome) | Err(outcome))) => outcome,
        Ok(Err(_)) => defect().into(),
        Err(problem) => problem.into(),
    };
    let exit = render::exit(&render::print(name, &outcome, global), &outcome);
    crash::done();
    exit.into()
}

/// Runs the command, and adds what plugins said outside of a conversion, which reports that itself.
fn heard(command: &Command, progress: &Progress) -> CommandResult {
    let (mut result, messages) = log::collect(|| run(command, progress));
    let (Ok(outcome) | Err(outcome)) = &mut result;
    outcome.report.diagnostics.extend(messages.into_iter().chain(log::others()));
    result
}

fn run(command: &Command, progress: &Progress) -> CommandResult {
    match command {
        Command::Convert(arguments) => commands::convert::run(arguments, progress),
        Command::Check(arguments) => commands::check::run(arguments),
        Command::Inspect(arguments) => commands::inspect::run(arguments),
        Command::Verify(arguments) => commands::verify::run(arguments, progress),
        Command::Run(arguments) => commands::run::run(arguments, progress),
        Command::Optimize(arguments) => commands::optimize::run(arguments, progress),
        Command::Ops(arguments) => commands::ops::run(arguments),
        Command::Plugin(arguments) => commands::plugin::run(arguments),
        Command::Package(arguments) => commands::package::run(arguments, progress),
        Command::Weights(arguments) => commands::weights::run(arguments, progress),
        Command::Explain(arguments) => commands::explain::run(arguments),
        Command::Completions(arguments) => Ok(commands::completions::run(arguments)),
        Command::Man => commands::man::run(),
    }
}

fn defect() -> Diagnostic {
    let place = PANIC.lock().ok().and_then(|mut slot| slot.take()).unwrap_or_default();
    let mut diagnostic = Diagnostic::error(Code::INTERNAL, "onnxport stopped at a defect of its own");
    for line in place.lines() {
        diagnostic = diagnostic.note(line.to_owned());
    }
    diagnostic.help("please report this with the command and, if you can share it, the input")
}
