//! Calls that no host would make: indices that do not exist, parts that no weight has, places that are too
//! few. The plugin must refuse.

use onnxport_abi::status;
use onnxport_abi::weights::{RectangleRecord, WeightRecord};
use onnxport_abi::{RSlice, RSliceMut, RStr};

use crate::Finding;
use crate::journal::Journal;
use onnxport_core::tensor::DType;
use onnxport_core::verify::discard;
use onnxport_core::weights::WeightsPlugin;

/// Two rows of three blocks, the last one short.
const PART: RectangleRecord<'static> = RectangleRecord {
    name: RStr::from_str("made.up"),
    dtype: DType::F32.onnx(),
    bits: 4,
    symmetric: 1,
    block: 16,
    rows: 8,
    columns: 40,
    first_row: 2,
    end_row: 4,
    first_column: 0,
    end_column: 40,
    values: RSlice::EMPTY,
};

/// Values, codes and scales of [`PART`].
const LENGTHS: [usize; 3] = [80, 80, 6];

pub(super) fn check(weights: &WeightsPlugin, journal: &mut Journal) {
    let table = weights.table();
    let check = "weights/1 unknown index";
    journal.step(check, |_| {
        let weight = WeightRecord { dtype: DType::F32.onnx(), dims: RSlice::from_slice(&[1]) };
        let mut out = [0; 4];
        let mut answers = vec![
            discard(|sink| (table.fill)(u32::MAX, 0, RSliceMut::from_mut_slice(&mut out), sink)),
            discard(|sink| (table.output)(u32::MAX, &weight, sink)),
            discard(|sink| {
                let bytes = RSlice::from_slice(&[0; 4]);
                (table.apply)(u32::MAX, &weight, 0, bytes, RSliceMut::from_mut_slice(&mut out), sink)
            }),
        ];
        answers.extend(ask(weights, u32::MAX, PART, LENGTHS));
        Some(verdict(check, &answers, "what does not exist"))
    });
    for (index, (name, _)) in (0..).zip(weights.quantisers()) {
        let check = format!("weights/1 {name} hostile parts");
        journal.step(&check, |_| {
            let parts = parts().into_iter().map(|part| (part, LENGTHS));
            let short = [[79, 80, 6], [80, 79, 6], [80, 80, 5], [0, 0, 0]].map(|lengths| (PART, lengths));
            let calls = parts.chain(short);
            let answers: Vec<u32> =
                calls.filter_map(|(part, lengths)| ask(weights, index, part, lengths)).collect();
            Some(verdict(&check, &answers, "parts that no weight has"))
        });
    }
}

/// Parts that no weight has.
fn parts() -> Vec<RectangleRecord<'static>> {
    vec![
        RectangleRecord { block: 0, ..PART },
        RectangleRecord { bits: 0, ..PART },
        RectangleRecord { bits: u32::MAX, ..PART },
        RectangleRecord { dtype: 9999, ..PART },
        RectangleRecord { dtype: DType::I64.onnx(), ..PART },
        RectangleRecord { end_row: 0, ..PART },
        RectangleRecord { end_row: 9, ..PART },
        RectangleRecord { first_row: u64::MAX, end_row: u64::MAX, ..PART },
        RectangleRecord { first_row: 0, end_row: u64::MAX, rows: u64::MAX, ..PART },
        RectangleRecord { first_column: 8, ..PART },
        RectangleRecord { end_column: 39, ..PART },
        RectangleRecord { end_column: 48, ..PART },
        RectangleRecord { end_column: u64::MAX, columns: u64::MAX, ..PART },
        RectangleRecord { first_column: 40, ..PART },
    ]
}

/// Asks the quantiser at `index` with so many values, codes and scales; `None` when the plugin cannot be
/// asked.
fn ask(
    weights: &WeightsPlugin,
    index: u32,
    part: RectangleRecord<'_>,
    [values, codes, scales]: [usize; 3],
) -> Option<u32> {
    let quantise = weights.table().quantise?;
    let values = vec![0.5; values];
    let mut codes = vec![0; codes];
    let (mut scales, mut zeros) = (vec![0.0; scales], vec![0; scales]);
    let part = RectangleRecord { values: RSlice::from_slice(&values), ..part };
    Some(discard(|sink| {
        let [zeros, codes] = [&mut zeros, &mut codes].map(|places| RSliceMut::from_mut_slice(places));
        quantise(index, &part, RSliceMut::from_mut_slice(&mut scales), zeros, codes, sink)
    }))
}

fn verdict(check: &str, answers: &[u32], what: &str) -> Finding {
    if answers.contains(&status::OK) {
        Finding::fail(check, format!("a call with {what} succeeds")).next("check the host's answers")
    } else if answers.contains(&status::PANICKED) {
        Finding::fail(check, format!("a call with {what} panics")).next("answer `INVALID`")
    } else {
        Finding::pass(check, format!("{} calls with {what} are refused", answers.len()))
    }
}
