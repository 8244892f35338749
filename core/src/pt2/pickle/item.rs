//! The objects that a pickle builds.

use super::global::Global;
use crate::tensor::zip_index::Region;
use crate::tensor::{DType, LazyTensor};

/// A handle of an [`Item`] in its [`Heap`]. Items are shared, as in Python, so many references to one item
/// cost no more than the references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ref(u32);

/// A Python value.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Complex(f64, f64),
    Str(String),
    List(Vec<Ref>),
    Tuple(Vec<Ref>),
    Dict(Vec<(Ref, Ref)>),
    /// A class or function of the allow-list.
    Global(Global),
    /// The bytes of a tensor; the element type is `None` if it is untyped.
    Storage {
        dtype: Option<DType>,
        region: Region,
    },
    Tensor(Box<LazyTensor>),
    DType(DType),
    /// A device, layout or memory format, as PyTorch prints it.
    Name(String),
    /// An instance of a class of the allow-list with nothing but its state.
    Object {
        class: String,
        state: Option<Ref>,
    },
}

/// The values that a pickle has built.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    items: Vec<Item>,
}

impl Heap {
    /// Returns the item behind `at`.
    pub(crate) fn get(&self, at: Ref) -> &Item {
        self.items.get(at.0 as usize).unwrap_or(&Item::None)
    }

    pub(super) fn get_mut(&mut self, at: Ref) -> Option<&mut Item> {
        self.items.get_mut(at.0 as usize)
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn push(&mut self, item: Item) -> Ref {
        let at = Ref(self.items.len() as u32);
        self.items.push(item);
        at
    }

    /// The text, if the item is one.
    pub(crate) fn text(&self, at: Ref) -> Option<&str> {
        match self.get(at) {
            Item::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The non-negative integer, if the item is one.
    pub(super) fn size(&self, at: Ref) -> Option<u64> {
        match self.get(at) {
            Item::Int(n) => u64::try_from(*n).ok(),
            _ => None,
        }
    }

    /// The elements, if the item is a tuple.
    pub(super) fn tuple(&self, at: Ref) -> Option<&[Ref]> {
        match self.get(at) {
            Item::Tuple(items) => Some(items),
            _ => None,
        }
    }
}
