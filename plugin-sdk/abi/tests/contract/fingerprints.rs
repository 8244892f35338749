//! The fingerprints of released revisions never change.
//!
//! `fingerprints.txt` has a line per field of every revision. Lines of a released one stay as they are.
//! `ONNXPORT_FREEZE=1.0 cargo test -p onnxport-abi --test contract` releases a revision, once. Until then its lines end
//! in `open`, and `cargo xtask gen contract` rewrites them (`UPDATE=1`).

use std::path::PathBuf;

use super::listing::tables;

/// Ends the lines of a revision that is not released.
const OPEN: &str = " open";

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
    let mut kept: Vec<String> =
        text.lines().filter(|line| !line.ends_with(OPEN)).map(str::to_owned).collect();
    let built = built();
    let is_frozen =
        |kept: &[String], revision: &str| kept.iter().any(|l| l.split(' ').next() == Some(revision));
    let freeze = std::env::var("ONNXPORT_FREEZE").ok();
    if let Some(revision) = &freeze {
        assert!(!is_frozen(&kept, revision), "revision {revision} is released already");
        let added = built.iter().filter(|(since, _)| since == revision).map(|(_, line)| line.clone());
        let before = kept.len();
        kept.extend(added);
        assert!(kept.len() > before, "the contract has no revision {revision}");
    }
    for line in kept.iter().filter(|line| !line.starts_with('#')) {
        assert!(
            built.iter().any(|(_, built)| built == line),
            "a released revision has changed: `{line}` is not what this build has; append to tables, and make \
             new records"
        );
    }
    for (since, line) in built.iter().filter(|(since, _)| is_frozen(&kept, since)) {
        assert!(kept.contains(line), "revision {since} is released, but has no `{line}`");
    }
    let open = built.iter().filter(|(since, _)| !is_frozen(&kept, since));
    let open: Vec<String> = open.map(|(_, line)| format!("{line}{OPEN}")).collect();
    let whole: String = kept.iter().chain(&open).flat_map(|line| [line.as_str(), "\n"]).collect();
    if freeze.is_some() || std::env::var_os("UPDATE").is_some() {
        std::fs::write(path(), whole).expect("the file is written");
    } else {
        assert!(text.replace("\r\n", "\n") == whole, "stale: run `cargo xtask gen contract`");
    }
}
