//! From the schema's types to a [`Program`].

mod argument;
mod body;
mod origin;
mod signature;
mod types;

pub(crate) use types::dtype;

use rustc_hash::{FxHashMap, FxHashSet};

use super::schema::{self, Nodes};
use crate::Name;
use crate::diagnose::{Code, Diagnostic, OriginId, Report};
use crate::program::{Producer, Program};
use crate::sym::{Dim, Range};

/// A damaged program may have a problem in every node; this many are reported.
const MAX_DIAGNOSTICS: usize = 100;

/// Decodes the program of the entry `name`, node by node, without its tensors. `None` if a node does not follow the
/// schema.
///
/// # Errors
/// Every problem that was found, up to a hundred: `OP105`, `OP108`, `OP109`, `OP305`.
pub(crate) fn program<N: Nodes>(
    program: schema::ExportedProgram<N>,
    name: &str,
) -> Result<Option<Program>, Report> {
    let mut decoder = Decoder {
        entry: name.to_owned(),
        program: Program {
            producer: Producer {
                schema: (program.schema_version.major, program.schema_version.minor),
                torch: program.torch_version,
            },
            guards: program.guards_code.into_iter().map(Into::into).collect(),
            ..Program::default()
        },
        dims: FxHashMap::default(),
        stacks: origin::Stacks::default(),
        names: Names::default(),
        malformed: false,
        diagnostics: Vec::new(),
        suppressed: 0,
    };
    decoder.ranges(&program.range_constraints);
    let module = program.graph_module;
    let body = decoder.body(module.graph);
    let signature = decoder.signature(module.signature, module.module_call_graph, &body);
    decoder.program.body = body;
    decoder.program.signature = signature;
    if decoder.malformed { Ok(None) } else { decoder.finish().map(Some) }
}

/// Names that a program repeats: operators, arguments, classes.
#[derive(Default)]
struct Names(FxHashSet<Name>);

impl Names {
    /// Interns `text`.
    fn get(&mut self, text: &str) -> Name {
        if let Some(known) = self.0.get(text) {
            return known.clone();
        }
        let name = Name::from(text);
        self.0.insert(name.clone());
        name
    }
}

struct Decoder {
    entry: String,
    program: Program,
    /// Expressions by their text: one program repeats each many times.
    dims: FxHashMap<String, Dim>,
    stacks: origin::Stacks,
    names: Names,
    /// Whether a node does not follow the schema.
    malformed: bool,
    diagnostics: Vec<Diagnostic>,
    suppressed: usize,
}

impl Decoder {
    fn error(&mut self, code: Code, message: &str, origin: Option<OriginId>) {
        if self.diagnostics.len() >= MAX_DIAGNOSTICS {
            self.suppressed += 1;
            return;
        }
        let mut diagnostic = Diagnostic::error(code, format!("`{}`: {message}", self.entry));
        diagnostic.origin = origin;
        self.diagnostics.push(diagnostic);
    }

    fn ranges(&mut self, constraints: &indexmap::IndexMap<String, schema::RangeConstraint>) {
        for (name, constraint) in constraints {
            let is_symbol = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && name.starts_with(|c: char| c.is_ascii_alphabetic());
            if !is_symbol {
                continue;
            }
            let range = Range {
                min: finite(constraint.min_val, |n| n > i64::MIN + 1),
                // Unbounded sizes used to be written as the largest integers.
                max: finite(constraint.max_val, |n| n < i64::MAX - 1),
            };
            if range.min.zip(range.max).is_some_and(|(min, max)| min > max) {
                self.error(Code::READ_PROGRAM, &format!("the range of `{name}` is empty"), None);
                continue;
            }
            let dim = self.program.symbols.symbol(name);
            if let Some(id) = self.program.symbols.as_symbol(dim) {
                self.program.symbols.get_mut(id).range = range;
            }
        }
    }

    fn finish(mut self) -> Result<Program, Report> {
        if self.diagnostics.is_empty() {
            return Ok(self.program);
        }
        if let (1.., Some(last)) = (self.suppressed, self.diagnostics.last_mut()) {
            last.notes.push(format!("{} more problems are not shown", self.suppressed));
        }
        Err(Report { diagnostics: self.diagnostics, origins: self.program.origins })
    }
}

fn finite(bound: Option<schema::Bound>, is_bound: impl Fn(i64) -> bool) -> Option<i64> {
    match bound {
        Some(schema::Bound::Finite(n)) => i64::try_from(n).ok().filter(|n| is_bound(*n)),
        Some(schema::Bound::Infinite) | None => None,
    }
}
