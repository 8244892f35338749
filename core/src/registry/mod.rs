//! What is known about operators: their schemas with the facts beside them, and who lowers them.

mod decompositions;
mod providers;
pub mod schema;

pub use decompositions::Decompositions;
pub use providers::{Choice, Provider, Registry, Resolved};
pub use schema::{Alias, Facts, Schema, SchemaArg, SchemaReturn, SchemaType, Schemas, Term};
