//! The host's side of `pass/1`.

use onnxport_abi::graph::{AttributeView, GraphContext, NOTHING, NewNode, attribute_kind};
use onnxport_abi::lowering::TypeRecord;
use onnxport_abi::pass::{PassHost, place};
use onnxport_abi::{RSlice, RSliceMut, RStr};
use onnxport_abi::{Table, status};

use crate::graph_access::{Frame, with_frame};
use crate::incoming;
use crate::ir::{Attr, Def};
use crate::optimise::callbacks::Refusal;
use crate::optimise::edit::{Insertion, Journal, attribute};
use crate::optimise::view::NoView;
use crate::optimise::{explain, patch};
use crate::valid::{StatedTypes, contradiction};

static HOST: PassHost = PassHost {
    place: set_place,
    emit,
    constant,
    view,
    set_type,
    replace_uses,
    set_input,
    set_attribute,
    remove,
    note,
    refuse,
};

/// The envelope of the functions.
pub(crate) fn host_table() -> Table {
    Table::of(&HOST)
}

/// A pass on its way through the plugin.
pub(super) struct Run {
    pub(super) journal: Journal,
    /// The program's statements about values; they move with them.
    pub(super) stated: StatedTypes,
    /// The number of its edits.
    pub(super) edits: usize,
    /// Its notes about nodes.
    pub(super) notes: Vec<(String, String)>,
    pub(super) refusal: Option<Refusal>,
    place: Option<Insertion>,
}

impl Run {
    pub(super) fn new(journal: Journal, stated: StatedTypes) -> Self {
        Self { journal, stated, edits: 0, notes: Vec::new(), refusal: None, place: None }
    }
}

type Call<'m> = Frame<'m, Run>;

fn with<'m>(cx: GraphContext, body: impl FnOnce(&mut Call<'m>) -> Option<()>) -> u32 {
    // SAFETY: the engine calls passes with contexts of such frames only, and does not use a frame before
    // the plugin returns.
    unsafe { with_frame(cx, body) }
}

/// The same for edits that can be refused: the body returns whether the edit was made.
fn edit<'m>(cx: GraphContext, body: impl FnOnce(&mut Call<'m>) -> Option<bool>) -> u32 {
    let mut refused = false;
    let answer = with(cx, |frame| {
        refused = !body(frame)?;
        frame.state.edits += usize::from(!refused);
        Some(())
    });
    if answer == status::OK && refused { status::REFUSED } else { answer }
}

extern "C" fn set_place(cx: GraphContext, node: u64, side: u32) -> u32 {
    with(cx, |frame| {
        let node = frame.access.node(node)?;
        let graph = &frame.access.model().graph;
        let before = match side {
            place::BEFORE => Some(node),
            place::AFTER => graph.next(node),
            _ => return None,
        };
        let (block, origin) = (graph.nodes[node].block?, graph.nodes[node].origin);
        frame.state.place = Some(Insertion { block, before, origin });
        Some(())
    })
}

extern "C" fn emit(cx: GraphContext, node: &NewNode<'_>, outputs: RSliceMut<'_, u64>) -> u32 {
    edit(cx, |frame| {
        let place = frame.state.place?;
        let outputs = outputs.list().ok()?;
        let made = frame.state.journal.emit(&mut frame.access, place, node, outputs.len())?;
        for (place, value) in outputs.iter_mut().zip(made) {
            *place = frame.access.epoch.value(value);
        }
        Some(true)
    })
}

extern "C" fn constant(
    cx: GraphContext,
    dtype: i32,
    dims: RSlice<'_, u64>,
    bytes: RSlice<'_, u8>,
    out: &mut u64,
) -> u32 {
    edit(cx, |frame| {
        let value =
            Journal::constant(&mut frame.access, dtype, &incoming::extents(dims)?, bytes.get().ok()?)?;
        *out = frame.access.epoch.value(value);
        Some(true)
    })
}

