//! Weights as codes with scales: `DequantizeLinear` and `MatMulNBits`.

use rustc_hash::FxHashMap;

use super::products::{Product, products};
use super::select::weights;
use super::{Block, Changed, Form, PrecisionOptions, Scheme, edit};
use crate::diagnose::{Code, Diagnostic, Severity};
use crate::host::Host;
use crate::ir::{Attr, Attribute, Graph, Model, NodeId, OpsetImport, ValueId};
use crate::tensor::transform::{Bits, Blocks, Part, Quantise, SharedQuantiser};
use crate::tensor::{DType, LazyTensor, Transform};
use crate::weights::{Found, quantiser};

/// The domain of ONNX Runtime's own operators.
const MICROSOFT: &str = "com.microsoft";

/// A weight that is to be quantised.
struct Target {
    value: ValueId,
    name: String,
    data: LazyTensor,
    /// The axis that products sum over; the last one where there are none.
    axis: usize,
    products: Vec<Product>,
    /// Whether nothing but products reads it.
    only_products: bool,
}

/// The scheme for one weight.
struct Plan<'a> {
    scheme: &'a Scheme,
    /// Weights of a block.
    size: u64,
    quantiser: Option<SharedQuantiser>,
}

impl Plan<'_> {
    fn part(&self, blocks: Blocks, part: Part) -> Transform {
        let Scheme { bits, symmetric, .. } = *self.scheme;
        Transform::Quantise(Quantise { bits, symmetric, blocks, part, quantiser: self.quantiser.clone() })
    }
}

/// The plugin's quantiser for each weight: one for all weights that are the same tensor, which are then
/// stored once.
#[derive(Default)]
struct Choosers {
    given: FxHashMap<u64, Vec<(LazyTensor, usize, SharedQuantiser)>>,
}

impl Choosers {
    fn of(&mut self, found: &Found, target: &Target) -> SharedQuantiser {
        let Target { name, data, axis, .. } = target;
        let twins = self.given.entry(data.fingerprint()).or_default();
        let same = |(other, along, _): &&(LazyTensor, usize, SharedQuantiser)| {
            along == axis && other.same_bytes(data)
        };
        if let Some((.., quantiser)) = twins.iter().find(same) {
            return quantiser.clone();
        }
        let extents = [1 - axis, *axis].map(|axis| data.shape.get(axis).copied().unwrap_or(1));
        let quantiser = found.of(name, extents);
        twins.push((data.clone(), *axis, quantiser.clone()));
        quantiser
    }
}

pub(super) fn apply(
    host: &Host,
    model: &mut Model,
    options: &PrecisionOptions,
    scheme: &Scheme,
    changed: &mut Changed,
    notes: &mut Vec<Diagnostic>,
    problems: &mut Vec<Diagnostic>,
) {
    let found = scheme.quantiser.as_ref().map(|wanted| quantiser(host, wanted)).transpose();
    let found = match possible(scheme, model.opset()).and(found) {
        Ok(found) => found,
        Err(problem) => {
            problems.push(problem);
            return;
        }
    };
    let mut choosers = Choosers::default();
    for target in targets(&model.graph, options, notes) {
        let size = match scheme.block {
            Block::Size(size) => size,
            Block::Channel => target.data.shape.get(target.axis).copied().unwrap_or(1),
        };
        let quantiser = found.as_ref().map(|found| choosers.of(found, &target));
        let plan = Plan { scheme, size, quantiser };
        if let Err(problem) = readable(&target) {
            problems.push(problem);
            continue;
        }
        let before = target.data.byte_len().unwrap_or(0);
        let after = match scheme.form {
            Form::Dequantize => dequantize(model, &target, &plan),
            Form::MatMulNBits => match matmul_nbits(model, &target, &plan) {
                Ok(bytes) => bytes,
                Err(why) => {
                    notes.push(kept(&target.name, why));
                    continue;
                }
            },
        };
        let Some(after) = after else { continue };
        changed.quantised += 1;
        changed.bytes_before += before;
        changed.bytes_after += after;
    }
}

