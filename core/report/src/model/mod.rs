//! The report of a model: its contents and its conversion.
//!
//! A report is data, an object of JSON, and pages show nothing else: each holds the data, so that [`check()`] can read them
//! back, hold their numbers against the model, and show the page again to see that nothing else stands there.

mod check;
mod markdown;
mod page;
mod tables;

pub use check::check;
pub use markdown::markdown;
pub use page::page;

use std::path::Path;

use onnxport_core::diagnose::render::{json_text, printable};
use onnxport_core::inspect::ModelParts;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// The version of the data.
const FORMAT: u64 = 2;

/// The fields of a conversion that depend on the machine that it ran on.
const OF_THE_MACHINE: [&str; 6] = ["against", "command", "files", "profile", "reports", "sources"];

/// A form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The data itself.
    Json,
    /// Tables, for reviews.
    Markdown,
    /// A page that one looks at.
    Html,
}

impl Form {
    /// Returns the form of a report in the file `path`, by its extension: .json, .md or .html.
    pub fn from_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "json" => Some(Self::Json),
            "md" => Some(Self::Markdown),
            "html" => Some(Self::Html),
            _ => None,
        }
    }
}

/// The data of a report of the model called `name`: what it consists of, if there is one, and what `convert --json`
/// says of its conversion, if that is known.
pub fn data(name: &str, model: Option<&ModelParts>, conversion: Option<&Value>) -> Value {
    let mut told: Map<String, Value> = conversion.and_then(Value::as_object).cloned().unwrap_or_default();
    for key in OF_THE_MACHINE {
        told.remove(key);
    }
    if let Some(executor) = told.get_mut("verification").and_then(|v| v.get_mut("executor")) {
        *executor = executor.as_str().map(crate::short).into();
    }
    let model = model.map(|model| serde_json::to_value(model).unwrap_or_default());
    let conversion = conversion.map(|_| Value::Object(told)).unwrap_or_default();
    let mut data = json!({
        "onnxport": env!("CARGO_PKG_VERSION"),
        "format": FORMAT,
        "name": name,
        "model": model,
        "digest": null,
        "conversion": conversion,
    });
    data["digest"] = digest(&data).into();
    data
}

/// The SHA-256 of everything in a report that the model does not tell again: all but the model and the digest itself.
fn digest(data: &Value) -> String {
    let mut hash = Sha256::new();
    for (key, value) in data.as_object().into_iter().flatten() {
        if !matches!(key.as_str(), "model" | "digest") {
            hash.update(format!("{}:{value}\n", Value::from(key.as_str())));
        }
    }
    hash.finalize().iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

/// The report in a form.
pub fn render(data: &Value, form: Form) -> String {
    match form {
        Form::Json => format!("{}\n", json_text(&format!("{data:#}"))),
        Form::Markdown => printable(&markdown(data)).into_owned(),
        Form::Html => page(data),
    }
}

/// `data` as text that can stand inside of a page or a comment: no sign of it ends either.
pub(crate) fn embedded(data: &Value) -> String {
    json_text(&data.to_string()).replace('<', "\\u003c").replace('>', "\\u003e").replace("--", "-\\u002d")
}