extern "C" fn view(
    cx: GraphContext,
    initializer: u64,
    axes: RSlice<'_, u32>,
    dims: RSlice<'_, u64>,
    out: &mut u64,
) -> u32 {
    edit(cx, |frame| {
        match Journal::view(&mut frame.access, initializer, axes.get().ok()?, dims.get().ok()?) {
            Ok(value) => *out = frame.access.epoch.value(value),
            Err(NoView::NeedsCopy) => return Some(false),
            Err(NoView::Invalid) => return None,
        }
        Some(true)
    })
}

extern "C" fn set_type(cx: GraphContext, value: u64, ty: &TypeRecord<'_>) -> u32 {
    edit(cx, |frame| frame.state.journal.set_type(&mut frame.access, value, ty).map(|()| true))
}

extern "C" fn replace_uses(cx: GraphContext, old: u64, new: u64) -> u32 {
    edit(cx, |frame| {
        let (old, new) = (frame.access.value(old)?, frame.access.value(new)?);
        let Frame { access, state } = frame;
        let fresh = state.journal.made(new);
        let model = access.model_mut()?;
        let (was, is) = (model.graph.values[old].ty.clone(), model.graph.values[new].ty.clone());
        if contradiction(&mut model.symbols, &was, &is).is_some() {
            return Some(false);
        }
        let kept = match model.graph.values[new].def {
            Def::Node(maker, _) => {
                let uses = model.graph.values[old].uses().iter();
                uses.filter(|u| u.node == maker).copied().collect()
            }
            _ => Vec::new(),
        };
        // A value that no node computes, such as an input, keeps its name, so that callers find it.
        let named = fresh && matches!(model.graph.values[old].def, Def::Node(..));
        patch::replace(model, &mut state.stated, old, new, named);
        for place in kept {
            model.graph.set_input(place.node, place.index as usize, Some(old));
        }
        Some(true)
    })
}

extern "C" fn set_input(cx: GraphContext, node: u64, index: u32, value: u64) -> u32 {
    edit(cx, |frame| {
        let node = frame.access.node(node)?;
        let value = if value == NOTHING { None } else { Some(frame.access.value(value)?) };
        let graph = &mut frame.access.model_mut()?.graph;
        graph.nodes[node].inputs.get(index as usize)?;
        graph.set_input(node, index as usize, value);
        Some(true)
    })
}

extern "C" fn set_attribute(cx: GraphContext, node: u64, record: &AttributeView<'_>) -> u32 {
    edit(cx, |frame| {
        let node = frame.access.node(node)?;
        let name = record.name.get().ok()?;
        let made = if record.kind == attribute_kind::NONE { None } else { Some(attribute(record)?) };
        let attributes = &mut frame.access.model_mut()?.graph.nodes[node].attributes;
        if attributes.iter().any(|a| a.name == name && matches!(a.value, Attr::Block(_))) {
            return None;
        }
        attributes.retain(|a| a.name != name);
        attributes.extend(made);
        attributes.sort_by(|a, b| a.name.cmp(&b.name));
        Some(true)
    })
}

extern "C" fn remove(cx: GraphContext, node: u64) -> u32 {
    edit(cx, |frame| {
        let node = frame.access.node(node)?;
        let graph = &mut frame.access.model_mut()?.graph;
        let read = graph.nodes[node].outputs.iter().flatten().any(|value| graph.is_read(*value));
        if read {
            return Some(false);
        }
        if let Some(place) = frame.state.place.as_mut().filter(|place| place.before == Some(node)) {
            place.before = graph.next(node);
        }
        graph.remove_with_blocks(node);
        Some(true)
    })
}

extern "C" fn note(cx: GraphContext, node: u64, message: RStr<'_>) -> u32 {
    with(cx, |frame| {
        let node = frame.access.node(node)?;
        let place = explain::place(frame.access.model(), node);
        frame.state.notes.push((place, message.get().ok()?.to_owned()));
        Some(())
    })
}

extern "C" fn refuse(cx: GraphContext, code: RStr<'_>, message: RStr<'_>, help: RStr<'_>) {
    with(cx, |frame| {
        frame.state.refusal = Some(Refusal::new(code, message, help));
        Some(())
    });
}
