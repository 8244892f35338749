//! What is known about operators.

pub mod schema;

pub use schema::{Alias, Schema, SchemaArg, SchemaReturn, SchemaType, Schemas};
