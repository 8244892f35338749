//! The examples of `onnxport rules`: for each rule that is linked in a model in which it applies, cut out of the files
//! that rules are tested with.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use onnxport_core::host::Host;
use onnxport_core::ir::Model;
use onnxport_core::legalise::Target;
use onnxport_core::optimise::{Class, Level, Listed, Matched, OptimiseOptions, Optimised, optimise};
use onnxport_core::valid::StatedTypes;

use crate::files::{Sections, at, repository};

pub(super) static HOST: LazyLock<Host> = LazyLock::new(|| {
    Host::new(&[&onnxport_optimise::ROOT, &onnxport_fusions::ROOT]).expect("the plugins attach")
});

fn path() -> PathBuf {
    repository().join("core/requests/src/rules/examples.txt")
}

/// The model after this rule alone; `None` if it is not applied.
fn applied(listed: &Listed, text: &str) -> Option<(Model, Optimised)> {
    let mut model = Model::parse(text).ok()?;
    let mut options = OptimiseOptions {
        level: Level::Target,
        only: Some(listed.name.to_owned()),
        keep_matches: true,
        fold: 0,
        ..OptimiseOptions::default()
    };
    if let Class::Target { target, .. } = &listed.class {
        options.target = Target::named(target).unwrap_or_else(|| Arc::new(Target::unrestricted(target)));
    }
    let (done, _) = optimise(&HOST, &mut model, &mut StatedTypes::default(), &options).ok()?;
    (done.applied > 0).then_some((model, done))
}

/// The rules that match in a model when all of them run.
fn behind_others(text: &str) -> Option<Vec<Matched>> {
    let mut model = Model::parse(text).ok()?;
    let options =
        OptimiseOptions { level: Level::Target, keep_matches: true, fold: 0, ..OptimiseOptions::default() };
    let (done, _) = optimise(&HOST, &mut model, &mut StatedTypes::default(), &options).ok()?;
    Some(done.matches)
}

/// The models of all files whose first section is one.
pub(super) fn models() -> Vec<String> {
    let folders = std::fs::read_dir(at("")).expect("the folder of file tests");
    let mut folders: Vec<PathBuf> = folders.map(|entry| entry.expect("an entry").path()).collect();
    folders.sort();
    let mut texts = Vec::new();
    for folder in folders.into_iter().filter(|folder| folder.is_dir()) {
        let files = std::fs::read_dir(folder).expect("a folder of file tests");
        let mut files: Vec<PathBuf> = files.map(|entry| entry.expect("an entry").path()).collect();
        files.sort();
        for file in files.into_iter().filter(|file| file.extension().is_some_and(|e| e == "txt")) {
            let text = std::fs::read_to_string(file).expect("a readable file");
            let input = Sections::from_text(&text).get("input").map(str::to_owned);
            texts.extend(input.filter(|text| Model::parse(text).is_ok()));
        }
    }
    texts
}

/// The shortest model in which the rule applies: a match of it, also behind other rules, or the whole file where it looks
/// further than that.
fn cut_out(listed: &Listed, files: &[String]) -> Option<String> {
    let mut found: Vec<String> = Vec::new();
    for file in files {
        let alone = applied(listed, file).map(|(_, done)| done.matches);
        let behind = behind_others(file);
        let matches = alone.iter().chain(behind.as_ref()).flatten();
        let own = matches.filter(|matched| matched.rule == listed.name);
        let parts = own.map(|matched| matched.before.to_text());
        let parts: Vec<String> = parts.filter(|text| applied(listed, text).is_some()).collect();
        match alone {
            Some(_) if parts.is_empty() => found.push(file.clone()),
            _ => found.extend(parts),
        }
    }
    found.into_iter().min_by_key(|text| (text.lines().count(), text.len(), text.clone()))
}

/// The examples by plugin and rule.
fn examples() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(path()).unwrap_or_default();
    let sections = text.split("=== ").filter_map(|section| section.split_once('\n'));
    sections.map(|(name, model)| (name.to_owned(), model.to_owned())).collect()
}

#[test]
fn every_rule_has_an_example_in_which_it_applies() {
    let known = examples();
    let mut current = BTreeMap::new();
    let mut lacking = Vec::new();
    let files: LazyLock<Vec<String>> = LazyLock::new(models);
    for listed in HOST.catalog.listed() {
        let name = format!("{} {}", HOST.plugins[listed.plugin].id, listed.name);
        let kept = known.get(&name).filter(|text| applied(listed, text).is_some()).cloned();
        match kept.or_else(|| cut_out(listed, &files)) {
            Some(text) => drop(current.insert(name, text)),
            // A pass may need the whole model.
            None if listed.is_pass => {}
            None => lacking.push(name),
        }
    }
    assert!(lacking.is_empty(), "no file of `tests/files` has a place for {}", lacking.join(", "));
    if std::env::var_os("UPDATE").is_some() {
        let parts: Vec<String> = current.iter().map(|(name, text)| format!("=== {name}\n{text}")).collect();
        std::fs::write(path(), parts.concat()).expect("a writable file");
    } else {
        assert!(current == known, "the examples of `onnxport rules` are not current: UPDATE=1 writes them");
    }
}
