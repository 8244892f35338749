//! The operator schemas of ONNX's own domains, in every version, as tables generated from the ONNX package; and those of
//! ONNX Runtime's operators that onnxport emits or often reads.

mod generated;

use onnxport_proto::attribute_proto::AttributeType;

use super::Attr;
use crate::op::{self, microsoft};
use crate::tensor::DType;

/// The lowest opset that is written. Models of opsets below [`MIN_OPSET`] are translated to when they are finished.
pub const OLDEST_OPSET: i64 = 11;
/// The lowest opset that lowerings, rules and passes know.
pub const MIN_OPSET: i64 = 18;
/// The highest opset that is emitted.
pub const MAX_OPSET: i64 = 28;
/// The opset that is emitted unless the user asks for another: every maintained runtime takes it. ONNX Runtime 1.31
/// takes opsets up to 26.
pub const DEFAULT_OPSET: i64 = 20;

/// One version of an operator.
#[derive(Debug)]
pub struct OpSchema {
    /// The operator.
    pub name: &'static str,
    /// The opset that introduced this version.
    pub since: u16,
    /// Whether this version withdraws the operator.
    pub deprecated: bool,
    /// The formal inputs.
    pub inputs: &'static [Formal],
    /// The formal outputs.
    pub outputs: &'static [Formal],
    /// The fewest inputs.
    pub min_inputs: u16,
    /// The most inputs; `u16::MAX` is unbounded.
    pub max_inputs: u16,
    /// The fewest outputs.
    pub min_outputs: u16,
    /// The most outputs; `u16::MAX` is unbounded.
    pub max_outputs: u16,
    /// The attributes.
    pub attributes: &'static [AttrSchema],
    /// The type variables that formals refer to.
    pub type_vars: &'static [TypeVar],
}

/// A formal input or output.
#[derive(Debug)]
pub struct Formal {
    /// The name.
    pub name: &'static str,
    /// How often it may stand.
    pub kind: FormalKind,
    /// Its type.
    pub ty: FormalType,
}

/// How often a formal may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FormalKind {
    Single,
    Optional,
    Variadic,
    VariadicHeterogeneous,
}

/// The type of a formal.
#[derive(Debug)]
pub enum FormalType {
    /// An index into [`OpSchema::type_vars`].
    Var(u8),
    /// One of these.
    Fixed(&'static [TypeTag]),
}

/// A type variable.
#[derive(Debug)]
pub struct TypeVar {
    /// The name.
    pub name: &'static str,
    /// The types that it can be.
    pub allowed: &'static [TypeTag],
}

/// A type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TypeTag {
    Tensor(DType),
    Seq(DType),
    Optional(DType),
    OptionalSeq(DType),
    Map,
}

/// An attribute.
#[derive(Debug)]
pub struct AttrSchema {
    /// The name.
    pub name: &'static str,
    /// Its type.
    pub kind: AttrKind,
    /// Whether it must be given.
    pub required: bool,
    /// The default value that the operator declares.
    pub default: Option<AttrDefault>,
}

/// The value of an attribute that is not given.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum AttrDefault {
    Int(i64),
    Float(f32),
    Str(&'static str),
    Ints(&'static [i64]),
}

impl AttrDefault {
    /// The integer, if it is one.
    pub fn int(&self) -> Option<i64> {
        if let Self::Int(n) = self { Some(*n) } else { None }
    }

    /// The float, if it is one.
    pub fn float(&self) -> Option<f32> {
        if let Self::Float(x) = self { Some(*x) } else { None }
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&'static str> {
        if let Self::Str(text) = self { Some(text) } else { None }
    }
}

impl From<AttrDefault> for Attr {
    fn from(value: AttrDefault) -> Self {
        match value {
            AttrDefault::Int(n) => Attr::Int(n),
            AttrDefault::Float(x) => Attr::Float(x),
            AttrDefault::Str(text) => Attr::Str(text.to_owned()),
            AttrDefault::Ints(ints) => Attr::Ints(ints.to_vec()),
        }
    }
}

/// The type of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AttrKind {
    Float,
    Int,
    String,
    Tensor,
    Graph,
    SparseTensor,
    TypeProto,
    Floats,
    Ints,
    Strings,
    Tensors,
    Graphs,
    SparseTensors,
    TypeProtos,
}

impl AttrKind {
    /// Every kind.
    pub const ALL: &[Self] = &[
        Self::Float,
        Self::Int,
        Self::String,
        Self::Tensor,
        Self::Graph,
        Self::SparseTensor,
        Self::TypeProto,
        Self::Floats,
        Self::Ints,
        Self::Strings,
        Self::Tensors,
        Self::Graphs,
        Self::SparseTensors,
        Self::TypeProtos,
    ];

