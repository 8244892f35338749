//! Tables of decompositions.

use std::path::Path;

use rustc_hash::FxHashMap;

use crate::diagnose::{Code, Diagnostic};
use crate::files;
use crate::program::text::Template;

/// The longest file that is read.
const LONGEST: u64 = 16 << 20;

/// How lines of a decomposition begin where they stand among schemas, so that other readers pass over them.
const AMONG_SCHEMAS: &str = "#|";

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
    /// `OP203` where it is malformed.
    pub fn read(name: &str, text: &str) -> Result<Self, Diagnostic> {
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

    /// Reads those that stand among the schemas of a plugin.
    ///
    /// # Errors
    /// As [`Decompositions::read`].
    pub fn among_schemas(name: &str, schemas: &str) -> Result<Self, Diagnostic> {
        let lines: Vec<&str> = schemas.lines().filter_map(|line| line.strip_prefix(AMONG_SCHEMAS)).collect();
        Self::read(name, &lines.join("\n"))
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
