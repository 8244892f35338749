//! Values that share mutated memory.

use super::super::Context;
use super::alias::{Share, share};
use super::hidden_sources;
use crate::program::{Body, Call, Val};
use crate::registry::Schema;
use crate::sym::Symbols;

/// A union-find of values that may share memory.
pub(super) struct Families {
    parent: Vec<u32>,
    written: Vec<bool>,
}

impl Families {
    /// Returns the families of `body`; `None` if nothing is written.
    pub(super) fn from_body(body: &Body, cx: &Context<'_>, symbols: &mut Symbols) -> Option<Self> {
        let mutating = |call: &Call| cx.schemas.get(&call.target).is_some_and(Schema::is_mutating);
        if !body.calls.iter().any(mutating) {
            return None;
        }
        let count = body.values.len();
        let mut families = Self { parent: (0..count as u32).collect(), written: vec![false; count] };
        let mut writes = Vec::new();
        for call in &body.calls {
            let schema = cx.schemas.get(&call.target);
            if let Some(schema) = schema.filter(|s| s.is_mutating()) {
                let start = writes.len();
                for arg in schema.args.iter().filter(|a| a.is_written()) {
                    if let Some(arg) = call.arg(&arg.name) {
                        arg.each_value(&mut |v| writes.push(v));
                    }
                }
                // A result that is the written tensor itself.
                let own = writes.get(start).copied();
                for (output, ret) in call.outputs.iter().zip(&schema.returns) {
                    if let (Some(own), true) = (own, ret.alias.is_some()) {
                        output.each_value(&mut |v| families.join(own, v));
                    }
                }
            }
            match share(call, schema, &body.values, symbols) {
                Share::Nothing => {}
                Share::Views { source, views } => {
                    for (val, _) in &views {
                        families.join(source, *val);
                    }
                }
                Share::Unclear { sources, results } => {
                    hidden_sources(&sources, &results, |a, b| families.join(a, b));
                }
            }
        }
        for val in writes {
            let root = families.find(val);
            if let Some(flag) = families.written.get_mut(root) {
                *flag = true;
            }
        }
        Some(families)
    }

    /// Whether memory that `val` may share is written.
    pub(super) fn is_written(&mut self, val: Val) -> bool {
        let root = self.find(val);
        self.written.get(root).copied().unwrap_or_default()
    }

    fn find(&mut self, val: Val) -> usize {
        let mut at = val.index();
        while let Some(parent) = self.parent.get(at).copied().map(|p| p as usize) {
            if parent == at {
                break;
            }
            let grand = self.parent.get(parent).copied().unwrap_or(parent as u32);
            if let Some(own) = self.parent.get_mut(at) {
                *own = grand;
            }
            at = grand as usize;
        }
        at
    }

    fn join(&mut self, a: Val, b: Val) {
        let (a, b) = (self.find(a), self.find(b));
        if let Some(parent) = self.parent.get_mut(b) {
            *parent = a as u32;
        }
    }
}
