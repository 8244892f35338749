//! The commands inside another program, which keeps control of its signals, its streams and its exit.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use clap::{Args, CommandFactory, FromArgMatches};
use onnxport_core::diagnose::{Code, Diagnostic, render};
use onnxport_core::host::log;
use onnxport_core::inspect::ModelParts;
use onnxport_core::trace::{self, stage};
use onnxport_core::verify::InProcess;
use onnxport_core::write;
use onnxport_core::{Conversion, ConvertedProgram, Trace, WriteOptions};
use onnxport_report::model::{self, Form};
use onnxport_requests::object;
use onnxport_requests::verify::InMemory;
use onnxport_requests::writing::Files;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::args::{self, Cli};
use crate::commands::exporting::{ExportArguments, Made, Prepared, Purpose};
use crate::commands::{self, profiled, writing::WriteArguments};
use crate::config::{self, Joined, Object};
use crate::describe;
use crate::dispatch;
use crate::exit::Exit;
use crate::global::Global;
use crate::options;
use crate::outcome::{CommandResult, Outcome};
use crate::progress::{Progress, Watch};

/// Runs the command `name`, such as `optimize` or `weights bind`, with the arguments and options of the JSON object
/// `options`, and returns its outcome. The holder of `watch` can observe the progress, and cancel the work.
///
/// The thread needs a large stack, since programs nest.
///
/// # Errors
/// A failure of the command.
pub fn command(name: &str, options: &str, watch: &Watch) -> CommandResult {
    guarded(|| {
        let (object, joined) = match config::object(name, options::parse(options)?, |_| true)? {
            Object::Run(object, joined) => (object, joined),
            Object::Show(outcome) => return Ok(*outcome),
        };
        let mut outcome = dispatch::run(&parse(name, &object)?, &Progress::watched(watch))?;
        joined.describe(&mut outcome);
        finish(outcome)
    })
}

/// Returns the page about an export of `name`: about the report `said`, an object of `convert --json`, and about the
/// model in a file, if one was written.
///
/// # Errors
/// Those of a model that cannot be read.
pub fn page(name: &str, said: &Value, model: Option<&Path>) -> Result<String, Outcome> {
    guarded(|| {
        let parts = model.map(ModelParts::read).transpose()?;
        let data = model::data(name, parts.as_ref(), Some(said));
        Ok(render::printable(&model::render(&data, Form::Html)).into_owned())
    })
}

/// Verifies the model in a file against a program in memory, which `runs` executes, as `onnxport verify` does;
/// `options` are its arguments and options as a JSON object, and `conversion` has the first call. Further calls are
/// drawn from it if the options or `draws` request them.
///
/// The thread needs a large stack, since programs nest.
///
/// # Errors
/// A failure of the command: for a model that diverges, the outcome has the report.
pub fn verify(
    conversion: Conversion,
    runs: InProcess,
    draws: bool,
    options: &str,
    watch: &Watch,
) -> CommandResult {
    guarded(|| {
        let (object, joined) = match config::object("verify", options::parse(options)?, |_| true)? {
            Object::Run(object, joined) => (object, joined),
            Object::Show(outcome) => return Ok(*outcome),
        };
        let args::Command::Verify(arguments) = parse("verify", &object)? else {
            return Err(Diagnostic::error(Code::USAGE, "unknown options for `verify`")
                .help("`onnxport verify --help` lists them")
                .into());
        };
        let program = InMemory { conversion, runs, draws };
        let mut outcome =
            commands::verify::run_against(&arguments, Some(&program), &Progress::watched(watch))?;
        joined.describe(&mut outcome);
        finish(outcome)
    })
}

