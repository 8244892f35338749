//! Replaces products by `MatMulNBits`, and lookups by `GatherBlockQuantized`: operators of ONNX Runtime.
//! Both read the same codes, which are stored once.

use super::edit::{self, Front};
use super::quantise::{Plan, Target};
use super::{Form, Scheme};
use crate::diagnose::{Code, Diagnostic, Severity};
use crate::ir::{Graph, Model, NodeId, OpsetImport, ValueId};
use crate::op::{self, microsoft};
use crate::tensor::transform::{Blocks, Part};
use crate::tensor::{DType, LazyTensor};

/// Returns the note that `products` of them round their other operand to 8-bit codes in blocks.
pub(super) fn rounds(scheme: &Scheme, products: usize) -> Option<Diagnostic> {
    (scheme.form == Form::MatMulNBits && scheme.accuracy_level == 4 && products > 0).then_some(())?;
    let message = format!(
        "{products} products round their other operand to 8 bits: errors of up to 1/254 of the largest number of its block"
    );
    let note = Diagnostic { severity: Severity::Note, ..Diagnostic::error(Code::WEIGHT_OPERAND, message) };
    Some(note.help("`--accuracy-level 1` keeps it unchanged; verification measures both errors together"))
}

/// Replaces every reader of the weight. Returns the number of stored bytes, or the reason why the weight stays.
pub(super) fn apply(model: &mut Model, target: &Target, plan: &Plan<'_>) -> Result<u64, &'static str> {
    let Plan { scheme, size, .. } = *plan;
    let Target { name, data, axis, readers, is_known, .. } = target;
    if !is_known || (readers.products.is_empty() && readers.lookups.is_empty()) {
        return Err("something else than products and lookups of rows reads it");
    }
    if data.dtype == DType::BF16 {
        return Err("`MatMulNBits` is not taken for bf16");
    }
    if readers.products.iter().any(|product| scales(&model.graph, model.opset(), product.node)) {
        return Err("a `Gemm` transposes or scales its operands");
    }
    // The sum runs over the last axis of `[N, K]`.
    let rows = if *axis == 1 { Some(data.clone()) } else { data.permute(&[1, 0]) };
    let rows = rows.ok_or("its bytes cannot be read the other way round")?;
    let [n, k] = rows.shape[..] else { return Err("it is not a matrix") };
    if !readers.lookups.is_empty() && !k.is_multiple_of(size) {
        return Err("its rows are gathered, but do not consist of whole blocks");
    }
    let part = |part| {
        let blocks = Blocks { axis: 1, size };
        rows.then(plan.part(blocks, part)).ok_or("it cannot be cut into blocks")
    };
    let (codes, scales) = (part(Part::MatMulCodes)?, part(Part::Scales)?);
    let zeros = if scheme.symmetric { None } else { Some(part(Part::MatMulZeroPoints)?) };
    let flat = codes.reshape(&[n, codes.elements().ok_or("it is too large")? / n.max(1)]);
    let flat = flat.ok_or("its rows do not fill whole bytes")?;
    let bytes = [Some(&codes), Some(&scales), zeros.as_ref()].into_iter().flatten();
    let bytes = bytes.filter_map(LazyTensor::byte_len).sum();
    let graph = &mut model.graph;
    let (main, looked_up) = if readers.products.is_empty() { (flat, None) } else { (codes, Some(flat)) };
    let main = edit::supplant(graph, target.value, main);
    let mut weight = vec![main, graph.add_initializer(Some(format!("{name}_scale").into()), scales)];
    if let Some(zeros) = zeros {
        weight.push(graph.add_initializer(Some(format!("{name}_zero_point").into()), zeros));
    }
    let bits = i64::from(scheme.bits.count());
    let level = i64::from(scheme.accuracy_level);
    let mut attributes = vec![("K", k as i64), ("N", n as i64), ("bits", bits), ("block_size", size as i64)];
    attributes.extend((level > 0).then_some(("accuracy_level", level)));
    for product in &readers.products {
        multiply(model, product.node, &weight, &attributes);
    }
    if !readers.lookups.is_empty() {
        if let (Some(flat), Some(codes)) = (looked_up, weight.first_mut()) {
            *codes = model.graph.add_initializer(Some(format!("{name}_rows").into()), flat);
        }
        let attributes =
            [("bits", bits), ("block_size", size as i64), ("gather_axis", 0), ("quantize_axis", 1)];
        for node in &readers.lookups {
            look_up(model, *node, &weight, &attributes);
        }
    }
    if !model.opsets.iter().any(|import| import.domain == microsoft::DOMAIN) {
        model.opsets.push(OpsetImport { domain: microsoft::DOMAIN.to_owned(), version: 1 });
        model.opsets.sort();
    }
    Ok(bytes)
}

/// Whether a product does more than multiply and add.
fn scales(graph: &Graph, opset: i64, node: NodeId) -> bool {
    let node = &graph.nodes[node];
    let stated = node.at(opset);
    let is_one = |name: &str| stated.float(name) == Some(1.0);
    node.is(op::Gemm) && (stated.flag("transA") != Some(false) || !is_one("alpha") || !is_one("beta"))
}

/// Replaces a product by `MatMulNBits`, and an `Add` for the third operand of a `Gemm`.
fn multiply(model: &mut Model, old: NodeId, weight: &[ValueId], attributes: &[(&str, i64)]) {
    let node = &model.graph.nodes[old];
    let (left, bias) = (node.inputs.first().copied().flatten(), node.inputs.get(2).copied().flatten());
    let Some((left, ty)) = left.zip(edit::output_type(&model.graph, old)) else { return };
    let inputs: Vec<ValueId> = std::iter::once(left).chain(weight.iter().copied()).collect();
    let mut front = Front { model, next: old };
    let Some(mut result) = front.foreign(microsoft::DOMAIN, microsoft::MatMulNBits, &inputs, attributes, ty)
    else {
        return;
    };
    if let Some(bias) = bias {
        let Some(sum) = front.emit(op::Add, &[result, bias], &[]) else { return };
        result = sum;
    }
    edit::replace(&mut model.graph, old, result);
}

/// Replaces a `Gather` by `GatherBlockQuantized`.
fn look_up(model: &mut Model, old: NodeId, weight: &[ValueId], attributes: &[(&str, i64)]) {
    let indices = model.graph.nodes[old].inputs.get(1).copied().flatten();
    let Some((indices, ty)) = indices.zip(edit::output_type(&model.graph, old)) else { return };
    let mut inputs = weight.to_vec();
    inputs.insert(1, indices);
    let mut front = Front { model, next: old };
    let made = front.foreign(microsoft::DOMAIN, microsoft::GatherBlockQuantized, &inputs, attributes, ty);
    if let Some(made) = made {
        edit::replace(&mut model.graph, old, made);
    }
}
