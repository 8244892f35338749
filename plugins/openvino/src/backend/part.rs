//! A part of the model as an ONNX file for OpenVINO.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use onnxport_ir::ir::{Attr, Attribute as IrAttribute, Graph, Model, OpsetImport, Shape, Type, ValueId};
use onnxport_ir::sym::Dim;
use onnxport_ir::tensor::{LazyTensor, MappedFile, Source};
use onnxport_ir::write::{Metadata, WriteOptions, write};
use onnxport_sdk::{Attribute, DType, Initializer, NodeRef, Res, ValueRef};

/// In a trial, larger initializers are zeros.
const SMALL: u64 = 64 << 10;

/// Bytes of a weight that are read at once.
const PIECE: usize = 1 << 20;

/// Nodes in order, with the values that they take from outside and give to it.
pub(super) struct Part<'a, 'h> {
    pub(super) nodes: &'a [NodeRef<'h>],
    pub(super) inputs: &'a [ValueRef<'h>],
    pub(super) outputs: &'a [ValueRef<'h>],
}

/// A node on its own.
pub(super) struct Trial<'h>(pub(super) NodeRef<'h>);

impl Part<'_, '_> {
    /// Writes the part into `folder`; inputs and outputs keep their names.
    ///
    /// # Errors
    /// If OpenVINO cannot be given a node or a weight, or nothing can be written.
    pub(super) fn write(&self, folder: &Path) -> Res<PathBuf> {
        let mut weights = WeightFile::create(&folder.join("weights.bin"))?;
        let mut places = HashMap::new();
        for value in self.nodes.iter().flat_map(|node| node.inputs()).flatten() {
            if let Some(initializer) = value.initializer()
                && !places.contains_key(&value.id())
            {
                places.insert(value.id(), weights.append(value, initializer)?);
            }
        }
        let file = weights.finish()?;
        let weight = |value: ValueRef<'_>, _: Initializer| -> Res<LazyTensor> {
            let (dtype, shape, range) = places.get(&value.id()).ok_or("a weight is missing")?.clone();
            let Some(file) = file.clone().filter(|_| range.1 > 0) else {
                return Ok(LazyTensor::inline(dtype, shape, Vec::new()));
            };
            let source = Source::Mapped { file, offset: range.0, len: range.1 };
            Ok(LazyTensor { dtype, shape, source, offset: 0, strides: None })
        };
        let name = |value: ValueRef<'_>, _: usize| Some(value.name()).filter(|name| !name.is_empty());
        save(self, &folder.join("region.onnx"), &weight, &name)
    }
}

impl Trial<'_> {
    /// Writes the node into `folder`. The bytes are equal for equal nodes.
    ///
    /// # Errors
    /// Those of [`Part::write`].
    pub(super) fn write(&self, folder: &Path) -> Res<PathBuf> {
        let mut inputs: Vec<ValueRef<'_>> = Vec::new();
        for value in self.0.inputs().into_iter().flatten() {
            if !value.is_initializer() && !inputs.contains(&value) {
                inputs.push(value);
            }
        }
        let outputs: Vec<ValueRef<'_>> = self.0.outputs().into_iter().flatten().collect();
        let part = Part { nodes: &[self.0], inputs: &inputs, outputs: &outputs };
        let weight = |value: ValueRef<'_>, initializer: Initializer| -> Res<LazyTensor> {
            let Initializer { dtype, shape, byte_length, .. } = initializer;
            if byte_length > SMALL {
                let zero = vec![0; usize::try_from(dtype.byte_len(1).unwrap_or(1)).unwrap_or(1)];
                return Ok(LazyTensor::fill(dtype, shape, &zero));
            }
            let mut bytes = vec![0; byte_length as usize];
            if !value.read(0, &mut bytes) {
                return Err("its weights are not there".into());
            }
            Ok(LazyTensor::inline(dtype, shape, bytes))
        };
        let name = |_: ValueRef<'_>, index: usize| Some(format!("v{index}"));
        save(&part, &folder.join("node.onnx"), &weight, &name)
    }
}