fn parse(name: &str, object: &Map<String, Value>) -> Result<args::Command, Diagnostic> {
    match name {
        "diff" => return Ok(args::Command::Diff(Box::new(request("diff", object)?))),
        "llm" => return Ok(args::Command::Llm(Box::new(request("llm", object)?))),
        "optimize" => return Ok(args::Command::Optimize(Box::new(request("optimize", object)?))),
        "run" => return Ok(args::Command::Run(Box::new(request("run", object)?))),
        "verify" => return Ok(args::Command::Verify(Box::new(request("verify", object)?))),
        _ => {}
    }
    let mut cli = Cli::command();
    cli.build();
    let command = describe::find(&mut cli, name)?;
    let mut line: Vec<String> =
        std::iter::once("onnxport").chain(name.split(' ')).map(str::to_owned).collect();
    line.extend(options::line(command, object)?);
    let matches = Cli::command().try_get_matches_from(line).map_err(|error| options::refused(&error))?;
    let cli = Cli::from_arg_matches(&matches).map_err(|error| options::refused(&error))?;
    Ok(cli.command)
}

/// Reads the request of the command `name`. Global options are checked, and have no effect within another program.
fn request<R: Args + JsonSchema + DeserializeOwned>(
    name: &'static str,
    object: &Map<String, Value>,
) -> Result<R, Diagnostic> {
    let everywhere = Global::augment_args(clap::Command::new(name));
    let is_global = |key: &str| options::resolve(&everywhere, key).is_some();
    let (global, own): (Map<_, _>, Map<_, _>) =
        object.clone().into_iter().partition(|(key, _)| is_global(key));
    let request = object::read(name, &own)?;
    options::read::<Global>(name, &Value::Object(global).to_string())?;
    Ok(request)
}

/// The options of an export.
pub struct Export {
    arguments: ExportArguments,
    /// Those of a file included.
    options: String,
    joined: Joined,
}

impl Export {
    /// Reads options: those of `onnxport convert`, as a JSON object with `_` for `-` in their names. `config`,
    /// `no_config`, `preset` and `unset` select the file to merge them with, as for the command.
    ///
    /// # Errors
    /// An unknown key, a value that the command line would refuse, and defects of a file.
    pub fn new(options: &str) -> Result<Self, Outcome> {
        let known = ExportArguments::augment_args(clap::Command::new("convert"));
        let is_known = |long: &str| known.get_arguments().any(|arg| arg.get_long() == Some(long));
        match config::object("convert", options::parse(options)?, is_known)? {
            Object::Run(object, joined) => {
                let options = Value::Object(object).to_string();
                let arguments = options::read("convert", &options)?;
                Ok(Self { arguments, options, joined })
            }
            Object::Show(_) => {
                let message = "exports do not support `print_config`";
                Err(Diagnostic::error(Code::USAGE, message).help("leave it out").into())
            }
        }
    }

    /// Converts a program. `source` is the user's name for it, `output` the path to which the model will be written, if
    /// that is known already. The holder of `watch` can observe the progress, and cancel the work.
    ///
    /// The thread needs a large stack, since programs nest.
    ///
    /// # Errors
    /// A report of every problem of the first stage that has any.
    pub fn run(
        self,
        conversion: Conversion,
        source: String,
        output: Option<&Path>,
        watch: &Watch,
    ) -> Result<Exported, Outcome> {
        guarded(|| {
            let purpose = Purpose::Write(output);
            let trace = self.arguments.profile.trace();
            let work = || -> Result<Made, Outcome> {
                let _span = trace::span("command", "convert");
                let prepared = Prepared::new(conversion, &self.arguments, purpose, stage("read"))?;
                Ok(prepared.convert(source, &Progress::watched(watch))?)
            };
            let (made, messages) = log::collect(|| trace::within(trace.as_ref(), work));
            self.arguments.profile.write(trace.as_ref(), &[])?;
            let mut made = made?;
            made.program.converted.diagnostics.extend(messages);
            Ok(Exported { export: self, made, trace })
        })
    }
}

/// An exported model that is not in a file yet.
pub struct Exported {
    export: Export,
    made: Made,
    /// The trace, if one was requested.
    trace: Option<Trace>,
}

impl Exported {
    /// Returns the model, and the record of its conversion.
    pub fn program(&self) -> &ConvertedProgram {
        &self.made.program
    }

    /// Returns the report on the conversion, as far as it is known without a file.
    pub fn report(&self) -> Outcome {
        let mut outcome = self.made.describe(&self.export.arguments);
        self.export.joined.clone().describe(&mut outcome);
        outcome
    }

