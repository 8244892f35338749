//! The key of a region in a [cache](super::cache): a hash of everything that the contract lets its compilation depend on.

use sha2::{Digest, Sha256};

use rustc_hash::FxHashMap;

use super::blob::hex;
use super::region::{Ports, Region};
use super::select::Selected;
use crate::host::Validated;
use crate::ir::{Attr, Model, ValueId};
use crate::tensor::LazyTensor;

/// Bytes of a weight that are in memory at once.
const PIECE: usize = 1 << 20;

/// A hash of parts, whose borders count.
struct Parts(Sha256);

impl Parts {
    fn add(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn text(&mut self, text: &str) {
        self.add(text.as_bytes());
    }

    fn number(&mut self, number: u64) {
        self.0.update(number.to_le_bytes());
    }

    fn tensor(&mut self, data: &LazyTensor) -> Option<()> {
        self.text(&format!("{} {:?}", data.dtype, data.shape));
        let length = data.byte_len().filter(|_| data.unbound().is_none())?;
        self.number(length);
        let hash = &mut self.0;
        data.stream(0..length, PIECE, &mut |bytes: &[u8]| {
            hash.update(bytes);
            Ok(())
        })
        .ok()
    }

    /// `None` for attributes that a region does not have, or that are not read whole.
    fn attribute(&mut self, value: &Attr) -> Option<()> {
        match value {
            Attr::Tensor(data) => self.tensor(data)?,
            Attr::Float(x) => self.number(u64::from(x.to_bits())),
            Attr::Floats(all) => {
                self.number(all.len() as u64);
                for x in all {
                    self.number(u64::from(x.to_bits()));
                }
            }
            Attr::Int(_) | Attr::Ints(_) | Attr::Str(_) | Attr::Strs(_) => self.text(&format!("{value:?}")),
            Attr::Bytes(bytes) => self.add(bytes),
            _ => return None,
        }
        Some(())
    }
}

/// The key of `region`; `None` if it cannot be kept. `plugin` identifies the code of the backend, and `environment` is the
/// backend's own statement of everything else that its results depend on.
pub(super) fn key(
    model: &Model,
    region: &Region,
    ports: &Ports,
    backend: &Selected,
    plugin: &str,
    environment: &str,
) -> Option<String> {
    let mut parts = Parts(Sha256::new());
    let entry = &backend.entry;
    for text in [
        env!("CARGO_PKG_VERSION"),
        backend.plugin_id,
        plugin,
        entry.id.validated(),
        entry.domain.validated(),
        environment,
        &region.name,
    ] {
        parts.text(text);
    }
    parts.number(entry.domain_version as u64);
    for set in &model.opsets {
        parts.text(&set.domain);
        parts.number(set.version as u64);
    }
    for (_, symbol) in model.symbols.iter() {
        parts.text(&format!("{symbol:?}"));
    }
    let mut numbers: FxHashMap<ValueId, u64> = FxHashMap::default();
    let mut value = |parts: &mut Parts, value: ValueId| {
        let fresh = numbers.len() as u64;
        match numbers.get(&value) {
            Some(number) => parts.number(*number),
            None => {
                numbers.insert(value, fresh);
                parts.number(fresh);
                let info = &model.graph.values[value];
                parts.text(info.name.as_deref().unwrap_or_default());
                parts.text(&model.type_text(&info.ty));
            }
        }
    };
    for list in [&ports.inputs, &ports.weights, &ports.outputs] {
        parts.number(list.len() as u64);
        for one in list {
            value(&mut parts, *one);
        }
    }
    for weight in &ports.weights {
        parts.tensor(model.graph.initializer(*weight)?)?;
    }
    parts.number(region.nodes.len() as u64);
    for node in &region.nodes {
        let data = &model.graph.nodes[*node];
        for text in [data.domain.as_str(), data.op.as_str(), data.overload.as_str()] {
            parts.text(text);
        }
        for list in [&data.inputs, &data.outputs] {
            parts.number(list.len() as u64);
            for one in list {
                match one {
                    Some(one) => value(&mut parts, *one),
                    None => parts.number(u64::MAX),
                }
            }
        }
        parts.number(data.attributes.len() as u64);
        for attribute in &data.attributes {
            parts.text(&attribute.name);
            parts.attribute(&attribute.value)?;
        }
    }
    Some(hex(&parts.0.finalize()))
}
