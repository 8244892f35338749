//! The inputs with which a program was traced, as the archive records them.

use super::pickle::{Heap, Item, Ref};
use super::torch_file;
use super::treespec::TreeSpec;
use crate::diagnose::{Code, Diagnostic};
use crate::program::{InputKind, Signature};
use crate::tensor::zip_index::Region;
use crate::tensor::{DType, LazyTensor};

/// Inputs nested deeper than this are refused.
const MAX_DEPTH: usize = 100;

/// Inputs of more values than this are refused: a pickle may refer to one value many times.
const MAX_VALUES: usize = 50_000;

/// A Python value among the inputs.
#[derive(Clone, Debug)]
pub enum SampleValue {
    /// `None`.
    None,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A complex number.
    Complex(f64, f64),
    /// A string.
    Str(String),
    /// A tensor, still in the archive.
    Tensor(LazyTensor),
    /// A list.
    List(Vec<SampleValue>),
    /// A tuple.
    Tuple(Vec<SampleValue>),
    /// A dictionary, in insertion order.
    Dict(Vec<(SampleValue, SampleValue)>),
    /// An element type.
    DType(DType),
    /// A device, layout or memory format, as PyTorch prints it.
    Name(String),
    /// An instance of a class that PyTorch flattens by a registered function.
    Object {
        /// The class, `transformers.cache_utils.DynamicCache`.
        class: String,
        /// Its attributes.
        attributes: Vec<(SampleValue, SampleValue)>,
    },
}

/// The arguments of the traced call.
#[derive(Clone, Debug, Default)]
pub struct SampleInputs {
    /// The positional arguments.
    pub args: Vec<SampleValue>,
    /// The keyword arguments.
    pub kwargs: Vec<(String, SampleValue)>,
}

impl SampleInputs {
    /// Reads the `torch.save` file in `region`, which the entry `name` of the archive holds.
    ///
    /// # Errors
    /// `OP107` for anything but plain data, and the errors of a damaged archive.
    pub fn read(region: Region, name: &str) -> Result<Self, Diagnostic> {
        let file = torch_file::read(region, name)?;
        let mut tree = Tree { heap: &file.heap, left: MAX_VALUES };
        let unexpected = || {
            let message = format!("`{name}` is not a tuple of arguments and a dictionary");
            Diagnostic::error(Code::READ_PICKLE, message)
        };
        let (args, kwargs) = match tree.value(file.root, 0)? {
            SampleValue::Tuple(pair) => <[SampleValue; 2]>::try_from(pair).map_err(|_| unexpected())?.into(),
            // A program without recorded inputs holds `None` or an empty dictionary.
            SampleValue::None | SampleValue::Dict(_) => return Ok(Self::default()),
            _ => return Err(unexpected()),
        };
        let (SampleValue::Tuple(args) | SampleValue::List(args), SampleValue::Dict(kwargs)) = (args, kwargs)
        else {
            return Err(unexpected());
        };
        let keyword = |(key, value)| match key {
            SampleValue::Str(key) => Ok((key, value)),
            _ => Err(unexpected()),
        };
        Ok(Self { args, kwargs: kwargs.into_iter().map(keyword).collect::<Result<_, _>>()? })
    }

    /// Returns the values of the inputs of the kinds [`InputKind::User`] and [`InputKind::Constant`], with
    /// their positions in [`Signature::inputs`], in that order.
    ///
    /// # Errors
    /// `OP107` if the inputs do not nest as the signature states.
    pub fn flatten(self, signature: &Signature) -> Result<Vec<(usize, SampleValue)>, Diagnostic> {
        let kwargs = self.kwargs.into_iter().map(|(key, value)| (SampleValue::Str(key), value)).collect();
        let root = SampleValue::Tuple(vec![SampleValue::Tuple(self.args), SampleValue::Dict(kwargs)]);
        let mut leaves = Vec::new();
        match &signature.in_spec {
            Some(text) => flatten(root, &TreeSpec::parse(text)?, &mut leaves)?,
            None => flatten_plain(root, &mut leaves),
        }
        let is_given = |kind: &InputKind| matches!(kind, InputKind::User | InputKind::Constant);
        let places: Vec<usize> = signature
            .inputs
            .iter()
            .enumerate()
            .filter(|(_, spec)| is_given(&spec.kind))
            .map(|(at, _)| at)
            .collect();
        if places.len() != leaves.len() {
            let message =
                format!("the archive records {} input values for {} inputs", leaves.len(), places.len());
            return Err(Diagnostic::error(Code::READ_PICKLE, message));
        }
        Ok(places.into_iter().zip(leaves).collect())
    }
}

/// A pickle's values as trees.
struct Tree<'a> {
    heap: &'a Heap,
    left: usize,
}

