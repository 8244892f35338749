//! Results of quantisers: numbers that can be stored, and the same ones however the host cuts the
//! weight, in every call, on every thread.

use std::fmt::Write;
use std::time::Instant;

use half::{bf16, f16};
use sha2::{Digest, Sha256};

use super::super::Subject;
use crate::Finding;
use crate::journal::{Event, Journal};
use crate::library::ms;
use crate::threads::at_once;
use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_core::host::Host;
use onnxport_core::tensor::transform::{Bits, QuantisedMut, QuantiserGranule, Rectangle, SharedQuantiser};
use onnxport_core::tensor::{DType, Error};
use onnxport_core::weights::QuantiserName;
use onnxport_core::weights::{WeightsPlugin, quantiser};

/// The weight that is made up.
const SHAPE: [u64; 2] = [7, 70];

pub(super) fn check(subject: &Subject, journal: &mut Journal) {
    let names = subject.plugin.weights.iter().flat_map(WeightsPlugin::quantisers);
    for (name, _) in names {
        let check = format!("weights/1 {name}");
        journal.step(&check, |journal| {
            // One that panics does not keep the others from their check.
            let weights = subject.plugin.weights.as_ref().map(WeightsPlugin::forgiven);
            let mut plugin = subject.plugin.clone();
            plugin.weights = weights;
            let host = Host::index(vec![plugin], &mut Vec::new());
            let wanted = QuantiserName { plugin: subject.plugin.id.to_owned(), name: name.to_owned() };
            Some(match quantiser(&host, &wanted) {
                Ok(found) => one(&found.of("made.up", SHAPE), &check, journal),
                Err(problem) => Finding::from_diagnostic(&check, &problem),
            })
        });
    }
}

/// The result of a quantizer for a part, or its error.
type Answer = Result<Quantized, Diagnostic>;

#[derive(Clone, Debug, PartialEq)]
struct Quantized {
    scales: Vec<f32>,
    zeros: Vec<i32>,
    codes: Vec<i32>,
}

fn one(quantiser: &SharedQuantiser, check: &str, journal: &mut Journal) -> Finding {
    let start = Instant::now();
    let (mut made, mut refused) = (0, 0);
    let mut digest = Sha256::new();
    let mut answers = Vec::new();
    for whole in parts() {
        let answer = ask(quantiser, &whole);
        match &answer {
            Ok(numbers) => {
                made += 1;
                digest.update(format!("{numbers:?}"));
            }
            Err(problem) if problem.code == Code::WEIGHT_PLUGIN => refused += 1,
            Err(problem) => return Finding::from_diagnostic(check, problem),
        }
        if ask(quantiser, &whole).ok() != answer.as_ref().ok().cloned() {
            return Finding::fail(check, format!("{} becomes something else the second time", text(&whole)))
                .next("a quantiser must not keep anything between calls");
        }
        if let Some(piece) = differing(quantiser, &whole, &answer) {
            let reason = format!("{} becomes something else as a part of {}", text(&piece), text(&whole));
            return Finding::fail(check, reason)
                .next("the result of a granule must not depend on other granules; request rows if it does");
        }
        answers.push(answer);
    }
    let took = ms(start.elapsed());
    let work = || parts().iter().map(|part| ask(quantiser, part).ok()).collect::<Vec<_>>();
    let both = match at_once(2, work) {
        Ok(both) => both,
        Err(why) => return Finding::skip(check, why),
    };
    let here: Vec<Option<Quantized>> = answers.into_iter().map(Result::ok).collect();
    if !both.iter().all(|other| other.as_ref().is_ok_and(|other| *other == here)) {
        return Finding::fail(check, "weights differ when two threads request them at once")
            .next("the host writes several pieces at a time: share nothing that can change");
    }
    if made == 0 {
        return Finding::skip(check, "it refuses every generated weight");
    }
    let mut hash = String::new();
    for byte in digest.finalize().iter().take(16) {
        // Writing to a String cannot fail.
        let _ = write!(hash, "{byte:02x}");
    }
    journal.write(&Event::Seen { key: check.to_owned(), value: hash });
    Finding::pass(check, format!("{made} generated weights quantised, {refused} refused, in {took}"))
}

