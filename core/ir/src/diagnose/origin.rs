//! Where a node comes from: the exported node, its module and the user's source lines.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::arena::{Arena, Id};
use crate::name::Name;

/// A line of a Python stack trace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The file, as Python named it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The function.
    pub function: String,
    /// The source text of the line, when the program recorded it.
    pub code: String,
}

impl Frame {
    /// Whether the file belongs to PyTorch or Python rather than to the user.
    pub fn is_library(&self) -> bool {
        self.file.contains("/site-packages/")
            || self.file.starts_with("torch/")
            || self.file.starts_with('<')
            || self.file.contains("/lib/python3")
    }

    /// Whether the file belongs to an installed library other than PyTorch.
    fn is_installed(&self) -> bool {
        let below = self.file.rsplit_once("/site-packages/").map(|(_, below)| below);
        below.is_some_and(|below| !below.starts_with("torch/"))
    }

    /// `folder/file.py:12`: enough to find the line, without the machine's own folders.
    pub fn place(&self) -> String {
        let mut parts = self.file.rsplit(['/', '\\']);
        match (parts.next(), parts.next()) {
            (Some(file), Some(folder)) if !folder.is_empty() => format!("{folder}/{file}:{}", self.line),
            _ => format!("{}:{}", self.file.trim_start_matches(['/', '\\']), self.line),
        }
    }
}

/// The origin of a call of the exported program and of every node lowered from it: the name of the call, and the
/// [`CallSite`], which many calls share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The name of the exported node, `conv2d_3`.
    pub node: Name,
    place: Arc<CallSite>,
}

/// The parts of an origin that calls of one operator in one line share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CallSite {
    /// The operator, `aten.conv2d.default`.
    pub target: Name,
    /// The path of the module, `layer1.0.conv1`; empty for the root.
    pub module: Name,
    /// The class of the module, `torch.nn.modules.conv.Conv2d`.
    pub class: Name,
    /// The modules that were being called, as the program names them, the root first; of several that became one,
    /// those that they share.
    pub modules: Arc<[ModuleCall]>,
    /// The Python stack, outermost first, as the program has it. The calls of one line share it.
    pub trace: Name,
    /// Its frames.
    pub frames: Arc<[Frame]>,
}

/// A call of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ModuleCall {
    /// The path of the module, `layers.0.fc`, with the number of a further call behind an `@`; empty for the root.
    pub path: Name,
    /// Its class, `torch.nn.modules.linear.Linear`.
    pub class: Name,
    /// How many times the module was called before, if the program records it.
    pub repeat: u32,
}

impl Origin {
    /// An origin at `place`, which others may share.
    pub fn new(node: impl Into<Name>, place: impl Into<Arc<CallSite>>) -> Self {
        Self { node: node.into(), place: place.into() }
    }
}

impl Deref for Origin {
    type Target = CallSite;

    fn deref(&self) -> &CallSite {
        &self.place
    }
}

impl DerefMut for Origin {
    fn deref_mut(&mut self) -> &mut CallSite {
        Arc::make_mut(&mut self.place)
    }
}

impl CallSite {
    /// The deepest frame of the user's own code, else that of an installed library other than PyTorch, else the deepest
    /// frame.
    pub fn user_frame(&self) -> Option<&Frame> {
        let deepest = |of: fn(&Frame) -> bool| self.frames.iter().rev().find(|frame| of(frame));
        deepest(|frame| !frame.is_library())
            .or_else(|| deepest(Frame::is_installed))
            .or_else(|| self.frames.last())
    }

    /// The deepest frame of an installed library other than PyTorch, where the user's code calls it: a module of a library
    /// that the user's own wraps.
    pub fn library_frame(&self) -> Option<&Frame> {
        let user = self.frames.iter().rposition(|frame| !frame.is_library())?;
        let deeper = self.frames.get(user.checked_add(1)?..)?;
        deeper.iter().rev().find(|frame| frame.is_installed())
    }
}

/// The id of an [`Origin`].
pub type OriginId = Id<Origin>;

/// The origins of a program.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    arena: Arena<Origin>,
    /// The calls as PyTorch prints them, of those whose text was asked for.
    calls: FxHashMap<OriginId, Name>,
}

impl Origins {
    /// Adds an origin.
    pub fn push(&mut self, origin: Origin) -> OriginId {
        self.arena.push(origin)
    }

    /// The origin behind an id.
    pub fn get(&self, id: OriginId) -> &Origin {
        &self.arena[id]
    }

    /// Says how PyTorch prints the call behind `id`.
    pub fn print(&mut self, id: OriginId, call: impl Into<Name>) {
        self.calls.insert(id, call.into());
    }

    /// How PyTorch prints the call behind `id`; of several that became one, a line each. `None` where nobody said so.
    pub fn printed(&self, id: OriginId) -> Option<&Name> {
        self.calls.get(&id)
    }

    /// Every origin.
    pub fn iter(&self) -> impl Iterator<Item = &Origin> {
        self.arena.iter().map(|(_, origin)| origin)
    }

    /// The number of origins.
    pub fn len(&self) -> usize {
        self.arena.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.arena.is_empty()
    }
}
