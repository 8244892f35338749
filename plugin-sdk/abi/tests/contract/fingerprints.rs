//! The fingerprints of released revisions never change.
//!
//! `fingerprints.txt` has a line per field of every released revision. `ONNXPORT_FREEZE=1.1 cargo test -p
//! onnxport-abi --test contract` adds the lines of a revision, once; nothing rewrites them.

use std::path::PathBuf;

use super::listing::tables;

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fingerprints.txt")
}

/// The lines of every field as this build knows it, with its revision.
fn built() -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for table in tables() {
        for (index, (print, since)) in table.shape.prints().iter().zip(&table.since).enumerate() {
            let field = table.shape.name(index);
            let line = format!("{since} {} {} {field} {print:016x}", table.interface, table.name);
            lines.push((since.to_string(), line));
        }
    }
    lines
}

#[test]
fn released_revisions_are_as_they_were() {
    let text = std::fs::read_to_string(path()).expect("the file is there");
    let mut frozen: Vec<String> =
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect();
    let built = built();
    let is_frozen =
        |frozen: &[String], revision: &str| frozen.iter().any(|l| l.split(' ').next() == Some(revision));
    if let Ok(revision) = std::env::var("ONNXPORT_FREEZE") {
        assert!(!is_frozen(&frozen, &revision), "revision {revision} is released already");
        let added: Vec<String> =
            built.iter().filter(|(since, _)| *since == revision).map(|(_, line)| line.clone()).collect();
        assert!(!added.is_empty(), "the contract has no revision {revision}");
        frozen.extend(added.iter().cloned());
        let mut text = text;
        for line in added {
            text.push_str(&line);
            text.push('\n');
        }
        std::fs::write(path(), text).expect("the file is written");
    }
    assert!(is_frozen(&frozen, "1.0"), "the first revision is released");
    for line in &frozen {
        assert!(
            built.iter().any(|(_, built)| built == line),
            "a released revision has changed: `{line}` is not what this build has; append to tables, and make \
             new records"
        );
    }
    for (since, line) in built.iter().filter(|(since, _)| is_frozen(&frozen, since)) {
        assert!(frozen.contains(line), "revision {since} is released, but has no `{line}`");
    }
}
