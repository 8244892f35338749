//! The long lists of a graph, which are not kept in their JSON form: its nodes, and the types of its values.

use std::fmt;

use rustc_hash::FxHashMap;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{Node, TensorMeta};
use crate::Name;

/// The nodes of a graph.
pub(crate) trait Nodes {
    /// Calls `visit` with each, in order.
    ///
    /// # Errors
    /// If one does not follow the schema; those before it have been visited.
    fn each(self, visit: impl FnMut(Node)) -> serde_json::Result<()>;
}

impl Nodes for Vec<Node> {
    fn each(self, visit: impl FnMut(Node)) -> serde_json::Result<()> {
        self.into_iter().for_each(visit);
        Ok(())
    }
}

impl Nodes for &RawValue {
    fn each(self, visit: impl FnMut(Node)) -> serde_json::Result<()> {
        serde_json::Deserializer::from_str(self.get()).deserialize_seq(Each(visit))
    }
}

struct Each<F>(F);

impl<'de, F: FnMut(Node)> Visitor<'de> for Each<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nodes")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(node) = list.next_element()? {
            (self.0)(node);
        }
        Ok(())
    }
}

/// The types of tensors by their names. A program uses few types for many values, so each is stored once.
#[derive(Clone, Debug, Default)]
pub(crate) struct TensorValues {
    /// By name, the position of the type.
    pub(crate) names: FxHashMap<Name, u32>,
    /// Every distinct type in the program.
    pub(crate) types: Vec<TensorMeta>,
}

impl<'de> Deserialize<'de> for TensorValues {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries)
    }
}

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = TensorValues;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("types by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<TensorValues, A::Error> {
        let mut values = TensorValues::default();
        let mut known: FxHashMap<&'de str, u32> = FxHashMap::default();
        while let Some((name, text)) = access.next_entry::<Name, &'de RawValue>()? {
            let position = match known.get(text.get()) {
                Some(position) => *position,
                None => {
                    let position = values.types.len() as u32;
                    values.types.push(serde_json::from_str(text.get()).map_err(placeless)?);
                    known.insert(text.get(), position);
                    position
                }
            };
            values.names.insert(name, position);
        }
        Ok(values)
    }
}

/// Strips the position from an error in a part of the document, since it would be mistaken for one in the whole.
fn placeless<E: Error>(error: serde_json::Error) -> E {
    let text = error.to_string();
    E::custom(text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what))
}
