//! Rewrite rules for every model, as a plugin: what computes nothing goes, and what two operators do in a
//! row one does. Every rule is exact, the results are the same, bit for bit, unless it states a bound, as those of [`attention`] do.

mod arithmetic;
mod attention;
mod axes;
mod between;
mod blocks;
mod casts;
mod counted;
mod expands;
mod leading;
mod logic;
mod pads;
mod picks;
mod pieces;
mod repeats;
mod rewriting;
mod rotary;
mod scatter;
mod sequences;
mod shapes;
mod single;
mod slices;
mod states;
mod transposes;
mod units;

onnxport_sdk::export_plugin! { id: "optimise", rules: true }
