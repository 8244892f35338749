//! Profiling a model: measuring where it spends its time, and comparing that with another model or an earlier profile.

use std::path::{Path, PathBuf};

use clap::Args;
use onnxport_core::Host;
use onnxport_core::diagnose::{Code, Diagnostic, Report, Severity};
use onnxport_core::profile::{Changes, Profile, Subject, compare, measure};
use onnxport_core::run::{self, Computed, Draw};
use onnxport_core::verify::{Runtime, Signature};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::Request;
use crate::feeding::{DimSize, Inputs, sizes};
use crate::object::wrong;
use crate::progress::Progress;
use crate::runtime::Running;
use crate::value::NameValue;

/// The most measured runs.
const MOST_RUNS: u32 = 100_000;

/// The most threads.
const MOST_THREADS: u32 = 4096;

/// Measures where a model spends its time, or compares two models.
#[derive(Args, Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct ProfileRequest {
    /// The ONNX model, or a profile saved as .json
    pub model: PathBuf,
    /// Another model or saved profile to compare with; models are run alternately
    #[arg(long, value_name = "ONNX|JSON")]
    pub against: Option<PathBuf>,
    /// Values of inputs.
    #[command(flatten)]
    #[serde(flatten)]
    pub given: Inputs,
    /// Seed for random inputs: floats between -1 and 1, integers and booleans 0 or 1
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub seed: u64,
    /// The size of a dynamic dimension of random inputs, by name or by input and axis, such as batch=2 or x:0=2
    #[arg(long, value_name = "NAME=SIZE")]
    pub dim: Vec<DimSize>,
    /// How many times to run each model, after two warm-up runs
    #[arg(long, value_name = "NUMBER", default_value_t = Self::default().runs, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_RUNS)))]
    #[schemars(range(min = 1, max = MOST_RUNS))]
    pub runs: u32,
    /// How many threads the runtime may use within an operator; chosen by the runtime by default
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_THREADS)))]
    #[schemars(range(min = 1, max = MOST_THREADS))]
    pub threads: Option<u32>,
    /// The runtime.
    #[command(flatten)]
    #[serde(flatten)]
    pub running: Running,
}

impl Default for ProfileRequest {
    fn default() -> Self {
        Self {
            model: PathBuf::new(),
            against: None,
            given: Inputs::default(),
            seed: 0,
            dim: Vec::new(),
            runs: 20,
            threads: None,
            running: Running::default(),
        }
    }
}

/// A measured model.
#[derive(Debug)]
pub struct Profiled {
    /// Its profile.
    pub profile: Profile,
    /// The comparison with another one, if requested.
    pub against: Option<Contrast>,
    /// Notes on metadata that models lack, and on generated sizes.
    pub notes: Vec<Diagnostic>,
}

/// The profile that another one is compared with.
#[derive(Debug)]
pub struct Contrast {
    /// The profile.
    pub profile: Profile,
    /// The changes to it from the first profile.
    pub changes: Changes,
}

impl ProfileRequest {
    /// Creates a request that measures the model at `model` on random inputs.
    pub fn new(model: impl Into<PathBuf>) -> Self {
        Self { model: model.into(), ..Self::default() }
    }

    /// Whether a model is run: saved profiles are only read.
    pub fn runs_models(&self) -> bool {
        self.paths().any(|path| !is_saved(path))
    }

    /// The models, or saved profiles.
    fn paths(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(&self.model).chain(&self.against).map(PathBuf::as_path)
    }
}

impl Request for ProfileRequest {
    type Outcome = Profiled;

    fn check(&self) -> Result<(), Diagnostic> {
        let within = |name: &str, value: Option<u32>, most: u32| match value {
            Some(value) if value == 0 || value > most => {
                Err(wrong(format!("`{name}` is {value}, which is not in 1 to {most}")))
            }
            _ => Ok(()),
        };
        within("runs", Some(self.runs), MOST_RUNS)?;
        within("threads", self.threads, MOST_THREADS)
    }