    /// Returns the model with its weights as one message, of at most `limit` bytes.
    ///
    /// # Errors
    /// `OP602` if it is longer.
    pub fn to_bytes(&self, options: &str, limit: Option<u64>, watch: &Watch) -> Result<Vec<u8>, Outcome> {
        let arguments: WriteArguments = self.writing(options)?;
        guarded(|| {
            let model = &self.program().converted.model;
            let options =
                WriteOptions { weightless: self.export.arguments.is_weightless(), ..arguments.options() };
            let len = write::message_len(model, &options)?;
            let too_long = |limit: u64| {
                let message =
                    format!("the model takes {len} bytes as one message, more than the {limit} allowed");
                Outcome::from(Diagnostic::error(Code::WRITE_SIZE, message).help("save it to a file"))
            };
            if let Some(limit) = limit.filter(|limit| len > *limit) {
                return Err(too_long(limit));
            }
            let mut bytes = Vec::new();
            let reserved = usize::try_from(len).ok().and_then(|len| bytes.try_reserve_exact(len).ok());
            reserved.ok_or_else(|| too_long(usize::MAX as u64))?;
            let bar = Progress::watched(watch).bytes("encoding");
            let options = WriteOptions { progress: Some(Arc::new(bar)), ..options };
            write::message(model, &options, &mut bytes)?;
            Ok(bytes)
        })
    }

    /// Writes several models into the new folder `folder`, where equal weights are stored once. `options` are those of
    /// `onnxport package` about its files.
    ///
    /// # Errors
    /// A failure; then there is no folder.
    pub fn save_package(
        models: &[(String, Arc<Self>)],
        folder: &Path,
        options: &str,
        watch: &Watch,
    ) -> CommandResult {
        let files: Files = options::read("package", options)?;
        guarded(|| {
            let bar = Progress::watched(watch).bytes("writing");
            let options = WriteOptions { progress: Some(Arc::new(bar)), ..files.options() };
            let models =
                models.iter().map(|(name, one)| (name.clone(), one.program().converted.model.clone()));
            commands::packaged::write(models.collect(), folder, &options)
        })
    }

    fn writing(&self, options: &str) -> Result<WriteArguments, Diagnostic> {
        options::read_over("writing", &self.export.options, options)
    }

    /// Writes the model to `path` and verifies it, as `onnxport convert` does. `options` are those of the export about
    /// writing, and override the earlier ones.
    ///
    /// # Errors
    /// A failure; an existing file at `path` is unchanged.
    pub fn save(&self, path: &Path, options: &str, watch: &Watch) -> CommandResult {
        let write = self.writing(options)?;
        guarded(|| {
            let progress = Progress::watched(watch);
            let arguments = &self.export.arguments;
            let save = || self.made.save(path, arguments, &write, &progress);
            let (result, messages) = log::collect(|| {
                profiled::around_in(&arguments.profile, self.trace.as_ref(), "save", &[path.to_owned()], save)
            });
            let mut outcome = result?;
            outcome.report.diagnostics.extend(messages);
            self.export.joined.clone().describe(&mut outcome);
            finish(outcome)
        })
    }
}

/// Returns a failed outcome as an error.
fn finish(outcome: Outcome) -> CommandResult {
    if outcome.exit == Exit::Ok { Ok(outcome) } else { Err(outcome) }
}

/// Runs `work`; a panic is an error.
fn guarded<T>(work: impl FnOnce() -> Result<T, Outcome>) -> Result<T, Outcome> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let said =
            panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Err(Outcome::defect(said.unwrap_or_default(), "call"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_failure_that_says_what_it_said() {
        let failure = guarded::<()>(|| panic!("{} is lost", 7)).expect_err("it panicked");
        assert_eq!(failure.exit, Exit::Internal);
        let said = failure.diagnostics();
        assert_eq!(said[0]["code"], "OP900");
        assert_eq!(said[0]["notes"][0], "7 is lost");
        assert!(said[0]["help"].as_str().is_some_and(|help| help.contains("report this with the call")));
    }
}
