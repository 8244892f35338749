//! Every reason for which a rule of `plugins/optimise` or `plugins/fusions` refuses a match is raised by a case.
//!
//! Without a case that a condition refuses, the condition could be removed and no test would fail. So this test reads the
//! sentences in the sources of the rules, and looks for each among the refusals of all file tests. `tests/files/unraised.txt`
//! lists the exceptions.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use onnxport_core::ir::Model;
use onnxport_core::legalise::Target;
use onnxport_core::optimise::{Class, Level, Listed, OptimiseOptions, Outcome, optimise};
use onnxport_core::valid::StatedTypes;

use super::examples::{HOST, models};
use crate::files::{at, repository};

/// A refusal as it is written in a source: its fixed parts, between which values are inserted.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Sentence {
    /// The file of the rule, relative to the repository.
    file: String,
    parts: Vec<String>,
}

impl Sentence {
    fn is_in(&self, reason: &str) -> bool {
        let mut rest = reason;
        self.parts.iter().all(|part| match rest.find(part.as_str()) {
            Some(at) => {
                rest = &rest[at + part.len()..];
                true
            }
            None => false,
        })
    }

    /// The line of `unraised.txt`.
    fn line(&self) -> String {
        format!("{}: {}", self.file, self.parts.join("{}"))
    }
}

/// The sentences of the sources in `folder`.
fn sentences(folder: &Path, found: &mut BTreeSet<Sentence>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sentences(&path, found);
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a source");
        let file = path.strip_prefix(repository()).expect("a path in the repository").display().to_string();
        for opening in ["Err(\"", "Err(format!(\"", "ok_or(\"", "ok_or_else(|| format!(\""] {
            for (start, _) in text.match_indices(opening) {
                let (sentence, _) = text[start + opening.len()..].split_once('"').expect("a closing quote");
                let fixed = |(at, part): (usize, &str)| match part.split_once('}') {
                    Some((_, fixed)) if at > 0 => fixed.to_owned(),
                    _ => part.to_owned(),
                };
                let parts = sentence.split('{').enumerate().map(fixed).collect();
                found.insert(Sentence { parts, file: file.clone() });
            }
        }
    }
}

/// Whether the pattern of a rule names an operator of `model`, or a class of operators. A pass has no pattern.
fn may_match(listed: &Listed, model: &Model) -> bool {
    let named = |op: &str| {
        listed.pattern.match_indices(op).any(|(at, _)| listed.pattern[at + op.len()..].starts_with('('))
    };
    let is_class = ["each", "view", "reduce"].into_iter().any(named);
    listed.is_pass || is_class || model.graph.nodes.iter().any(|(_, node)| named(node.op.as_str()))
}

/// The reasons for which `listed` refuses parts of `model`.
fn refused(listed: &Listed, model: &Model) -> Vec<String> {
    let name = Some(listed.name.to_owned());
    let mut options = OptimiseOptions { level: Level::Target, fold: 0, ..OptimiseOptions::default() };
    (options.only, options.explain) = (name.clone(), name);
    if let Class::Target { target, .. } = &listed.class {
        options.target = Target::named(target).unwrap_or_else(|| Arc::new(Target::unrestricted(target)));
    }
    let Ok((done, _)) = optimise(&HOST, &mut model.clone(), &mut StatedTypes::default(), &options) else {
        return Vec::new();
    };
    let places = done.places.into_iter().filter(|place| place.outcome == Outcome::Refused);
    places.map(|place| place.reason).collect()
}

#[test]
fn every_refusal_of_a_rule_has_a_case() {
    let models: Vec<Model> = models().iter().map(|text| Model::parse(text).expect("a model")).collect();
    let mut reasons = BTreeSet::new();
    for listed in HOST.catalog.listed() {
        for model in models.iter().filter(|model| may_match(listed, model)) {
            reasons.extend(refused(listed, model));
        }
    }
    let plain: Vec<&String> = reasons.iter().filter(|reason| reason.ends_with("does not hold")).collect();
    assert!(plain.is_empty(), "conditions that refuse without a sentence: {plain:?}");
    let mut written = BTreeSet::new();
    for plugin in ["optimise", "fusions"] {
        sentences(&repository().join("plugins").join(plugin).join("src"), &mut written);
    }
    let unraised = written.iter().filter(|sentence| !reasons.iter().any(|reason| sentence.is_in(reason)));
    let unraised: Vec<String> = unraised.map(Sentence::line).collect();
    let path = at("unraised.txt");
    let text = std::fs::read_to_string(&path).expect("the list of exceptions");
    let (head, listed) = text.split_once("\n\n").expect("a comment and a list");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, format!("{head}\n\n{}\n", unraised.join("\n"))).expect("the list is written");
        return;
    }
    let listed: Vec<&str> = listed.lines().collect();
    assert!(
        listed == unraised,
        "tests/files/unraised.txt is not current; add a case for a new refusal, or rewrite the list with UPDATE=1"
    );
}
