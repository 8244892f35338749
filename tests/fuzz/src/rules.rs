//! Rules: an optimized model computes the same, bit by bit at the exact level.

use std::sync::LazyLock;

use onnxport_core::Host;
use onnxport_core::optimise::{Level, OptimiseOptions, optimise};
use onnxport_core::valid::StatedTypes;

use crate::graphs::{self, Kinds, evaluate, inputs, model, valid};
use crate::mutate::Random;

static HOST: LazyLock<Host> = LazyLock::new(|| {
    Host::new(&[&onnxport_optimise::ROOT, &onnxport_fusions::ROOT]).expect("the plugins attach")
});

pub(crate) fn run(data: &[u8]) {
    let Some((mode, rest)) = data.split_first() else { return };
    let exact = mode % 2 == 0;
    // At other levels, sums are computed in other orders: in f64, differences are far below the tolerance.
    let kinds = Kinds { float: if exact { "f32" } else { "f64" }, steps: exact, constant: mode / 2 % 2 == 1 };
    let text = graphs::text(rest, kinds);
    let before = model(&text);
    let mut after = before.clone();
    let level = if exact { Level::Exact } else { Level::Target };
    let options = OptimiseOptions { level, ..OptimiseOptions::default() };
    let (_, found) = optimise(&HOST, &mut after, &mut StatedTypes::default(), &options).expect("it runs");
    assert!(found.is_empty(), "{found:?}\n{text}");
    valid(&after, &text);
    let mut random = Random::new(u64::from(*mode));
    for sizes in [[2, 3], [1, 4], [3, 0]] {
        // Approximations need not keep NaN and infinities.
        let given = inputs(&before, sizes, exact && sizes[0] == 2, &mut random);
        // Without elements the open size of a `Reshape` is anything.
        let Ok(wanted) = evaluate(&before, given.clone()) else { continue };
        let found = evaluate(&after, given);
        let found = found.unwrap_or_else(|error| panic!("{error:?}\n{text}\n{}", after.to_text()));
        for (wanted, found) in wanted.iter().zip(&found) {
            let tolerance = if exact { 0.0 } else { 1e-6 };
            let finite = wanted.tensor().and_then(|t| t.floats().ok());
            if !exact && finite.is_some_and(|all| all.iter().any(|x| x.abs() > 1e8 || x.is_nan())) {
                continue;
            }
            let same = graphs::same(wanted, found, tolerance);
            assert!(same, "{wanted:?}\n{found:?}\n{text}\n{}", after.to_text());
        }
    }
}