    /// The word of the text form.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Float => "float",
            Self::Int => "int",
            Self::String => "str",
            Self::Tensor => "tensor",
            Self::Graph => "block",
            Self::SparseTensor => "sparse",
            Self::TypeProto => "type",
            Self::Floats => "floats",
            Self::Ints => "ints",
            Self::Strings => "strs",
            Self::Tensors => "tensors",
            Self::Graphs => "blocks",
            Self::SparseTensors => "sparses",
            Self::TypeProtos => "types",
        }
    }

    /// The kind that a file calls `kind`; `None` where it states none.
    pub fn from_onnx(kind: AttributeType) -> Option<Self> {
        Some(match kind {
            AttributeType::Undefined => return None,
            AttributeType::Float => Self::Float,
            AttributeType::Int => Self::Int,
            AttributeType::String => Self::String,
            AttributeType::Tensor => Self::Tensor,
            AttributeType::Graph => Self::Graph,
            AttributeType::SparseTensor => Self::SparseTensor,
            AttributeType::TypeProto => Self::TypeProto,
            AttributeType::Floats => Self::Floats,
            AttributeType::Ints => Self::Ints,
            AttributeType::Strings => Self::Strings,
            AttributeType::Tensors => Self::Tensors,
            AttributeType::Graphs => Self::Graphs,
            AttributeType::SparseTensors => Self::SparseTensors,
            AttributeType::TypeProtos => Self::TypeProtos,
        })
    }

    /// Returns the ONNX name of this kind.
    pub fn onnx(self) -> AttributeType {
        match self {
            Self::Float => AttributeType::Float,
            Self::Int => AttributeType::Int,
            Self::String => AttributeType::String,
            Self::Tensor => AttributeType::Tensor,
            Self::Graph => AttributeType::Graph,
            Self::SparseTensor => AttributeType::SparseTensor,
            Self::TypeProto => AttributeType::TypeProto,
            Self::Floats => AttributeType::Floats,
            Self::Ints => AttributeType::Ints,
            Self::Strings => AttributeType::Strings,
            Self::Tensors => AttributeType::Tensors,
            Self::Graphs => AttributeType::Graphs,
            Self::SparseTensors => AttributeType::SparseTensors,
            Self::TypeProtos => AttributeType::TypeProtos,
        }
    }

    /// Whether an attribute of this type can be `value`. A reference fits any: the caller gives its value.
    pub fn fits(self, value: &Attr) -> bool {
        match value {
            Attr::Int(_) => self == AttrKind::Int,
            Attr::Float(_) => self == AttrKind::Float,
            Attr::Str(_) | Attr::Bytes(_) => self == AttrKind::String,
            Attr::Ints(_) => self == AttrKind::Ints,
            Attr::Floats(_) => self == AttrKind::Floats,
            Attr::Strs(_) | Attr::BytesList(_) => self == AttrKind::Strings,
            Attr::Tensor(_) | Attr::Text(_) => self == AttrKind::Tensor,
            Attr::Block(_) => self == AttrKind::Graph,
            Attr::Sparse(_) => self == AttrKind::SparseTensor,
            Attr::Tensors(_) => self == AttrKind::Tensors,
            Attr::Sparses(_) => self == AttrKind::SparseTensors,
            Attr::Blocks(_) => self == AttrKind::Graphs,
            Attr::Type(_) => self == AttrKind::TypeProto,
            Attr::Types(_) => self == AttrKind::TypeProtos,
            Attr::Ref(_, kind) => kind.is_none_or(|kind| self == kind),
        }
    }
}

impl OpSchema {
    /// Returns the default of the attribute `name` that the operator declares.
    pub fn default_of(&self, name: &str) -> Option<AttrDefault> {
        self.attributes.iter().find(|attribute| attribute.name == name)?.default
    }
}

/// Every version of every operator of ONNX's own, sorted by name and then by opset.
pub fn all() -> &'static [OpSchema] {
    generated::OPS
}

/// The version of `name` in force at `opset`, if ONNX has it there.
pub fn lookup(name: &str, opset: i64) -> Option<&'static OpSchema> {
    find(generated::OPS, name, opset)
}

/// The version of `name` in force at `version` of another of ONNX's own domains, such as `ai.onnx.ml`; `None` for
/// an operator that is not there. `Err` for a foreign domain.
pub fn lookup_in(domain: &str, name: &str, version: i64) -> Result<Option<&'static OpSchema>, Foreign> {
    match domains().iter().find(|(own, _)| *own == domain) {
        Some((_, table)) => Ok(find(table, name, version)),
        None => Err(Foreign),
    }
}

/// As [`lookup_in`], for an imported model. ONNX Runtime adds operators to ONNX's own domain, and its optimizer
/// writes them. They correspond to ONNX operators with other names or of later versions.
///
/// # Errors
/// [`Foreign`] for a foreign domain.
pub fn lookup_read(domain: &str, name: &str, version: i64) -> Result<Option<&'static OpSchema>, Foreign> {
    let found = lookup_in(domain, name, version)?;
    Ok(found.or_else(|| match (domain, name) {
        ("", "SimplifiedLayerNormalization") => find(generated::OPS, op::RMSNormalization, MAX_OPSET),
        ("", op::LayerNormalization) => find(generated::OPS, name, MAX_OPSET),
        _ => None,
    }))
}

