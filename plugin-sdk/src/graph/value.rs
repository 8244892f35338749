//! Values and the bytes of initializers.

use crate::lent::Lent;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use onnxport_abi::{RSlice, RSliceMut, RStr};

use super::{BlockRef, GraphView, NodeRef};
use crate::abi::graph::{InitializerView, NOTHING, UsesView, ValueView, definition, value_kind};
use crate::abi::lowering::{DataView, ShapeView};
use crate::abi::status;
use crate::{DType, Dim, Fact, Literal};

/// A value of a graph.
#[derive(Clone, Copy)]
pub struct ValueRef<'h> {
    pub(super) graph: GraphView<'h>,
    pub(super) id: u64,
}

/// The description of an initializer, without its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Initializer {
    /// The element type.
    pub dtype: DType,
    /// The extents.
    pub shape: Vec<u64>,
    /// The bytes of its elements, row-major and without gaps.
    pub byte_length: u64,
    /// Whether its elements lie like that where they are stored.
    pub dense: bool,
    /// The storage that holds it; initializers with one number share bytes.
    pub storage: u64,
    /// Where its first element lies in the storage, in elements.
    pub offset: u64,
}

impl<'h> ValueRef<'h> {
    /// The id as it crosses.
    pub fn id(self) -> u64 {
        self.id
    }

    /// The graph.
    pub fn graph(self) -> GraphView<'h> {
        self.graph
    }

    /// The name; empty for a value that nobody named.
    pub fn name(self) -> String {
        self.view().name.lent().to_owned()
    }

    /// The element type and the sizes, as far as they are known.
    pub fn fact(self) -> Fact {
        let view = self.view();
        let dims = || view.dims.lent().iter().copied().map(Dim::from_record).collect();
        Fact { dtype: DType::from_onnx(view.dtype), shape: (view.rank >= 0).then(dims) }
    }

    /// The element type, where known.
    pub fn dtype(self) -> Option<DType> {
        DType::from_onnx(self.view().dtype)
    }

    /// The sizes, where the rank is known.
    pub fn shape(self) -> Option<Vec<Dim>> {
        self.fact().shape
    }

    /// The sizes, where all of them are numbers.
    pub fn extents(self) -> Option<Vec<i64>> {
        self.shape()?.into_iter().map(Dim::as_const).collect()
    }

    /// The number of axes, where known.
    pub fn rank(self) -> Option<usize> {
        usize::try_from(self.view().rank).ok()
    }

    /// Whether the value is a sequence of tensors.
    pub fn is_sequence(self) -> bool {
        self.view().kind == value_kind::SEQUENCE
    }

    /// The node that makes the value, and which of its outputs it is.
    pub fn producer(self) -> Option<(NodeRef<'h>, usize)> {
        let view = self.view();
        (view.definition == definition::NODE).then(|| (self.graph.node(view.by), view.index as usize))
    }

    /// The block of which the value is an input, and which one it is.
    pub fn input_of(self) -> Option<(BlockRef<'h>, usize)> {
        let view = self.view();
        let block = BlockRef { graph: self.graph, id: view.by };
        (view.definition == definition::INPUT).then_some((block, view.index as usize))
    }

    /// Whether the value is an initializer.
    pub fn is_initializer(self) -> bool {
        self.view().definition == definition::INITIALIZER
    }

    /// The nodes that read the value, each with the position among its inputs.
    pub fn uses(self) -> Vec<(NodeRef<'h>, usize)> {
        let (uses, _) = self.places();
        uses
    }

    /// Whether the value is an output of a block: of the model, or of a body.
    pub fn is_returned(self) -> bool {
        self.places().1 > 0
    }

    /// The only reader of the value, when it has one use and no block returns it.
    pub fn only_use(self) -> Option<(NodeRef<'h>, usize)> {
        match self.places() {
            (uses, 0) if uses.len() == 1 => uses.first().copied(),
            _ => None,
        }
    }

    /// The contents, when the value is an initializer of at most 64 KiB and no parameter or buffer.
    pub fn constant(self) -> Option<Literal> {
        let mut view = DataView { dtype: 0, dims: RSlice::EMPTY, bytes: RSlice::EMPTY };
        let answer = (self.graph.host().constant)(self.graph.cx(), self.id, &mut view);
        self.graph.expect(answer, "a value");
        Literal::read(&view)
    }

    /// The symbolic contents of a vector of integers, where the host knows them.
    pub fn contents(self) -> Option<Vec<Dim>> {
        let mut view = ShapeView { known: 0, dims: RSlice::EMPTY };
        let answer = (self.graph.host().contents)(self.graph.cx(), self.id, &mut view);
        self.graph.expect(answer, "a value");
        (view.known == 1).then(|| view.dims.lent().iter().copied().map(Dim::from_record).collect())
    }

    /// The description of the initializer, if the value is one.
    pub fn initializer(self) -> Option<Initializer> {
        let mut view = InitializerView {
            dtype: 0,
            dense: 0,
            dims: RSlice::EMPTY,
            byte_length: 0,
            storage: 0,
            offset: 0,
        };
        let answer = (self.graph.host().initializer)(self.graph.cx(), self.id, &mut view);
        self.graph.expect(answer, "a value");
        Some(Initializer {
            dtype: DType::from_onnx(view.dtype)?,
            shape: view.dims.lent().to_vec(),
            byte_length: view.byte_length,
            dense: view.dense == 1,
            storage: view.storage,
            offset: view.offset,
        })
    }

    /// Copies bytes of the initializer, little-endian and row-major, from byte `offset` on. Returns
    /// whether they could be read: `false` if the value is not an initializer, or they end behind it.
    #[must_use]
    pub fn read(self, offset: u64, out: &mut [u8]) -> bool {
        let out = RSliceMut::from_mut_slice(out);
        (self.graph.host().read)(self.graph.cx(), self.id, offset, out) == status::OK
    }

    fn places(self) -> (Vec<(NodeRef<'h>, usize)>, u32) {
        let mut view = UsesView { uses: RSlice::EMPTY, returned: 0 };
        let answer = (self.graph.host().uses)(self.graph.cx(), self.id, &mut view);
        self.graph.expect(answer, "a value");
        let uses = view.uses.lent().iter().map(|u| (self.graph.node(u.node), u.index as usize)).collect();
        (uses, view.returned)
    }

    /// Borrowed until the next call into the host.
    fn view(self) -> ValueView<'h> {
        let mut view = ValueView {
            name: RStr::from_str(""),
            kind: value_kind::UNKNOWN,
            dtype: 0,
            rank: -1,
            definition: 0,
            dims: RSlice::EMPTY,
            by: NOTHING,
            index: 0,
        };
        let answer = (self.graph.host().value)(self.graph.cx(), self.id, &mut view);
        self.graph.expect(answer, "a value");
        view
    }
}

impl PartialEq for ValueRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for ValueRef<'_> {}

impl PartialOrd for ValueRef<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By the order in which the values were made.
impl Ord for ValueRef<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.id.cmp(&other.id)
    }
}

impl Hash for ValueRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl fmt::Debug for ValueRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ValueRef({:#x})", self.id)
    }
}
