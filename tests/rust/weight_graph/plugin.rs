//! Passes that make weights of others.

use onnxport_sdk::prelude::*;
use onnxport_sdk::{DType, NodeRef, Weight};

/// The readers of `value` that are `op`, when it has no others.
fn readers<'h>(value: ValueRef<'h>, op: impl Operator<'static>) -> Vec<NodeRef<'h>> {
    let uses = value.uses();
    let all = uses.iter().all(|(node, _)| node.is(op));
    if all && !value.is_returned() { uses.into_iter().map(|(node, _)| node).collect() } else { Vec::new() }
}

/// The input at `index`, when it is an initializer.
fn weight<'h>(node: NodeRef<'h>, index: usize) -> Res<Weight<'h>> {
    let value = node.input(index).filter(|value| value.is_initializer());
    Ok(value.ok_or("an input is not an initializer")?.weight())
}

/// A convolution with the batch norm that follows it: the weights are scaled, computed in f64 and rounded
/// once.
#[pass]
fn conv_batch_norm(cx: &Edit<'_>) -> Res<()> {
    let convolutions: Vec<_> = cx.graph().nodes().into_iter().filter(|node| node.is(op::Conv)).collect();
    for conv in convolutions {
        let Some(made) = conv.output(0) else { continue };
        let [norm] = readers(made, op::BatchNormalization)[..] else { continue };
        let own = conv.input(1).and_then(ValueRef::initializer).ok_or("no weight")?;
        let wide = |node, index| Ok::<_, Refusal>(weight(node, index)?.cast(DType::F64));
        let (gamma, beta, mean, variance) = (wide(norm, 1)?, wide(norm, 2)?, wide(norm, 3)?, wide(norm, 4)?);
        let epsilon = f64::from(norm.float("epsilon").ok_or("no epsilon")?);
        let scale = gamma / (variance + epsilon).sqrt();
        let channels: Vec<u64> =
            own.shape.iter().enumerate().map(|(axis, extent)| if axis == 0 { *extent } else { 1 }).collect();
        let folded = (wide(conv, 1)? * scale.reshape(&channels)).cast(own.dtype).value()?;
        let shift = match conv.input(2) {
            Some(_) => wide(conv, 2)? - mean,
            None => -mean,
        };
        let bias = (shift * scale + beta).cast(own.dtype).value()?;
        cx.before(norm);
        let mut fused = cx.op(op::Conv).input(conv.input(0).ok_or("no input")?).input(folded).input(bias);
        for name in conv.attributes() {
            let value = conv.attribute(&name);
            fused = fused.set(name.leak(), value);
        }
        cx.replace_uses(norm.output(0).ok_or("no output")?, fused.one())?;
        cx.remove(norm)?;
        cx.remove(conv)?;
    }
    Ok(())
}

/// Three products with one input become one product with the packed weights, and a split.
#[pass]
fn packed_qkv(cx: &Edit<'_>) -> Res<()> {
    for x in cx.graph().inputs() {
        let [q, k, v] = readers(x, op::Gemm)[..] else { continue };
        let packed = Weight::concat(&[weight(q, 1)?, weight(k, 1)?, weight(v, 1)?], 0).value()?;
        let bias = Weight::concat(&[weight(q, 2)?, weight(k, 2)?, weight(v, 2)?], 0).value()?;
        cx.before(q);
        let all = cx.op(op::Gemm).input(x).input(packed).input(bias).trans_b(1).one();
        let rows =
            |node: NodeRef<'_>| node.input(2).and_then(ValueRef::initializer).map(|own| own.shape[0] as i64);
        let sizes: Vec<i64> = [q, k, v].into_iter().filter_map(rows).collect();
        let parts = cx.op(op::Split).input(all).input(cx.ints(&sizes)).axis(1).many(3);
        for (node, part) in [q, k, v].into_iter().zip(parts) {
            cx.replace_uses(node.output(0).ok_or("no output")?, part)?;
            cx.remove(node)?;
        }
    }
    Ok(())
}

/// Each product adds the sums of the rows of its weight.
#[pass]
fn sums_of_rows(cx: &Edit<'_>) -> Res<()> {
    let products: Vec<_> = cx.graph().nodes().into_iter().filter(|node| node.is(op::Gemm)).collect();
    for product in products {
        let sums = weight(product, 1)?.cast(DType::F64).sum(&[1]).cast(DType::F32).value()?;
        cx.before(product);
        let made = cx.op(op::Gemm).input(product.input(0).ok_or("no input")?).maybe(product.input(1));
        cx.replace_uses(product.output(0).ok_or("no output")?, made.input(sums).trans_b(1).one())?;
        cx.remove(product)?;
    }
    Ok(())
}

onnxport_sdk::export_plugin! { id: "fold", passes: true }
