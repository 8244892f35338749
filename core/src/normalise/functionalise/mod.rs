//! Rewrites every write to a tensor as a new value, and returns the final value of a written input as an
//! output.
//!
//! The source of truth about writes and aliases is the schema of each operator, refined by the strides that
//! the program states.

mod alias;
mod families;
mod inplace;
#[allow(clippy::indexing_slicing, reason = "its tables grow together, by numbers that they give out")]
mod memory;
mod out;
mod scatter;
mod storage;
mod strides;
mod twin;

use rustc_hash::FxHashMap;

use super::edit::{Editor, each_nested, is_builtin, parts};
use super::{Context, with_symbols};
use crate::diagnose::{Code, OriginId};
use crate::program::{
    Arg, Body, Call, InputKind, Output, OutputKind, OutputSpec, Program, Signature, StateKind, Val,
};
use crate::registry::Schema;
use crate::sym::Symbols;
use alias::{Share, View, share};
use families::Families;
use memory::Memory;

/// New calls per call of the program before a chain of views is refused as absurd.
const MAX_GROWTH: usize = 64;
/// The number of new calls that any program may add.
const MIN_GROWTH: usize = 1 << 16;

pub(super) fn run(program: &mut Program, cx: &mut Context<'_>) {
    let (mut written, mut reshaped) = (Vec::new(), Vec::new());
    with_symbols(program, |body, symbols| {
        Changed { written, reshaped } = functionalise(body, symbols, cx);
    });
    check_shared(program, &written, cx);
    check_reshaped(program, &reshaped, cx);
    let Program { body, signature, .. } = program;
    declare_state(body, signature, &written);
}

/// Refuses writes to a buffer whose memory another input of the program shows as well.
fn check_shared(program: &Program, written: &Written, cx: &mut Context<'_>) {
    if written.is_empty() {
        return;
    }
    let mut used = vec![false; program.body.values.len()];
    let mut mark = |arg: &Arg| {
        arg.each_value(&mut |v| {
            if let Some(flag) = used.get_mut(v.index()) {
                *flag = true;
            }
        });
    };
    program.body.calls.iter().flat_map(|c| &c.args).for_each(|a| mark(&a.arg));
    program.body.outputs.iter().for_each(&mut mark);
    let inputs = || {
        program.signature.inputs.iter().zip(&program.body.inputs).filter_map(|(spec, input)| {
            let (name, val) = (spec.kind.tensor_name()?, input.as_value()?);
            Some((name, val, program.tensors.get(name)?))
        })
    };
    for (name, val, tensor) in inputs().filter(|(_, val, _)| written.iter().any(|(w, _)| w == val)) {
        let shown = inputs().find(|(_, other, data)| {
            *other != val && used.get(other.index()).is_some_and(|u| *u) && tensor.overlaps(data)
        });
        if let Some((other, ..)) = shown {
            let message = format!("`{name}` is written to, and `{other}` shows the same memory");
            let diagnostic = crate::diagnose::Diagnostic::error(Code::NORMALISE_MUTATION, message)
                .help("give each of them its own memory, or take the view inside the module");
            cx.diagnostics.push(diagnostic);
        }
    }
}

/// Refuses operators such as `t_` on a buffer: the next call would see it in its new shape.
fn check_reshaped(program: &Program, reshaped: &[(Val, OriginId)], cx: &mut Context<'_>) {
    for (spec, input) in program.signature.inputs.iter().zip(&program.body.inputs) {
        let Some(name) = spec.kind.tensor_name() else { continue };
        let found = reshaped.iter().find(|(val, _)| input.as_value() == Some(*val));
        if let Some((_, origin)) = found {
            let message = format!("the shape or the strides of `{name}` change from call to call");
            let diagnostic = crate::diagnose::Diagnostic::error(Code::NORMALISE_MUTATION, message)
                .at(*origin)
                .help("use a view instead, such as `t()` instead of `t_()`");
            cx.diagnostics.push(diagnostic);
        }
    }
}

/// The inputs of a body that were written, each with its last value.
type Written = Vec<(Val, Val)>;

/// The inputs that a body changes.
#[derive(Default)]
struct Changed {
    written: Written,
    /// The inputs that became another view of their memory, and the last call that changed them.
    reshaped: Vec<(Val, OriginId)>,
}

