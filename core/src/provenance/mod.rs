//! Metadata about the program behind a model, in the form of PyTorch's exporter.
//!
//! Calls are printed before the program is normalised, as the user's program has them. The signature is that of the
//! normalised program, in which a mutated buffer is an output.

mod call;
mod signature;

pub use signature::{input, output};

use crate::ir::About;
use crate::onnx::torch;
use crate::program::Program;
use crate::python;
use crate::registry::Schemas;

/// Prints every call of `program`, nested graphs included, into its origins.
pub fn print_calls(program: &mut Program, schemas: &Schemas) {
    let printed = call::printed(&program.body, &program.origins, schemas);
    for (origin, text) in printed {
        program.origins.print(origin, text);
    }
}

/// Returns the metadata of the main graph of a model of `program`.
pub fn graph(program: &Program) -> About {
    let ranges = program.symbols.iter().filter_map(|(_, symbol)| {
        let range = symbol.range;
        if range.min.is_none() && range.max.is_none() {
            return None;
        }
        let bound = |bound: Option<i64>, infinity: &str| bound.map_or(infinity.to_owned(), |n| n.to_string());
        let (least, most) = (bound(range.min, "-int_oo"), bound(range.max, "int_oo"));
        Some(format!("{}: VR[{least}, {most}]", symbol.name))
    });
    let ranges: Vec<String> = ranges.collect();
    let entry = |key: &str, text: String| (key.to_owned(), text);
    let metadata = vec![
        entry(torch::SIGNATURE, signature::text(program)),
        entry(torch::GUARDS, python::list(program.guards.iter().map(|guard| guard.text.as_str()))),
        entry(torch::RANGES, format!("{{{}}}", ranges.join(", "))),
    ];
    let mut about = About { metadata, ..About::default() };
    about.metadata.sort();
    about
}
