//! The documents that commands print with `--json`: one object each, whose schema is generated from the printed types.
//!
//! A document consists of the keys of every command and those of its parts. Which parts a run has depends on its
//! options and on its outcome, so none is required; a key of no part violates the schema.

mod parts;

use std::collections::BTreeMap;

use onnxport_check::Finding;
use onnxport_core::backend::{BackendReport, Placement};
use onnxport_core::bisect::modules::Pieces;
use onnxport_core::bisect::{self, passes::Steps};
use onnxport_core::capture::Decoder;
use onnxport_core::diagnose::render::DiagnosticJson;
use onnxport_core::diff::Diff;
use onnxport_core::host::Absent;
use onnxport_core::inspect::{ModelParts, ModelSummary, ProgramSummary, WeightForm, WeightTable};
use onnxport_core::legalise::Legalised;
use onnxport_core::legalise::legal::Legality;
use onnxport_core::lower::Provided;
use onnxport_core::onnx::{SizeRanges, SourceFile};
use onnxport_core::optimise::Optimised;
use onnxport_core::profile::{Changes, Profile};
use onnxport_core::trace::StageMemory;
use onnxport_core::verify::Verification;
use onnxport_core::write::manifest::Listed;
use onnxport_core::{Run, WritePlan, taps};
use onnxport_requests::bench::Benched;
use onnxport_requests::explain::ExplainedCode;
use onnxport_requests::inspect::Row;
use onnxport_requests::ops::{MissingOp, SupportedOp};
use onnxport_requests::plugin::{LibraryInfo, PluginInfo};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

pub(crate) use parts::*;

/// Generates the schema of a part: its properties.
type Part = fn(&mut SchemaGenerator) -> Schema;