/// Whether the opset and the form have what the scheme asks for.
fn possible(scheme: &Scheme, opset: i64) -> Result<(), Diagnostic> {
    let refuse =
        |message: String, help: &str| Err(Diagnostic::error(Code::WEIGHT_SCHEME, message).help(help));
    match (scheme.form, scheme.block) {
        (Form::Dequantize, Block::Size(_)) if opset < 21 => refuse(
            format!("`DequantizeLinear` has no blocks in opset {opset}"),
            "use --opset 21, --quantize-form matmulnbits, or int8:block=channel",
        ),
        (Form::Dequantize, _) if opset < 21 && scheme.bits == Bits::Four => refuse(
            format!("`DequantizeLinear` takes no 4-bit integers in opset {opset}"),
            "use --opset 21, --quantize-form matmulnbits, or int8:block=channel",
        ),
        (Form::MatMulNBits, Block::Channel) => refuse(
            "`MatMulNBits` has blocks of a fixed size".to_owned(),
            "use a block of 16, 32, 64, 128 or 256",
        ),
        (Form::MatMulNBits, Block::Size(size)) if !(16..=256).contains(&size) || !size.is_power_of_two() => {
            refuse(format!("`MatMulNBits` has no blocks of {size}"), "use a block of 16, 32, 64, 128 or 256")
        }
        _ => Ok(()),
    }
}

/// The weights that `options` choose. Integers are no floats: what is quantised already stays.
fn targets(graph: &Graph, options: &PrecisionOptions, notes: &mut Vec<Diagnostic>) -> Vec<Target> {
    let mut found = Vec::new();
    for (value, name) in weights(graph) {
        let Some(data) = graph.initializer(value) else { continue };
        let chosen = options.quantise_only.matches(name);
        if options.quantise_skip.matches(name) || !(chosen || options.quantise_only.is_empty()) {
            continue;
        }
        let takes = matches!(data.dtype, DType::F32 | DType::F16 | DType::BF16);
        let [rows, columns] = data.shape[..] else {
            if chosen {
                notes.push(kept(name, "it is not a matrix"));
            }
            continue;
        };
        if !takes || rows == 0 || columns == 0 {
            if chosen {
                notes.push(kept(name, "it has no weights of f32, f16 or bf16"));
            }
            continue;
        }
        if graph.is_returned(value) {
            notes.push(kept(name, "the model returns it"));
            continue;
        }
        let (products, only_products) = products(graph, value);
        let axes: Vec<usize> = products.iter().map(|product| product.axis).collect();
        let axis = axes.first().copied().unwrap_or(1);
        let agreed = axes.iter().all(|other| *other == axis);
        if !chosen && (products.is_empty() || !only_products || !agreed) {
            if !products.is_empty() {
                notes.push(kept(
                    name,
                    "other operators read it as well as products, or products in both ways",
                ));
            }
            continue;
        }
        let (name, data) = (name.to_owned(), data.clone());
        found.push(Target { value, name, data, axis, products, only_products: only_products && agreed });
    }
    found
}

fn kept(name: &str, why: &str) -> Diagnostic {
    let message = format!("`{name}` is not quantised: {why}");
    Diagnostic { severity: Severity::Note, ..Diagnostic::error(Code::WEIGHT_KEPT, message) }
}

/// Whether every value of the weight is a finite number, before anything is written.
fn readable(target: &Target) -> Result<(), Diagnostic> {
    let name = &target.name;
    let found = super::probe::probe(&target.data, DType::F32).map_err(|error| {
        let error = error.of(name);
        Diagnostic::error(error.code(), error.to_string())
    })?;
    if found.not_finite == 0 {
        return Ok(());
    }
    let message =
        format!("`{name}` has {} values that are infinite or NaN and cannot be quantised", found.not_finite);
    Err(Diagnostic::error(Code::WEIGHT_VALUE, message).help("leave it out with --quantize-skip"))
}

/// Puts `DequantizeLinear` in front of everything that reads the weight. Returns the bytes that are
/// stored.
fn dequantize(model: &mut Model, target: &Target, plan: &Plan<'_>) -> Option<u64> {
    let Plan { scheme, size, .. } = *plan;
    let Target { value, name, data, axis, .. } = target;
    let extent = data.shape.get(*axis).copied()?;
    let blocks = Blocks { axis: *axis, size: size.min(extent) };
    let part = |part| {
        let made = data.then(plan.part(blocks, part))?;
        // One scale per output is a vector.
        let flat = matches!((scheme.block, part), (Block::Channel, Part::Scales | Part::ZeroPoints));
        if flat { made.reshape(&[made.elements()?]) } else { Some(made) }
    };
    let (codes, scales) = (part(Part::Codes)?, part(Part::Scales)?);
    let zeros = if scheme.symmetric { None } else { Some(part(Part::ZeroPoints)?) };
    let bytes = [Some(&codes), Some(&scales), zeros.as_ref()].into_iter().flatten();
    let bytes = bytes.filter_map(LazyTensor::byte_len).sum();
    let graph = &mut model.graph;
    let ty = graph.values[*value].ty.clone();
    let codes = edit::supplant(graph, *value, codes);
    let mut inputs = vec![codes, graph.add_initializer(Some(format!("{name}_scale").into()), scales)];
    if let Some(zeros) = zeros {
        inputs.push(graph.add_initializer(Some(format!("{name}_zero_point").into()), zeros));
    }
    let attributes = match scheme.block {
        Block::Size(_) => vec![("axis", *axis as i64), ("block_size", blocks.size as i64)],
        Block::Channel => vec![("axis", 1 - *axis as i64)],
    };
    let restored = edit::prepend(graph, "DequantizeLinear", &inputs, &attributes, ty)?;
    graph.replace_uses(*value, restored);
    Some(bytes)
}

