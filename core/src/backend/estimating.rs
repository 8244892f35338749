//! Leaves regions to the runtime that take longer on their backend, by the estimates of that.

use onnxport_abi::backend::CostRecord;
use onnxport_abi::status;

use super::call::{self, Call, Compile};
use super::region::{Ports, Region};
use super::report::{Estimate, Stage};
use super::stage::Running;
use crate::diagnose::{Code, Diagnostic};
use crate::host::Validated;
use crate::ir::{Model, ValueId};
use crate::sym::Dim;

impl Running<'_> {
    /// The region with its estimate; `None` for one that its nodes are faster without.
    pub(super) fn estimated(&mut self, region: Region) -> Option<Region> {
        let estimate = self.estimate(&region);
        if let Some(estimate) = estimate.filter(|it| it.device + it.border > it.runtime) {
            let [whole, border, runtime] =
                [estimate.device + estimate.border, estimate.border, estimate.runtime].map(time);
            let why = format!(
                "its region would take {whole}, {border} of it at its border, and takes {runtime} in the runtime"
            );
            self.leave(region.backend, &region.nodes, Stage::Cost, &why);
            return None;
        }
        Some(Region { estimate, ..region })
    }

    fn estimate(&mut self, region: &Region) -> Option<Estimate> {
        let backend = self.backends[region.backend];
        let cost = backend.table.cost?;
        let ports = region.ports(&self.model.graph, &self.returned);
        let border_bytes = border_bytes(self.model, &ports);
        let domain = backend.entry.domain.validated().to_owned();
        let compile = Compile::for_region(region.name.clone(), domain, region.nodes.clone(), ports);
        let mut record = CostRecord { device: 0.0, runtime: 0.0, entry: 0.0, byte: 0.0 };
        let call = Call::Compile(Box::new(compile));
        let (answer, _) = call::run(self.model, call, &backend, "estimating", |host, graph, cx| {
            cost(backend.index, host, graph, cx, &mut record)
        });
        if answer == status::PANICKED {
            let problem = self.failed(&backend, answer, "it estimated the cost of a region", None);
            self.diagnostics.push(problem);
        }
        if answer != status::OK {
            return None;
        }
        let CostRecord { device, runtime, entry, byte } = record;
        if ![device, runtime, entry, byte].iter().all(|seconds| seconds.is_finite() && *seconds >= 0.0) {
            let (id, name) = (backend.entry.id.validated(), &region.name);
            let message = format!("the backend `{id}` estimates a cost of `{name}` that is not a time");
            self.report(&backend, Diagnostic::error(Code::PLUGIN_CONTRACT, message), None);
            return None;
        }
        let border = entry + byte * border_bytes as f64;
        Some(Estimate { device, border, border_bytes, runtime })
    }
}

/// The bytes of inputs and outputs; a dynamic dimension counts as 1, and a value of unknown type as nothing.
fn border_bytes(model: &Model, ports: &Ports) -> u64 {
    let bytes = |value: &ValueId| {
        let ty = &model.graph.values[*value].ty;
        let dims = ty.shape().and_then(|shape| shape.dims()).unwrap_or_default();
        let sizes = dims.iter().map(|dim| dim.and_then(Dim::as_const).unwrap_or(1));
        let count = sizes.fold(1_u64, |all, size| all.saturating_mul(u64::try_from(size).unwrap_or(1)));
        ty.dtype().and_then(|dtype| dtype.byte_len(count)).unwrap_or(0)
    };
    ports.inputs.iter().chain(&ports.outputs).map(bytes).fold(0, u64::saturating_add)
}

/// Seconds with two digits: `1.2 ms`.
fn time(seconds: f64) -> String {
    let (number, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "µs"),
    };
    let places = usize::from(number != 0.0 && number < 9.95);
    format!("{number:.places$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times_have_two_digits() {
        let all = [0.0, 1.2e-6, 4.2e-5, 0.00123, 0.5, 12.34].map(time);
        assert_eq!(all, ["0 µs", "1.2 µs", "42 µs", "1.2 ms", "500 ms", "12 s"]);
    }
}