    fn run(&self, host: &Host, progress: &mut dyn Progress) -> Result<Profiled, Report> {
        self.check()?;
        if let Some(path) = self.paths().find(|path| !path.is_file()) {
            let message = format!("file not found: {}", path.display());
            return Err(Diagnostic::error(Code::READ_IO, message).into());
        }
        let saved = |path: &Path| is_saved(path).then(|| Profile::read(path)).transpose();
        let first = saved(&self.model)?;
        let second = self.against.as_deref().map(saved).transpose()?.flatten();
        let models: Vec<&Path> = self.paths().filter(|path| !is_saved(path)).collect();
        let mut sized = Vec::new();
        let measured =
            if models.is_empty() { Vec::new() } else { self.measure(host, &models, &mut sized, progress)? };
        let in_turn = measured.len() > 1;
        let mut measured = measured.into_iter();
        let Some(profile) = first.or_else(|| measured.next()) else {
            return Err(Diagnostic::error(Code::INTERNAL, "nothing was measured").into());
        };
        let against = second.or_else(|| measured.next()).map(|second| {
            let changes = compare(&profile, &second, in_turn);
            Contrast { profile: second, changes }
        });
        let profiles = std::iter::once(&profile).chain(against.as_ref().map(|against| &against.profile));
        let notes = profiles.filter_map(lacking_metadata).chain(sized).collect();
        Ok(Profiled { profile, against, notes })
    }
}

impl ProfileRequest {
    /// Measures `models`. `notes` receives the generated sizes.
    fn measure(
        &self,
        host: &Host,
        models: &[&Path],
        notes: &mut Vec<Diagnostic>,
        progress: &mut dyn Progress,
    ) -> Result<Vec<Profile>, Report> {
        progress.stage("reading the inputs");
        let given = self.given.read()?;
        let sizes = sizes(&self.dim);
        let draw = Some(Draw { seed: self.seed });
        let mut inputs: Vec<Vec<Computed>> = Vec::new();
        for model in models {
            let (signature, fed) = run::inputs_or_drawn(model, &given, &sizes, draw)?;
            if given.is_empty() && sizes.is_empty() {
                notes.extend(drawn_sizes(model, &signature, &fed));
            }
            inputs.push(fed);
        }
        let opened: Vec<(TempDir, Runtime)> =
            models.iter().map(|_| self.open(host, progress)).collect::<Result<_, _>>()?;
        let parts = models.iter().zip(&inputs).zip(&opened);
        let subjects: Vec<Subject<'_>> = parts
            .map(|((model, inputs), (folder, runtime))| Subject {
                model,
                runtime,
                folder: folder.path(),
                inputs,
            })
            .collect();
        let name = opened.first().map_or("", |(_, runtime)| runtime.name());
        progress.stage("loading the model");
        let _deadline = progress.deadline(self.running.options.deadline(), name, "profiling the model")?;
        let tell = &mut |done: usize, all: usize| {
            progress.stage(&format!("running the model, {done} of {all}"));
            progress.go_on().is_ok()
        };
        Ok(measure(&subjects, self.runs as usize, tell)?)
    }

    /// Opens a runtime that measures, and creates its output folder.
    fn open(&self, host: &Host, progress: &dyn Progress) -> Result<(TempDir, Runtime), Diagnostic> {
        let failed =
            |why: String| Diagnostic::error(Code::WRITE_IO, format!("no folder for the profile: {why}"));
        let folder = tempfile::tempdir().map_err(|error| failed(error.to_string()))?;
        let path = folder.path().to_str().ok_or_else(|| failed("its path is not UTF-8".to_owned()))?;
        let option = |name: &str, value: &str| NameValue { name: name.to_owned(), value: value.to_owned() };
        let mut extra = vec![option("profile", path)];
        extra.extend(self.threads.map(|threads| option("threads", &threads.to_string())));
        let Running { executor, options } = &self.running;
        let runtime = options.with(extra).open(host, executor.as_deref(), progress.restart())?;
        Ok((folder, runtime))
    }
}

