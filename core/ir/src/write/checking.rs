//! Verifies weights against the checksums in their archives while they are copied.
//!
//! The kernel makes the copies, and this process sees none of the bytes, or the kernel shares blocks and reads
//! nothing at all. So separate threads read every range with a checksum once. The written bytes may still differ
//! from the checked ones, as after any check: the disk is not read again.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use crc32fast::Hasher;
use rayon::prelude::*;

use super::WriteOptions;
use super::plan::{Destination, Plan, Weight};
use crate::diagnose::{Code, Diagnostic, Report};
use crate::tensor::{Checksum, MappedFile, threads};
use crate::trace;

/// Ranges of the program up to this length are also checked if no weight uses them: their values may have become
/// part of the graph.
const SMALL: u64 = 64 << 10;

/// The bytes that one thread reads at a time.
const PIECE: usize = 16 << 20;

/// Reports of damaged ranges.
const REPORTED: usize = 10;

/// Checksums that are being compared.
pub(super) struct Checking {
    stop: Arc<AtomicBool>,
    all: Vec<(MappedFile, Checksum)>,
    thread: Option<JoinHandle<Vec<Diagnostic>>>,
}

impl Checking {
    /// Begins with the weights that are to be written.
    pub(super) fn start(weights: &[Weight<'_>], places: &Plan, options: &WriteOptions) -> Self {
        let mut checking = Self { stop: Arc::default(), all: Vec::new(), thread: None };
        if !options.check_weights {
            return checking;
        }
        checking.all = of(weights, places, options);
        if !checking.all.is_empty() {
            let (stop, all) = (Arc::clone(&checking.stop), checking.all.clone());
            let check = trace::along(move || {
                let _span = trace::span("write", "checking");
                check(&all, &stop)
            });
            checking.thread = thread::Builder::new().name("check".to_owned()).spawn(check).ok();
        }
        checking
    }

    /// Waits until all are compared.
    ///
    /// # Errors
    /// `OP102` for every range, ten at most, whose bytes are not those that were stored.
    pub(super) fn finish(mut self) -> Result<(), Report> {
        let found = match self.thread.take().map(JoinHandle::join) {
            Some(Ok(found)) => found,
            // No thread could be had, or it failed.
            _ => check(&self.all, &self.stop),
        };
        if found.is_empty() { Ok(()) } else { Err(Report { diagnostics: found, ..Report::default() }) }
    }
}

impl Drop for Checking {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Returns the checksums of the written ranges without duplicates, in the order of the files and their bytes.
fn of(weights: &[Weight<'_>], places: &Plan, options: &WriteOptions) -> Vec<(MappedFile, Checksum)> {
    let mut ranges: Vec<(MappedFile, BTreeMap<u64, Checksum>)> = Vec::new();
    let mut add = |file: &MappedFile, sums: Vec<Checksum>| {
        let known = ranges.iter().rposition(|(known, _)| known.same(file));
        let at = known.unwrap_or_else(|| {
            ranges.push((file.clone(), BTreeMap::new()));
            ranges.len() - 1
        });
        if let Some((_, of_file)) = ranges.get_mut(at) {
            of_file.extend(sums.into_iter().map(|sum| (sum.range.start, sum)));
        }
    };
    if let Some(file) = &options.program {
        add(file, file.checksums_up_to(SMALL));
    }
    for (weight, place) in weights.iter().zip(&places.places) {
        if weight.is_written && matches!(place, Destination::Data(_) | Destination::Inline) {
            for (file, range) in weight.data.file_ranges() {
                add(file, file.checksums_over(range));
            }
        }
    }
    ranges
        .into_iter()
        .flat_map(|(file, sums)| sums.into_values().map(move |sum| (file.clone(), sum)))
        .collect()
}

fn check(all: &[(MappedFile, Checksum)], stop: &AtomicBool) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (file, sum) in all {
        match crc(file, &sum.range, PIECE, stop) {
            None => break,
            Some(crc) if crc == sum.crc => {}
            Some(_) => found.push(damaged(file, sum)),
        }
        if found.len() == REPORTED {
            break;
        }
    }
    found
}

/// The CRC-32 of a range, its pieces of `size` bytes read side by side; `None` when nobody wants it any more.
fn crc(file: &MappedFile, range: &Range<u64>, size: usize, stop: &AtomicBool) -> Option<u32> {
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    let bytes = file.bytes().get(place(range.start)..place(range.end)).unwrap_or_default();
    let piece = |bytes: &[u8]| {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        let mut hasher = Hasher::new();
        hasher.update(bytes);
        Some(hasher)
    };
    if bytes.len() <= size {
        return piece(bytes).map(Hasher::finalize);
    }
    let pieces: Option<Vec<Hasher>> = match threads::count() {
        1 => bytes.chunks(size).map(piece).collect(),
        _ => bytes.par_chunks(size).map(piece).collect(),
    };
    let mut whole = Hasher::new();
    for hasher in &pieces? {
        whole.combine(hasher);
    }
    Some(whole.finalize())
}

fn damaged(file: &MappedFile, sum: &Checksum) -> Diagnostic {
    let Checksum { name, range, .. } = sum;
    let last = range.end.saturating_sub(1);
    let message = format!(
        "`{name}` of `{}` is damaged: its bytes, {} to {last} of the file, do not have the checksum that is stated",
        file.path().display(),
        range.start
    );
    Diagnostic::error(Code::READ_ARCHIVE, message)
        .help("save or copy the file again, or use `--no-check-weights` to skip the check")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_give_the_checksum_of_the_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let bytes: Vec<u8> = (0..200).collect();
        std::fs::write(&path, &bytes).unwrap();
        let file = MappedFile::open(&path).unwrap();
        let stop = AtomicBool::new(false);
        for size in [1, 7, 64, 150, 1000] {
            assert_eq!(crc(&file, &(10..160), size, &stop), Some(crc32fast::hash(&bytes[10..160])), "{size}");
        }
        stop.store(true, Ordering::Relaxed);
        assert_eq!(crc(&file, &(10..160), 7, &stop), None);
    }

    #[test]
    fn a_range_has_the_checksums_that_it_reaches_into() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, [0; 100]).unwrap();
        let file = MappedFile::open(&path).unwrap();
        let sum = |range: Range<u64>| Checksum { name: String::new(), range, crc: 1 };
        file.state_checksums([sum(10..20), sum(20..30), sum(40..90)]);
        // A nested archive.
        file.state_checksums([sum(50..60)]);
        let starts =
            |range: Range<u64>| file.checksums_over(range).iter().map(|s| s.range.start).collect::<Vec<_>>();
        assert_eq!(starts(12..15), [10]);
        assert_eq!(starts(15..21), [10, 20]);
        assert_eq!(starts(30..40), [0_u64; 0]);
        assert_eq!(starts(52..58), [50]);
        assert_eq!(starts(35..45), [40]);
        assert_eq!(file.checksums_up_to(10).len(), 3);
    }
}
