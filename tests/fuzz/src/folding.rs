//! Constant folding and common subexpression elimination: every result stays the same, bit by bit.

use onnxport_core::clean::{apart, clean, constants, merge};
use onnxport_core::tidy;

use crate::graphs::{self, Kinds, evaluate, inputs, model, valid};
use crate::mutate::Random;

pub(crate) fn run(data: &[u8]) {
    let Some((mode, rest)) = data.split_first() else { return };
    let kinds = Kinds { float: "f32", steps: mode % 2 == 0, constant: mode / 2 % 4 != 0 };
    let text = graphs::text(rest, kinds);
    let before = model(&text);
    let mut after = before.clone();
    if mode / 8 % 2 == 0 {
        constants(&mut after.graph);
        clean(&mut after, if mode / 16 % 2 == 0 { 1 << 20 } else { 64 });
    } else {
        merge(&mut after);
    }
    tidy::model(&mut after);
    tidy::names(&mut after.graph);
    apart(&mut after.graph);
    valid(&after, &text);
    assert!(after.graph.node_count() <= before.graph.node_count(), "{text}\n{}", after.to_text());
    let mut random = Random::new(u64::from(*mode));
    for sizes in [[2, 3], [1, 4], [3, 0]] {
        let given = inputs(&before, sizes, true, &mut random);
        let Ok(wanted) = evaluate(&before, given.clone()) else { continue };
        let found = evaluate(&after, given);
        let found = found.unwrap_or_else(|error| panic!("{error:?}\n{text}\n{}", after.to_text()));
        for (wanted, found) in wanted.iter().zip(&found) {
            assert!(graphs::same(wanted, found, 0.0), "{wanted:?}\n{found:?}\n{text}\n{}", after.to_text());
        }
    }
}
