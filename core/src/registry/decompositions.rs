//! Tables of decompositions.

use std::path::Path;
use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use crate::diagnose::{Code, Diagnostic};
use crate::files;
use crate::program::text::{Template, TextError};

/// The size limit of a file in bytes.
const LONGEST: u64 = 16 << 20;

/// The prefix of a decomposition's lines among schemas, so that other readers skip them.
const AMONG_SCHEMAS: &str = "#|";
const FIRST: &str = "\n#|";

/// The first words of programs that decompose an operator, and of those that spell out its writes.
const DECOMPOSITION: &str = "decomposition";
const WRITES: &str = "writes";

/// Decompositions by their operator.
#[derive(Clone, Debug, Default)]
pub struct Decompositions {
    entries: FxHashMap<String, Programs>,
}

/// The programs of one operator, parsed on first use.
#[derive(Clone, Debug, Default)]
pub(super) struct Programs {
    text: String,
    templates: OnceLock<Result<Vec<Template>, TextError>>,
}

impl Programs {
    /// Returns the templates in order.
    ///
    /// # Errors
    /// If the text of one is malformed.
    pub(super) fn templates(&self) -> Result<&[Template], &TextError> {
        self.templates.get_or_init(|| Template::parse(&self.text)).as_deref()
    }
}

impl Decompositions {
    /// Reads the file of a table at `path`.
    ///
    /// # Errors
    /// `OP101` if it cannot be read, `OP203` if it is malformed.
    pub fn open(path: &Path) -> Result<Self, Diagnostic> {
        let name = path.display().to_string();
        match files::text(path, LONGEST) {
            Ok(text) => Self::read(&name, &text),
            Err(error) => Err(Diagnostic::error(Code::READ_IO, format!("cannot read `{name}`: {error}"))),
        }
    }

    /// Reads the text of a table; `name` is its source.
    ///
    /// # Errors
    /// `OP203` if it is malformed, or spells out writes of operators, which are allowed among schemas only.
    pub fn read(name: &str, text: &str) -> Result<Self, Diagnostic> {
        let templates = Self::of_both(name, text)?;
        let Some(writes) = templates.iter().find(|template| template.writes) else {
            return Ok(Self::of_templates(templates));
        };
        let message =
            format!("`{name}` states the writes of `{}`, which only a plugin's schemas can", writes.target);
        Err(Diagnostic::error(Code::DECOMPOSE, message).help("docs/facts.md describes its format"))
    }

    fn of_both(name: &str, text: &str) -> Result<Vec<Template>, Diagnostic> {
        Template::parse(text).map_err(|error| malformed(name, &error))
    }

    fn of_templates(templates: Vec<Template>) -> Self {
        let mut by_target = FxHashMap::<String, Vec<Template>>::default();
        for template in templates {
            by_target.entry(template.target.clone()).or_default().push(template);
        }
        Self { entries: by_target.into_iter().map(|(target, templates)| (target, read(templates))).collect() }
    }

    /// Finds the decompositions among the schemas of a plugin. Writes of operators are not included; see
    /// [`Schemas::writes`](super::Schemas::writes).
    ///
    /// # Errors
    /// `OP203` if one is malformed, as far as this shows without reading them; with `whole` all are read.
    pub fn among_schemas(name: &str, schemas: &str, whole: bool) -> Result<Self, Diagnostic> {
        if whole {
            Self::of_both(name, &lines(schemas).collect::<Vec<_>>().join("\n"))?;
        }
        let entries = among(schemas, false).map_err(|error| malformed(name, &error))?;
        Ok(Self { entries })
    }

    /// Returns the templates for `target`, in order.
    ///
    /// # Errors
    /// `OP203` if one is malformed.
    pub fn of(&self, target: &str) -> Result<&[Template], Diagnostic> {
        let Some(programs) = self.entries.get(target) else { return Ok(&[]) };
        programs.templates().map_err(|error| malformed(target, error))
    }

    /// Whether there is something for `target`.
    pub fn contains(&self, target: &str) -> bool {
        self.entries.contains_key(target)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Every operator, sorted.
    pub fn targets(&self) -> Vec<&str> {
        let mut targets: Vec<&str> = self.entries.keys().map(String::as_str).collect();
        targets.sort_unstable();
        targets
    }
}

fn malformed(name: &str, error: &TextError) -> Diagnostic {
    let message = format!("the decompositions of `{name}` cannot be read: {error}");
    Diagnostic::error(Code::DECOMPOSE, message).help("docs/decompositions.md describes the syntax")
}

fn read(templates: Vec<Template>) -> Programs {
    Programs { text: String::new(), templates: Ok(templates).into() }
}

/// Returns the lines of `schemas` that belong to programs.
fn lines(schemas: &str) -> impl Iterator<Item = &str> {
    // Most of the text comes before the first one.
    let before = if schemas.starts_with(AMONG_SCHEMAS) { Some(0) } else { schemas.find(FIRST) };
    let rest = before.and_then(|before| schemas.get(before..)).unwrap_or_default();
    rest.lines().filter_map(|line| line.strip_prefix(AMONG_SCHEMAS))
}

/// Returns the programs among the lines of `schemas` that spell out writes, or those that decompose, by operator.
///
/// # Errors
/// If they must be read for that, and one is malformed.
pub(super) fn among(schemas: &str, writes: bool) -> Result<FxHashMap<String, Programs>, TextError> {
    let mut found = FxHashMap::<String, Programs>::default();
    if let Some(split) = split(schemas) {
        for (_, target, text) in split.into_iter().filter(|(keyword, ..)| (*keyword == WRITES) == writes) {
            found.entry(target.to_owned()).or_default().text.push_str(&text);
        }
        return Ok(found);
    }
    let mut templates = Template::parse(&lines(schemas).collect::<Vec<_>>().join("\n"))?;
    templates.retain(|template| template.writes == writes);
    Ok(Decompositions::of_templates(templates).entries)
}

/// Splits the lines of `schemas` into programs, each with its first word and its operator. `None` unless each of them
/// extends from the line of its head to a line with only its closing brace.
fn split(schemas: &str) -> Option<Vec<(&'static str, &str, String)>> {
    let head = |line: &str| {
        let line = line.trim_start();
        let keyword =
            [DECOMPOSITION, WRITES].into_iter().find(|word| line.split(' ').next() == Some(*word))?;
        Some((keyword, line.len() - keyword.len()))
    };
    let mut found: Vec<(&'static str, &str, String)> = Vec::new();
    let mut inside = false;
    for line in lines(schemas) {
        let after = line.split_once('}').map_or("", |(_, after)| after);
        if after.contains(DECOMPOSITION) || after.contains(WRITES) {
            return None;
        }
        match (head(line), found.last_mut()) {
            (Some((keyword, rest)), _) if !inside => {
                let target = line.get(line.len() - rest..)?.split('(').next()?.trim();
                found.push((keyword, target, format!("{line}\n")));
                inside = true;
            }
            (None, Some((.., text))) if inside => {
                text.push_str(line);
                text.push('\n');
                inside = line.trim() != "}";
            }
            (None, _) if line.trim().is_empty() || line.trim_start().starts_with('#') => {}
            _ => return None,
        }
    }
    (!inside).then_some(found)
}

#[cfg(test)]
mod tests;
