//! Rewrite rules for every model, as a plugin: operators without effect are removed, and
//! consecutive ones merged. Rules are exact (the results are bit-identical), unless they state a bound, as those of
//! [`attention`] do.

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
