//! The glue between the tables of `backend/1` and an author's backends.

use crate::lent::Lent;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, OnceLock, PoisonError};

use onnxport_abi::{RSlice, RStr};

use super::{Backend, Claim, Cost, Region};
use crate::abi::backend::{BackendEntry, BackendHost, BackendTable, CostRecord};
use crate::abi::graph::GraphContext;
use crate::abi::{Table, status};
use crate::{GraphSession, GraphView, Res, panic};

/// The `backend/1` table of a plugin, and the implementation of its entries.
pub type BackendList = OnceLock<(BackendTable, Vec<Box<dyn Backend>>)>;

type Entry = extern "C" fn(u32, &Table, &Table, GraphContext) -> u32;

/// The table of these backends, built once.
pub fn backend_table(
    list: &'static BackendList,
    backends: impl FnOnce() -> Vec<Box<dyn Backend>>,
    [claim, compile]: [Entry; 2],
    environment: extern "C" fn(u32, &mut RStr<'static>) -> u32,
    cost: extern "C" fn(u32, &Table, &Table, GraphContext, &mut CostRecord) -> u32,
) -> &'static BackendTable {
    let (table, _) = list.get_or_init(|| {
        let backends = backends();
        let entries: Vec<BackendEntry> = backends.iter().map(|b| b.profile().leak()).collect();
        let entries = RSlice::from_slice(Vec::leak(entries));
        let (environment, cost) = (Some(environment), Some(cost));
        (BackendTable { entries, claim, compile, environment, cost }, backends)
    });
    table
}

/// Lets the backend at `index` claim.
pub fn claim_entry(list: &BackendList, index: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32 {
    run(list, index, host, graph, cx, |backend, _, host, graph| backend.claim(&mut Claim { host, cx, graph }))
}

/// Lets the backend at `index` compile.
pub fn compile_entry(list: &BackendList, index: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32 {
    run(list, index, host, graph, cx, |backend, entry, host, graph| {
        // Entries are made of texts that live as long as the process.
        backend.compile(&mut Region::new(host, cx, graph, entry.domain.lent())?)
    })
}

/// Estimates the cost of a region of the backend at `index`.
pub fn cost_entry(
    list: &BackendList,
    index: u32,
    host: &Table,
    graph: &Table,
    cx: GraphContext,
    out: &mut CostRecord,
) -> u32 {
    run(list, index, host, graph, cx, |backend, entry, host, graph| {
        let region = Region::new(host, cx, graph, entry.domain.lent())?;
        let Cost { device, runtime, entry, byte } = backend.cost(&region).ok_or("it states no cost")?;
        *out = CostRecord { device, runtime, entry, byte };
        Ok(())
    })
}

/// Texts that live as long as the process, each once.
static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// States the environment of the backend at `index`.
pub fn environment_entry(list: &BackendList, index: u32, out: &mut RStr<'static>) -> u32 {
    let Some(backend) = list.get().and_then(|(_, backends)| backends.get(index as usize)) else {
        return status::INVALID;
    };
    match catch_unwind(AssertUnwindSafe(|| backend.environment())) {
        Ok(Some(text)) => {
            let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
            let text = match texts.get(text.as_str()) {
                Some(known) => *known,
                None => {
                    let text: &'static str = text.leak();
                    texts.insert(text);
                    text
                }
            };
            *out = RStr::from_str(text);
            status::OK
        }
        Ok(None) => status::REFUSED,
        Err(_) => status::PANICKED,
    }
}

fn run(
    list: &BackendList,
    index: u32,
    host: &Table,
    graph: &Table,
    cx: GraphContext,
    body: impl FnOnce(&dyn Backend, &BackendEntry, &BackendHost, GraphView<'_>) -> Res<()>,
) -> u32 {
    let found = list.get().and_then(|(table, backends)| {
        Some((table.entries.lent().get(index as usize)?, backends.get(index as usize)?))
    });
    // SAFETY: the host passes the envelope of its table of this interface.
    let host = unsafe { host.read::<BackendHost>() };
    let session = GraphSession::new(graph, cx);
    let (Some((entry, backend)), Ok(Some(host)), Some(session)) = (found, host, session) else {
        return status::INVALID;
    };
    let refuse = |code: &str, message: &str, help: &str| {
        let [code, message, help] = [code, message, help].map(RStr::from_str);
        (host.refuse)(cx, code, message, help);
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        body(backend.as_ref(), entry, &host, session.graph())?;
        session.take_failure().map_or(Ok(()), Err)
    }));
    match outcome {
        Ok(Ok(())) => status::OK,
        Ok(Err(refusal)) => {
            refuse(&refusal.code, &refusal.message, &refusal.help);
            status::REFUSED
        }
        Err(payload) => {
            refuse("", &panic::message(payload.as_ref()), "");
            status::PANICKED
        }
    }
}
