//! The executor's description of its runs.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::engine::Engine;

/// Statistics of all runs of an executor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    runs: u64,
    device: u64,
    host: u64,
    lacking: BTreeMap<String, u64>,
    compared: u64,
    library: u64,
    peak: u64,
    planned: u64,
}

impl Report {
    /// Adds the statistics of the last run.
    pub(crate) fn add(&mut self, engine: &Engine) {
        let counts = &engine.counts;
        self.runs += 1;
        self.device += counts.device;
        self.host += counts.host;
        self.compared += counts.compared;
        self.library += counts.library;
        self.peak = self.peak.max(engine.peak());
        self.planned = self.planned.max(engine.planned);
        for (op, count) in &counts.lacking {
            *self.lacking.entry(op.clone()).or_default() += count;
        }
    }

    /// One line, empty before the first run.
    pub(crate) fn describe(&self) -> String {
        if self.runs == 0 {
            return String::new();
        }
        let lacking: u64 = self.lacking.values().sum();
        let all = self.device + self.host + lacking;
        let mut text = format!(
            "{} of {all} nodes on the device, {} on the host by their nature, {} MiB of memory planned and {} MiB in use at \
             most",
            self.device,
            self.host,
            self.planned.div_ceil(1 << 20),
            self.peak.div_ceil(1 << 20)
        );
        if self.library > 0 {
            let _ = write!(text, "; {} products by cuBLAS", self.library);
        }
        if self.compared > 0 {
            let _ = write!(text, "; {} values compared there", self.compared);
        }
        if lacking > 0 {
            let list: Vec<String> = self.lacking.iter().map(|(op, count)| format!("{op} ×{count}")).collect();
            let _ = write!(
                text,
                "; {lacking} evaluated on the processor, for lack of a kernel: {}",
                list.join(", ")
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::Report;

    #[test]
    fn what_the_device_lacks_is_named() {
        let mut report =
            Report { runs: 1, device: 7, host: 2, peak: 1, planned: 1 << 21, ..Report::default() };
        assert_eq!(
            report.describe(),
            "7 of 9 nodes on the device, 2 on the host by their nature, 2 MiB of memory planned and 1 MiB in use at most"
        );
        report.lacking.insert("Unique".to_owned(), 2);
        assert!(
            report.describe().ends_with("; 2 evaluated on the processor, for lack of a kernel: Unique ×2")
        );
        assert_eq!(Report::default().describe(), "");
    }
}
