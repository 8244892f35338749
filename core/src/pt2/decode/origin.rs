//! Origins from a node's metadata: the module stack and the Python stack.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Decoder;
use crate::Name;
use crate::diagnose::{Frame, Origin, Place};
use crate::pt2::schema::NodeMetadata;

/// Stacks deeper than this are cut at their outer end.
const MAX_FRAMES: usize = 64;

/// What the stacks of a program say, by their text. A program repeats each for every call of a line.
#[derive(Default)]
pub(super) struct Stacks {
    frames: FxHashMap<String, Arc<[Frame]>>,
    /// The last stack of modules, with the path and the class of the innermost one: calls of a module follow each
    /// other.
    module: Option<(String, Name, Name)>,
    /// What was made, by operator, module, class and the address of its frames.
    places: FxHashMap<(Name, Name, Name, usize), Arc<Place>>,
}

impl Stacks {
    fn frames(&mut self, trace: String) -> Arc<[Frame]> {
        match self.frames.entry(trace) {
            Entry::Occupied(known) => Arc::clone(known.get()),
            Entry::Vacant(new) => {
                let frames = frames(new.key()).into();
                Arc::clone(new.insert(frames))
            }
        }
    }

    fn place(&mut self, place: Place) -> Arc<Place> {
        let frames = place.frames.as_ptr().addr();
        let key = (place.target.clone(), place.module.clone(), place.class.clone(), frames);
        Arc::clone(self.places.entry(key).or_insert_with(|| place.into()))
    }
}

impl Decoder {
    pub(super) fn origin(&mut self, node: Name, target: Name, metadata: NodeMetadata) -> Origin {
        let (module, class) = match &self.stacks.module {
            Some((text, module, class)) if *text == metadata.nn_module_stack => {
                (module.clone(), class.clone())
            }
            _ => {
                let (module, class) = innermost_module(&metadata.nn_module_stack);
                let (module, class) = (self.names.get(&module), self.names.get(&class));
                self.stacks.module = Some((metadata.nn_module_stack, module.clone(), class.clone()));
                (module, class)
            }
        };
        let frames = self.stacks.frames(metadata.stack_trace);
        Origin::new(node, self.stacks.place(Place { target, module, class, frames }))
    }
}

/// The path and class of the innermost module of `key,path,class;key,path,class`.
fn innermost_module(stack: &str) -> (String, String) {
    // A class may hold commas, the two fields before it do not.
    let mut fields = stack.rsplit(';').next().unwrap_or_default().splitn(3, ',');
    match (fields.next(), fields.next(), fields.next()) {
        (Some(_), Some(path), Some(class)) if !path.starts_with("_empty_nn_module_stack") => {
            (module_path(path), class.to_owned())
        }
        _ => Default::default(),
    }
}

/// The path below the root module, with dots: `L['self'].layers[0].fc@1` is `layers.0.fc`.
fn module_path(path: &str) -> String {
    let path = ["L['self']", "L__self__"].iter().find_map(|root| path.strip_prefix(root)).unwrap_or(path);
    let plain = path.replace("._modules[", "[").replace("['", ".").replace("']", "");
    let plain = plain.replace('[', ".").replace(']', "");
    let parts: Vec<&str> = plain
        .split('.')
        // Repeated calls of one module are numbered, `fc@1`.
        .map(|part| part.split_once('@').map_or(part, |(name, _)| name))
        .filter(|part| !part.is_empty())
        .collect();
    parts.join(".")
}

/// The frames of a Python stack trace, outermost first.
fn frames(trace: &str) -> Vec<Frame> {
    let mut frames: Vec<Frame> = Vec::new();
    for line in trace.lines() {
        let text = line.trim();
        if let Some(frame) = frame(text) {
            frames.push(frame);
        } else if let Some(last) = frames.last_mut()
            && last.code.is_empty()
            && !text.trim_matches(['^', '~']).is_empty()
        {
            text.clone_into(&mut last.code);
        }
    }
    let extra = frames.len().saturating_sub(MAX_FRAMES);
    frames.drain(..extra);
    frames
}

/// `File "model.py", line 7, in forward`.
fn frame(text: &str) -> Option<Frame> {
    let (file, rest) = text.strip_prefix("File \"")?.split_once("\", line ")?;
    let (line, function) = rest.split_once(", in ").unwrap_or((rest, ""));
    Some(Frame {
        file: file.to_owned(),
        line: line.trim().parse().ok()?,
        function: function.to_owned(),
        code: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_stacks_give_the_innermost_module() {
        let stack = "L__self__,,__main__.M;L__self___fc,fc@1,torch.nn.modules.linear.Linear";
        assert_eq!(innermost_module(stack), ("fc".to_owned(), "torch.nn.modules.linear.Linear".to_owned()));
        assert_eq!(innermost_module(""), Default::default());
        let hook = "_empty_nn_module_stack_from_metadata_hook";
        assert_eq!(innermost_module(&format!("{hook},{hook},{hook}")), Default::default());
    }

    #[test]
    fn module_paths_lose_their_root() {
        for (path, plain) in [
            ("", ""),
            ("L['self']", ""),
            ("L['self'].layers[0].fc", "layers.0.fc"),
            ("L__self__.layers.0", "layers.0"),
            ("L['self'].blocks._modules['3'].attn", "blocks.3.attn"),
            ("blocks.1.attn@2.q", "blocks.1.attn.q"),
        ] {
            assert_eq!(module_path(path), plain, "{path}");
        }
    }

    #[test]
    fn stack_traces_give_frames_with_code() {
        let trace = "  File \"m.py\", line 7, in forward\n    z = f(x)\n        ^^^^\n  File \"n.py\", line 9, in f\n";
        let frames = frames(trace);
        assert_eq!(frames.len(), 2);
        assert_eq!((frames[0].line, frames[0].code.as_str()), (7, "z = f(x)"));
        assert_eq!((frames[1].function.as_str(), frames[1].code.as_str()), ("f", ""));
    }
}
