//! The registry of operators: their schemas with facts, and their lowerings.

mod decompositions;
mod providers;
pub mod schema;

pub use decompositions::Decompositions;
pub use providers::{Choice, Provider, Registry, Resolved};
pub use schema::{Alias, Facts, Schema, SchemaArg, SchemaReturn, SchemaType, Schemas, Term};
