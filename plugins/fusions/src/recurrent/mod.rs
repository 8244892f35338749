//! LSTM and GRU layers that were written out, step by step or as the body of a `Scan`.
//!
//! A step takes 14 to 16 nodes, and ONNX Runtime half the time of them in its own operator from three steps on; a single
//! step is slower there, and stays (`kernels.tsv`).

#![allow(clippy::mutable_key_type, reason = "references are hashed by their ids")]

mod cells;
mod chains;
mod layers;
mod places;
mod scans;

use std::collections::HashSet;

use onnxport_sdk::prelude::*;

/// Replaces consecutive steps of an LSTM or GRU by one operator for the sequence.
#[pass(class = bounded(relative = 1e-5, ulps = 16, finite), opset = 14..)]
fn recurrent_steps(cx: &Edit<'_>) -> Res<()> {
    // The output of one layer is the input of the next one.
    let mut replaced = HashSet::new();
    while chains::replace(cx, &mut replaced)? {}
    Ok(())
}

/// Replaces a `Scan` whose body is a step of an LSTM or GRU by one operator for the sequence.
#[pass(class = bounded(relative = 1e-5, ulps = 16, finite), opset = 14..)]
fn recurrent_scans(cx: &Edit<'_>) -> Res<()> {
    scans::replace(cx)
}