fn functionalise(body: &mut Body, symbols: &mut Symbols, cx: &mut Context<'_>) -> Changed {
    storage::rebase(body, symbols, cx);
    let mut families = Families::from_body(body, cx, symbols);
    for call in &mut body.calls {
        let origin = call.origin;
        each_nested(call, &mut |nested| {
            if !functionalise(nested, symbols, cx).written.is_empty() {
                let message = "a graph of a control-flow operator writes to a tensor from outside";
                cx.error(Code::NORMALISE_MUTATION, message, origin);
            }
        });
    }
    for call in &body.calls {
        check_unknown(call, cx);
    }
    let Some(families) = &mut families else { return Changed::default() };
    let (editor, calls) = Editor::rewrite(body);
    let limit = calls.len().saturating_mul(MAX_GROWTH).max(MIN_GROWTH);
    let mut tracked = Vec::with_capacity(editor.values.len());
    tracked.extend(editor.values.ids().map(|v| families.is_written(v)));
    let memory = Memory::new(editor.values.len());
    let mut rewriter = Rewriter { editor, memory, tracked, symbols, cx, reshaped: Vec::new() };
    let inputs: Vec<Val> = body.inputs.iter().filter_map(Arg::as_value).collect();
    rewriter.track_roots(inputs.iter().copied());
    for call in calls {
        let origin = call.origin;
        rewriter.call(call);
        if rewriter.editor.calls.len() > limit {
            let message = "the program writes through too many nested views";
            rewriter.cx.error(Code::NORMALISE_MUTATION, message, origin);
            break;
        }
    }
    for output in &mut body.outputs {
        output.map_values(&mut |v| rewriter.current(v));
    }
    let mut changed = Changed::default();
    for input in inputs {
        let Some(object) = rewriter.memory.object(input) else { continue };
        if rewriter.memory.is_written(object) {
            changed.written.push((input, rewriter.root_value(input)));
        }
        let last = rewriter.reshaped.iter().rev().find(|(other, _)| *other == object);
        changed.reshaped.extend(last.map(|(_, origin)| (input, *origin)));
    }
    rewriter.editor.finish(body);
    changed
}

/// An operator without a schema is trusted: PyTorch requires operators to declare writes and records them,
/// so only names that indicate writes and calls without results are refused.
fn check_unknown(call: &Call, cx: &mut Context<'_>) {
    let (_, op, _) = parts(&call.target);
    if is_builtin(&call.target) || cx.schemas.contains(&call.target) {
        return;
    }
    let writes = op.ends_with('_') && !op.ends_with("__");
    if writes
        || (call.outputs.iter().all(|o| *o == Output::None)
            && call.args.iter().any(|a| a.arg.as_value().is_some()))
    {
        let message = format!("`{}` may write to its arguments, but its schema is not known", call.target);
        let diagnostic = crate::diagnose::Diagnostic::error(Code::NORMALISE_MUTATION, message)
            .at(call.origin)
            .help("give a plugin that provides the operator's schema");
        cx.diagnostics.push(diagnostic);
    }
}

struct Rewriter<'r, 'c> {
    editor: Editor,
    memory: Memory,
    /// By value of the original program, whether its memory is written.
    tracked: Vec<bool>,
    /// The objects that became another view of their memory, and the calls that did that.
    reshaped: Vec<(usize, OriginId)>,
    symbols: &'r mut Symbols,
    cx: &'r mut Context<'c>,
}

impl Rewriter<'_, '_> {
    fn is_tracked(&self, val: Val) -> bool {
        self.tracked.get(val.index()).copied().unwrap_or_default()
    }

    fn track_roots(&mut self, vals: impl IntoIterator<Item = Val>) {
        for val in vals {
            if self.is_tracked(val) && self.memory.object(val).is_none() {
                self.memory.root(val);
            }
        }
    }

    /// Returns the value that `val` denotes at this point.
    fn current(&mut self, val: Val) -> Val {
        match self.memory.object(val) {
            Some(object) => self.memory.current(object, &mut self.editor),
            None => val,
        }
    }

    /// Returns the current value of an input's memory; the object may have become a view of it.
    fn root_value(&mut self, input: Val) -> Val {
        self.memory.root_value(input, &mut self.editor)
    }

    fn refuse(&mut self, target: &str, reason: &str, origin: OriginId) {
        let message = format!("the write of `{target}` cannot be expressed: {reason}");
        self.cx.error(Code::NORMALISE_MUTATION, message, origin);
    }

