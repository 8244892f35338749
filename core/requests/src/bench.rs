//! Measuring how fast the decoder in a folder reads prompts and makes tokens, beside another folder.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, ValueHint};
use onnxport_core::Host;
use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::onnx::{Extent, OnnxFile, Port, Signature};
use onnxport_core::run::Computed;
use onnxport_core::tensor::DType;
use onnxport_core::verify::{Feed, Runtime, Session};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Request;
use crate::object::wrong;
use crate::progress::Progress;
use crate::runtime::Running;
use crate::value::NameValue;

/// The model in a folder.
const MODEL: &str = "model.onnx";
/// Runs that are not measured: they fill caches and allocate memory.
const WARM: u32 = 1;
/// The most measured runs.
const MOST_RUNS: u32 = 10_000;
/// The longest prompt.
const MOST_TOKENS: u64 = 1 << 20;
/// The most threads.
const MOST_THREADS: u32 = 4096;

/// Measures the decoder in a folder, or two of them in turn.
#[derive(Args, Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct BenchRequest {
    /// A folder with the `model.onnx` of a decoder, as `llm` writes it
    #[arg(value_hint = ValueHint::DirPath)]
    pub folder: PathBuf,
    /// Another folder to compare with; the models are run alternately
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub beside: Option<PathBuf>,
    /// The tokens of a prompt, and before the token that is measured; can be repeated [default: 64 and 512]
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1..=MOST_TOKENS))]
    pub length: Vec<u64>,
    /// How many times to run each measurement, after a warm-up run
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

impl Default for BenchRequest {
    fn default() -> Self {
        Self {
            folder: PathBuf::new(),
            beside: None,
            length: Vec::new(),
            runs: 10,
            threads: None,
            running: Running::default(),
        }
    }
}

/// The measurements of one or two folders.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Benched {
    /// The runtime.
    pub executor: String,
    /// The threads within an operator; none if the runtime chose.
    pub threads: Option<u32>,
    /// The measured runs of each kind.
    pub runs: u32,
    /// The folders, in the order of the request.
    pub folders: Vec<FolderSpeed>,
}

/// The measurements of a folder.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct FolderSpeed {
    /// The folder.
    pub folder: String,
    /// The bytes of its files.
    pub bytes: u64,
    /// The largest growth of this process's memory while the model was loaded and ran alone; none where the system does
    /// not tell.
    pub peak_memory: Option<u64>,
    /// The speeds by length.
    pub lengths: Vec<Speed>,
}

/// The speed at a length. Tokens per second are those of the median run.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Speed {
    /// The tokens of the prompt, and before the token that is made.
    pub length: u64,
    /// Tokens of a prompt of this length per second.
    pub prompt: f64,
    /// Tokens per second behind so many.
    pub decode: f64,
}

/// A model, and the calls to measure.
struct Subject {
    model: PathBuf,
    bytes: u64,
    /// For each length, the inputs of the prompt and of the next token.
    calls: Vec<[Vec<Computed>; 2]>,
}

impl Request for BenchRequest {
    type Outcome = Benched;

    fn check(&self) -> Result<(), Diagnostic> {
        let within = |name: &str, value: u64, most: u64| match value {
            0 => Err(wrong(format!("`{name}` is 0"))),
            value if value > most => Err(wrong(format!("`{name}` is {value}, and at most {most}"))),
            _ => Ok(()),
        };
        within("runs", self.runs.into(), MOST_RUNS.into())?;
        within("threads", self.threads.unwrap_or(1).into(), MOST_THREADS.into())?;
        self.length.iter().try_for_each(|length| within("length", *length, MOST_TOKENS))
    }

