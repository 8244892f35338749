//! The links inside of a built site.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::normalized;

/// The outcome of a check.
#[derive(Default)]
pub(super) struct Checked {
    /// The number of links that do not leave the site.
    pub links: usize,
    /// Those that lead nowhere, each with its page.
    pub dead: Vec<String>,
}

/// The ids and links of a page.
struct Page {
    ids: BTreeSet<String>,
    links: Vec<String>,
}

/// Checks the links of every page below `site`, and their anchors.
pub(super) fn check(site: &Path) -> Result<Checked, String> {
    let mut files = BTreeSet::new();
    list(site, Path::new(""), &mut files)?;
    let mut pages = BTreeMap::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "html")) {
        let path = site.join(file);
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        pages.insert(file.clone(), Page { ids: values(&text, "id").collect(), links: links(&text) });
    }
    let mut checked = Checked::default();
    for (file, page) in &pages {
        // Its links are relative to the address that was not found.
        for link in page.links.iter().filter(|_| file.as_os_str() != "404.html") {
            checked.links += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { file.clone() } else { resolved(file, path) };
            let holds = files.contains(&target)
                && (anchor.is_empty() || pages.get(&target).is_some_and(|page| page.ids.contains(anchor)));
            if !holds {
                checked.dead.push(format!("{}: {link}", file.display()));
            }
        }
    }
    Ok(checked)
}

fn links(text: &str) -> Vec<String> {
    let all = ["href", "src", "srcset"].into_iter().flat_map(|name| values(text, name));
    all.filter(|link| !link.contains(':') && !link.is_empty()).collect()
}

/// The values of an attribute.
fn values<'a>(text: &'a str, name: &str) -> impl Iterator<Item = String> + use<'a> {
    let start = format!(" {name}=\"");
    let parts: Vec<&str> = text.split(&start).skip(1).collect();
    parts.into_iter().filter_map(|part| part.split('"').next()).map(|value| value.replace("&amp;", "&"))
}

fn resolved(file: &Path, link: &str) -> PathBuf {
    let path = link.split('?').next().unwrap_or_default();
    normalized(&file.parent().unwrap_or(Path::new("")).join(path))
}

fn list(site: &Path, folder: &Path, files: &mut BTreeSet<PathBuf>) -> Result<(), String> {
    let path = site.join(folder);
    let entries = path.read_dir().map_err(|error| format!("{}: {error}", path.display()))?;
    for entry in entries.flatten() {
        let name = folder.join(entry.file_name());
        if entry.path().is_dir() {
            list(site, &name, files)?;
        } else {
            files.insert(name);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_links_are_found() {
        let site = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| fs::write(site.path().join(name), text).expect("a file");
        write(
            "a.html",
            r##"<a href="b.html#x"></a> <a href="#none"></a> <a href="https://x/"></a> <img src="p.png">"##,
        );
        write("b.html", r#"<h1 id="x"></h1>"#);
        let checked = check(site.path()).expect("a site");
        assert_eq!(
            (checked.links, checked.dead),
            (3, vec!["a.html: #none".to_owned(), "a.html: p.png".to_owned()])
        );
    }
}
