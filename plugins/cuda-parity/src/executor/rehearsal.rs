//! A run without a device: its allocations, and when they happen.
//!
//! It does what a run does, node by node, but computes nothing on the device, so that it makes the requests of the run,
//! in the same order. It ends where the elements of a value on the device are needed: the rest is not known
//! before, and is allocated when it comes.

use onnxport_ir::ir::{Model, ValueId};
use onnxport_ir::ops::{Error, Limits, Res, Value};
use rustc_hash::FxHashSet;

use super::device::{Address, Device, Launch, Ran};
use super::engine::Engine;
use super::frame::run;
use super::plan::Layout;
use super::value::Held;
use crate::compare;

/// The memory of a run.
#[derive(Debug)]
pub(crate) struct Rehearsed {
    pub(crate) layout: Layout,
    /// Whether that is all of it.
    pub(crate) complete: bool,
}

/// Rehearses a run of the main block of a model that shows the values of `seen`.
pub(crate) fn rehearse(
    model: &Model,
    inputs: &[Option<Value>],
    seen: &FxHashSet<ValueId>,
    limits: Limits,
) -> Rehearsed {
    let mut engine = Engine::rehearsing(limits);
    let inputs = inputs.iter().map(|value| value.clone().map(|value| Held::of_host(value, false))).collect();
    let mut see = |engine: &mut Engine, _, held: &Held| engine.on_device(held).map(drop);
    let outcome = run(&mut engine, model, inputs, seen, &mut see).and_then(|outputs| {
        outputs.iter().try_for_each(|held| engine.on_device(held).map(drop))?;
        Ok(outputs)
    });
    let complete = outcome.is_ok();
    drop(outcome);
    Rehearsed { layout: Layout::for_claims(engine.claims()), complete }
}

/// The device of a rehearsal: it has all the memory there is, and does nothing.
pub(crate) struct Nowhere;

impl Device for Nowhere {
    fn describe(&self) -> String {
        "a rehearsal".to_owned()
    }

    fn free(&self) -> Res<u64> {
        Ok(u64::MAX)
    }

    fn lost(&self) -> Option<String> {
        None
    }

    fn allocate(&mut self, _: u64) -> Res<Address> {
        Ok(0)
    }

    fn release(&mut self, _: Address) {}

    fn write(&mut self, _: Address, _: &[u8]) -> Res<()> {
        Ok(())
    }

    fn read(&mut self, _: Address, _: &mut [u8]) -> Res<()> {
        Err(unknown())
    }

    fn launch(&mut self, _: &Launch<'_>) -> Res<Ran> {
        Ok(Ran::Kernel)
    }

    fn comparison(&mut self, _: &compare::Format) -> Res<Box<dyn compare::Engine>> {
        Err(unknown())
    }
}

fn unknown() -> Error {
    Error::unsupported("the results of the device are unknown in a rehearsal")
}
