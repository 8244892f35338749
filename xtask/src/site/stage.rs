//! The sources of the book: the pages with their folders, in `target/book/src`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::normalized;

/// The files of the book that are not pages, in `docs`.
const SETTINGS: [&str; 2] = ["book.toml", "site.css"];

/// Writes the sources of the book into `book`, and returns the number of pages.
pub(super) fn stage(root: &Path, book: &Path, source: Option<&str>) -> Result<usize, String> {
    let docs = root.join("docs");
    for name in SETTINGS {
        copy(&docs.join(name), &book.join(name))?;
    }
    copy_all(&docs.join("images"), &book.join("src/docs/images"))?;
    let summary = read(&docs.join("SUMMARY.md"))?;
    let mut pages = BTreeSet::new();
    rewritten(&summary, |link| {
        pages.insert(resolved(Path::new("docs"), link));
        None
    });
    for page in &pages {
        let folder = page.parent().unwrap_or(Path::new(""));
        let text = rewritten(&read(&root.join(page))?, |link| moved(root, folder, link, &pages, source));
        write(&book.join("src").join(named(page)), &text)?;
    }
    let list =
        rewritten(&summary, |link| Some(Target::Link(shown(&named(&resolved(Path::new("docs"), link))))));
    write(&book.join("src/SUMMARY.md"), &list)?;
    Ok(pages.len())
}

/// The replacement of a link's target.
enum Target {
    /// Another target.
    Link(String),
    /// No link: its text alone.
    Text,
}

/// Where a link of a page in `folder` leads in the book; none if that does not change.
fn moved(
    root: &Path,
    folder: &Path,
    link: &str,
    pages: &BTreeSet<PathBuf>,
    source: Option<&str>,
) -> Option<Target> {
    if link.contains(':') || link.starts_with('#') {
        return None;
    }
    let (path, anchor) = link.split_at(link.find('#').unwrap_or(link.len()));
    let file = resolved(folder, path);
    if pages.contains(&file) {
        // mdBook makes `index.html` of a page of this name, and leaves links to it.
        return path
            .ends_with("README.md")
            .then(|| Target::Link(format!("{}index.md{anchor}", path.trim_end_matches("README.md"))));
    }
    if file.starts_with("docs/images") {
        return None;
    }
    let Some(source) = source.map(|url| url.trim_end_matches('/')) else { return Some(Target::Text) };
    // Hosts show folders at another address.
    let source =
        if root.join(&file).is_dir() { source.replacen("/blob/", "/tree/", 1) } else { source.into() };
    Some(Target::Link(format!("{source}/{}{anchor}", shown(&file))))
}

/// The text with the targets of its links replaced, but for those in code.
fn rewritten(text: &str, mut replace: impl FnMut(&str) -> Option<Target>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut fence: Option<&str> = None;
    for line in text.split_inclusive('\n') {
        let start = line.trim_start();
        let marks = ["```", "~~~"].into_iter().find(|marks| start.starts_with(marks));
        if let (Some(open), Some(marks)) = (fence, marks) {
            fence = (open != marks).then_some(open);
            out.push_str(line);
        } else if fence.is_some() || marks.is_some() {
            fence = fence.or(marks);
            out.push_str(line);
        } else {
            rewrite_line(line, &mut replace, &mut out);
        }
    }
    out
}

fn rewrite_line(line: &str, replace: &mut impl FnMut(&str) -> Option<Target>, out: &mut String) {
    let mut rest = line;
    // The texts of links may hold code, but their targets do not.
    let mut is_code = false;
    // Where the text of the innermost open link begins in `out`.
    let mut opened = None;
    while let Some(at) = rest.find(['`', '[', ']']) {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        let (mark, tail) = after.split_at(1);
        rest = tail;
        match mark {
            "`" => is_code = !is_code,
            "[" if !is_code => opened = Some(out.len()),
            "]" if !is_code && tail.starts_with('(') => {
                let Some(end) = tail.find(')') else {
                    out.push_str(mark);
                    continue;
                };
                let (link, tail) = (&tail[1..end], &tail[end + 1..]);
                rest = tail;
                let link = match (replace(link), opened.take()) {
                    (Some(Target::Link(link)), _) => link,
                    (Some(Target::Text), Some(begin)) => {
                        out.remove(begin);
                        continue;
                    }
                    _ => link.to_owned(),
                };
                out.extend(["](", &link, ")"]);
                continue;
            }
            _ => {}
        }
        out.push_str(mark);
    }
    out.push_str(rest);
}

/// The path of a link from a page in `folder`, relative to the root of the repository.
fn resolved(folder: &Path, link: &str) -> PathBuf {
    let path = link.split('#').next().unwrap_or_default();
    normalized(&folder.join(path))
}

/// The name of a page in the book.
fn named(page: &Path) -> PathBuf {
    if page.file_name().is_some_and(|name| name == "README.md") {
        page.with_file_name("index.md")
    } else {
        page.to_owned()
    }
}

/// A path with the separators of addresses.
fn shown(path: &Path) -> String {
    path.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let failed = |error| format!("{}: {error}", path.display());
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
    fs::write(path, text).map_err(failed)
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |error| format!("{}: {error}", from.display());
    to.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
    fs::copy(from, to).map(drop).map_err(failed)
}

fn copy_all(from: &Path, to: &Path) -> Result<(), String> {
    let entries = from.read_dir().map_err(|error| format!("{}: {error}", from.display()))?;
    entries.flatten().try_for_each(|entry| copy(&entry.path(), &to.join(entry.file_name())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn staged(text: &str, source: Option<&str>) -> String {
        let pages = ["README.md", "docs/a.md"].map(PathBuf::from).into();
        rewritten(text, |link| moved(Path::new("/none"), Path::new("docs"), link, &pages, source))
    }

    #[test]
    fn links_between_pages_stay_and_those_to_files_lead_to_the_sources() {
        let text =
            "[a](a.md#x) [home](../README.md#y) [`f`](../core/f.rs) [web](https://x/) ![p](images/p.png)\n";
        assert_eq!(
            staged(text, Some("https://x/blob/v1/")),
            "[a](a.md#x) [home](../index.md#y) [`f`](https://x/blob/v1/core/f.rs) [web](https://x/) \
             ![p](images/p.png)\n"
        );
        assert!(staged(text, None).contains(" `f` [web]"), "{}", staged(text, None));
    }

    #[test]
    fn code_is_not_rewritten() {
        let text = "`[a](../b.rs)` b\n```\n[a](../b.rs)\n```\n~~~text\n```\n[a](../b.rs)\n~~~\n";
        assert_eq!(staged(text, None), text);
    }

    #[test]
    fn paths_are_relative_to_the_repository() {
        assert_eq!(resolved(Path::new("docs/guides"), "../../README.md#x"), Path::new("README.md"));
        assert_eq!(named(Path::new("a/README.md")), Path::new("a/index.md"));
    }
}