/// Attributes that a later version added with a default which is not how the operator worked before.
const BREAKING: &[(&str, &str)] = &[
    (op::Resize, "coordinate_transformation_mode"),
    (op::Resize, "nearest_mode"),
    (op::RoiAlign, "coordinate_transformation_mode"),
];

/// Whether an operator without its attribute `name` meant something else before a version added the attribute.
pub fn is_breaking(op: &str, name: &str) -> bool {
    BREAKING.contains(&(op, name))
}

/// The default of the attribute `name` of an operator at `version` of its domain.
///
/// A version that does not have the attribute yet takes the default of the first that has it: ONNX adds attributes so that
/// models without them mean the same, apart from those of [`BREAKING`].
pub fn default(domain: &str, op: &str, version: i64, name: &str) -> Option<&'static AttrDefault> {
    if domain == microsoft::DOMAIN {
        return runtime(op)?.attributes.iter().find(|attribute| attribute.name == name)?.default.as_ref();
    }
    let current = lookup_read(domain, op, version).ok()??;
    let (_, table) = domains().into_iter().find(|(own, _)| *own == domain)?;
    let start = table.partition_point(|schema| (schema.name, schema.since) <= (current.name, current.since));
    let later = table.get(start..)?.iter().take_while(|schema| schema.name == current.name);
    let later = later.filter(|_| !is_breaking(op, name));
    let mut attributes = std::iter::once(current).chain(later).flat_map(|schema| schema.attributes);
    attributes.find(|attribute| attribute.name == name)?.default.as_ref()
}

/// ONNX's own domains, each with every version of its operators.
pub fn domains() -> [(&'static str, &'static [OpSchema]); 4] {
    [
        ("", generated::OPS),
        ("ai.onnx.ml", generated::ML_OPS),
        ("ai.onnx.preview", generated::PREVIEW_OPS),
        ("ai.onnx.preview.training", generated::TRAINING_OPS),
    ]
}

/// The operator `name` of ONNX Runtime's own domain, if its signature is known. Models are not checked against it, since
/// releases of the runtime add inputs and attributes without a new version.
pub fn runtime(name: &str) -> Option<&'static OpSchema> {
    find(generated::RUNTIME_OPS, name, 1)
}

/// A domain whose operators ONNX does not define.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign;

fn find(table: &'static [OpSchema], name: &str, version: i64) -> Option<&'static OpSchema> {
    let end = table.partition_point(|s| (s.name, i64::from(s.since)) <= (name, version));
    let schema = table.get(end.checked_sub(1)?)?;
    (schema.name == name && !schema.deprecated).then_some(schema)
}

/// The formal parameter of the actual one at `index`.
pub fn formal(formals: &'static [Formal], index: usize) -> Option<&'static Formal> {
    formals.get(index).or_else(|| {
        formals.last().filter(|f| matches!(f.kind, FormalKind::Variadic | FormalKind::VariadicHeterogeneous))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_version() {
        let int = |op, version, name| default("", op, version, name).and_then(AttrDefault::int);
        assert_eq!([12, 13].map(|version| int("Softmax", version, "axis")), [Some(1), Some(-1)]);
        assert_eq!(int("Concat", 13, "axis"), None, "it is required");
        assert_eq!(int("Clip", 13, "max"), None, "it became an input");
        let text = |op, version, name| default("", op, version, name).and_then(AttrDefault::text);
        assert_eq!(
            [16, 20].map(|version| text("GridSample", version, "mode")),
            [Some("bilinear"), Some("linear")]
        );
        assert_eq!(default("ai.onnx.ml", "Binarizer", 1, "threshold"), Some(&AttrDefault::Float(0.0)));
        assert_eq!(default("com.microsoft", "Softmax", 1, "axis"), None);
        assert_eq!(default("com.microsoft", "QuickGelu", 1, "alpha"), Some(&AttrDefault::Float(1.702)));
        assert_eq!(default("com.microsoft", "MatMulNBits", 1, "bits"), Some(&AttrDefault::Int(4)));
        assert_eq!(default("com.microsoft", "MatMulNBits", 1, "block_size"), None, "it is required");
    }

    #[test]
    fn an_attribute_that_came_later_has_its_first_default_unless_that_changed_the_operator() {
        assert_eq!(default("", "Cast", 13, "saturate"), Some(&AttrDefault::Int(1)));
        assert_eq!(default("", "Reshape", 5, "allowzero"), Some(&AttrDefault::Int(0)));
        let mode = "coordinate_transformation_mode";
        assert_eq!(
            [10, 16].map(|version| default("", "RoiAlign", version, mode)),
            [None, Some(&AttrDefault::Str("half_pixel"))]
        );
        assert_eq!(default("", "Resize", 10, mode), None);
    }
}
