//! The tensors whose memory is written: the value that each holds now, and how views follow their source.
//!
//! A [`Node`] is a view of some storage; its value is current if its generation is the storage's. A write
//! creates new values for the node and for every source up to the root; all other views become stale, and
//! are recreated by repeating their calls on the next read.

use super::super::edit::Editor;
use super::alias::View;
use super::scatter::{Write, scatter};
use crate::diagnose::OriginId;
use crate::program::{Arg, Call, Output, Val};
use crate::sym::Symbols;

/// Views that one call created from one source.
struct Group {
    source: usize,
    call: Call,
    members: Vec<(usize, View)>,
}

struct Node {
    storage: usize,
    parent: Option<(usize, usize)>,
    value: Val,
    generation: u32,
}

struct Storage {
    generation: u32,
    /// Why it may not be written any more.
    frozen: Option<String>,
}

/// All tracked memory of a body.
pub(super) struct Memory {
    storages: Vec<Storage>,
    nodes: Vec<Node>,
    groups: Vec<Group>,
    /// The tensor object behind each value of the program; in-place operators return their argument's.
    object_of: Vec<Option<usize>>,
    /// The node behind each object; operators such as `t_` change it.
    objects: Vec<usize>,
}

impl Memory {
    /// Tracks nothing yet.
    pub(super) fn new(values: usize) -> Self {
        Self {
            storages: Vec::new(),
            nodes: Vec::new(),
            groups: Vec::new(),
            object_of: vec![None; values],
            objects: Vec::new(),
        }
    }

    /// Returns the object that `val` denotes, if it is tracked.
    pub(super) fn object(&self, val: Val) -> Option<usize> {
        self.object_of.get(val.index()).copied().flatten()
    }

    /// Makes `val` another name of `object`.
    pub(super) fn name(&mut self, val: Val, object: usize) {
        if let Some(slot) = self.object_of.get_mut(val.index()) {
            *slot = Some(object);
        }
    }

    /// Tracks `val` as the whole of new memory; returns its object.
    pub(super) fn root(&mut self, val: Val) -> usize {
        self.storages.push(Storage { generation: 0, frozen: None });
        let storage = self.storages.len() - 1;
        self.add(val, Node { storage, parent: None, value: val, generation: 0 })
    }

    fn add(&mut self, val: Val, node: Node) -> usize {
        self.nodes.push(node);
        self.objects.push(self.nodes.len() - 1);
        let object = self.objects.len() - 1;
        self.name(val, object);
        object
    }

    /// Tracks the results of `call`, which was just applied to the current value of `source`.
    pub(super) fn views(&mut self, source: usize, call: Call, views: Vec<(Val, View)>) -> Vec<usize> {
        let source = self.objects[source];
        let storage = self.nodes[source].storage;
        let generation = self.storages[storage].generation;
        let group = self.groups.len();
        let mut members = Vec::with_capacity(views.len());
        let mut objects = Vec::with_capacity(views.len());
        for (i, (val, view)) in views.into_iter().enumerate() {
            let node = Node { storage, parent: Some((group, i)), value: val, generation };
            objects.push(self.add(val, node));
            members.push((self.nodes.len() - 1, view));
        }
        self.groups.push(Group { source, call, members });
        objects
    }

    /// Makes `val` a new object with the same view of the same memory as `source`.
    pub(super) fn same(&mut self, source: usize, val: Val) {
        self.objects.push(self.objects[source]);
        self.name(val, self.objects.len() - 1);
    }

    /// Makes `object` a view of the same memory as `other`.
    pub(super) fn become_other(&mut self, object: usize, other: usize) {
        self.objects[object] = self.objects[other];
    }

    /// Refuses later writes to the memory of `object`.
    pub(super) fn freeze(&mut self, object: usize, reason: &str) {
        let storage = self.nodes[self.objects[object]].storage;
        self.storages[storage].frozen.get_or_insert_with(|| reason.to_owned());
    }

    /// Whether the memory of `object` has been written.
    pub(super) fn is_written(&self, object: usize) -> bool {
        self.storages[self.nodes[self.objects[object]].storage].generation > 0
    }