    fn call(&mut self, mut call: Call) {
        let schemas = self.cx.schemas;
        let schema = schemas.get(&call.target);
        if let Some(schema) = schema.filter(|s| s.is_mutating()) {
            self.mutating(call, schema);
            return;
        }
        let mut results = Vec::new();
        call.outputs.iter().for_each(|o| o.each_value(&mut |v| results.push(v)));
        let shared = if results.iter().any(|v| self.is_tracked(*v)) {
            self.share(&call, schema)
        } else {
            Share::Nothing
        };
        match shared {
            Share::Nothing => {}
            Share::Views { source, views } => return self.views(call, source, views),
            Share::Unclear { sources, results } => {
                let reason = format!("`{}` may have returned a view of the same memory", call.target);
                self.track_roots(results.iter().copied());
                for object in
                    sources.iter().chain(&results).filter_map(|v| self.memory.object(*v)).collect::<Vec<_>>()
                {
                    self.memory.freeze(object, &reason);
                }
            }
        }
        for arg in &mut call.args {
            arg.arg.map_values(&mut |v| self.current(v));
        }
        self.editor.calls.push(call);
        self.track_roots(results);
    }

    /// The memory that the results of a call share with its first argument as it looks now: operators such as `t_` change
    /// the look of a tensor for all of its names.
    fn share(&mut self, call: &Call, schema: Option<&Schema>) -> Share {
        if self.reshaped.is_empty() {
            return share(call, schema, &self.editor.values, self.symbols);
        }
        let (mut now, mut named) = (call.clone(), Vec::new());
        if let Some(first) = now.args.first_mut() {
            first.arg.each_value(&mut |v| named.push(v));
            first.arg.map_values(&mut |v| self.current(v));
        }
        match share(&now, schema, &self.editor.values, self.symbols) {
            Share::Nothing => Share::Nothing,
            Share::Views { source, views } => {
                Share::Views { source: named.first().copied().unwrap_or(source), views }
            }
            Share::Unclear { results, .. } => Share::Unclear { sources: named, results },
        }
    }

    /// Handles a call that creates views of `source`.
    fn views(&mut self, mut call: Call, source: Val, views: Vec<(Val, View)>) {
        let Some(object) = self.memory.object(source) else {
            // Its memory is never written.
            self.editor.calls.push(call);
            return;
        };
        if let [(val, View::Same)] = views.as_slice() {
            self.memory.same(object, *val);
            return;
        }
        for arg in &mut call.args {
            arg.arg.map_values(&mut |v| self.current(v));
        }
        self.memory.views(object, call.clone(), views);
        self.editor.calls.push(call);
    }

    fn mutating(&mut self, call: Call, schema: &Schema) {
        let (target, origin) = (call.target.clone(), call.origin);
        let undeclared = call.outputs.iter().skip(schema.returns.len()).any(|o| *o != Output::None);
        if undeclared {
            let message =
                format!("`{target}` does not match its schema: it has more results than the schema declares");
            let diagnostic = crate::diagnose::Diagnostic::error(Code::LOWER_ARGUMENT, message);
            let help = "the operator's package is not of the version that the plugin knows";
            self.cx.diagnostics.push(diagnostic.at(origin).help(help));
        }
        if let Err(reason) = self.write(call, schema) {
            self.refuse(&target, &reason, origin);
        }
    }
}

/// Calls `join` on pairs that connect all `sources` and `results`.
fn hidden_sources(sources: &[Val], results: &[Val], mut join: impl FnMut(Val, Val)) {
    if let Some(first) = sources.first() {
        sources.iter().skip(1).chain(results).for_each(|v| join(*first, *v));
    }
}

/// Appends an output for every input that was written, after those that the program declares.
fn declare_state(body: &mut Body, signature: &mut Signature, written: &Written) {
    let written: FxHashMap<Val, Val> = written.iter().copied().collect();
    let outputs = std::mem::take(&mut body.outputs);
    let specs = std::mem::take(&mut signature.outputs);
    let (mut user, mut state) = (Vec::new(), Vec::new());
    for (arg, spec) in outputs.into_iter().zip(specs) {
        match &spec.kind {
            OutputKind::State { input, .. } if written.contains_key(input) => {}
            OutputKind::State { .. } => state.push((arg, spec)),
            _ => user.push((arg, spec)),
        }
    }
    for (arg, spec) in signature.inputs.iter().zip(&body.inputs).filter_map(|(spec, input)| {
        let input = input.as_value()?;
        let new = written.get(&input)?;
        let (kind, name) = match &spec.kind {
            InputKind::Parameter(name) => (StateKind::Parameter, name),
            InputKind::Buffer { name, .. }
            | InputKind::TensorConstant(name)
            | InputKind::CustomObject(name) => (StateKind::Buffer, name),
            InputKind::User | InputKind::Constant | InputKind::Token => (StateKind::Input, &spec.name),
        };
        let kind = OutputKind::State { kind, name: name.clone(), input };
        Some((Arg::Value(*new), OutputSpec { kind }))
    }) {
        state.push((arg, spec));
    }
    for (arg, spec) in user.into_iter().chain(state) {
        body.outputs.push(arg);
        signature.outputs.push(spec);
    }
}
