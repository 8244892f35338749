//! Passes: their registration by `#[pass]`, and the graph that a pass edits.

use crate::lent::Lent;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use onnxport_abi::{RSlice, RStr};

use crate::abi::graph::{GraphContext, NOTHING};
use crate::abi::pass::{PassHost, PassRecord, PassTable, place};
use crate::abi::rules::ClassRecord;
use crate::abi::{Table, status};
use crate::edit::{Editor, Slots, delegate_emit, lend_attribute};
use crate::graph::{Attribute, GraphSession, NodeRef, ValueRef};
use crate::register::is_below;
use crate::{Refusal, Res, panic, rules};

/// A registered pass.
pub struct Pass {
    /// The module that registered it.
    pub module: &'static str,
    /// Its description.
    pub record: PassRecord,
    /// How exact it is.
    pub class: ClassRecord,
    /// The function.
    pub run: fn(&Edit<'_>) -> Res<()>,
}

inventory::collect!(Pass);

/// A graph that a pass edits. The edits of a pass are checked when it returns, and rolled back as a whole when the
/// graph is broken or the pass returns an error.
///
/// New nodes go where [`Edit::before`] or [`Edit::after`] said last.
pub struct Edit<'h> {
    editor: Editor<'h>,
    host: PassHost,
    cx: GraphContext,
}

impl<'h> Deref for Edit<'h> {
    type Target = Editor<'h>;

    fn deref(&self) -> &Editor<'h> {
        &self.editor
    }
}

delegate_emit!(Edit);

impl<'h> Edit<'h> {
    /// Adds nodes in front of `node` from now on. They are taken to come from where it comes from.
    pub fn before(&self, node: NodeRef<'h>) {
        self.place(node, place::BEFORE);
    }

    /// Adds nodes behind `node` from now on. They are taken to come from where it comes from.
    pub fn after(&self, node: NodeRef<'h>) {
        self.place(node, place::AFTER);
    }

    /// Makes everything that reads `old`, the outputs of blocks included, read `new`. Only the node that
    /// makes `new` goes on reading `old`.
    ///
    /// # Errors
    /// When both cannot have one type.
    pub fn replace_uses(&self, old: ValueRef<'h>, new: ValueRef<'h>) -> Res<()> {
        let answer = (self.host.replace_uses)(self.cx, old.id(), new.id());
        done(answer, || format!("`{}` cannot be replaced by a value of another type", old.name()))
    }

    /// Makes input `index` of `node` read `value`; `None` leaves an optional one out.
    ///
    /// # Errors
    /// When the node has no such input.
    pub fn set_input(&self, node: NodeRef<'h>, index: usize, value: Option<ValueRef<'h>>) -> Res<()> {
        let value = value.map_or(NOTHING, ValueRef::id);
        let answer = (self.host.set_input)(self.cx, node.id(), index as u32, value);
        done(answer, || format!("input {index} of a node cannot be set"))
    }

    /// Sets an attribute of `node`; [`Attribute::None`] removes it.
    ///
    /// # Errors
    /// When the attribute is a block, or is to become one.
    pub fn set_attribute(&self, node: NodeRef<'h>, name: &str, value: &Attribute) -> Res<()> {
        let answer = lend_attribute(name, value, |view| (self.host.set_attribute)(self.cx, node.id(), view));
        done(answer, || format!("the attribute `{name}` of a node cannot be set"))
    }

    /// Removes `node`.
    ///
    /// # Errors
    /// When one of its outputs is still read.
    pub fn remove(&self, node: NodeRef<'h>) -> Res<()> {
        let answer = (self.host.remove)(self.cx, node.id());
        done(answer, || format!("a `{}` cannot be removed: its result is still read", node.op()))
    }

    /// Explains an edit of the pass at a node, or why there was none; shown by `--explain-rule`.
    pub fn note(&self, node: NodeRef<'h>, message: &str) {
        // A node that is gone is not worth a note.
        let _ = (self.host.note)(self.cx, node.id(), RStr::from_str(message));
    }

    fn place(&self, node: NodeRef<'h>, side: u32) {
        if (self.host.place)(self.cx, node.id(), side) != status::OK {
            self.graph().fail("the pass names a node that does not exist".to_owned());
        }
    }
}

fn done(answer: u32, why: impl FnOnce() -> String) -> Res<()> {
    if answer == status::OK { Ok(()) } else { Err(Refusal::new(why())) }
}

/// The `pass/1` table of a plugin and the passes behind its entries.
#[doc(hidden)]
pub type PassList = OnceLock<(PassTable, Vec<&'static Pass>)>;

/// The `pass/1` table of the plugin of `module`, built once.
#[doc(hidden)]
pub fn pass_table(
    list: &'static PassList,
    module: &'static str,
    run: extern "C" fn(u32, &Table, &Table, GraphContext) -> u32,
    class_of: extern "C" fn(u32, &mut ClassRecord) -> u32,
) -> &'static PassTable {
    let (table, _) = list.get_or_init(|| {
        let registered = inventory::iter::<Pass>.into_iter();
        let mut passes: Vec<&Pass> = registered.filter(|pass| is_below(pass.module, module)).collect();
        // The order of submission depends on the linker; the order of the table must not.
        passes.sort_by_key(|pass| pass.record.name.lent());
        let records: Vec<PassRecord> = passes.iter().map(|pass| pass.record).collect();
        (PassTable { passes: RSlice::from_slice(Vec::leak(records)), run, class_of: Some(class_of) }, passes)
    });
    table
}

/// States how exact the pass at `index` is.
#[doc(hidden)]
pub fn class_of_pass(list: &PassList, index: u32, out: &mut ClassRecord) -> u32 {
    let pass = list.get().and_then(|(_, passes)| passes.get(index as usize).copied());
    rules::state(pass.map(|pass| pass.class), out)
}

/// Runs the pass at `index`.
#[doc(hidden)]
pub fn run_pass(list: &PassList, index: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32 {
    let pass = list.get().and_then(|(_, passes)| passes.get(index as usize).copied());
    // SAFETY: the host passes the envelope of its table of this interface.
    let host = unsafe { host.read::<PassHost>() };
    let (Some(pass), Ok(Some(host)), Some(session)) = (pass, host, GraphSession::new(graph, cx)) else {
        return status::INVALID;
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let slots =
            Slots { emit: host.emit, constant: host.constant, view: host.view, set_type: host.set_type };
        let edit = Edit { editor: Editor::new(session.graph(), slots), host, cx };
        (pass.run)(&edit)?;
        session.take_failure().map_or(Ok(()), Err)
    }));
    let (code, message, help, answer) = match outcome {
        Ok(Ok(())) => return status::OK,
        Ok(Err(refusal)) => (refusal.code, refusal.message, refusal.help, status::REFUSED),
        Err(payload) => ("".into(), panic::message(payload.as_ref()), String::new(), status::PANICKED),
    };
    (host.refuse)(cx, RStr::from_str(&code), RStr::from_str(&message), RStr::from_str(&help));
    answer
}
