//! Origins from a node's metadata: the module stack and the Python stack.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Decoder;
use crate::Name;
use crate::diagnose::{CallSite, Frame, ModuleCall, Origin, frames, module_path};
use crate::pt2::schema::NodeMetadata;

/// The parsed stack traces of a program, by their text. A program repeats each for every call of a line.
#[derive(Default)]
pub(super) struct Stacks {
    frames: FxHashMap<Name, Arc<[Frame]>>,
    /// Stacks of modules, with the path and the class of the innermost one.
    modules: FxHashMap<String, (Arc<[ModuleCall]>, Name, Name)>,
    /// Interned places, by operator and the addresses of their modules and frames.
    places: FxHashMap<(Name, usize, usize), Arc<CallSite>>,
}

impl Stacks {
    /// Interns the text, and returns it with its frames.
    fn frames(&mut self, trace: &str) -> (Name, Arc<[Frame]>) {
        if let Some((text, frames)) = self.frames.get_key_value(trace) {
            return (text.clone(), Arc::clone(frames));
        }
        let (text, frames): (Name, Arc<[Frame]>) = (trace.into(), frames(trace).into());
        self.frames.insert(text.clone(), Arc::clone(&frames));
        (text, frames)
    }

    fn place(&mut self, place: CallSite) -> Arc<CallSite> {
        let key = (place.target.clone(), place.modules.as_ptr().addr(), place.frames.as_ptr().addr());
        Arc::clone(self.places.entry(key).or_insert_with(|| place.into()))
    }
}

impl Decoder {
    pub(super) fn origin(&mut self, node: Name, target: Name, metadata: NodeMetadata) -> Origin {
        let stack = metadata.nn_module_stack;
        let (modules, module, class) = match self.stacks.modules.entry(stack) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(new) => {
                let calls = module_calls(new.key());
                let (module, class) = innermost(&calls);
                new.insert((calls.into(), self.names.get(&module), self.names.get(&class))).clone()
            }
        };
        let (trace, frames) = self.stacks.frames(&metadata.stack_trace);
        Origin::new(node, self.stacks.place(CallSite { target, module, class, modules, trace, frames }))
    }
}

/// The calls of modules in `key,path,class;key,path,class`, outermost first.
fn module_calls(stack: &str) -> Vec<ModuleCall> {
    let call = |entry: &str| {
        // A class may contain commas, but the two fields before it do not.
        let mut fields = entry.splitn(3, ',');
        let (key, path, class) = (fields.next()?, fields.next()?, fields.next()?);
        // The key of a further call ends with its number: `L__self___fc@1`.
        let repeat = key.rsplit_once('@').and_then(|(_, number)| number.parse().ok()).unwrap_or(0);
        Some(ModuleCall { path: path.into(), class: class.into(), repeat })
    };
    stack.split(';').filter_map(call).collect()
}

/// The path and class of the innermost module.
fn innermost(calls: &[ModuleCall]) -> (String, String) {
    match calls.last() {
        Some(call) if !call.path.starts_with("_empty_nn_module_stack") => {
            (module_path(&call.path), call.class.to_string())
        }
        _ => Default::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_stacks_give_the_innermost_module() {
        let innermost_module = |stack| innermost(&module_calls(stack));
        let stack = "L__self__,,__main__.M;L__self___fc,fc@1,torch.nn.modules.linear.Linear";
        assert_eq!(innermost_module(stack), ("fc".to_owned(), "torch.nn.modules.linear.Linear".to_owned()));
        assert_eq!(innermost_module(""), Default::default());
        let hook = "_empty_nn_module_stack_from_metadata_hook";
        assert_eq!(innermost_module(&format!("{hook},{hook},{hook}")), Default::default());
        let paths: Vec<_> = module_calls(stack).into_iter().map(|call| call.path).collect();
        assert_eq!(paths, ["", "fc@1"]);
        let calls = module_calls("L__self__,,M;L__self___fc@2,fc,Linear;L__self___fc.a@12,fc.a,A");
        let repeats: Vec<_> = calls.into_iter().map(|call| (call.path.to_string(), call.repeat)).collect();
        assert_eq!(repeats, [(String::new(), 0), ("fc".to_owned(), 2), ("fc.a".to_owned(), 12)]);
    }
}
