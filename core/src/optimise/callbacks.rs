//! The host's side of `rules/1`.

use onnxport_abi::graph::{AttributeView, GraphContext, NOTHING, NewNode};
use onnxport_abi::lowering::DimRecord;
use onnxport_abi::lowering::TypeRecord;
use onnxport_abi::rules::{Bindings, RulesHost};
use onnxport_abi::{RSlice, RSliceMut, RStr};
use onnxport_abi::{Table, status};

use super::edit::{Insertion, Journal};
use super::matcher::Match;
use super::view::NoView;
use crate::graph_access::{self, Epoch, Frame, with_frame};
use crate::incoming;
use crate::ir::{NodeId, ValueId};
use crate::rules::pattern::Requested;

static HOST: RulesHost = RulesHost { bindings, attribute, emit, constant, view, set_type, finish, refuse };

/// The envelope of the functions of `rules/1`.
pub(crate) fn rules_table() -> Table {
    Table::of(&HOST)
}

/// An application of a rule at a match, on its way through the plugin.
pub(super) struct Attempt<'r> {
    pub(super) matched: Match,
    wanted: &'r Requested,
    /// The position of the patch, and the patch; `None` during a check.
    pub(super) patch: Option<(Insertion, Journal)>,
    /// The replacement of each output of the root.
    pub(super) answer: Option<Vec<Option<ValueId>>>,
    /// Why the plugin refused.
    pub(super) refusal: Option<Refusal>,
    ids: [Vec<u64>; 3],
    dims: Vec<DimRecord>,
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

    /// Returns the reason, for a patch that would derive from a weight supplied by name.
    pub(super) fn of_kept(self) -> Self {
        Self {
            message: "it would change a weight that is given by its name, or is still to be given".to_owned(),
            help: "optimise the model once it has its weights".to_owned(),
            ..self
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

impl<'r> Attempt<'r> {
    pub(super) fn new(matched: Match, wanted: &'r Requested, patch: Option<(Insertion, Journal)>) -> Self {
        let ids = [Vec::new(), Vec::new(), Vec::new()];
        Self { matched, wanted, patch, answer: None, refusal: None, ids, dims: Vec::new() }
    }

    /// Collects the ids of the nodes and values that the plugin asks for by name.
    fn tell(&mut self, epoch: Epoch) {
        let Self { matched, wanted, .. } = self;
        let node = |id: Option<NodeId>| id.map_or(NOTHING, |id| epoch.node(id));
        let value = |id: Option<ValueId>| id.map_or(NOTHING, |id| epoch.value(id));
        let nodes = wanted.nodes.iter().map(|term| node(matched.nodes.get(*term).copied().flatten()));
        let values = wanted.values.iter().map(|at| value(matched.values.get(*at).copied().flatten()));
        let roots = matched.roots.iter().map(|root| epoch.node(*root));
        let dims = wanted.dims.iter().map(|at| matched.dims.get(*at).copied().flatten());
        let dims = dims.map(graph_access::dim_record).collect();
        (self.ids, self.dims) = ([nodes.collect(), values.collect(), roots.collect()], dims);
    }
}

/// Lends data of the frame, until the plugin's next call.
fn lend<'a, T>(items: &[T]) -> RSlice<'a, T> {
    // SAFETY: the frame changes it only in a later call of the plugin; the contract ends the borrow there.
    RSlice::from_slice(unsafe { std::slice::from_raw_parts(items.as_ptr(), items.len()) })
}

type Call<'m> = Frame<'m, Attempt<'m>>;

fn with<'m>(cx: GraphContext, body: impl FnOnce(&mut Call<'m>) -> Option<()>) -> u32 {
    // SAFETY: the engine calls the plugin with contexts of such frames only, and does not use a frame
    // before the plugin returns.
    unsafe { with_frame(cx, body) }
}

extern "C" fn bindings<'a>(cx: GraphContext, out: &mut Bindings<'a>) -> u32 {
    with(cx, |frame| {
        frame.state.tell(frame.access.epoch);
        let [nodes, values, roots] = &frame.state.ids;
        let dims = lend(&frame.state.dims);
        *out = Bindings { roots: lend(roots), nodes: lend(nodes), values: lend(values), dims };
        Some(())
    })
}

extern "C" fn attribute<'a>(cx: GraphContext, index: u32, out: &mut AttributeView<'a>) -> u32 {
    with(cx, |frame| {
        let variable = *frame.state.wanted.captures.get(index as usize)?;
        let found = frame.state.matched.captures.get(variable)?.as_ref();
        *out = graph_access::attribute_view("", found, &mut frame.access)?;
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