impl Tree<'_> {
    fn value(&mut self, at: Ref, depth: usize) -> Result<SampleValue, Diagnostic> {
        self.left = self.left.saturating_sub(1);
        if depth > MAX_DEPTH || self.left == 0 {
            let what = if self.left == 0 { "too many values" } else { "values nested too deeply" };
            return Err(Diagnostic::error(Code::READ_PICKLE, format!("the sample inputs contain {what}")));
        }
        Ok(match self.heap.get(at) {
            // Classes among an object's attributes are not values.
            Item::None | Item::Global(_) | Item::Storage { .. } => SampleValue::None,
            Item::Bool(b) => SampleValue::Bool(*b),
            Item::Int(n) => SampleValue::Int(*n),
            Item::Float(n) => SampleValue::Float(*n),
            Item::Complex(real, imag) => SampleValue::Complex(*real, *imag),
            Item::Str(text) => {
                // Shared text is copied here, so it counts by its length.
                self.left = self.left.saturating_sub(text.len() / 64);
                SampleValue::Str(text.clone())
            }
            Item::Tensor(tensor) => SampleValue::Tensor((**tensor).clone()),
            Item::List(items) => SampleValue::List(self.values(items, depth)?),
            Item::Tuple(items) => SampleValue::Tuple(self.values(items, depth)?),
            Item::Dict(items) => SampleValue::Dict(self.pairs(items, depth)?),
            Item::DType(dtype) => SampleValue::DType(*dtype),
            Item::Name(name) => SampleValue::Name(name.clone()),
            Item::Object { class, state } => {
                let state = state.map(|state| self.heap.get(state));
                let attributes = match state {
                    Some(Item::Dict(items)) => self.pairs(items, depth)?,
                    _ => Vec::new(),
                };
                SampleValue::Object { class: class.clone(), attributes }
            }
        })
    }

    fn values(&mut self, items: &[Ref], depth: usize) -> Result<Vec<SampleValue>, Diagnostic> {
        items.iter().map(|item| self.value(*item, depth + 1)).collect()
    }

    fn pairs(
        &mut self,
        items: &[(Ref, Ref)],
        depth: usize,
    ) -> Result<Vec<(SampleValue, SampleValue)>, Diagnostic> {
        let mut pair = |at: &(Ref, Ref)| Ok((self.value(at.0, depth + 1)?, self.value(at.1, depth + 1)?));
        items.iter().map(&mut pair).collect()
    }
}

/// Appends the leaves of `value` in the order of `spec`.
fn flatten(value: SampleValue, spec: &TreeSpec, leaves: &mut Vec<SampleValue>) -> Result<(), Diagnostic> {
    let Some(kind) = spec.r#type.as_deref() else {
        leaves.push(value);
        return Ok(());
    };
    let mismatch = || {
        let message = format!("a sample input is not nested like the signature (`{kind}`)");
        Diagnostic::error(Code::READ_PICKLE, message)
            .help("give input values in a sidecar, which `onnxport.save` writes")
    };
    let children = match value {
        SampleValue::List(items) | SampleValue::Tuple(items) => items,
        SampleValue::Dict(items) => by_keys(items, spec).ok_or_else(mismatch)?,
        SampleValue::Object { attributes, .. } => {
            let parts = super::cache::parts(&attributes).ok_or_else(mismatch)?;
            by_keys(parts, spec).ok_or_else(mismatch)?
        }
        _ => return Err(mismatch()),
    };
    if children.len() != spec.children_spec.len() {
        return Err(mismatch());
    }
    children.into_iter().zip(&spec.children_spec).try_for_each(|(child, spec)| flatten(child, spec, leaves))
}

/// The values of a dictionary in the order of the specification's keys.
fn by_keys(items: Vec<(SampleValue, SampleValue)>, spec: &TreeSpec) -> Option<Vec<SampleValue>> {
    let keys = spec.keys().filter(|keys| keys.len() == items.len());
    let mut named: std::collections::HashMap<String, SampleValue> = std::collections::HashMap::new();
    let mut order = Vec::new();
    for (key, value) in items {
        let key = match key {
            SampleValue::Str(key) => key,
            SampleValue::Int(key) => key.to_string(),
            _ => return None,
        };
        order.push(key.clone());
        named.insert(key, value);
    }
    // Keys that are not strings keep their insertion order.
    keys.unwrap_or(order).iter().map(|key| named.remove(key)).collect()
}

/// Appends the leaves for a program without a specification.
fn flatten_plain(value: SampleValue, leaves: &mut Vec<SampleValue>) {
    match value {
        SampleValue::List(items) | SampleValue::Tuple(items) => {
            for item in items {
                flatten_plain(item, leaves);
            }
        }
        SampleValue::Dict(items) => items.into_iter().for_each(|(_, item)| flatten_plain(item, leaves)),
        leaf => leaves.push(leaf),
    }
}