/// Whether a path names a profile rather than a model.
fn is_saved(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

/// Returns a note if sizes of dynamic dimensions were generated: times depend on them.
fn drawn_sizes(model: &Path, signature: &Signature, inputs: &[Computed]) -> Option<Diagnostic> {
    let shapes = run::dynamic_shapes(signature, inputs)?;
    let message = format!("`{}` ran with randomly chosen sizes: {shapes}", model.display());
    Some(note(message).help("times depend on sizes; set them with --dim NAME=SIZE"))
}

/// Returns a note on the metadata that the model's nodes lack.
fn lacking_metadata(profile: &Profile) -> Option<Diagnostic> {
    let lacking = match (profile.knows_modules(), profile.knows_lines()) {
        (true, true) => return None,
        (true, false) => "no lines of code",
        (false, true) => "no modules",
        (false, false) => "neither modules nor lines of code",
    };
    let message = format!("nodes of `{}` record {lacking}", profile.model);
    Some(note(message).help("convert with --metadata full to see them"))
}

fn note(message: String) -> Diagnostic {
    Diagnostic { severity: Severity::Note, ..Diagnostic::error(Code::RUN_PROFILE, message) }
}

#[cfg(test)]
mod tests {
    use onnxport_core::profile::{Attributed, ModulesFrom, Times};

    use super::*;

    /// Saves a profile whose ten runs take `time` each.
    fn save(folder: &Path, name: &str, time: f64) -> PathBuf {
        let times = Times { median: time, low: time, high: time };
        let profile = Profile {
            format: 1,
            model: name.to_owned(),
            executor: "ort".to_owned(),
            runs: 10,
            total: times,
            between: times,
            modules_from: ModulesFrom::Nothing,
            attributed: Attributed::default(),
            nodes: Vec::new(),
            operators: Vec::new(),
            modules: Vec::new(),
            lines: Vec::new(),
        };
        let path = folder.join(name).with_extension("json");
        std::fs::write(&path, serde_json::to_string(&profile).unwrap()).unwrap();
        path
    }

    #[test]
    fn saved_profiles_are_compared_without_a_runtime() {
        let folder = tempfile::tempdir().unwrap();
        let (slow, fast) = (save(folder.path(), "slow", 2.0), save(folder.path(), "fast", 1.0));
        let request = ProfileRequest { against: Some(fast), ..ProfileRequest::new(slow) };
        assert!(!request.runs_models());
        let Profiled { profile, against, notes } = request.run(&Host::new(&[]).unwrap(), &mut ()).unwrap();
        let Contrast { profile: second, changes } = against.unwrap();
        assert_eq!((profile.model.as_str(), second.model.as_str()), ("slow", "fast"));
        assert_eq!((changes.total.difference, changes.in_turn), (-1.0, false));
        let messages: Vec<&str> = notes.iter().map(|note| note.message.as_str()).collect();
        let lacks = |name: &str| format!("nodes of `{name}` record neither modules nor lines of code");
        assert_eq!(messages, [lacks("slow"), lacks("fast")]);
    }

    #[test]
    fn a_model_needs_a_runtime_that_measures() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.onnx");
        let text = "opset 20\ngraph {\n input %x: f32[3]\n %a: f32[3] = Neg(%x)\n output %a as y\n}\n";
        let model = onnxport_core::Model::parse(text).unwrap();
        onnxport_core::write::write(&model, &path, &onnxport_core::WriteOptions::default()).unwrap();
        let request = ProfileRequest::new(path);
        assert!(request.runs_models());
        let problem = |host: Host| request.run(&host, &mut ()).unwrap_err().diagnostics.remove(0);
        let without = problem(Host::new(&[]).unwrap());
        assert_eq!(without.code, Code::VERIFY_NO_EXECUTOR, "{without:?}");
        let refused = problem(Host::new(&[&onnxport_reference::ROOT]).unwrap());
        assert_eq!(refused.message, "the reference evaluator does not report the times of nodes");
    }

    #[test]
    fn numbers_out_of_range_and_missing_files_are_refused() {
        let request = |change: fn(&mut ProfileRequest)| {
            let mut request = ProfileRequest::new("missing.onnx");
            change(&mut request);
            request.run(&Host::new(&[]).unwrap(), &mut ()).unwrap_err().diagnostics.remove(0).message
        };
        assert_eq!(request(|request| request.runs = 0), "`runs` is 0, which is not in 1 to 100000");
        assert_eq!(
            request(|request| request.threads = Some(5000)),
            "`threads` is 5000, which is not in 1 to 4096"
        );
        assert_eq!(request(|_| {}), "file not found: missing.onnx");
    }
}
