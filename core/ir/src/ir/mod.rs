//! The ONNX graph under construction.
//!
//! A [`Model`] owns one [`Graph`] per ONNX function and one main graph. A graph owns its values and
//! nodes in arenas; [`Block`]s order the nodes. The main block is the ONNX graph itself, every other
//! block is the body of an `If`, `Loop` or `Scan`, held by a [`Attr::Block`] attribute. A nested
//! block may use the values of the blocks around it, as ONNX allows.

mod attribute;
mod attributes;
mod block;
mod contents;
#[allow(clippy::indexing_slicing, reason = "the places of uses are numbers that the graph keeps itself")]
mod graph;
pub mod import;
mod literal;
mod model;
mod node;
mod note;
pub mod opset;
mod order;
mod same;
pub mod text;
mod value;

pub use crate::state::StateKind;
pub use attribute::{Attr, Attribute};
pub use attributes::Attributes;
pub use block::{Block, BlockId};
pub(crate) use contents::small_integers;
pub use contents::{MAX_CONTENTS, ShapeValue};
pub use graph::Graph;
pub use literal::{Constant, DefaultValue, DenseTensor, Literal, LiteralConstant, SparseTensor, TextTensor};
pub use model::{Artefact, Function, Initializer, Model, ModelOrigin, OpsetImport, State};
pub use node::{Node, NodeId};
pub use note::{About, BlockNote, Header, NodeNote, Notes, ValueNote};
pub use value::{Def, Shape, Type, Use, ValueId, ValueInfo};
