//! An optimizer for hardware that multiplies matrices and has no convolutions: a rule and a pass.

mod conv;

use onnxport_sdk::prelude::*;

rules! {
    /// A relu in front of a pool that shrinks its input works on fewer elements behind it. The largest
    /// element of a window is the same before and after a monotonic function.
    relu_behind_pool (class = exact): pool @ MaxPool(Relu(x), ..) if shrinks(pool, x) => Relu(MaxPool(x, ..pool));
}

/// Whether the pool has fewer elements than its operand, and nothing asks for their positions.
fn shrinks(pool: NodeRef<'_>, x: ValueRef<'_>) -> Res<()> {
    if pool.outputs().len() > 1 {
        return Err("the positions of the largest elements are asked for, too".into());
    }
    let spatial = |value: ValueRef<'_>| -> Option<i64> {
        let extents: Option<Vec<i64>> = value.shape()?.iter().skip(2).map(|dim| dim.as_const()).collect();
        Some(extents?.iter().product())
    };
    let pooled = pool.output(0).and_then(spatial);
    match (pooled, spatial(x)) {
        (Some(pooled), Some(whole)) if pooled < whole => Ok(()),
        (Some(pooled), Some(whole)) => Err(format!("the pool makes {pooled} elements of {whole}").into()),
        _ => Err("the extents are not known".into()),
    }
}

onnxport_sdk::export_plugin! { id: "optimizer", rules: true, passes: true }