/// A field of a document, with the type of its value.
type Field = (&'static str, Part);

macro_rules! fields {
    ($($name:ident { $($key:literal: $type:ty),* $(,)? })*) => {
        $(const $name: &[Field] = &[$(($key, |generator| generator.subschema_for::<$type>())),*];)*
    };
}

fields! {
    EVERY {
        "command": Option<String>,
        "ok": bool,
        "exit": u8,
        "text": String,
        "config": ConfigJson,
        "diagnostics": Vec<DiagnosticJson>,
    }
    PORTS {
        "inputs": Vec<PortJson>,
        "outputs": Vec<PortJson>,
        "states": Vec<StateJson>,
        "sizes": SizeRanges,
        "weight_bytes": u64,
    }
    FILES { "files": Vec<String>, "initializers": usize }
    SOURCES { "sources": Vec<SourceFile>, "source_bytes": u64 }
    GRAPH { "nodes": usize, "unbound": usize }
    DECODER { "nodes": usize, "decoder": Decoder, "context": Option<u64>, "model_bytes": u64, "data_bytes": u64 }
    MADE {
        "opset": i64,
        "unchecked": UncheckedJson,
        "seconds": BTreeMap<String, f64>,
        "memory": BTreeMap<String, StageMemory>,
        "lowered": Vec<Provided>,
        "weight_forms": Vec<WeightForm>,
    }
    LEGALISED { "target": Legalised }
    LEGAL { "legal": Legality }
    CONVERTED {
        "decomposed": BTreeMap<String, usize>,
        "weights_quantised": usize,
        "weights_narrowed": usize,
        "weights_changed_by_plugins": usize,
        "changed_weight_bytes": u64,
    }
    BACKED { "backends": Vec<BackendReport> }
    OPTIMISED { "optimised": Optimised, "matches": Vec<String> }
    PARTITIONED { "left": usize }
    PLACED { "nodes": usize, "placement": Placement, "pictures": Vec<String> }
    PLANNED { "plan": WritePlan, "weights": WeightTable }
    VERIFIED { "verified": bool, "verification": Verification, "against": String }
    COMPARED_ALL { "executors": Vec<Verification> }
    SKIPPED { "not_verified": String }
    FAULT { "bisect": bisect::Found }
    REPORTS { "reports": Vec<String> }
    PROFILE { "profile": String }
    CHECKED { "opset": i64, "calls": usize, "gaps": usize }
    INSPECTED {
        "model": ModelSummary,
        "program": ProgramSummary,
        "weights": WeightTable,
        "manifest": Vec<Listed>,
        "files": Vec<String>,
        "differences": Vec<Row>,
        "same": usize,
    }
    BISECTED { "passes": Steps, "modules": Pieces }
    COMPARED { "diff": Diff, "same": bool, "values": taps::Report }
    RAN { "run": Run, "files": Vec<String> }
    REPORT { "report": ReportJson }
    OPS { "ops": Vec<SupportedOp>, "missing": Vec<MissingOp> }
    RULES { "rules": Vec<RuleJson> }
    PLUGINS { "plugins": Vec<PluginInfo>, "absent": Vec<Absent> }
    PROBED {
        "library": String,
        "passed": usize,
        "failed": usize,
        "skipped": usize,
        "checks": Vec<Finding>,
    }
    MADE_PLUGIN { "folder": String, "library": String, "next": Vec<String> }
    PACKAGED {
        "data": Vec<String>,
        "data_bytes": u64,
        "separate_bytes": u64,
        "manifests": Vec<String>,
        "variants": String,
    }
    MEMBER { "name": String, "model": String, "sizes": BTreeMap<String, u64>, "path": String, "bytes": u64 }
    EXPLAINED { "codes": Vec<ExplainedCode>, "found": Vec<DiagnosticJson> }
    DRAWN { "pictures": Vec<String>, "nodes": usize, "modules": usize, "closed": usize }
    MEASURED { "profile": Profile, "against": Profile, "changes": Changes }
    BENCHED { "bench": Benched }
    SCHEMA { "schema": Map<String, Value>, "schemas": Vec<String> }
    NOTHING {}
}

/// The report of a model.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is put together by the crate of reports; this is its schema")]
struct ReportJson {
    onnxport: String,
    format: u64,
    name: String,
    model: Option<ModelParts>,
    conversion: Option<Map<String, Value>>,
    digest: String,
}

/// The commands with the parts of their documents. A test compares the list with the command line.
const DOCUMENTS: &[(&str, &[&[Field]])] = &[
    (
        "convert",
        &[
            PORTS,
            FILES,
            SOURCES,
            GRAPH,
            MADE,
            LEGALISED,
            CONVERTED,
            BACKED,
            OPTIMISED,
            PARTITIONED,
            PLANNED,
            VERIFIED,
            SKIPPED,
            REPORTS,
            PROFILE,
        ],
    ),
    ("check", &[CHECKED, REPORTS, PROFILE]),
    ("inspect", &[INSPECTED]),
    ("legal", &[LEGAL, REPORTS]),
    ("partition", &[BACKED, PARTITIONED, PLACED, REPORTS]),
    ("verify", &[VERIFIED, COMPARED_ALL, FAULT, REPORTS, PROFILE]),
    ("bisect", &[FAULT, BISECTED, REPORTS]),
    ("diff", &[COMPARED]),
    ("run", &[RAN]),
    ("optimize", &[FILES, GRAPH, OPTIMISED, BACKED, PARTITIONED, LEGALISED, VERIFIED, PROFILE]),
    ("report", &[REPORT, REPORTS]),
    ("ops", &[OPS]),
    ("rules", &[RULES]),
    ("plugin list", &[PLUGINS]),
    ("plugin info", &[NOTHING]),
    ("plugin check", &[PROBED]),
    ("plugin new", &[MADE_PLUGIN]),
    ("draw", &[DRAWN]),
    ("profile", &[MEASURED, REPORTS]),
    ("package", &[PACKAGED, PLANNED, REPORTS, PROFILE]),
    ("llm", &[FILES, DECODER, VERIFIED]),
    ("bench", &[BENCHED]),
    ("weights bind", &[FILES, SOURCES]),
    ("explain", &[EXPLAINED]),
    ("schema", &[SCHEMA]),
    ("completions", &[NOTHING]),
    ("man", &[NOTHING]),
];

/// The parts of each model in the document of `package`.
const MODEL: &[&[Field]] = &[MEMBER, LEGALISED, CONVERTED, BACKED, OPTIMISED, VERIFIED, SKIPPED];

/// Returns the commands that have a schema.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    DOCUMENTS.iter().map(|(name, _)| *name)
}

