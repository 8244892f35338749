//! The commands inside another program, which keeps control of its signals, its streams and its exit.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use onnxport_core::diagnose::{Code, Diagnostic, render};
use onnxport_core::host::log;
use onnxport_core::inspect::ModelParts;
use onnxport_core::trace::{self, stage};
use onnxport_core::verify::InProcess;
use onnxport_core::write;
use onnxport_core::{Conversion, ConvertedProgram, Host, Model, Trace, WriteOptions};
use onnxport_report::model::{self, Form};
use onnxport_requests::export::{Export, Purpose, Unwritten};
use onnxport_requests::verify::InMemory;
use onnxport_requests::writing::{Files, Writing};
use onnxport_requests::{BindRequest, Hosted, Progress as _, object};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::args;
use crate::commands::{self, exporting, profiled};
use crate::config::{self, Joined, Object};
use crate::describe;
use crate::dispatch;
use crate::exit::Exit;
use crate::global::Global;
use crate::options;
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::progress::{Progress, Watch};
use crate::sandbox;

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

/// Returns the page about a failed export of `name`: about the report `said`, an object of `convert --json`.
///
/// # Errors
/// A defect.
pub fn page(name: &str, said: &Value) -> Result<String, Outcome> {
    guarded(|| Ok(render_page(name, said, None)))
}

fn render_page(name: &str, said: &Value, model: Option<&ModelParts>) -> String {
    let data = model::data(name, model, Some(said));
    render::printable(&model::render(&data, Form::Html)).into_owned()
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

/// Optimizes a model in memory, which came with some warnings, with the options of `onnxport optimize` in a JSON object.
/// Returns its outcome and the model.
///
/// The thread needs a large stack, since programs nest.
///
/// # Errors
/// A failure of the command; a model whose results changed is one.
pub fn optimize(
    read: (Model, Vec<Diagnostic>),
    options: &str,
    watch: &Watch,
) -> Result<(Outcome, Model), Outcome> {
    guarded(|| {
        let mut given = options::parse(options)?;
        // The command requires paths, which a model in memory does not have.
        given.extend(["model", "output"].map(|name| (name.to_owned(), Value::from("the model"))));
        let (object, joined) = match config::object("optimize", given, |_| true)? {
            Object::Run(object, joined) => (object, joined),
            Object::Show(_) => {
                let message = "a model in memory does not support `print_config`";
                return Err(Diagnostic::error(Code::USAGE, message).help("leave it out").into());
            }
        };
        let args::Command::Optimize(arguments) = parse("optimize", &object)? else {
            return Err(Diagnostic::error(Code::USAGE, "unknown options for `optimize`")
                .help("`onnxport optimize --help` lists them")
                .into());
        };
        let (mut outcome, model) = commands::optimize::run_on(&arguments, read, &Progress::watched(watch))?;
        joined.describe(&mut outcome);
        Ok((finish(outcome)?, model))
    })
}

/// Reads the arguments and options of the command `name`.
fn parse(name: &str, object: &Map<String, Value>) -> Result<args::Command, Diagnostic> {
    use args::Command;
    use commands::plugin;

    Ok(match name {
        "bisect" => Command::Bisect(Box::new(request("bisect", object)?)),
        "check" => Command::Check(Box::new(request("check", object)?)),
        "completions" => Command::Completions(request("completions", object)?),
        "convert" => Command::Convert(Box::new(request("convert", object)?)),
        "diff" => Command::Diff(Box::new(request("diff", object)?)),
        "draw" => Command::Draw(Box::new(request("draw", object)?)),
        "explain" => Command::Explain(request("explain", object)?),
        "inspect" => Command::Inspect(Box::new(request("inspect", object)?)),
        "bench" => Command::Bench(Box::new(request("bench", object)?)),
        "partition" => Command::Partition(Box::new(request("partition", object)?)),
        "legal" => Command::Legal(Box::new(request("legal", object)?)),
        "llm" => Command::Llm(Box::new(request("llm", object)?)),
        "man" => {
            request::<Nothing>("man", object)?;
            Command::Man
        }
        "ops" => Command::Ops(request("ops", object)?),
        "optimize" => Command::Optimize(Box::new(request("optimize", object)?)),
        "package" => Command::Package(Box::new(request("package", object)?)),
        "plugin check" => Command::Plugin(plugin::Command::Check(request("plugin check", object)?).into()),
        "plugin info" => Command::Plugin(plugin::Command::Info(request("plugin info", object)?).into()),
        "plugin list" => Command::Plugin(plugin::Command::List(request("plugin list", object)?).into()),
        "plugin new" => Command::Plugin(plugin::Command::New(request("plugin new", object)?).into()),
        "profile" => Command::Profile(Box::new(request("profile", object)?)),
        "report" => Command::Report(request("report", object)?),
        "rules" => Command::Rules(request("rules", object)?),
        "run" => Command::Run(Box::new(request("run", object)?)),
        "schema" => Command::Schema(request("schema", object)?),
        "verify" => Command::Verify(Box::new(request("verify", object)?)),
        "weights bind" => Command::Weights(request::<BindRequest>("weights bind", object)?.into()),
        _ => return Err(describe::unknown(name)),
    })
}

/// The arguments of a command that has none.
#[derive(Args, Deserialize, JsonSchema)]
struct Nothing {}

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
    if object::read::<Global>(name, &global)?.sandbox {
        return Err(sandbox::embedded());
    }
    Ok(request)
}

