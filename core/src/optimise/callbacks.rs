//! The host's side of `rules/1`.

use onnxport_abi::graph::{GraphContext, NOTHING, NewNode};
use onnxport_abi::lowering::TypeRecord;
use onnxport_abi::rules::{MatchView, RulesHost};
use onnxport_abi::{RSlice, RSliceMut, RStr};
use onnxport_abi::{Table, status};

use super::edit::{Journal, Place};
use super::matcher::Match;
use super::view::NoView;
use crate::graph_access::{Frame, with_frame};
use crate::host::incoming;
use crate::ir::ValueId;

static HOST: RulesHost = RulesHost { matched, emit, constant, view, set_type, finish, refuse };

/// The envelope of the functions.
pub(crate) fn host_table() -> Table {
    Table::of(&HOST)
}

/// A rule at a place, on its way through the plugin.
pub(super) struct Attempt {
    pub(super) matched: Match,
    /// Where the patch goes, and the patch; `None` during a check.
    pub(super) patch: Option<(Place, Journal)>,
    /// What stands for each output of the root.
    pub(super) answer: Option<Vec<Option<ValueId>>>,
    /// Why the plugin refused.
    pub(super) refusal: Option<Refusal>,
    ids: [Vec<u64>; 2],
}

/// A plugin's reason.
#[derive(Debug, Default)]
pub(super) struct Refusal {
    pub(super) code: String,
    pub(super) message: String,
    pub(super) help: String,
}

impl Refusal {
    pub(super) fn new(code: RStr<'_>, message: RStr<'_>, help: RStr<'_>) -> Self {
        Self {
            code: code.message().into_owned(),
            message: message.message().into_owned(),
            help: help.message().into_owned(),
        }
    }

    /// The reason and the next step in one text.
    pub(super) fn text(&self) -> String {
        match (self.message.as_str(), self.help.as_str()) {
            ("", _) => "it gives no reason".to_owned(),
            (message, "") => message.to_owned(),
            (message, help) => format!("{message}; {help}"),
        }
    }
}

impl Attempt {
    pub(super) fn new(matched: Match, patch: Option<(Place, Journal)>) -> Self {
        Self { matched, patch, answer: None, refusal: None, ids: [Vec::new(), Vec::new()] }
    }
}

type Call<'m> = Frame<'m, Attempt>;

fn with<'m>(cx: GraphContext, body: impl FnOnce(&mut Call<'m>) -> Option<()>) -> u32 {
    // SAFETY: the engine calls the plugin with contexts of such frames only, and does not use a frame
    // before the plugin returns.
    unsafe { with_frame(cx, body) }
}

extern "C" fn matched<'a>(cx: GraphContext, out: &mut MatchView<'a>) -> u32 {
    with(cx, |frame| {
        let (epoch, state) = (frame.access.epoch, &mut frame.state);
        let matched = &state.matched;
        let nodes = matched.nodes.iter().map(|n| n.map_or(NOTHING, |n| epoch.node(n))).collect();
        let values = matched.values.iter().map(|v| v.map_or(NOTHING, |v| epoch.value(v))).collect();
        state.ids = [nodes, values];
        let [nodes, values] = &state.ids;
        // SAFETY: the ids live in the frame, which changes them only in a later call of the plugin; the
        // contract ends the borrow there.
        let lend = |ids: &Vec<u64>| unsafe { std::slice::from_raw_parts(ids.as_ptr(), ids.len()) };
        *out = MatchView { nodes: RSlice::from_slice(lend(nodes)), values: RSlice::from_slice(lend(values)) };
        Some(())
    })
}

extern "C" fn emit(cx: GraphContext, node: &NewNode<'_>, outputs: RSliceMut<'_, u64>) -> u32 {
    with(cx, |frame| {
        let (place, journal) = frame.state.patch.as_mut()?;
        let outputs = outputs.list().ok()?;
        let made = journal.emit(&mut frame.access, *place, node, outputs.len())?;
        for (place, value) in outputs.iter_mut().zip(made) {
            *place = frame.access.epoch.value(value);
        }
        Some(())
    })
}

extern "C" fn constant(
    cx: GraphContext,
    dtype: i32,
    dims: RSlice<'_, u64>,
    bytes: RSlice<'_, u8>,
    out: &mut u64,
) -> u32 {
    with(cx, |frame| {
        frame.state.patch.as_ref()?;
        let value =
            Journal::constant(&mut frame.access, dtype, &incoming::extents(dims)?, bytes.get().ok()?)?;
        *out = frame.access.epoch.value(value);
        Some(())
    })
}

extern "C" fn view(
    cx: GraphContext,
    initializer: u64,
    axes: RSlice<'_, u32>,
    dims: RSlice<'_, u64>,
    out: &mut u64,
) -> u32 {
    let mut refused = false;
    let answer = with(cx, |frame| {
        frame.state.patch.as_ref()?;
        match Journal::view(&mut frame.access, initializer, axes.get().ok()?, dims.get().ok()?) {
            Ok(value) => *out = frame.access.epoch.value(value),
            Err(NoView::NeedsCopy) => refused = true,
            Err(NoView::Invalid) => return None,
        }
        Some(())
    });
    if answer == status::OK && refused { status::REFUSED } else { answer }
}

extern "C" fn set_type(cx: GraphContext, value: u64, ty: &TypeRecord<'_>) -> u32 {
    with(cx, |frame| {
        let (_, journal) = frame.state.patch.as_ref()?;
        journal.set_type(&mut frame.access, value, ty)
    })
}

extern "C" fn finish(cx: GraphContext, outputs: RSlice<'_, u64>) -> u32 {
    with(cx, |frame| {
        frame.state.patch.as_ref()?;
        let access = &frame.access;
        let value = |id: &u64| if *id == NOTHING { Some(None) } else { access.value(*id).map(Some) };
        frame.state.answer = Some(outputs.list().ok()?.iter().map(value).collect::<Option<_>>()?);
        Some(())
    })
}

extern "C" fn refuse(cx: GraphContext, code: RStr<'_>, message: RStr<'_>, help: RStr<'_>) {
    with(cx, |frame| {
        frame.state.refusal = Some(Refusal::new(code, message, help));
        Some(())
    });
}
