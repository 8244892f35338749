//! The imports between the top-level modules of a crate, read from the tokens of their files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};

use super::Imports;

/// The imports of the modules in `folder`. Tests do not count: they may use modules above their own.
pub(super) fn imports(root: &Path, folder: &str) -> Result<Imports, String> {
    let folder = root.join(folder);
    let mut rooms = BTreeSet::new();
    for entry in fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        let name = entry.map_err(|e| e.to_string())?.file_name().to_string_lossy().into_owned();
        rooms.insert(name.strip_suffix(".rs").unwrap_or(&name).to_owned());
    }
    rooms.remove("lib");
    let mut all: Imports = rooms.iter().map(|room| (room.clone(), BTreeMap::new())).collect();
    let mut folders = vec![(folder.clone(), Vec::new())];
    while let Some((at, path)) = folders.pop() {
        for entry in fs::read_dir(&at).map_err(|e| format!("{}: {e}", at.display()))? {
            let entry = entry.map_err(|e| e.to_string())?.path();
            let stem = entry.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if stem == "tests" {
                continue;
            }
            let module: Vec<String> = path.iter().cloned().chain([stem]).collect();
            if entry.is_dir() {
                folders.push((entry, module));
            } else if entry.extension().is_some_and(|e| e == "rs") {
                file(root, &entry, module, &rooms, &mut all)?;
            }
        }
    }
    Ok(all)
}

fn file(
    root: &Path,
    path: &Path,
    mut module: Vec<String>,
    rooms: &BTreeSet<String>,
    all: &mut Imports,
) -> Result<(), String> {
    if module.last().is_some_and(|name| name == "mod") {
        module.pop();
    }
    let Some(own) = module.first().filter(|own| rooms.contains(*own)) else { return Ok(()) };
    let shown = path.strip_prefix(root).unwrap_or(path).display().to_string();
    let text = fs::read_to_string(path).map_err(|e| format!("{shown}: {e}"))?;
    let tokens: TokenStream = text.parse().map_err(|e| format!("{shown}: {e}"))?;
    let mut found = Vec::new();
    walk(tokens, module.len(), &mut found);
    for name in found {
        let room = name.to_string();
        if room != *own && rooms.contains(&room) {
            let place = format!("{shown}:{}", name.span().start().line);
            all.entry(own.clone()).or_default().entry(room).or_insert(place);
        }
    }
    Ok(())
}

/// Collects the first names behind the root of the crate: of `crate::a::b`, `crate::{a, b::c}` and, in a
/// module `depth` deep, of as many `super`.
fn walk(tokens: TokenStream, depth: usize, found: &mut Vec<Ident>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    let mut supers = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            TokenTree::Ident(word) if word == "mod" && is_tests(tokens.get(at)) => at += 2,
            TokenTree::Ident(word) if word == "crate" || word == "super" => {
                supers = if word == "super" { supers + 1 } else { depth };
                if !is_path(&tokens, at) {
                    supers = 0;
                    continue;
                }
                at += 2;
                if supers == depth {
                    names(tokens.get(at), found);
                }
            }
            TokenTree::Group(group) => {
                supers = 0;
                walk(group.stream(), depth, found);
            }
            _ => supers = 0,
        }
    }
}

fn is_tests(token: Option<&TokenTree>) -> bool {
    matches!(token, Some(TokenTree::Ident(name)) if name == "tests")
}

fn is_path(tokens: &[TokenTree], at: usize) -> bool {
    let colon = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(p)) if p.as_char() == ':');
    colon(tokens.get(at)) && colon(tokens.get(at + 1))
}

fn names(token: Option<&TokenTree>, found: &mut Vec<Ident>) {
    match token {
        Some(TokenTree::Ident(name)) => found.push(name.clone()),
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
            let mut starts = true;
            for token in group.stream() {
                match token {
                    TokenTree::Ident(name) if starts => {
                        found.push(name);
                        starts = false;
                    }
                    TokenTree::Punct(mark) if mark.as_char() == ',' => starts = true,
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::walk;

    fn found(text: &str, depth: usize) -> Vec<String> {
        let mut found = Vec::new();
        walk(text.parse().expect("tokens"), depth, &mut found);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn paths_from_the_root_are_found_wherever_they_stand() {
        assert_eq!(found("use crate::ir::{Graph, Node};", 1), ["ir"]);
        assert_eq!(found("use crate::{host::{self, Host}, sym};", 1), ["host", "sym"]);
        assert_eq!(found("fn f() { call!(crate::lower::Driver) }", 1), ["lower"]);
        assert_eq!(found("use super::super::write; use super::own;", 2), ["write"]);
        assert_eq!(found("pub(crate) fn f() {}", 1), Vec::<String>::new());
    }

    #[test]
    fn tests_do_not_count() {
        assert_eq!(found("mod tests { use crate::write::write; }", 1), Vec::<String>::new());
    }
}
