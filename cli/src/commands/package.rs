//! `onnxport package`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_core::ir::opset::DEFAULT_OPSET;
use onnxport_core::lower::LowerOptions;
use onnxport_core::pipeline::{self, ConvertOptions};
use onnxport_core::weights;
use onnxport_core::write::{self, WriteOptions};
use serde_json::json;

use crate::format::{bold, bytes, table};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins::{self, PluginArguments};
use crate::progress::Progress;
use crate::weights::SharedWeights;

/// Arguments of `package`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The exported programs, each with the name of its model, such as encoder=enc.pt2; without one it
    /// is that of the file
    #[arg(required = true, value_name = "[NAME=]PT2", value_parser = parse_member)]
    programs: Vec<(String, PathBuf)>,
    /// The folder to make
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// The ONNX opset to use
    #[arg(long, default_value_t = DEFAULT_OPSET)]
    opset: i64,
    #[command(flatten)]
    weights: SharedWeights,
    #[command(flatten)]
    plugins: PluginArguments,
}

fn parse_member(text: &str) -> Result<(String, PathBuf), String> {
    let (name, path) = match text.split_once('=') {
        Some((name, path)) => (name.to_owned(), PathBuf::from(path)),
        None => {
            let path = PathBuf::from(text);
            (path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), path)
        }
    };
    if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\']) {
        return Err("expected NAME=PT2, where NAME can be the name of a file".to_owned());
    }
    Ok((name, path))
}

/// Converts all programs and writes them into one folder.
pub(crate) fn run(arguments: &Arguments, progress: &Progress) -> CommandResult {
    let mut names = BTreeSet::new();
    if let Some((name, _)) = arguments.programs.iter().find(|(name, _)| !names.insert(name)) {
        let message = format!("two models are called `{name}`");
        return Err(Diagnostic::error(Code::LOWER_NAME, message).help("give names: `first=a.pt2`").into());
    }
    let host = plugins::host(&arguments.plugins)?;
    let given = arguments.weights.open(&host)?;
    let lower = LowerOptions { opset: arguments.opset, ..LowerOptions::default() };
    let options = ConvertOptions { lower, ..ConvertOptions::default() };
    let mut outcome = Outcome::ok();
    let mut models = Vec::new();
    for (name, path) in &arguments.programs {
        progress.stage(format!("converting {name}"));
        let mut archive = pipeline::read(path)?;
        let mut found = match &given {
            Some((set, names)) => {
                weights::bind(&mut archive.program, set, names, arguments.weights.options())?.diagnostics
            }
            None => Vec::new(),
        };
        let converted = pipeline::convert(&host, archive.program, &options)?;
        // What one program does not take, another one may.
        found.retain(|diagnostic| diagnostic.code != Code::WEIGHTS_EXTRA);
        found.extend(converted.diagnostics);
        // What a diagnostic says about a place in a program is said of that program.
        let origins = &converted.model.origins;
        for mut diagnostic in found {
            if let Some(origin) = diagnostic.origin.take() {
                diagnostic.notes.push(format!("at `{}`", origins.get(origin).node));
            }
            diagnostic.notes.push(format!("in `{name}`"));
            outcome.report.diagnostics.push(diagnostic);
        }
        models.push((name.clone(), converted.model));
    }
    let bar = progress.bytes("writing");
    let options = WriteOptions { progress: Some(Arc::new(bar)), ..WriteOptions::default() };
    let written = write::package(models, &arguments.output, &options)?;
    let mut rows: Vec<Vec<String>> =
        written.models.iter().map(|(path, size)| vec![path.display().to_string(), bytes(*size)]).collect();
    if let Some(data) = &written.data {
        rows.push(vec![data.display().to_string(), bytes(written.data_bytes)]);
    }
    outcome.summary = format!(
        "{}\n{}{}  {} instead of {} of weights\n",
        bold("packaged"),
        table(&rows),
        bold("shared"),
        bytes(written.data_bytes),
        bytes(written.separate_bytes)
    );
    let file = |(path, size): &(PathBuf, u64)| json!({ "path": path, "bytes": size });
    outcome.put("models", written.models.iter().map(file).collect::<Vec<_>>());
    outcome.put("data", &written.data);
    outcome.put("data_bytes", written.data_bytes);
    outcome.put("separate_bytes", written.separate_bytes);
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_have_names() {
        let member = |text| parse_member(text).ok();
        assert_eq!(member("a=b/c.pt2"), Some(("a".to_owned(), "b/c.pt2".into())));
        assert_eq!(member("b/c.pt2"), Some(("c".to_owned(), "b/c.pt2".into())));
        for wrong in ["=a.pt2", "../a=b.pt2", ".a=b.pt2", ""] {
            assert!(member(wrong).is_none(), "{wrong}");
        }
    }
}
