//! `onnxport --version --json`: the version, and the build it is from.

use onnxport_core::host::CONTRACT;
use serde_json::{Value, json};

use crate::outcome::Outcome;

/// The version of the program and of its contract with plugins, the platform, the features that are on, and the commit, where
/// the build had the history of the sources or `ONNXPORT_COMMIT`.
pub(crate) fn outcome() -> Outcome {
    let commit = Some(env!("ONNXPORT_COMMIT")).filter(|commit| !commit.is_empty());
    let features: &[&str] = if cfg!(feature = "cuda") { &["cuda"] } else { &[] };
    let facts = [
        ("version", Value::from(env!("CARGO_PKG_VERSION"))),
        ("commit", commit.into()),
        ("target", env!("ONNXPORT_TARGET").into()),
        ("features", json!(features)),
        ("contract", CONTRACT.to_string().into()),
    ];
    Outcome {
        json: facts.map(|(name, value)| (name.to_owned(), value)).into_iter().collect(),
        ..Outcome::ok()
    }
}
