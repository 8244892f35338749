//! Names visible to users of the model are unique.

use rustc_hash::FxHashSet;

use super::Cx;

/// The writer renames duplicates, which would be wrong for inputs, outputs and initializers.
pub(super) fn check(cx: &mut Cx<'_>) {
    let model = cx.model;
    let graph = &model.graph;
    let main = &graph.blocks[graph.main()];
    let mut taken: FxHashSet<&str> = FxHashSet::default();
    let initializers = graph.initializers.iter().filter(|i| i.block == graph.main()).map(|i| i.value);
    let literals = graph.literals.iter().filter(|l| l.block == graph.main()).map(|l| l.value);
    let values = main.inputs.iter().copied().chain(initializers).chain(literals);
    for value in values {
        let Some(name) = graph.values.find(value).and_then(|v| v.name.as_deref()) else { continue };
        if !taken.insert(name) {
            cx.report(format!("two inputs or initializers are called `{name}`"));
        }
    }
    if model.output_names.len() != main.outputs().len() {
        let (outputs, names) = (main.outputs().len(), model.output_names.len());
        cx.report(format!("the graph has {outputs} outputs but names for {names}"));
    }
    for (name, value) in model.output_names.iter().zip(main.outputs()) {
        let is_own = || {
            model.origin.is_imported()
                && graph.values.find(*value).is_some_and(|v| v.name.as_deref() == Some(name))
        };
        if name.is_empty() {
            cx.report("an output has no name");
        } else if !taken.insert(name) && !is_own() {
            cx.report(format!("the output name `{name}` is taken"));
        }
    }
    for state in &model.states {
        if !main.inputs.contains(&state.input) {
            cx.report(format!("the state `{}` has no input", state.name));
        }
        if state.output >= main.outputs().len() {
            cx.report(format!("the state `{}` has no output", state.name));
        }
    }
    let mut functions: FxHashSet<(&str, &str, &str)> = FxHashSet::default();
    for function in &model.functions {
        if !functions.insert((&function.domain, &function.name, &function.overload)) {
            cx.report(format!("two functions are called `{}::{}`", function.domain, function.name));
        }
    }
}
