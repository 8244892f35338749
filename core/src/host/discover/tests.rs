use std::env::consts::DLL_EXTENSION;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Candidate, Search, Source, wanted};
use crate::diagnose::Code;

fn touch(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, "").expect("a file");
    path
}

#[test]
fn sources_come_in_their_order_and_folders_need_manifests() {
    let folder = tempfile::tempdir().expect("a folder");
    let named = touch(folder.path(), "named.so");
    let many = folder.path().join("many");
    fs::create_dir(&many).expect("a folder");
    let described = touch(&many, &format!("described.{DLL_EXTENSION}"));
    touch(&many, &format!("described.{DLL_EXTENSION}.toml"));
    touch(&many, &format!("stray.{DLL_EXTENSION}"));
    let project = folder.path().join("onnxport.toml");
    fs::write(&project, "plugins = ['own.so']\n[use]\n'a.b.c' = 'x'\n'a.d.e' = 'y'\n").expect("a file");
    let own = touch(folder.path(), "own.so");
    let search = Search {
        plugins: vec![named.clone()],
        environment: vec![many],
        project: Some(project),
        user: Some(folder.path().join("nowhere")),
        choices: vec![("a.b.c".to_owned(), "z".to_owned())],
        ..Search::default()
    };
    let mut problems = Vec::new();
    let wanted = wanted(&search, &mut problems);
    assert!(problems.is_empty(), "{problems:?}");
    let candidate = |library, source| Candidate { library, source };
    assert_eq!(
        wanted.candidates,
        [
            candidate(named, Source::Flag),
            candidate(described, Source::Environment),
            candidate(own, Source::Project)
        ]
    );
    let choices: Vec<_> = wanted.choices.iter().map(|(op, id)| (op.as_str(), id.as_str())).collect();
    assert_eq!(choices, [("a.b.c", "z"), ("a.d.e", "y")]);
}

#[test]
fn what_is_missing_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let project = folder.path().join("onnxport.toml");
    fs::write(&project, "plugin = 3").expect("a file");
    let search = Search {
        plugins: vec![folder.path().join("missing.so")],
        project: Some(project),
        ..Search::default()
    };
    let mut problems = Vec::new();
    wanted(&search, &mut problems);
    let codes: Vec<_> = problems.into_iter().map(|problem| problem.code).collect();
    assert_eq!(codes, [Code::PLUGIN_PROJECT, Code::PLUGIN_FILE]);
}

#[test]
fn tables_of_others_are_left_to_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let project = folder.path().join("onnxport.toml");
    let own = touch(folder.path(), "own.so");
    fs::write(&project, "plugins = ['own.so']\n[convert]\nopset = 18\n").expect("a file");
    let search = Search { project: Some(project), ..Search::default() };
    let mut problems = Vec::new();
    wanted(&search, &mut problems);
    assert!(problems[0].message.contains("unknown key `convert`"), "{problems:?}");
    let search = Search { sections: vec!["convert".to_owned()], ..search };
    let mut problems = Vec::new();
    assert_eq!(
        wanted(&search, &mut problems).candidates,
        [Candidate { library: own, source: Source::Project }]
    );
    assert!(problems.is_empty(), "{problems:?}");
}
