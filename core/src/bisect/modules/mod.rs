//! Finds the module of a program that does not convert or diverges: calls `onnxport.pieces` of the Python package on
//! an archive with its recorded inputs.
//!
//! Only PyTorch can run a single module. So the user's own Python does it, in a separate process; a host that runs
//! inside Python calls it in place ([`Caller`]). PyTorch may run code from the file, so the caller must trust it.

#[cfg(all(test, unix))]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::diagnose::{Code, Diagnostic};
use crate::interpreter::{self, Python};
use crate::verify::child::Child;

/// The script that calls `pieces`.
const SCRIPT: &str = include_str!("pieces.py");
/// The default time limit: every piece is exported and run.
const PATIENCE: Duration = Duration::from_hours(1);

/// The options for examining modules: keywords of `onnxport.pieces`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Options {
    /// The opset that they are converted to.
    #[serde(rename = "opset_version")]
    pub opset: i64,
    /// Examine all modules, not only those inside failing ones.
    pub all: bool,
    /// Examine only one of several layers with equal code, settings and shapes.
    pub once: bool,
    /// Plugins to convert with.
    pub plugins: Vec<PathBuf>,
    /// Further options of `convert`, by their names.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub options: serde_json::Map<String, serde_json::Value>,
}

/// A callback that receives the name of each step as it begins, and returns whether to go on.
pub type Tell = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Calls `pieces` within this process. The arguments are the archive, the keywords as JSON, and the callback for steps.
/// It returns the result's `to_json`, or a sentence that says why there is no result.
pub type Caller = fn(&Path, &str, Tell) -> Result<String, String>;

/// The verdict on a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
pub enum Verdict {
    /// It converts, and the model agrees with the module.
    #[serde(rename = "agrees")]
    Agrees,
    /// The model diverges from the module.
    #[serde(rename = "disagrees")]
    Disagrees,
    /// onnxport refuses it.
    #[serde(rename = "does not convert")]
    Unconverted,
    /// PyTorch does not export it.
    #[serde(rename = "is not captured")]
    Uncaptured,
    /// ONNX Runtime does not run the model.
    #[serde(rename = "does not run")]
    Unrun,
    /// PyTorch cannot run it outside the model.
    #[serde(rename = "does not run separately")]
    Dependent,
    /// The call does not reach it.
    #[serde(rename = "not called")]
    Uncalled,
    /// It was not examined, because the module around it has no problem.
    #[serde(rename = "not looked at")]
    Unseen,
}

impl Verdict {
    /// The verdict as it is printed, and as JSON has it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Disagrees => "disagrees",
            Self::Unconverted => "does not convert",
            Self::Uncaptured => "is not captured",
            Self::Unrun => "does not run",
            Self::Dependent => "does not run separately",
            Self::Uncalled => "not called",
            Self::Unseen => "not looked at",
        }
    }
}

/// A difference; infinities and NaN, which JSON lacks, are texts.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(untagged)]
pub enum Measure {
    /// A finite number.
    Number(f64),
    /// `inf` or `nan`.
    Text(String),
}

/// A diagnostic from the isolated conversion of a module.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
pub struct Said {
    /// `error`, `warning` or `note`.
    pub severity: String,
    /// The code, such as `OP301`.
    pub code: String,
    /// The message.
    pub message: String,
    /// The other keys of the diagnostic.
    #[serde(flatten)]
    pub more: serde_json::Map<String, serde_json::Value>,
}

/// A module.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
pub struct Node {
    /// Its path in the program, such as `layers.3.norm`; empty for the program itself.
    pub path: String,
    /// Its class.
    pub kind: String,
    /// The number of its calls.
    pub calls: u64,
    /// The outcome.
    pub verdict: Verdict,
    /// The reason.
    pub reason: Option<String>,
    /// The largest difference from the module's results.
    pub max_abs_diff: Option<Measure>,
    /// The same, relative to the expected value.
    pub max_rel_diff: Option<Measure>,
    /// The path of the equal module that was examined instead.
    pub like: Option<String>,
    /// A problem originates here: the module fails, and no module inside it does.
    pub begins: bool,
    /// The diagnostics of its conversion.
    pub diagnostics: Vec<Said>,
    /// The modules directly in it.
    pub children: Vec<Node>,
}

