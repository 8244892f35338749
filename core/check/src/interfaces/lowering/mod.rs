//! `lowering/1`: the table, its schemas, calls that no host would make, and calls made from the schemas.

mod hostile;
mod synthetic;
mod table;

use std::time::{Duration, Instant};

use onnxport_abi::lowering::LoweringTable;
use sha2::{Digest, Sha256};

use super::Subject;
use crate::Finding;
use crate::journal::{Event, Journal};
use crate::library::ms;
use crate::threads::at_once;
use onnxport_core::diagnose::Code;
use onnxport_core::host::Validated;
use synthetic::{Bench, Outcome};

pub(super) fn probe(subject: &Subject, journal: &mut Journal) {
    let Some(lowerings) = subject.plugin.lowering else { return };
    table::check(&lowerings, subject, journal);
    hostile::check(&lowerings, journal);
    let mut tally = Tally::default();
    let mut bench = Bench::new(subject);
    for (index, entry) in lowerings.entries.validated().iter().enumerate() {
        let name = format!("lowering/1 {}", entry.target.validated());
        journal.step(&name, |journal| {
            let start = Instant::now();
            let finding = one(&mut bench, index, &name, journal, &mut tally);
            tally.time(entry.target.validated(), start.elapsed());
            finding
        });
    }
    journal.step("lowering/1 calls", |_| Some(tally.finding()));
    journal.step("lowering/1 threads", |_| Some(threads(subject, &lowerings)));
}

/// Lowers every call that is made up for an entry, twice.
fn one(
    bench: &mut Bench<'_>,
    index: usize,
    name: &str,
    journal: &mut Journal,
    tally: &mut Tally,
) -> Option<Finding> {
    let (mut lowered, mut refused) = (false, false);
    let mut texts = String::new();
    for variant in 0..synthetic::VARIANTS {
        let Some(first) = bench.lower(index, variant) else {
            tally.unmade += 1;
            return None;
        };
        let second = bench.lower(index, variant);
        if second.as_ref() != Some(&first) {
            let reason = "the same call is lowered to something else the second time";
            return Some(Finding::fail(name, reason).next("a lowering must not keep anything between calls"));
        }
        match first {
            Outcome::Lowered(text) => {
                lowered = true;
                texts.push_str(&text);
            }
            Outcome::Refused(text) => {
                refused = true;
                texts.push_str(&text);
            }
            Outcome::Broken(problem) if problem.code.as_deref() == Some(Code::PLUGIN_PANIC.as_str()) => {
                return Some(
                    problem.next("refuse unexpected arguments: `return Err(\"argument `x` ...\".into())`"),
                );
            }
            Outcome::Broken(problem) => return Some(problem),
        }
    }
    let hash = Sha256::digest(texts.as_bytes());
    let hash = hash.first_chunk().map_or(0, |head| u128::from_be_bytes(*head));
    journal.write(&Event::Seen { key: name.to_owned(), value: format!("{hash:032x}") });
    tally.lowered += usize::from(lowered);
    tally.refused += usize::from(refused && !lowered);
    None
}

/// The results of the calls.
#[derive(Default)]
struct Tally {
    lowered: usize,
    refused: usize,
    unmade: usize,
    total: Duration,
    slowest: Option<(String, Duration)>,
}

impl Tally {
    fn time(&mut self, target: &str, time: Duration) {
        self.total += time;
        if self.slowest.as_ref().is_none_or(|(_, slowest)| time > *slowest) {
            self.slowest = Some((target.to_owned(), time));
        }
    }

    fn finding(&self) -> Finding {
        let Self { lowered, refused, unmade, total, slowest } = self;
        let mut text = format!("{lowered} lowered, {refused} refused generated calls");
        if *unmade > 0 {
            text = format!("{text}, {unmade} take arguments that cannot be generated");
        }
        if let Some((target, time)) = slowest {
            text = format!("{text}; {} in all, the slowest `{target}` with {}", ms(*total), ms(*time));
        }
        Finding::pass("lowering/1 calls", text)
    }
}

/// The calls of one thread, of another one, and of two at once must give the same.
fn threads(subject: &Subject, lowerings: &LoweringTable) -> Finding {
    /// Entries that are tried; all of a large plugin would take long.
    const TRIED: usize = 40;
    let check = "lowering/1 threads";
    let count = lowerings.entries.len();
    let step = count.div_ceil(TRIED).max(1);
    // The slowest and the broken ones are the same on every thread; the others are enough.
    let work = || {
        let mut bench = Bench::new(subject);
        (0..count).step_by(step).map(|index| bench.lower(index, 0)).collect::<Vec<_>>()
    };
    let here = work();
    let (elsewhere, both) = match (at_once(1, work), at_once(2, work)) {
        (Ok(elsewhere), Ok(both)) => (elsewhere, both),
        (Err(why), _) | (_, Err(why)) => return Finding::skip(check, why),
    };
    let same = |other: &std::thread::Result<Vec<Option<Outcome>>>| other.as_ref().is_ok_and(|o| *o == here);
    if !elsewhere.iter().all(same) {
        return Finding::fail(check, "calls give something else on another thread")
            .next("a lowering must not depend on the thread that it is called on");
    }
    if !both.iter().all(same) {
        return Finding::fail(check, "calls give something else when two threads make them at once")
            .next("several hosts may live in one process: share nothing between calls that can change");
    }
    Finding::pass(check, "the same on another thread, and on two at once")
}
