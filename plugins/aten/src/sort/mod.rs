//! Order, and what follows from it.

mod extreme;
mod order;
mod quantile;
mod unique;
