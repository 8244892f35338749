//! What is known about operators: their schemas, and who lowers them.

mod providers;
pub mod schema;

pub use providers::{Choice, Provider, Registry, Resolved};
pub use schema::{Alias, Schema, SchemaArg, SchemaReturn, SchemaType, Schemas};