/// A granule, or a run of them, that becomes something else alone than in `whole`.
fn differing(quantiser: &SharedQuantiser, whole: &Rectangle, answer: &Answer) -> Option<Rectangle> {
    let columns = whole.columns.end;
    let row = |at: u64| Rectangle { rows: at..at + 1, ..whole.clone() };
    let mut pieces: Vec<Rectangle> = whole.rows.clone().map(row).collect();
    if quantiser.granule() == QuantiserGranule::Block {
        let block = |at: u64| Rectangle {
            columns: at * whole.block..columns.min((at + 1) * whole.block),
            ..whole.clone()
        };
        pieces.extend((0..columns.div_ceil(whole.block)).map(block));
        pieces.extend(pieces.last().map(|last| Rectangle { rows: 0..1, ..last.clone() }));
    }
    pieces.into_iter().find(|piece| {
        // A quantiser may refuse a granule, and then whatever has it.
        answer.as_ref().is_ok_and(|together| {
            !ask(quantiser, piece).is_ok_and(|alone| alone == together.piece(whole, piece))
        })
    })
}

impl Quantized {
    /// The result for `piece` of `whole`.
    fn piece(&self, whole: &Rectangle, piece: &Rectangle) -> Self {
        let columns = |part: &Rectangle| (part.columns.start as usize, part.columns.end as usize);
        let blocks = |part: &Rectangle| {
            let (start, end) = columns(part);
            (start / part.block as usize, end.div_ceil(part.block as usize))
        };
        Self {
            scales: cut(&self.scales, blocks(whole).1, piece, blocks(piece)),
            zeros: cut(&self.zeros, blocks(whole).1, piece, blocks(piece)),
            codes: cut(&self.codes, columns(whole).1, piece, columns(piece)),
        }
    }
}

/// Of rows of `width` places those of `piece`, and of them the places between two columns.
fn cut<T: Copy>(all: &[T], width: usize, piece: &Rectangle, (start, end): (usize, usize)) -> Vec<T> {
    let rows = all.chunks(width).skip(piece.rows.start as usize);
    let rows = rows.take((piece.rows.end - piece.rows.start) as usize);
    rows.flat_map(|row| row.get(start..end).unwrap_or_default().iter().copied()).collect()
}

/// The made-up weight in every type and form, as a whole.
fn parts() -> Vec<Rectangle> {
    let [rows, columns] = SHAPE;
    let mut parts = Vec::new();
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        for bits in [Bits::Four, Bits::Eight] {
            for symmetric in [true, false] {
                for block in [16, 32, columns] {
                    let part =
                        Rectangle { rows: 0..rows, columns: 0..columns, block, bits, symmetric, dtype };
                    parts.push(part);
                }
            }
        }
    }
    parts
}

/// An element of the made-up weight: rows of numbers in no order, one with an outlier, of zeros, of one
/// number, of the largest and of the smallest numbers, and of positive ones.
fn value(dtype: DType, row: u64, column: u64) -> f32 {
    let mixed = (row * 131 + column + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let plain = mixed as f32 / (1 << 23) as f32 - 1.0;
    let (largest, smallest) = match dtype {
        DType::F16 => (f16::MAX.to_f32(), f16::from_bits(1).to_f32()),
        DType::BF16 => (bf16::MAX.to_f32(), bf16::from_bits(1).to_f32()),
        _ => (f32::MAX, f32::from_bits(1)),
    };
    let value = match row {
        0 => plain,
        1 if column == 20 => 1000.0,
        1 => plain,
        2 => 0.0,
        3 => -0.375,
        4 => largest.copysign(plain),
        5 => smallest.copysign(plain),
        _ => plain.abs(),
    };
    match dtype {
        DType::F16 => f16::from_f32(value).to_f32(),
        DType::BF16 => bf16::from_f32(value).to_f32(),
        _ => value,
    }
}

fn ask(quantiser: &SharedQuantiser, part: &Rectangle) -> Answer {
    let values: Vec<f32> = part
        .rows
        .clone()
        .flat_map(|row| part.columns.clone().map(move |column| value(part.dtype, row, column)))
        .collect();
    let rows = (part.rows.end - part.rows.start) as usize;
    let blocks = rows * (part.columns.end - part.columns.start).div_ceil(part.block) as usize;
    let mut made =
        Quantized { scales: vec![0.0; blocks], zeros: vec![0; blocks], codes: vec![0; values.len()] };
    let mut places =
        QuantisedMut { scales: &mut made.scales, zeros: &mut made.zeros, codes: &mut made.codes };
    quantiser.quantise(part, &values, &mut places).map_err(|error| match error {
        Error::Plugin(problem) => *problem,
        other => Diagnostic::error(other.code(), other.to_string()),
    })?;
    Ok(made)
}

fn text(part: &Rectangle) -> String {
    let Rectangle { rows, columns, block, bits, symmetric, dtype } = part;
    let kind = if *symmetric { "symmetric" } else { "asymmetric" };
    format!("rows {rows:?} of columns {columns:?} ({dtype}, int{}, {kind}, blocks of {block})", bits.count())
}