type Weigh<'a> = &'a dyn Fn(ValueRef<'_>, Initializer) -> Res<LazyTensor>;
type NameOf<'a> = &'a dyn Fn(ValueRef<'_>, usize) -> Option<String>;

/// Writes a part to `path`; `name` gives the name of an input or output, which are counted together.
fn save(part: &Part<'_, '_>, path: &Path, weigh: Weigh<'_>, name: NameOf<'_>) -> Res<PathBuf> {
    let mut model = Model::default();
    let graph = &mut model.graph;
    let main = graph.main();
    let mut values: HashMap<u64, ValueId> = HashMap::new();
    let unnamed = "a value at the border of the region has no name";
    for (index, value) in part.inputs.iter().enumerate() {
        let name = name(*value, index).ok_or(unnamed)?;
        values.insert(value.id(), graph.add_input(main, Some(name.into()), kind(*value)?));
    }
    for node in part.nodes {
        add(graph, *node, &mut values, weigh)?;
        let domain = node.domain();
        if !model.opsets.iter().any(|known| known.domain == domain) {
            let version = node.graph().opset_of(&domain);
            model.opsets.push(OpsetImport { domain, version });
        }
    }
    model.opsets.sort();
    for (index, value) in part.outputs.iter().enumerate() {
        let name = name(*value, part.inputs.len() + index).ok_or(unnamed)?;
        let made = *values.get(&value.id()).ok_or("an output of the region is made outside of it")?;
        model.graph.values[made].ty = kind(*value)?;
        model.graph.add_output(main, made);
        model.output_names.push(name);
    }
    let options = WriteOptions { metadata: Metadata::None, value_info: false, ..WriteOptions::default() };
    match write(&model, path, &options) {
        Ok(written) => Ok(written.model),
        Err(report) => {
            let reason = report.diagnostics.first().map_or("", |problem| &problem.message);
            Err(format!("the part cannot be written for OpenVINO: {reason}").into())
        }
    }
}

/// Adds a node, with the initializers that it is the first to read.
fn add(
    graph: &mut Graph,
    node: NodeRef<'_>,
    values: &mut HashMap<u64, ValueId>,
    weigh: Weigh<'_>,
) -> Res<()> {
    let mut inputs = Vec::new();
    for value in node.inputs() {
        let Some(value) = value else {
            inputs.push(None);
            continue;
        };
        let known = match (values.get(&value.id()), value.initializer()) {
            (Some(known), _) => *known,
            (None, Some(initializer)) => graph.add_initializer(None, weigh(value, initializer)?),
            (None, None) => {
                return Err("an input of a node is a constant that OpenVINO cannot be given".into());
            }
        };
        values.insert(value.id(), known);
        inputs.push(Some(known));
    }
    let attributes = node.attributes_but(&[]).into_iter().map(|(name, value)| {
        let value =
            attribute(value).ok_or_else(|| format!("OpenVINO cannot be given the attribute `{name}`"))?;
        Ok(IrAttribute { name: name.into(), value })
    });
    let attributes = attributes.collect::<Res<Vec<_>>>()?;
    let outputs = node.outputs();
    let main = graph.main();
    let (domain, op) = (node.domain(), node.op());
    let made = graph.append(main, &domain, &op, inputs, attributes, outputs.len(), None);
    for (index, value) in outputs.iter().enumerate() {
        let Some(slot) = graph.nodes[made].outputs.get_mut(index) else { continue };
        match (value, *slot) {
            (Some(value), Some(own)) => {
                values.insert(value.id(), own);
            }
            _ => *slot = None,
        }
    }
    Ok(())
}

fn attribute(value: Attribute) -> Option<Attr> {
    Some(match value {
        Attribute::Int(number) => Attr::Int(number),
        Attribute::Float(number) => Attr::Float(number),
        Attribute::Str(text) => Attr::Str(text),
        Attribute::Ints(numbers) => Attr::Ints(numbers),
        Attribute::Floats(numbers) => Attr::Floats(numbers),
        Attribute::Strs(texts) => Attr::Strs(texts),
        Attribute::Tensor(literal) => {
            let bytes = literal.bytes().to_vec();
            Attr::Tensor(LazyTensor::inline(literal.dtype, literal.shape, bytes))
        }
        Attribute::None | Attribute::LargeTensor(..) | Attribute::Block(_) | Attribute::Reference(_) => {
            return None;
        }
    })
}

/// The type of a value, whose dynamic sizes have no names.
fn kind(value: ValueRef<'_>) -> Res<Type> {
    let fact = value.fact();
    let dtype = fact.dtype.ok_or("a value at the border of the region has no known element type")?;
    let dims = |shape: Vec<onnxport_sdk::Dim>| {
        Shape::Ranked(shape.into_iter().map(|dim| dim.as_const().map(Dim::Const)).collect())
    };
    Ok(Type::tensor(dtype, fact.shape.map_or(Shape::Unranked, dims)))
}

/// Where a weight is in the file: its type, its shape, its start and its bytes.
type Place = (DType, Vec<u64>, (u64, u64));

/// The weights of a part in one file: they may be larger than the memory.
struct WeightFile {
    path: PathBuf,
    file: BufWriter<File>,
    len: u64,
}

impl WeightFile {
    fn create(path: &Path) -> Res<Self> {
        let file = File::create(path).map_err(|error| unwritable(&error))?;
        Ok(Self { path: path.to_owned(), file: BufWriter::new(file), len: 0 })
    }

    fn append(&mut self, value: ValueRef<'_>, initializer: Initializer) -> Res<Place> {
        let Initializer { dtype, shape, byte_length, .. } = initializer;
        let start = self.len;
        let mut piece = vec![0; PIECE];
        let mut at = 0;
        while at < byte_length {
            let left = usize::try_from(byte_length - at).unwrap_or(PIECE).min(PIECE);
            let Some(part) = piece.get_mut(..left) else { break };
            if !value.read(at, part) {
                return Err(format!("the weight `{}` is not there", value.name()).into());
            }
            self.file.write_all(part).map_err(|error| unwritable(&error))?;
            at += left as u64;
        }
        self.len += byte_length;
        Ok((dtype, shape, (start, byte_length)))
    }

    /// The file; `None` if it is empty, which cannot be mapped.
    fn finish(mut self) -> Res<Option<MappedFile>> {
        self.file.flush().map_err(|error| unwritable(&error))?;
        if self.len == 0 {
            return Ok(None);
        }
        Ok(Some(MappedFile::open(&self.path).map_err(|error| unwritable(&error))?))
    }
}

fn unwritable(error: &std::io::Error) -> String {
    format!("the weights cannot be written for OpenVINO: {error}")
}