/// The options of an export.
pub struct Exporting {
    options: Hosted<Export>,
    /// Those that were given, here and in a file.
    given: Map<String, Value>,
    joined: Joined,
}

impl Exporting {
    /// Reads options: those of `onnxport convert`, as a JSON object with `_` for `-` in their names. `config`,
    /// `no_config`, `preset` and `unset` select the file to merge them with, as for the command.
    ///
    /// # Errors
    /// An unknown key, a value that the command line would refuse, and defects of a file.
    pub fn new(options: &str) -> Result<Self, Outcome> {
        let known = Hosted::<Export>::augment_args(clap::Command::new("convert"));
        let is_known = |long: &str| known.get_arguments().any(|arg| arg.get_long() == Some(long));
        match config::object("convert", options::parse(options)?, is_known)? {
            Object::Run(given, joined) => {
                let options: Hosted<Export> = object::read("convert", &given)?;
                options.request.check()?;
                Ok(Self { options, given, joined })
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
            let Hosted { request: export, plugins } = &self.options;
            let trace = export.profiling.trace();
            let work = || -> Result<(Host, Unwritten), Outcome> {
                let _span = trace::span("command", "convert");
                let reading = stage("read");
                let host = plugins::host(plugins)?;
                if export.verifies() {
                    plugins::prepare(&host, &export.converting.verifying.running);
                }
                let progress = &mut Progress::watched(watch);
                let purpose = Purpose::Write(output);
                let prepared = export.prepare(&host, conversion, purpose, reading, progress.restart())?;
                let unwritten = prepared.convert(&host, source, &export.levels, progress)?;
                Ok((host, unwritten))
            };
            let (converted, messages) = log::collect(|| trace::within(trace.as_ref(), work));
            export.profiling.write(trace.as_ref(), &[])?;
            let (host, mut unwritten) = converted?;
            let diagnostics = &mut unwritten.program.converted.diagnostics;
            diagnostics.extend(messages);
            export.levels.judge(diagnostics);
            Ok(Exported { export: self, host, unwritten, trace })
        })
    }
}

/// An exported model that is not in a file yet.
pub struct Exported {
    export: Exporting,
    host: Host,
    unwritten: Unwritten,
    /// The trace, if one was requested.
    trace: Option<Trace>,
}

impl Exported {
    /// Returns the model, and the record of its conversion.
    pub fn program(&self) -> &ConvertedProgram {
        &self.unwritten.program
    }

    /// Returns the report on the conversion, as far as it is known without a file.
    pub fn report(&self) -> Outcome {
        let mut outcome = exporting::describe(&self.unwritten, self.options());
        self.export.joined.clone().describe(&mut outcome);
        outcome
    }