/// Replaces the products that read the weight. Returns the bytes that are stored, or why it stays.
fn matmul_nbits(model: &mut Model, target: &Target, plan: &Plan<'_>) -> Result<Option<u64>, &'static str> {
    let Plan { scheme, size, .. } = *plan;
    let Target { name, data, axis, products, only_products, .. } = target;
    if products.is_empty() || !only_products {
        return Err("something else than a product reads it");
    }
    if data.dtype == DType::BF16 {
        return Err("`MatMulNBits` is not taken for bf16");
    }
    for Product { node, .. } in products {
        let node = &model.graph.nodes[*node];
        let float = |name: &str| match node.attr(name) {
            Some(Attr::Float(x)) => *x,
            _ => 1.0,
        };
        if node.is("Gemm")
            && (node.int("transA").unwrap_or(0) != 0 || float("alpha") != 1.0 || float("beta") != 1.0)
        {
            return Err("a `Gemm` transposes or scales its operands");
        }
    }
    // The sum runs over the last axis of `[N, K]`.
    let rows = if *axis == 1 { Some(data.clone()) } else { data.permute(&[1, 0]) };
    let rows = rows.ok_or("its bytes cannot be read the other way round")?;
    let [n, k] = rows.shape[..] else { return Err("it is not a matrix") };
    let part = |part| {
        let blocks = Blocks { axis: 1, size };
        rows.then(plan.part(blocks, part)).ok_or("it cannot be cut into blocks")
    };
    let (codes, scales) = (part(Part::MatMulCodes)?, part(Part::Scales)?);
    let zeros = if scheme.symmetric { None } else { Some(part(Part::MatMulZeroPoints)?) };
    let bytes = [Some(&codes), Some(&scales), zeros.as_ref()].into_iter().flatten();
    let bytes = bytes.filter_map(LazyTensor::byte_len).sum();
    let graph = &mut model.graph;
    let codes = edit::supplant(graph, target.value, codes);
    let mut weight = vec![codes, graph.add_initializer(Some(format!("{name}_scale").into()), scales)];
    if let Some(zeros) = zeros {
        weight.push(graph.add_initializer(Some(format!("{name}_zero_point").into()), zeros));
    }
    let attributes = [
        ("K", k as i64),
        ("N", n as i64),
        ("bits", i64::from(scheme.bits.count())),
        ("block_size", size as i64),
    ];
    for Product { node, .. } in products {
        replace(graph, *node, &weight, &attributes);
    }
    if !model.opsets.iter().any(|import| import.domain == MICROSOFT) {
        model.opsets.push(OpsetImport { domain: MICROSOFT.to_owned(), version: 1 });
        model.opsets.sort();
    }
    Ok(Some(bytes))
}

/// Puts `MatMulNBits`, and an `Add` for the third operand of a `Gemm`, in the place of a product.
fn replace(graph: &mut Graph, old: NodeId, weight: &[ValueId], attributes: &[(&str, i64)]) {
    let node = graph.nodes[old].clone();
    let (Some(block), Some(Some(output))) = (node.block, node.outputs.first().copied()) else { return };
    let ty = graph.values[output].ty.clone();
    let attributes =
        attributes.iter().map(|(name, n)| Attribute { name: (*name).into(), value: Attr::Int(*n) });
    let left = node.inputs.first().copied().flatten();
    let inputs = std::iter::once(left).chain(weight.iter().copied().map(Some));
    let product = graph.append(block, MICROSOFT, "MatMulNBits", inputs, attributes.collect(), 1, node.origin);
    graph.move_before(product, old);
    let Some(mut result) = graph.nodes[product].outputs.first().copied().flatten() else { return };
    graph.values[result].ty = ty.clone();
    if let Some(bias) = node.inputs.get(2).copied().flatten() {
        let sum = graph.append(block, "", "Add", [Some(result), Some(bias)], Vec::new(), 1, node.origin);
        graph.move_before(sum, old);
        let Some(value) = graph.nodes[sum].outputs.first().copied().flatten() else { return };
        graph.values[value].ty = ty;
        result = value;
    }
    graph.values[result].name = graph.values[output].name.take();
    graph.replace_uses(output, result);
    graph.remove(old);
}
