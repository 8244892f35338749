//! Which weights become codes with scales, and by which scheme.

use rustc_hash::FxHashMap;

use super::kept::KeptWeights;
use super::readers::Readers;
use super::select::{Choice, weights};
use super::{Block, Changed, Form, Scheme, dequantize, nbits};
use crate::diagnose::{Code, Diagnostic};
use crate::host::Host;
use crate::ir::{Graph, Model, ValueId};
use crate::tensor::transform::{Bits, Blocks, Part, Quantise, SharedQuantiser};
use crate::tensor::{DType, LazyTensor, Transform};
use crate::weights::{Found, quantiser};

/// A weight to be quantised.
pub(super) struct Target {
    pub(super) value: ValueId,
    pub(super) name: String,
    pub(super) data: LazyTensor,
    /// The axis of the blocks: the summed axis.
    pub(super) axis: usize,
    pub(super) readers: Readers,
    /// Whether all readers are products and lookups that use this axis.
    pub(super) is_known: bool,
}

/// The scheme for one weight.
pub(super) struct Plan<'a> {
    pub(super) scheme: &'a Scheme,
    /// Weights of a block.
    pub(super) size: u64,
    quantiser: Option<SharedQuantiser>,
}

impl Plan<'_> {
    pub(super) fn part(&self, blocks: Blocks, part: Part) -> Transform {
        let Scheme { bits, symmetric, .. } = *self.scheme;
        Transform::Quantise(Quantise { bits, symmetric, blocks, part, quantiser: self.quantiser.clone() })
    }
}

/// The plugin's quantiser for each weight: shared by all weights that are the same tensor, which are then
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

/// Quantises the weights of `choice`; returns notes about those that stay, including `kept`, and about products that
/// round.
pub(super) fn apply(
    host: &Host,
    model: &mut Model,
    scheme: &Scheme,
    choice: &Choice<'_>,
    mut kept: KeptWeights,
    changed: &mut Changed,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Diagnostic> {
    let found = scheme.quantiser.as_ref().map(|wanted| quantiser(host, wanted)).transpose();
    let found = match possible(scheme, model.opset()).and(found) {
        Ok(found) => found,
        Err(problem) => {
            problems.push(problem);
            return kept.into_notes();
        }
    };
    let mut choosers = Choosers::default();
    let mut products = 0;
    for target in targets(&model.graph, model.opset(), choice, &mut kept) {
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
            Form::Dequantize => dequantize::apply(model, &target, &plan),
            Form::MatMulNBits => nbits::apply(model, &target, &plan),
        };
        let after = match after {
            Ok(after) => after,
            Err(why) => {
                kept.add(&target.name, why);
                continue;
            }
        };
        products += target.readers.products.len();
        changed.quantised += 1;
        changed.bytes_before += before;
        changed.bytes_after += after;
    }
    let mut notes = kept.into_notes();
    notes.extend(nbits::rounds(scheme, products));
    notes
}

/// Checks that the opset and the form support the scheme.
fn possible(scheme: &Scheme, opset: i64) -> Result<(), Diagnostic> {
    let refuse =
        |message: String, help: &str| Err(Diagnostic::error(Code::WEIGHT_SCHEME, message).help(help));
    match (scheme.form, scheme.block) {
        (Form::Dequantize, _) if scheme.accuracy_level > 0 => refuse(
            "`DequantizeLinear` has no accuracy level".to_owned(),
            "use --quantize-form matmulnbits, or the session option `session.qdq_matmulnbits_accuracy_level`",
        ),
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

/// Returns the weights of `choice`. Quantised weights stay: their integers are not floats.
fn targets(graph: &Graph, opset: i64, choice: &Choice<'_>, kept: &mut KeptWeights) -> Vec<Target> {
    let mut found = Vec::new();
    for (value, name) in weights(graph) {
        let Some(data) = graph.initializer(value) else { continue };
        if !choice.has(value, name) {
            continue;
        }
        let chosen = choice.is_named();
        let takes = matches!(data.dtype, DType::F32 | DType::F16 | DType::BF16);
        let [rows, columns] = data.shape[..] else {
            if chosen {
                kept.add(name, "it is not a matrix");
            }
            continue;
        };
        if !takes || rows == 0 || columns == 0 {
            if chosen {
                kept.add(name, "it has no weights of f32, f16 or bf16");
            }
            continue;
        }
        if graph.is_returned(value) {
            kept.add(name, "the model returns it");
            continue;
        }
        let readers = Readers::for_value(graph, opset, value);
        let axis = readers.axis();
        let is_known = !readers.others && axis.is_some();
        if !chosen && (readers.products.is_empty() || !is_known) {
            if !readers.products.is_empty() {
                kept.add(name, "not only products and lookups of rows read it, or they do in both ways");
            }
            continue;
        }
        let first = readers.products.first().map_or(1, |product| product.axis);
        let (name, data) = (name.to_owned(), data.clone());
        found.push(Target { value, name, data, axis: axis.unwrap_or(first), readers, is_known });
    }
    found
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
