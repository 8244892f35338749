//! `cargo xtask site`: the documentation as a site in `target/site`, by mdBook.
//!
//! `docs/SUMMARY.md` lists the pages. They are copied with the folders that they have in the repository, so that their
//! links hold in both, and links to files that are no pages lead to the sources. The links of the result are checked.

mod links;
mod stage;
mod tool;

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use crate::{root, target};

/// Builds the site. `source` is the address of the repository's files, such as `https://host/name/blob/v0.1.0`;
/// without it, links to files that are no pages are plain text. Returns whether all links of the site hold.
pub(crate) fn run(source: Option<&str>) -> Result<bool, String> {
    let book = target().join("book");
    let site = target().join("site");
    for folder in [&book, &site] {
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
    }
    let pages = stage::stage(&root(), &book, source)?;
    let mut build = Command::new(tool::mdbook()?);
    build.arg("build").arg("--dest-dir").arg(&site).arg(&book);
    let status = build.status().map_err(|error| format!("mdbook: {error}"))?;
    if !status.success() {
        return Err(format!("mdbook: {status}"));
    }
    let checked = links::check(&site)?;
    for link in &checked.dead {
        println!("{link}");
    }
    println!(
        "{}: {pages} pages, {} links, {} of them dead",
        site.join("index.html").display(),
        checked.links,
        checked.dead.len()
    );
    Ok(checked.dead.is_empty())
}

/// `path` without `.` and `..`, within the folder that it is relative to.
fn normalized(path: &Path) -> PathBuf {
    let mut found = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                found.pop();
            }
            Component::Normal(part) => found.push(part),
            _ => {}
        }
    }
    found
}
