//! The executor on the emulated device, against the evaluator.

mod architectures;
#[expect(dead_code, reason = "the rest serves the evaluator's own tests")]
#[path = "../../../../../tests/rust/conformance/compare.rs"]
mod compare;
#[expect(dead_code, reason = "the rest serves the evaluator's own tests")]
#[path = "../../../../../tests/rust/conformance/data.rs"]
mod data;
mod emulation;
mod exact;
mod in_place;
mod kernels;
mod models;
mod nodes;
mod parity;
mod recurrent;

use std::path::PathBuf;

use onnxport_ir::ir::Model;
use onnxport_ir::ops::{Limits, Value};
use rustc_hash::FxHashSet;

use super::emulated::Emulated;
use super::engine::{Counts, Engine};
use super::frame::run;
use super::rehearsal::rehearse;
use super::value::Held;

/// The root of the repository.
fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// An engine over an emulated device; `None`, and a note, where there is no C compiler. The threads of a block run backwards
/// where their number is negative.
fn engine(threads: i32, memory: u64) -> Option<Engine> {
    let mut device = emulated(threads.unsigned_abs())?;
    device.backwards = threads < 0;
    Some(Engine::new(Box::new(device), Some(memory), Limits::default()).unwrap())
}

/// An emulated device; `None`, and a note, where there is no C compiler.
fn emulated(threads: u32) -> Option<Emulated> {
    Emulated::new(threads).map_err(|why| onnxport_harness::note(&why.message)).ok()
}

/// The outputs of a model, and counts of nodes by device.
fn outputs(
    engine: &mut Engine,
    model: &Model,
    inputs: Vec<Option<Value>>,
) -> Result<(Vec<Value>, Counts), String> {
    engine.begin();
    let rehearsed = rehearse(model, &inputs, &FxHashSet::default(), engine.limits);
    engine.prepare(rehearsed).map_err(|e| e.message)?;
    let inputs = inputs.into_iter().map(|value| value.map(|v| Held::of_host(v, false))).collect();
    let made = run(engine, model, inputs, &FxHashSet::default(), &mut |_, _, _| Ok(()));
    let made = made.map_err(|e| e.message)?;
    let values = made.iter().map(|held| engine.on_host(held)).collect::<Result<_, _>>();
    Ok((values.map_err(|e| e.message)?, engine.counts.clone()))
}
