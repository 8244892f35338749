//! Recurrent networks.

mod cells;
mod layers;
