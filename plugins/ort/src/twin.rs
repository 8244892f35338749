//! A model in float32 in place of one in float16 or bfloat16, for processors that ONNX Runtime has no kernels for.
//!
//! Types, constants and type attributes are float32 in it; its results are the same, but rounded less often. Weights
//! are read and converted while the twin is written, piece by piece. Its inputs and outputs keep their types for the
//! host: [`Narrow`] says which of them are to be converted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use half::{bf16, f16};
use onnxport_ir::diagnose::Diagnostic;
use onnxport_ir::ir::import::import;
use onnxport_ir::ir::{
    Attr, Attribute, Constant, DenseTensor, Graph, Literal, Model, Node, SparseTensor, Type,
};
use onnxport_ir::tensor::{LazyTensor, Transform};
use onnxport_ir::write::{WriteOptions, write};
use onnxport_sdk::abi::DType;
use onnxport_sdk::executor::Failure;
use tempfile::TempDir;

/// Attributes that name the type in which an operator computes or gives a result.
const TYPES: [&str; 7] =
    ["dtype", "output_datatype", "output_dtype", "precision", "softmax_precision", "stash_type", "to"];

/// The twin of a model.
pub(crate) struct Twin {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// The value that it replaces.
    pub(crate) narrow: Narrow,
    /// It is deleted with this.
    _folder: TempDir,
}

/// The types that the host knows values by, where ONNX Runtime computes them in float32.
#[derive(Debug, Default)]
pub(crate) struct Narrow {
    values: BTreeMap<String, DType>,
}

impl Narrow {
    /// The type that the value called `name` has for the host, if it is float32 for ONNX Runtime.
    pub(crate) fn of(&self, name: &str) -> Option<DType> {
        self.values.get(name).copied()
    }

    /// The short types that stand in the model, in words.
    pub(crate) fn describe(&self) -> String {
        let mut names: Vec<&str> = self.values.values().map(|dtype| word(*dtype)).collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() { "short floats".to_owned() } else { names.join(" and ") }
    }
}

fn word(dtype: DType) -> &'static str {
    if dtype == DType::BF16 { "bfloat16" } else { "float16" }
}

/// Writes the twin of the model at `path`; `None` where nothing in it is float16 or bfloat16, or its bits are looked at.
///
/// # Errors
/// Where the model cannot be read, or the twin cannot be written.
pub(crate) fn make(path: &Path) -> Result<Option<Twin>, Failure> {
    let failed = |problem: &Diagnostic| {
        Failure::new(format!("the model cannot be written in float32: {}", problem.message))
            .help("without it, give upcast=false")
    };
    let mut model = import(path).map_err(|problem| failed(&problem))?;
    let narrow = named(&model);
    let mut wide = Widening { changed: false, possible: true };
    wide.model(&mut model);
    if !wide.changed || !wide.possible {
        return Ok(None);
    }
    let folder = tempfile::Builder::new().prefix("onnxport-ort-").tempdir();
    let folder = folder
        .map_err(|error| Failure::new(format!("cannot create a folder for the model in float32: {error}")))?;
    let twin = folder.path().join("model.onnx");
    let source = WriteOptions { sources: vec![path.to_owned()], ..WriteOptions::default() };
    write(&model, &twin, &source).map_err(|report| match report.diagnostics.first() {
        Some(problem) => failed(problem),
        None => Failure::new("the model cannot be written in float32"),
    })?;
    Ok(Some(Twin { path: twin, narrow, _folder: folder }))
}

/// The short type of each value of the main graph that has a name.
fn named(model: &Model) -> Narrow {
    let graph = &model.graph;
    let short = |ty: &Type| ty.dtype().filter(|dtype| is_short(*dtype));
    let values = graph
        .values
        .iter()
        .filter_map(|(_, value)| Some((value.name.as_ref()?.to_string(), short(&value.ty)?)));
    let returned = graph.blocks[graph.main()].outputs().iter().zip(&model.output_names);
    let outputs = returned.filter_map(|(value, name)| Some((name.clone(), short(&graph.values[*value].ty)?)));
    Narrow { values: values.chain(outputs).collect() }
}

fn is_short(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16)
}

/// The result of converting a model.
struct Widening {
    changed: bool,
    /// Not where a short type means more than the precision of a number.
    possible: bool,
}

impl Widening {
    fn model(&mut self, model: &mut Model) {
        for function in &mut model.functions {
            self.graph(&mut function.graph);
            self.attributes(&mut function.defaults);
        }
        self.graph(&mut model.graph);
        for initial in model.states.iter_mut().filter_map(|state| state.initial.as_mut()) {
            self.tensor(initial);
        }
    }