    /// Whether `a` and `b` may share an element: they do not if, where their views diverge, both are parts of the
    /// same source.
    pub(super) fn may_overlap(&self, a: usize, b: usize) -> bool {
        let (a, b) = (self.objects[a], self.objects[b]);
        if self.nodes[a].storage != self.nodes[b].storage {
            return false;
        }
        let (a, b) = (self.path(a), self.path(b));
        let apart = a.iter().zip(&b).find(|(a, b)| a != b);
        let is_part = |(group, member): &(usize, usize)| self.groups[*group].members[*member].1.is_part();
        apart.is_none_or(|(a, b)| !(is_part(a) && is_part(b)))
    }

    /// The views from the whole memory to `node`, outermost first: groups and members.
    fn path(&self, mut node: usize) -> Vec<(usize, usize)> {
        let mut path = Vec::new();
        while let Some((group, member)) = self.nodes[node].parent {
            path.push((group, member));
            node = self.groups[group].source;
        }
        path.reverse();
        path
    }

    /// Returns the current value of `object`.
    pub(super) fn current(&mut self, object: usize, editor: &mut Editor) -> Val {
        let node = self.objects[object];
        self.refresh(node, editor)
    }

    /// Returns the current value of the memory of the input `val`, whatever the view of the tensor is by now.
    pub(super) fn root_value(&mut self, val: Val, editor: &mut Editor) -> Val {
        let Some(object) = self.object(val) else { return val };
        let mut node = self.objects[object];
        while let Some((group, _)) = self.nodes[node].parent {
            node = self.groups[group].source;
        }
        self.refresh(node, editor)
    }

    fn refresh(&mut self, node: usize, editor: &mut Editor) -> Val {
        let now = self.storages[self.nodes[node].storage].generation;
        let mut stale = Vec::new();
        let mut at = node;
        while self.nodes[at].generation != now {
            let Some((group, _)) = self.nodes[at].parent else { break };
            stale.push(group);
            at = self.groups[group].source;
        }
        for group in stale.into_iter().rev() {
            self.repeat(group, now, editor);
        }
        self.nodes[node].value
    }

    /// Repeats the call of a group on the current value of its source.
    fn repeat(&mut self, group: usize, now: u32, editor: &mut Editor) {
        let Group { source, call, members } = &self.groups[group];
        let mut call = call.clone();
        if let Some(first) = call.args.first_mut() {
            first.arg = Arg::Value(self.nodes[*source].value);
        }
        let mut fresh = Vec::with_capacity(members.len());
        let mut again = |val: &mut Val| {
            let value = editor.values[*val].clone();
            *val = editor.fresh(&value.name, value.ty);
            fresh.push(*val);
        };
        for output in &mut call.outputs {
            match output {
                Output::None => {}
                Output::Value(val) => again(val),
                Output::List(items) => items.iter_mut().flatten().for_each(&mut again),
            }
        }
        for ((member, _), val) in members.iter().zip(fresh) {
            let node = &mut self.nodes[*member];
            if node.generation != now {
                (node.value, node.generation) = (val, now);
            }
        }
        editor.calls.push(call);
    }

    /// Sets the value of `object` to `new`, and updates every source of its view.
    pub(super) fn write(
        &mut self,
        object: usize,
        new: Val,
        origin: OriginId,
        editor: &mut Editor,
        symbols: &mut Symbols,
    ) -> Result<(), String> {
        let mut at = self.objects[object];
        let storage = self.nodes[at].storage;
        if let Some(reason) = &self.storages[storage].frozen {
            return Err(reason.clone());
        }
        let now = self.storages[storage].generation;
        let mut new = new;
        let mut touched = vec![(at, new)];
        while let Some((group, member)) = self.nodes[at].parent {
            let source = self.groups[group].source;
            let base = self.refresh(source, editor);
            let Group { call, members, .. } = &self.groups[group];
            let view = &members[member].1;
            new = scatter(&Write { view, call, member, base, new, origin }, editor, symbols)?;
            at = source;
            touched.push((at, new));
        }
        self.storages[storage].generation = now + 1;
        for (node, value) in touched {
            let node = &mut self.nodes[node];
            (node.value, node.generation) = (value, now + 1);
        }
        Ok(())
    }
}
