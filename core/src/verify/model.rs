//! Calls for a model of which no program is known: inputs of the types that it declares, with values by rules.

use std::path::Path;

use onnxport_proto::{GraphProto, NodeProto};
use rustc_hash::FxHashMap;

use super::draw::Drawing;
use super::expected::Against;
use super::made::ones;
use super::samples::Sample;
use super::{Extent, Port, Signature};
use crate::diagnose::{Code, Diagnostic};
use crate::meta::Implied;
use crate::onnx::OnnxFile;
use crate::op;
use crate::ops::{Traits, traits_of};
use crate::sizes::{Constraints, Sizes};
use crate::sym::{Dim, SymId, Symbols};
use crate::tensor::data::count;

/// The size of a dynamic dimension where nothing says another one.
const SIZE: i64 = 4;
/// How many times the bytes of the inputs all values take, by a guess: only the inputs' types are known.
const SHARE: u64 = 16;

impl Against {
    /// Calls whose inputs have values by rules, at a small size of every dynamic dimension and at the ends of what they
    /// allow.
    ///
    /// # Errors
    /// `OP710` for an input whose type is not declared, or that is not a tensor, and for a rule that fits none.
    pub fn of_model(path: &Path, drawing: &Drawing) -> Result<Self, Diagnostic> {
        let file = OnnxFile::open(path)?;
        let signature = Signature::of(&file)?;
        let mut symbols = Symbols::default();
        let tables = file.graph().map(tables).unwrap_or_default();
        let required = signature.user_inputs().filter(|port| !port.optional);
        let samples = required
            .map(|port| {
                let sample = sample(&mut symbols, port).ok_or_else(|| {
                    let message =
                        format!("the input `{}`: {} cannot be generated", port.name, port.type_text());
                    Diagnostic::error(Code::RUN_INPUT, message).help("give values for it: --inputs FILE")
                })?;
                let within = tables.get(port.name.as_str()).copied().map(Dim::Const);
                Ok(Sample { within: within.into_iter().collect(), ..sample })
            })
            .collect::<Result<Vec<Sample>, Diagnostic>>()?;
        let constraints = Constraints::new(Implied::nothing(&symbols), &[], samples.iter().map(Sample::port));
        let cost = |sizes: &Sizes| {
            let size = |id: SymId| sizes.iter().find(|(symbol, _)| *symbol == id).map(|(_, size)| *size);
            samples.iter().try_fold(0u64, |sum, sample| {
                let shape = sample.dims.iter().map(|dim| u64::try_from(symbols.eval(*dim, &size)?).ok());
                let bytes = sample.tensor.dtype.byte_len(count(&shape.collect::<Option<Vec<u64>>>()?)?)?;
                sum.checked_add(bytes.checked_mul(SHARE)?)
            })
        };
        let drawing = Drawing { seed: drawing.seed.or(Some(0)), ..drawing.clone() };
        let cases = drawing.cases(&symbols, &samples, &constraints, &cost)?;
        Ok(Self { cases, made: true, ..Self::default() })
    }
}

fn sample(symbols: &mut Symbols, port: &Port) -> Option<Sample> {
    let dims = port.dims.as_ref()?.iter().enumerate().map(|(axis, extent)| match extent {
        Extent::Known(size) => Some(Dim::Const(*size)),
        Extent::Named(text) => symbols.parse(text).ok(),
        Extent::Unknown => Some(symbols.symbol(&format!("{}:{axis}", port.name))),
    });
    let dims: Vec<Dim> = dims.collect::<Option<_>>()?;
    let unsized_ones: Vec<SymId> =
        symbols.iter().filter(|(_, symbol)| symbol.hint.is_none()).map(|(id, _)| id).collect();
    for id in unsized_ones {
        symbols.get_mut(id).hint = Some(SIZE);
    }
    let hint = |id: SymId| symbols.get(id).hint;
    let shape: Option<Vec<u64>> =
        dims.iter().map(|dim| u64::try_from(symbols.eval(*dim, &hint)?).ok()).collect();
    let tensor = ones(port.dtype?, shape?)?;
    Some(Sample { name: port.name.clone(), dims, number: None, tensor, within: Vec::new(), made: true })
}

/// The sizes that the elements of inputs stay below, by the names of the inputs: those of weights from which a
/// `Gather` takes what they point to.
fn tables(graph: &GraphProto) -> FxHashMap<&str, i64> {
    let weights: FxHashMap<&str, &[i64]> =
        graph.initializer.iter().map(|tensor| (tensor.name(), tensor.dims.as_slice())).collect();
    let mut holds: FxHashMap<&str, &str> = graph
        .input
        .iter()
        .filter_map(|input| Some((input.name.as_deref()?, input.name.as_deref()?)))
        .collect();
    let mut found: FxHashMap<&str, i64> = FxHashMap::default();
    for node in graph.node.iter().filter(|node| node.domain().is_empty()) {
        // Its results have the elements of its first operand.
        if node.op_type() == op::Cast || traits_of("", node.op_type()).has(Traits::MOVES) {
            let from = node.input.first().and_then(|first| holds.get(first.as_str()).copied());
            if let Some((input, output)) = from.zip(node.output.first()) {
                holds.insert(output, input);
            }
        }
        if let Some((index, extent)) = gathered(node, &weights)
            && let Some(input) = holds.get(index)
        {
            let least = found.entry(input).or_insert(extent);
            *least = extent.min(*least);
        }
    }
    found
}

/// The indices of a `Gather` from a weight, and the size that they stay below.
fn gathered<'n>(node: &'n NodeProto, weights: &FxHashMap<&str, &[i64]>) -> Option<(&'n str, i64)> {
    if ![op::Gather, op::GatherElements].contains(&node.op_type()) {
        return None;
    }
    let dims = weights.get(node.input.first()?.as_str())?;
    let axis = node
        .attribute
        .iter()
        .find(|attribute| attribute.name() == "axis")
        .map_or(0, onnxport_proto::AttributeProto::i);
    let axis = if axis < 0 { axis.checked_add(i64::try_from(dims.len()).ok()?)? } else { axis };
    Some((node.input.get(1)?.as_str(), *dims.get(usize::try_from(axis).ok()?)?))
}