/// Returns the schema (draft 2020-12) of the document that the command `name` prints with `--json`.
pub(crate) fn schema(name: &str) -> Option<Value> {
    let (name, parts) = DOCUMENTS.iter().find(|(known, _)| *known == name)?;
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut properties = fields(&mut generator, [EVERY].iter().chain(*parts));
    match *name {
        "package" => {
            let model = fields(&mut generator, MODEL);
            let model = json!({ "type": "object", "properties": model, "additionalProperties": false });
            properties.insert("models".to_owned(), json!({ "type": "array", "items": model }));
        }
        "plugin info" => {
            let library = generator.root_schema_for::<LibraryInfo>().to_value();
            for (key, value) in library["properties"].as_object().into_iter().flatten() {
                properties.insert(key.clone(), value.clone());
            }
        }
        _ => {}
    }
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("onnxport {name} --json"),
        "type": "object",
        "properties": properties,
        "required": ["command", "ok", "exit", "diagnostics"],
        "additionalProperties": false,
        "$defs": generator.take_definitions(true),
    });
    close(&mut schema);
    Some(schema)
}

fn fields<'a>(
    generator: &mut SchemaGenerator,
    parts: impl IntoIterator<Item = &'a &'static [Field]>,
) -> Map<String, Value> {
    let fields = parts.into_iter().flat_map(|part| part.iter());
    fields.map(|(key, part)| ((*key).to_owned(), part(generator).to_value())).collect()
}

/// Closes the objects of a schema, so that unknown keys violate it, and allows null for numbers, since JSON cannot
/// represent those that are not finite.
fn close(schema: &mut Value) {
    match schema {
        Value::Array(all) => all.iter_mut().for_each(close),
        Value::Object(object) => {
            if object.contains_key("properties") && object.get("type").is_some() {
                object.entry("additionalProperties").or_insert(Value::Bool(false));
            }
            if object.get("format").and_then(Value::as_str) == Some("double") {
                object.remove("format");
                object.insert("type".to_owned(), json!(["number", "null"]));
            }
            object.values_mut().for_each(close);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{Command, CommandFactory};

    use super::*;
    use crate::args::Cli;

    fn commands(command: &Command, before: &str, found: &mut BTreeSet<String>) {
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            let name = format!("{before}{}", below.get_name());
            if below.has_subcommands() {
                commands(below, &format!("{name} "), found);
            } else {
                found.insert(name);
            }
        }
    }

    #[test]
    fn each_command_has_a_schema() {
        let mut found = BTreeSet::new();
        commands(&Cli::command(), "", &mut found);
        assert_eq!(names().map(str::to_owned).collect::<BTreeSet<_>>(), found);
    }

    /// Finds the objects of `schema` that list their keys but accept others.
    fn open(schema: &Value, at: &str, found: &mut Vec<String>) {
        match schema {
            Value::Object(object) => {
                if object.contains_key("properties") && object.get("additionalProperties").is_none() {
                    found.push(at.to_owned());
                }
                object.iter().for_each(|(key, below)| open(below, &format!("{at}/{key}"), found));
            }
            Value::Array(all) => all.iter().for_each(|below| open(below, at, found)),
            _ => {}
        }
    }

    #[test]
    fn the_schemas_accept_no_unknown_keys() {
        let mut found = Vec::new();
        for (name, schema) in names().filter_map(|name| Some((name, schema(name)?))) {
            open(&schema, name, &mut found);
        }
        assert!(found.is_empty(), "open: {found:?}");
    }
}
