//! Replaces a call by its decomposition.

use rustc_hash::FxHashMap;

use super::{DecomposeOptions, Decomposed, Mode};
use crate::arena::Arena;
use crate::diagnose::{Code, Diagnostic};
use crate::host::Host;
use crate::normalise::edit::{Editor, each_nested, substitute};
use crate::normalise::expand::{expand, fit};
use crate::program::text::Template;
use crate::program::{Arg, Body, Call, Val, Value};
use crate::registry::{Decompositions, Resolved};
use crate::sym::Symbols;

/// The depth to which decompositions may use others.
const DEPTH: usize = 16;

/// Decompositions at work on a program.
pub(super) struct Work<'a> {
    host: &'a Host,
    opset: i64,
    mode: Mode,
    tables: Vec<&'a Decompositions>,
    symbols: &'a mut Symbols,
    done: Decomposed,
    problems: Vec<Diagnostic>,
}

impl<'a> Work<'a> {
    pub(super) fn new(
        host: &'a Host,
        opset: i64,
        options: &'a DecomposeOptions,
        symbols: &'a mut Symbols,
    ) -> Self {
        let own = options.tables.iter().rev();
        let tables = own.chain(&host.decompositions).filter(|table| !table.is_empty()).collect();
        let (done, problems) = (Decomposed::default(), Vec::new());
        Self { host, opset, mode: options.mode, tables, symbols, done, problems }
    }

    /// Whether there is nothing to use.
    pub(super) fn is_idle(&self) -> bool {
        self.tables.is_empty()
    }

    pub(super) fn finish(self) -> (Decomposed, Vec<Diagnostic>) {
        (self.done, self.problems)
    }

    /// Decomposes the calls of `body`, those of nested graphs first.
    pub(super) fn body(&mut self, body: &mut Body, depth: usize) {
        for call in &mut body.calls {
            each_nested(call, &mut |nested| self.body(nested, depth));
        }
        if !body.calls.iter().any(|call| self.is_wanted(call, &body.values)) {
            return;
        }
        let (mut editor, calls) = Editor::rewrite(body);
        let mut replaced = FxHashMap::default();
        for mut call in calls {
            call.args.iter_mut().for_each(|arg| substitute(&mut arg.arg, &replaced));
            self.call(call, &mut editor, &mut replaced, depth);
        }
        body.outputs.iter_mut().for_each(|output| substitute(output, &replaced));
        editor.finish(body);
    }

    /// Adds `call`, or its decomposition.
    fn call(&mut self, call: Call, editor: &mut Editor, replaced: &mut FxHashMap<Val, Arg>, depth: usize) {
        if !self.is_wanted(&call, &editor.values) {
            editor.calls.push(call);
            return;
        }
        let fitting = match self.fitting(&call, &editor.values) {
            Ok(fitting) => fitting,
            Err(problem) => {
                self.problems.push(problem.at(call.origin));
                None
            }
        };
        let Some((template, arguments)) = fitting else {
            editor.calls.push(call);
            return;
        };
        let made = if depth < DEPTH {
            expand(template, arguments, &call, &self.host.schemas, self.symbols, editor)
        } else {
            Err("decompositions lead to each other without end".to_owned())
        };
        match made {
            Ok(made) => {
                *self.done.operators.entry(call.target.into()).or_default() += 1;
                replaced.extend(made.replaced);
                for mut inner in made.calls {
                    inner.args.iter_mut().for_each(|arg| substitute(&mut arg.arg, replaced));
                    self.call(inner, editor, replaced, depth + 1);
                }
            }
            Err(reason) => {
                let message = format!("the decomposition of `{}` cannot be used: {reason}", call.target);
                self.problems.push(Diagnostic::error(Code::DECOMPOSE, message).at(call.origin));
                editor.calls.push(call);
            }
        }
    }

    /// Whether the call is to be decomposed, and has a decomposition.
    fn is_wanted(&self, call: &Call, values: &Arena<Value>) -> bool {
        if !self.tables.iter().any(|table| table.contains(&call.target)) {
            return false;
        }
        if self.mode == Mode::All {
            return true;
        }
        let mut complex = false;
        let mut visit = |val: Val| {
            complex |= values.find(val).and_then(|v| v.ty.as_tensor()).is_some_and(|t| t.dtype.is_complex());
        };
        call.args.iter().for_each(|arg| arg.arg.each_value(&mut visit));
        call.outputs.iter().for_each(|output| output.each_value(&mut visit));
        let found = self.host.registry.resolve(&call.target, self.opset, complex, &self.host.choice);
        !matches!(found, Resolved::Use(_) | Resolved::Conflict(..))
    }

    /// Returns the first decomposition whose conditions hold, with the arguments for its parameters.
    fn fitting(
        &self,
        call: &Call,
        values: &Arena<Value>,
    ) -> Result<Option<(&'a Template, Vec<Arg>)>, Diagnostic> {
        let schema = self.host.schemas.get(&call.target);
        for table in &self.tables {
            let mut templates = table.of(&call.target)?.iter();
            let fitting =
                templates.find_map(|template| Some((template, fit(template, call, schema, values)?)));
            if fitting.is_some() {
                return Ok(fitting);
            }
        }
        Ok(None)
    }
}
