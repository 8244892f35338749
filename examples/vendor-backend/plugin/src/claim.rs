//! Which nodes the accelerator takes.

use std::collections::HashMap;

use onnxport_sdk::backend::Claim;
use onnxport_sdk::op::Named;
use onnxport_sdk::{NodeRef, Res};

use crate::PRODUCTS;
use crate::compile::instruction;

/// Takes the nodes that can be compiled and that hang together with a product.
pub(crate) fn claim(claim: &mut Claim<'_>) -> Res<()> {
    let mut possible: Vec<NodeRef<'_>> = Vec::new();
    for node in claim.offered() {
        match instruction(node) {
            Ok(_) => possible.push(node),
            Err(refusal) => claim.refuse(node, &refusal.message),
        }
    }
    let place: HashMap<u64, usize> = possible.iter().enumerate().map(|(at, node)| (node.id(), at)).collect();
    let mut neighbours: Vec<Vec<usize>> = vec![Vec::new(); possible.len()];
    for (at, node) in possible.iter().enumerate() {
        for value in node.inputs().into_iter().flatten() {
            let from = value.producer().and_then(|(from, _)| place.get(&from.id()));
            if let Some(from) = from {
                neighbours[*from].push(at);
                neighbours[at].push(*from);
            }
        }
    }
    let product = |at: &usize| PRODUCTS.iter().any(|op| possible[*at].is(Named::new(op)));
    let mut pending: Vec<usize> = (0..possible.len()).filter(product).collect();
    let mut reached = vec![false; possible.len()];
    while let Some(at) = pending.pop() {
        if !std::mem::replace(&mut reached[at], true) {
            pending.extend(&neighbours[at]);
        }
    }
    for (node, reached) in possible.into_iter().zip(reached) {
        if reached {
            claim.take(node)?;
        } else {
            claim.refuse(node, "it hangs together with no product of matrices");
        }
    }
    Ok(())
}
