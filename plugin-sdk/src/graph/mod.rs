//! Reading an ONNX graph, in rules, passes and backends.
//!
//! A [`GraphView`] and the [`NodeRef`]s, [`ValueRef`]s and [`BlockRef`]s that it gives out are handles:
//! small, copied freely, good for the call that they were given to. Asking something that is no longer
//! there (a node that a pass removed) answers as for something empty, and is remembered: what the plugin
//! returns from the call is then refused.

mod attribute;
mod block;
mod node;
mod value;
mod weight;

use crate::lent::Lent;
use std::cell::{Cell, RefCell};

use onnxport_abi::{RSlice, RStr};

pub use attribute::Attribute;
pub use block::BlockRef;
pub use node::NodeRef;
pub use value::{Initializer, ValueRef};
pub use weight::Weight;

use crate::abi::graph::{AttributeView, GraphContext, GraphHost, NOTHING, attribute_kind};
use crate::abi::lowering::DataView;
use crate::abi::{Table, status};
use crate::edit::Slots;
use crate::{Dim, Range, Refusal};

/// The graph of one call, in the hands of the glue.
pub struct GraphSession {
    host: GraphHost,
    cx: GraphContext,
    /// The editor of the graph, if it may be edited.
    slots: Cell<Option<Slots>>,
    failure: RefCell<Option<Refusal>>,
}

impl GraphSession {
    /// The graph behind `cx`; `None` when the host's table does not fit.
    #[doc(hidden)]
    pub fn new(host: &Table, cx: GraphContext) -> Option<Self> {
        // SAFETY: the host passes the envelope of its table of this interface.
        let host = unsafe { host.read::<GraphHost>() }.ok()??;
        Some(Self { host, cx, slots: Cell::new(None), failure: RefCell::new(None) })
    }

    /// The graph.
    pub fn graph(&self) -> GraphView<'_> {
        GraphView { session: self }
    }

    /// The first thing that went wrong, if anything did.
    #[doc(hidden)]
    pub fn take_failure(&self) -> Option<Refusal> {
        self.failure.borrow_mut().take()
    }
}

/// A graph that the host lends for the time of a call.
#[derive(Clone, Copy)]
pub struct GraphView<'h> {
    session: &'h GraphSession,
}

impl<'h> GraphView<'h> {
    /// The version of ONNX's own operator set.
    pub fn opset(self) -> i64 {
        self.opset_of("")
    }

    /// The version of a domain's operator set; 0 when the model does not import it.
    pub fn opset_of(self, domain: &str) -> i64 {
        (self.host().opset)(self.cx(), RStr::from_str(domain))
    }

    /// The main block: the ONNX graph itself.
    pub fn main(self) -> BlockRef<'h> {
        let mut id = 0;
        let answer = (self.host().main)(self.cx(), &mut id);
        self.expect(answer, "the main block");
        BlockRef { graph: self, id }
    }

    /// Every node, those of nested blocks before the node that holds them.
    pub fn nodes(self) -> Vec<NodeRef<'h>> {
        let mut found = Vec::new();
        self.main().collect(&mut found);
        found
    }

    /// The inputs of the model.
    pub fn inputs(self) -> Vec<ValueRef<'h>> {
        self.main().inputs()
    }

    /// The outputs of the model, each with the name that it has for callers.
    pub fn outputs(self) -> Vec<(String, ValueRef<'h>)> {
        let outputs = self.main().outputs();
        let name = |index: usize| {
            let mut text = RStr::from_str("");
            let answer = (self.host().output_name)(self.cx(), index as u32, &mut text);
            self.expect(answer, "an output");
            text.lent().to_owned()
        };
        outputs.into_iter().enumerate().map(|(index, value)| (name(index), value)).collect()
    }

    /// The bounds of a size.
    pub fn dim_range(self, dim: Dim) -> Range {
        let record = (self.host().dim_range)(self.cx(), dim.record());
        Range { min: record.min, max: record.max }
    }

    /// A size as text, `s0` or `2*batch + 1`; `?` for an unknown one.
    pub fn dim_text(self, dim: Dim) -> String {
        let mut text = RStr::from_str("");
        let answer = (self.host().dim_text)(self.cx(), dim.record(), &mut text);
        self.expect(answer, "a size");
        text.lent().to_owned()
    }

    /// The value of an id that was given out in this call.
    #[doc(hidden)]
    pub fn value(self, id: u64) -> ValueRef<'h> {
        ValueRef { graph: self, id }
    }

    /// The node of an id that was given out in this call.
    #[doc(hidden)]
    pub fn node(self, id: u64) -> NodeRef<'h> {
        NodeRef { graph: self, id }
    }

    /// The editor of the graph; a condition of a rule has none.
    pub(crate) fn slots(self) -> Option<Slots> {
        self.session.slots.get()
    }

    pub(crate) fn add_with(self, slots: Slots) {
        self.session.slots.set(Some(slots));
    }

    fn host(self) -> &'h GraphHost {
        &self.session.host
    }

    /// The attribute that `ask` has the host fill in.
    pub(crate) fn attribute_by(
        self,
        ask: impl FnOnce(GraphContext, &mut AttributeView<'h>) -> u32,
    ) -> Attribute {
        let mut view = AttributeView {
            name: RStr::from_str(""),
            kind: attribute_kind::NONE,
            block: NOTHING,
            ints: RSlice::EMPTY,
            floats: RSlice::EMPTY,
            text: RStr::from_str(""),
            texts: RSlice::EMPTY,
            tensor: DataView { dtype: 0, dims: RSlice::EMPTY, bytes: RSlice::EMPTY },
        };
        let answer = ask(self.cx(), &mut view);
        self.expect(answer, "a node");
        Attribute::read(&view)
    }

    pub(crate) fn cx(self) -> GraphContext {
        self.session.cx
    }

    /// The first thing that went wrong, if anything did: it is not one any more.
    #[doc(hidden)]
    pub fn take_failure(self) -> Option<Refusal> {
        self.session.take_failure()
    }

    /// Records that the host did not know `what`; returns whether it did.
    fn expect(self, answer: u32, what: &str) -> bool {
        if answer != status::OK {
            self.fail(format!("the plugin asked about {what} that does not exist"));
        }
        answer == status::OK
    }

    pub(crate) fn fail(self, message: String) {
        self.session.failure.borrow_mut().get_or_insert_with(|| Refusal::new(message));
    }
}