    fn run(&self, host: &Host, progress: &mut dyn Progress) -> Result<Benched, Report> {
        self.check()?;
        let default = [64, 512];
        let lengths = if self.length.is_empty() { &default[..] } else { &self.length };
        let folders: Vec<&Path> =
            std::iter::once(&self.folder).chain(&self.beside).map(PathBuf::as_path).collect();
        let subjects: Vec<Subject> =
            folders.iter().map(|folder| Subject::open(folder, lengths)).collect::<Result<_, _>>()?;
        let runtime = self.open(host, progress)?;
        let limit = self.running.options.deadline();
        let _deadline = progress.deadline(limit, runtime.name(), "measuring the models")?;
        let executor = runtime.describe()?;
        // The location of its library does not identify it.
        let executor = executor.split_once(", ").map_or(executor.as_str(), |(name, _)| name).to_owned();
        let mut peaks = Vec::new();
        for subject in &subjects {
            progress.stage("measuring the memory");
            peaks.push(subject.peak(&runtime)?);
        }
        let mut seconds = self.measure(&runtime, &subjects, progress)?;
        let folders = folders.iter().zip(&subjects).zip(peaks).zip(&mut seconds);
        let folders = folders.map(|(((folder, subject), peak_memory), seconds)| {
            let speeds = lengths.iter().zip(seconds).map(|(length, [prompt, decode])| Speed {
                length: *length,
                prompt: *length as f64 / median(prompt),
                decode: 1.0 / median(decode),
            });
            let folder = folder.display().to_string();
            FolderSpeed { folder, bytes: subject.bytes, peak_memory, lengths: speeds.collect() }
        });
        let folders = folders.collect();
        Ok(Benched { executor, threads: self.threads, runs: self.runs, folders })
    }
}

/// The seconds of each run, by subject, length, and prompt or token.
type Seconds = Vec<Vec<[Vec<f64>; 2]>>;

impl BenchRequest {
    fn open(&self, host: &Host, progress: &dyn Progress) -> Result<Runtime, Diagnostic> {
        let Running { executor, options } = &self.running;
        let threads =
            self.threads.map(|threads| NameValue { name: "threads".to_owned(), value: threads.to_string() });
        options.with(threads).open(host, executor.as_deref(), progress.restart())
    }

    /// Runs the subjects in turn, so that a disturbance of the machine affects all.
    fn measure(
        &self,
        runtime: &Runtime,
        subjects: &[Subject],
        progress: &mut dyn Progress,
    ) -> Result<Seconds, Report> {
        progress.stage("loading the models");
        let mut sessions =
            subjects.iter().map(|one| runtime.load(&one.model)).collect::<Result<Vec<Session<'_>>, _>>()?;
        let mut seconds: Seconds =
            subjects.iter().map(|one| vec![<[Vec<f64>; 2]>::default(); one.calls.len()]).collect();
        let all = self.runs + WARM;
        for round in 0..all {
            progress.stage(&format!("running the models, {round} of {all}"));
            for ((subject, session), seconds) in subjects.iter().zip(&mut sessions).zip(&mut seconds) {
                for (calls, seconds) in subject.calls.iter().zip(seconds) {
                    for (call, seconds) in calls.iter().zip(seconds) {
                        progress.go_on()?;
                        let took = timed(session, call)?;
                        if round >= WARM {
                            seconds.push(took);
                        }
                    }
                }
            }
        }
        Ok(seconds)
    }
}

impl Subject {
    fn open(folder: &Path, lengths: &[u64]) -> Result<Self, Diagnostic> {
        let model = folder.join(MODEL);
        if !model.is_file() {
            let message = format!("`{}` has no {MODEL}", folder.display());
            return Err(
                Diagnostic::error(Code::READ_IO, message).help("name a folder that `onnxport llm` wrote")
            );
        }
        let file = OnnxFile::open(&model)?;
        // A runtime may crash on missing data.
        file.check_data()?;
        let signature = Signature::of(&file)?;
        drop(file);
        let refused = |why: String| {
            let message = format!("`{}` cannot be measured: {why}", model.display());
            Diagnostic::error(Code::RUN_INPUT, message)
                .help("name the folder of a decoder with caches, as `onnxport llm` writes it")
        };
        let words = words(&signature).ok_or_else(|| refused("it has no output `logits`".to_owned()))?;
        let call = |tokens, past| -> Result<Vec<Computed>, Diagnostic> {
            let ports = signature.inputs.iter().filter(|port| !port.optional);
            ports.map(|port| input(port, tokens, past, words).map_err(refused)).collect()
        };
        let calls = lengths.iter().map(|length| Ok([call(*length, 0)?, call(1, *length)?]));
        let calls = calls.collect::<Result<Vec<[Vec<Computed>; 2]>, Diagnostic>>()?;
        let bytes = size(folder)?;
        Ok(Self { model, bytes, calls })
    }

