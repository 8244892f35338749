//! Tables of decompositions.

use std::path::Path;

use rustc_hash::FxHashMap;

use crate::diagnose::{Code, Diagnostic};
use crate::files;
use crate::program::text::Template;

/// The longest file that is read.
const LONGEST: u64 = 16 << 20;

/// How lines of a decomposition begin where they stand among schemas, so that other readers pass over them.
pub(super) const AMONG_SCHEMAS: &str = "#|";

/// Decompositions by their operator.
#[derive(Clone, Debug, Default)]
pub struct Decompositions {
    templates: FxHashMap<String, Vec<Template>>,
}

impl Decompositions {
    /// Reads the file of a table at `path`.
    ///
    /// # Errors
    /// `OP101` where there is none that can be read, `OP203` where it is malformed.
    pub fn open(path: &Path) -> Result<Self, Diagnostic> {
        let name = path.display().to_string();
        match files::text(path, LONGEST) {
            Ok(text) => Self::read(&name, &text),
            Err(error) => Err(Diagnostic::error(Code::READ_IO, format!("cannot read `{name}`: {error}"))),
        }
    }

    /// Reads the text of a table; `name` says where it comes from.
    ///
    /// # Errors
    /// `OP203` where it is malformed, or says what operators write, which stands among schemas alone.
    pub fn read(name: &str, text: &str) -> Result<Self, Diagnostic> {
        let table = Self::of_both(name, text)?;
        let Some(writes) = table.templates.values().flatten().find(|template| template.writes) else {
            return Ok(table);
        };
        let message =
            format!("`{name}` says what `{}` writes, which only a plugin's schemas can", writes.target);
        Err(Diagnostic::error(Code::DECOMPOSE, message).help("docs/facts.md says where it stands"))
    }

    fn of_both(name: &str, text: &str) -> Result<Self, Diagnostic> {
        let malformed = |error| {
            let message = format!("the decompositions of `{name}` cannot be read: {error}");
            Diagnostic::error(Code::DECOMPOSE, message)
                .help("docs/decompositions.md says how they are written")
        };
        let mut table = Self::default();
        for template in Template::parse(text).map_err(malformed)? {
            table.templates.entry(template.target.clone()).or_default().push(template);
        }
        Ok(table)
    }

    /// Reads those that stand among the schemas of a plugin. What operators write is not among them; see
    /// [`Schemas::writes`](super::Schemas::writes).
    ///
    /// # Errors
    /// `OP203` where one is malformed.
    pub fn among_schemas(name: &str, schemas: &str) -> Result<Self, Diagnostic> {
        let lines: Vec<&str> = schemas.lines().filter_map(|line| line.strip_prefix(AMONG_SCHEMAS)).collect();
        let mut table = Self::of_both(name, &lines.join("\n"))?;
        table.templates.retain(|_, templates| {
            templates.retain(|template| !template.writes);
            !templates.is_empty()
        });
        Ok(table)
    }

    /// What there is for `target`, in order.
    pub fn of(&self, target: &str) -> &[Template] {
        self.templates.get(target).map_or(&[], Vec::as_slice)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.templates.is_empty()
    }

    /// Every operator, sorted.
    pub fn targets(&self) -> Vec<&str> {
        let mut targets: Vec<&str> = self.templates.keys().map(String::as_str).collect();
        targets.sort_unstable();
        targets
    }
}