    /// Returns the model with its weights as one message, of at most `limit` bytes.
    ///
    /// # Errors
    /// `OP602` if it is longer.
    pub fn to_bytes(&self, options: &str, limit: Option<u64>, watch: &Watch) -> Result<Vec<u8>, Outcome> {
        let writing = self.writing(options)?;
        guarded(|| {
            let model = &self.program().converted.model;
            let weightless = self.options().binding.weightless;
            let options = WriteOptions { weightless, ..writing.options() };
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

    /// Returns the page about the model as it is written to the file `name`.onnx, and about the report `said`, an object
    /// of `convert --json`. `options` are those of [`save`](Self::save). Nothing is written.
    ///
    /// # Errors
    /// Those of planning the file.
    pub fn page(&self, name: &str, said: &Value, options: &str) -> Result<String, Outcome> {
        let writing = self.writing(options)?;
        guarded(|| {
            let path = PathBuf::from(format!("{name}.onnx"));
            let options = Unwritten::write_options(self.options(), &writing);
            let file = write::preview(&self.program().converted.model, &path, &options)?;
            Ok(render_page(name, said, Some(&ModelParts::from_file(&file)?)))
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
        let files: Files = object::read("package", &options::parse(options)?)?;
        guarded(|| {
            let bar = Progress::watched(watch).bytes("writing");
            let options = WriteOptions { progress: Some(Arc::new(bar)), ..files.options() };
            let models =
                models.iter().map(|(name, one)| (name.clone(), one.program().converted.model.clone()));
            commands::packaged::write(models.collect(), folder, &options)
        })
    }

    fn options(&self) -> &Export {
        &self.export.options.request
    }

    fn writing(&self, options: &str) -> Result<Writing, Diagnostic> {
        object::read_over("writing", &self.export.given, &options::parse(options)?)
    }

    /// Writes the model to `path` and verifies it, as `onnxport convert` does. `options` are those of the export about
    /// writing, and override the earlier ones.
    ///
    /// # Errors
    /// A failure; an existing file at `path` is unchanged.
    pub fn save(&self, path: &Path, options: &str, watch: &Watch) -> CommandResult {
        let writing = self.writing(options)?;
        guarded(|| {
            let export = self.options();
            let trace = self.trace.as_ref();
            let save = || self.write(path, &writing, &mut Progress::watched(watch));
            let (result, messages) = log::collect(|| {
                profiled::around_in(&export.profiling, trace, "save", &[path.to_owned()], save)
            });
            let mut outcome = result?;
            outcome.report.diagnostics.extend(messages);
            self.export.joined.clone().describe(&mut outcome);
            finish(outcome)
        })
    }

    /// Writes the model, or shows the plan.
    fn write(&self, path: &Path, writing: &Writing, progress: &mut Progress) -> CommandResult {
        let (unwritten, export) = (&self.unwritten, self.options());
        if let Some(shown) = writing.planning.plan {
            let options = Unwritten::write_options(export, writing);
            let plan = unwritten.plan(path, &options)?;
            return Ok(commands::writing::planned(&plan, &options, shown, unwritten.report()));
        }
        if unwritten.is_refused() {
            return Ok(exporting::describe(unwritten, export));
        }
        let saved = unwritten.save(&self.host, path, export, writing, progress)?;
        Ok(exporting::saved(unwritten, saved, path, export))
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
    use serde_json::json;

    use super::*;
    use crate::documents;

    #[test]
    fn a_panic_is_a_failure_that_says_what_it_said() {
        let failure = guarded::<()>(|| panic!("{} is lost", 7)).expect_err("it panicked");
        assert_eq!(failure.exit, Exit::Internal);
        let said = failure.diagnostics();
        assert_eq!(said[0]["code"], "OP900");
        assert_eq!(said[0]["notes"][0], "7 is lost");
        assert!(said[0]["help"].as_str().is_some_and(|help| help.contains("report this with the call")));
    }

    #[test]
    fn each_command_is_read_from_an_object() {
        for name in documents::names() {
            // A command that has no option of this name is known.
            let unknown = Map::from_iter([("no_such".to_owned(), Value::Bool(true))]);
            let problem = parse(name, &unknown).expect_err("there is no such option");
            assert_eq!(problem.message, format!("unknown option `no_such` for {name}"));
        }
        let problem = parse("frobnicate", &Map::new()).expect_err("there is no such command");
        assert_eq!(problem.message, "unknown command `frobnicate`");
    }

    #[test]
    fn arguments_are_read_beside_options() {
        let read = |name: &str, object: Value| {
            let Value::Object(object) = object else { panic!("an object") };
            parse(name, &object).map(|command| command.name()).map_err(|problem| problem.message)
        };
        for (name, object) in [
            ("completions", json!({ "shell": "bash" })),
            ("draw", json!({ "files": "a.onnx", "output": "a.svg", "depth": 1, "module": "layers.*" })),
            ("explain", json!({ "code": "OP301", "program": "a.pt2", "opset": 18 })),
            ("plugin check", json!({ "library": "a.so", "write_manifest": true, "timeout": 3 })),
            ("plugin info", json!({ "library": "a.so" })),
            ("plugin new", json!({ "name": "a", "path": "b", "kind": "rules", "sdk": "c" })),
            ("report", json!({ "model": "a.onnx", "output": ["a.md", "a.html"] })),
            ("report", json!({ "model": "a.onnx", "check": "a.md" })),
            ("schema", json!({ "what": ["weights", "bind"] })),
        ] {
            assert_eq!(read(name, object), Ok(name.split(' ').next().unwrap_or(name)));
        }
        let both = json!({ "model": "a.onnx", "output": "a.md", "check": "a.md" });
        assert_eq!(read("report", both), Err("`check` cannot be used with `output`".to_owned()));
        assert_eq!(read("draw", json!({ "rule": "a" })), Err("`output` is missing".to_owned()));
        assert_eq!(read("plugin new", json!({ "path": "a" })), Err("`name` is missing".to_owned()));
    }

    #[test]
    fn options_of_every_command_are_checked() {
        let read = |key: &str, value: Value| {
            let object = Map::from_iter([(key.to_owned(), value)]);
            parse("ops", &object).map(|_| ()).map_err(|problem| problem.message)
        };
        for (key, value) in [("json", true.into()), ("verbose", 2.into()), ("color", "never".into())] {
            assert_eq!(read(key, value), Ok(()), "{key}");
        }
        assert_eq!(read("json", 1.into()), Err("`json` is true or false".to_owned()));
        assert!(
            read("color", "red".into())
                .unwrap_err()
                .starts_with("invalid value for `color`: unknown variant")
        );
        assert!(read("plugin_timeout", (-1).into()).is_err());
    }
}
