//! Generated graphs: level 1 changes no bit of their results.

use onnxport_core::optimise::{Level, OptimiseOptions, optimise};
use onnxport_core::sym::SymId;
use onnxport_core::valid::{StatedTypes, validate};
use onnxport_fuzz::graphs::{self, Kinds};
use onnxport_ir::ops::{Limits, run};

use super::draw::{Random, agree, sizes, values};
use super::{STANDARD, read};

/// How many graphs are generated.
const GRAPHS: u64 = 1_000;

/// The bytes that describe a graph.
const BYTES: usize = 400;

#[test]
fn generated_graphs_compute_the_same_bit_for_bit() {
    let (mut applied, mut cleaned, mut ran) = (0, 0, 0);
    for seed in 0..GRAPHS {
        let mut random = Random(seed);
        let bytes: Vec<u8> = (0..BYTES).map(|_| random.below(256) as u8).collect();
        let text = graphs::text(&bytes, Kinds { float: "f32", steps: true, constant: false });
        let before = read(&text);
        let found = validate(&before, &StatedTypes::default());
        assert!(found.is_empty(), "graph {seed}: {found:?}\n{text}");
        let mut after = before.clone();
        let options = OptimiseOptions { level: Level::Exact, ..OptimiseOptions::default() };
        let (done, found) =
            optimise(&STANDARD, &mut after, &mut StatedTypes::default(), &options).expect("it runs");
        assert!(found.is_empty(), "graph {seed}: {found:?}\n{text}");
        let found = validate(&after, &StatedTypes::default());
        assert!(found.is_empty(), "graph {seed}: {found:?}\n{}", after.to_text());
        assert!(after.graph.node_count() <= before.graph.node_count(), "graph {seed} grew");
        applied += done.applied;
        cleaned += done.folded + done.merged + done.decided;
        let mut random = Random(seed);
        for special in [false, true] {
            let drawn = sizes(&before, &mut random);
            let size = |symbol: SymId| drawn.get(symbol.index()).copied();
            let given = values(&before, &size, special, &mut random);
            // Without elements the open extent of a `Reshape` is anything.
            let Ok(wanted) = run(&before, given.clone(), Limits::default()) else { continue };
            let found = run(&after, given, Limits::default());
            let found =
                found.unwrap_or_else(|error| panic!("graph {seed}: {error:?}\n{text}\n{}", after.to_text()));
            ran += 1;
            for (wanted, found) in wanted.iter().zip(&found) {
                let (wanted, found) = (wanted.tensor().expect("a tensor"), found.tensor().expect("a tensor"));
                assert!(
                    agree(wanted, found, 0.0),
                    "graph {seed}: {wanted:?}, {found:?}\n{text}\n{}",
                    after.to_text()
                );
            }
        }
    }
    // The graphs hold what there is to do.
    assert!(
        applied > 1_000 && cleaned > 500 && ran > 1_000,
        "{applied} patches, {cleaned} cleaned, {ran} runs"
    );
}