impl Node {
    /// Whether it, or any module in it, was looked at or is known not to be called.
    pub fn is_seen(&self) -> bool {
        self.verdict != Verdict::Unseen || self.children.iter().any(Self::is_seen)
    }

    fn collect<'a>(&'a self, found: &mut Vec<&'a Node>) {
        found.extend(self.begins.then_some(self));
        for child in &self.children {
            child.collect(found);
        }
    }
}

/// The modules of a program.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
pub struct Pieces {
    /// Whether the whole program converts and agrees.
    pub ok: bool,
    /// The number of conversions.
    pub conversions: u64,
    /// The program.
    pub root: Node,
    /// The Python that ran it, with versions.
    #[serde(skip_deserializing)]
    pub python: String,
}

impl Pieces {
    /// Returns the modules in which a problem originates, in order.
    pub fn found(&self) -> Vec<&Node> {
        let mut found = Vec::new();
        self.root.collect(&mut found);
        found
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Error { error: String },
    Step { step: String },
    Greeting { torch: String, onnxport: String },
    Tree(Box<Pieces>),
}

/// Examines the modules of the archive at `path`, within `limit`, through `caller` if this process is a Python. `tell`
/// receives the steps.
///
/// # Errors
/// `OP706` if there is no suitable Python, if it fails, or if `tell` stopped it.
pub fn modules(
    path: &Path,
    options: &Options,
    limit: Option<Duration>,
    caller: Option<Caller>,
    tell: Tell,
) -> Result<Pieces, Diagnostic> {
    let found = match caller {
        Some(call) => request(options).and_then(|request| tree(call(path, &request, tell)?.as_bytes())),
        None => interpreter::with(&["torch", "onnxport"])
            .and_then(|python| ask(&python, path, options, limit.unwrap_or(PATIENCE), &tell)),
    };
    found.map_err(|why| {
        let message = format!("the modules of {} cannot be run: {why}", path.display());
        let help = "this needs a Python with PyTorch, ONNX Runtime and the package `onnxport`: \
                    activate its environment";
        Diagnostic::error(Code::VERIFY_REFERENCE, message).help(help)
    })
}

fn request(options: &Options) -> Result<String, String> {
    serde_json::to_string(options).map_err(|error| format!("the options cannot be handed over: {error}"))
}

fn read(message: &[u8]) -> Result<Answer, String> {
    let wrong = |error: serde_json::Error| format!("its answer is not one: {error}");
    match serde_json::from_slice(message).map_err(wrong)? {
        Answer::Error { error } => Err(error),
        // A failure must originate somewhere.
        Answer::Tree(pieces) if !pieces.ok && pieces.found().is_empty() => {
            Err("its answer is not one: nothing is wrong in a program that is".to_owned())
        }
        answer => Ok(answer),
    }
}

fn tree(message: &[u8]) -> Result<Pieces, String> {
    match read(message)? {
        Answer::Tree(pieces) => Ok(*pieces),
        _ => Err("it greets twice".to_owned()),
    }
}

fn ask(
    python: &Python,
    path: &Path,
    options: &Options,
    limit: Duration,
    tell: &Tell,
) -> Result<Pieces, String> {
    let told = |why: String| format!("`{}`: {why}", python.interpreter.display());
    let request = request(options)?.into_bytes();
    let child = Child::start(&python.interpreter, SCRIPT, path, true, request, limit);
    let mut child = child.map_err(told)?;
    let Answer::Greeting { torch, onnxport } = child.answer().and_then(|text| read(&text)).map_err(told)?
    else {
        return Err(told("it answers without a greeting".to_owned()));
    };
    let found = loop {
        match child.answer().and_then(|text| read(&text)).map_err(told)? {
            Answer::Step { step } if tell(&step) => {}
            Answer::Step { .. } => return Err("it was interrupted".to_owned()),
            Answer::Tree(pieces) => break *pieces,
            _ => return Err(told("it greets twice".to_owned())),
        }
    };
    let python = format!("onnxport {onnxport} and PyTorch {torch} ({})", python.interpreter.display());
    Ok(Pieces { python, ..found })
}
