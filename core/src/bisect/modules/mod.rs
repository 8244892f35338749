//! Which module of a program does not convert, or computes something else: `onnxport.pieces` of the Python package,
//! called on an archive with the inputs that it recorded.
//!
//! Only PyTorch runs a module by itself. So the Python that the user works with does it, in a process of its own; a
//! program that is a Python already calls it there ([`Caller`]). PyTorch may run code of the file: who asks for this
//! trusts it.

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

/// What calls `pieces`.
const SCRIPT: &str = include_str!("pieces.py");
/// How long it may take where the user does not say: every piece is exported and run.
const PATIENCE: Duration = Duration::from_hours(1);

/// How modules are looked at: keywords of `onnxport.pieces`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Options {
    /// The opset that they are converted to.
    #[serde(rename = "opset_version")]
    pub opset: i64,
    /// Look at all modules, and not only into those that are bad.
    pub all: bool,
    /// Let one stand for all layers of equal code, settings and shapes.
    pub once: bool,
    /// Plugins to convert with.
    pub plugins: Vec<PathBuf>,
    /// Further options of `convert`, by their names.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub options: serde_json::Map<String, serde_json::Value>,
}

/// What is told the step that begins, and says whether to go on.
pub type Tell = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// What calls `pieces` within this process: given the archive, the keywords as JSON and whom to tell the steps, it returns
/// what `to_json` of the result gives, or a sentence that says why there is none.
pub type Caller = fn(&Path, &str, Tell) -> Result<String, String>;

/// What became of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
pub enum Verdict {
    /// It converts, and computes what the module does.
    #[serde(rename = "agrees")]
    Agrees,
    /// It computes something else.
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
    /// PyTorch does not run it outside of the model.
    #[serde(rename = "does not run by itself")]
    Dependent,
    /// The call does not reach it.
    #[serde(rename = "not called")]
    Uncalled,
    /// Nothing was wrong around it.
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
            Self::Dependent => "does not run by itself",
            Self::Uncalled => "not called",
            Self::Unseen => "not looked at",
        }
    }
}

/// A difference; what JSON has no number for is a text.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(untagged)]
pub enum Measure {
    /// A finite number.
    Number(f64),
    /// `inf` or `nan`.
    Text(String),
}

/// What was said when a module was converted by itself.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
pub struct Said {
    /// `error`, `warning` or `note`.
    pub severity: String,
    /// The code, such as `OP301`.
    pub code: String,
    /// The sentence.
    pub message: String,
    /// All else that the diagnostic has.
    #[serde(flatten)]
    pub more: serde_json::Map<String, serde_json::Value>,
}

/// A module.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
pub struct Node {
    /// Where it is in the program, such as `layers.3.norm`; empty for the program itself.
    pub path: String,
    /// Its class.
    pub kind: String,
    /// How often it is called.
    pub calls: u64,
    /// What became of it.
    pub verdict: Verdict,
    /// Why.
    pub reason: Option<String>,
    /// The largest difference from what the module computes.
    pub max_abs_diff: Option<Measure>,
    /// The same, relative to the expected value.
    pub max_rel_diff: Option<Measure>,
    /// The path of a module that stands for this one.
    pub like: Option<String>,
    /// It is bad, and nothing in it is by itself.
    pub begins: bool,
    /// What was said when it was converted.
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
    /// How many conversions that took.
    pub conversions: u64,
    /// The program.
    pub root: Node,
    /// What ran it, with versions.
    #[serde(skip_deserializing)]
    pub python: String,
}

impl Pieces {
    /// The modules in which what is wrong begins, in order.
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

/// Looks at the modules of the archive at `path`, within `limit`; `caller` does it where this process is a Python. `tell`
/// is told the steps.
///
/// # Errors
/// `OP706` where there is no Python that can, it fails, or was not to go on.
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
        // What is bad begins somewhere.
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