    /// Returns the growth of this process's memory up to its peak, if the system tells.
    fn peak(&self, runtime: &Runtime) -> Result<Option<u64>, Diagnostic> {
        let before = restart_peak();
        let mut session = runtime.load(&self.model)?;
        for call in self.calls.iter().flatten() {
            timed(&mut session, call)?;
        }
        Ok(before.zip(status("VmHWM")).map(|(before, peak)| peak.saturating_sub(before)))
    }
}

/// Returns the number of tokens that the model knows.
fn words(signature: &Signature) -> Option<u64> {
    let logits = signature.outputs.iter().find(|port| port.name == "logits")?;
    match logits.dims.as_ref()?.last()? {
        Extent::Known(words) => u64::try_from(*words).ok(),
        Extent::Named(_) | Extent::Unknown => None,
    }
}

/// Makes the value of an input for a text of `past` tokens and new ones. Its time depends on tokens only where experts
/// are chosen: these are spread.
fn input(port: &Port, tokens: u64, past: u64, words: u64) -> Result<Computed, String> {
    let name = port.name.clone();
    let (Some(dtype), Some(dims)) = (port.dtype, &port.dims) else {
        return Err(format!("the input `{name}` has no type"));
    };
    let integers = |values: &mut dyn Iterator<Item = u64>, length: u64| -> Result<Computed, String> {
        let bytes: Vec<u8> = match dtype {
            DType::I64 => values.flat_map(u64::to_le_bytes).collect(),
            DType::I32 => values.flat_map(|value| (value as u32).to_le_bytes()).collect(),
            _ => return Err(format!("the input `{name}` has the type {dtype}")),
        };
        Ok(Computed { name: name.clone(), dtype, shape: vec![1, length], bytes: bytes.into() })
    };
    let spread = |at: u64| (at * 7919 + 3) % words.max(1);
    match name.as_str() {
        "input_ids" => integers(&mut (past..past + tokens).map(spread), tokens),
        "attention_mask" => integers(&mut (0..past + tokens).map(|_| 1), past + tokens),
        "position_ids" => integers(&mut (past..past + tokens), tokens),
        cache if cache.starts_with("past") => {
            let extent = |(axis, extent): (usize, &Extent)| match extent {
                Extent::Known(extent) => u64::try_from(*extent).ok(),
                _ if axis == 0 => Some(1),
                _ if axis == 2 => Some(past),
                _ => None,
            };
            let shape: Option<Vec<u64>> = dims.iter().enumerate().map(extent).collect();
            let shape = shape.ok_or_else(|| format!("the input `{name}` has several dynamic dimensions"))?;
            let bytes = shape.iter().try_fold(1u64, |all, extent| all.checked_mul(*extent));
            let bytes = bytes.and_then(|elements| usize::try_from(dtype.byte_len(elements)?).ok());
            let bytes = bytes.ok_or_else(|| format!("the input `{name}` is too large"))?;
            Ok(Computed { name: name.clone(), dtype, shape, bytes: vec![0; bytes].into() })
        }
        _ => Err(format!("the input `{name}` is not one of a decoder")),
    }
}

/// Runs the model, and returns the seconds.
fn timed(session: &mut Session<'_>, inputs: &[Computed]) -> Result<f64, Diagnostic> {
    let feeds: Vec<Feed<'_>> = inputs.iter().map(Computed::feed).collect::<Result<_, _>>()?;
    let start = Instant::now();
    session.run(&feeds, &mut |_| {})?;
    Ok(start.elapsed().as_secs_f64())
}

/// Returns the bytes of the files in the folder.
fn size(folder: &Path) -> Result<u64, Diagnostic> {
    let sum = || -> std::io::Result<u64> {
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.metadata()?.len())).sum()
    };
    sum().map_err(|error| {
        Diagnostic::error(Code::READ_IO, format!("`{}` cannot be read: {error}", folder.display()))
    })
}

fn median(seconds: &mut [f64]) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Lets the system forget the peak of this process's memory; returns the memory now, if it does.
fn restart_peak() -> Option<u64> {
    std::fs::write("/proc/self/clear_refs", "5").ok()?;
    status("VmRSS")
}

/// Returns an entry of Linux about this process, in bytes.
fn status(key: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}
