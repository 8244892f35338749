//! Sorting, and operators that use it.

mod extreme;
mod order;
mod quantile;
mod quantiles;
mod unique;