    fn graph(&mut self, graph: &mut Graph) {
        for id in graph.values.ids().collect::<Vec<_>>() {
            self.ty(&mut graph.values[id].ty);
        }
        for initializer in &mut graph.initializers {
            self.tensor(&mut initializer.data);
        }
        for literal in &mut graph.literals {
            self.literal(&mut literal.data);
        }
        for default in &mut graph.defaults {
            match &mut default.data {
                Constant::Dense(data) => self.tensor(data),
                Constant::Literal(literal) => self.literal(literal),
            }
        }
        for id in graph.nodes.ids().collect::<Vec<_>>() {
            self.node(&mut graph.nodes[id]);
        }
    }

    fn node(&mut self, node: &mut Node) {
        // The operator computes with the bits of a number.
        self.possible &= !node.is("BitCast");
        self.attributes(&mut node.attributes);
    }

    fn attributes(&mut self, attributes: &mut [Attribute]) {
        for attribute in attributes {
            let named = TYPES.contains(&attribute.name.as_str());
            match &mut attribute.value {
                Attr::Int(code) if named => {
                    let dtype = i32::try_from(*code).ok().and_then(DType::from_onnx);
                    if dtype.is_some_and(is_short) {
                        *code = i64::from(DType::F32.onnx());
                        self.changed = true;
                    }
                }
                Attr::Tensor(data) => self.tensor(data),
                Attr::Tensors(all) => {
                    for tensor in all {
                        if let DenseTensor::Numbers(data) = tensor {
                            self.tensor(data);
                        }
                    }
                }
                Attr::Sparse(sparse) => self.sparse(sparse),
                Attr::Sparses(all) => all.iter_mut().for_each(|sparse| self.sparse(sparse)),
                Attr::Type(ty) => self.ty(ty),
                Attr::Types(all) => all.iter_mut().for_each(|ty| self.ty(ty)),
                _ => {}
            }
        }
    }

    fn ty(&mut self, ty: &mut Type) {
        match ty {
            Type::Tensor { dtype: Some(dtype), .. } | Type::SparseTensor { dtype: Some(dtype), .. }
                if is_short(*dtype) =>
            {
                *dtype = DType::F32;
                self.changed = true;
            }
            Type::Sequence(inner) | Type::Optional(inner) | Type::Map(_, inner) => self.ty(inner),
            _ => {}
        }
    }

    fn tensor(&mut self, data: &mut LazyTensor) {
        if !is_short(data.dtype) {
            return;
        }
        match data.then(Transform::Cast(DType::F32)) {
            Some(wide) => {
                *data = wide;
                self.changed = true;
            }
            None => self.possible = false,
        }
    }

    fn literal(&mut self, literal: &mut Literal) {
        if let Literal::Sparse(sparse) = literal {
            self.sparse(sparse);
        }
    }

    fn sparse(&mut self, sparse: &mut SparseTensor) {
        self.tensor(&mut sparse.values);
    }
}

/// The numbers of a short type, as float32.
pub(crate) fn widened(dtype: DType, bytes: &[u8]) -> Vec<u8> {
    let (pairs, _) = bytes.as_chunks::<2>();
    let wide = |pair: &[u8; 2]| match dtype {
        DType::BF16 => bf16::from_le_bytes(*pair).to_f32(),
        _ => f16::from_le_bytes(*pair).to_f32(),
    };
    pairs.iter().flat_map(|pair| wide(pair).to_le_bytes()).collect()
}

/// Numbers in float32, rounded to a short type.
pub(crate) fn narrowed(dtype: DType, bytes: &[u8]) -> Vec<u8> {
    let (words, _) = bytes.as_chunks::<4>();
    let narrow = |word: &[u8; 4]| {
        let x = f32::from_le_bytes(*word);
        match dtype {
            DType::BF16 => bf16::from_f32(x).to_le_bytes(),
            _ => f16::from_f32(x).to_le_bytes(),
        }
    };
    words.iter().flat_map(narrow).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_short_number_comes_back() {
        for dtype in [DType::F16, DType::BF16] {
            let all: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
            let back = narrowed(dtype, &widened(dtype, &all));
            let (was, is) = (all.as_chunks::<2>().0, back.as_chunks::<2>().0);
            for (was, is) in was.iter().zip(is) {
                let nan = |pair: &[u8; 2]| match dtype {
                    DType::BF16 => bf16::from_le_bytes(*pair).is_nan(),
                    _ => f16::from_le_bytes(*pair).is_nan(),
                };
                assert!(was == is || nan(was) && nan(is), "{dtype}: {was:?} {is:?}");
            }
        }
    }
}
