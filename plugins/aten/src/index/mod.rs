//! Operators that read or write elements by position.

mod advanced;
mod along;
mod bag;
mod columns;
mod histogram;
mod lookup;
mod mask;
mod parts;
mod put;
mod scatter;
mod search;
mod segment;
