//! A model in a file whose intermediate values are read while it runs.

use std::path::Path;

use rustc_hash::FxHashMap;

use crate::diagnose::{Code, Diagnostic};
use crate::run::Computed;
use crate::tensor::DType;
use crate::verify::{Feed, Runtime, Session};

/// A loaded model.
pub(super) struct Tapped<'r> {
    session: Session<'r>,
    /// The positions of the tapped values, by their names.
    wanted: FxHashMap<String, Vec<usize>>,
    names: Vec<String>,
    runtime: &'r Runtime,
}

/// The elements and the sizes of a value of f32.
pub(super) struct Floats<'a> {
    /// The sizes.
    pub dims: &'a [i64],
    bytes: &'a [[u8; 4]],
}

impl<'a> Floats<'a> {
    /// The elements in `bytes`.
    pub(super) fn new(dims: &'a [i64], bytes: &'a [u8]) -> Self {
        Self { dims, bytes: bytes.as_chunks::<4>().0 }
    }

    /// The elements.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = f32> {
        self.bytes.iter().map(|bytes| f32::from_le_bytes(*bytes))
    }
}

impl<'r> Tapped<'r> {
    /// Loads the model at `path`, with outputs called `outputs`, to read the values called `names`.
    ///
    /// # Errors
    /// Those of the runtime.
    pub(super) fn load(
        runtime: &'r Runtime,
        path: &Path,
        names: Vec<String>,
        outputs: &[String],
    ) -> Result<Self, Diagnostic> {
        let mut wanted: FxHashMap<String, Vec<usize>> = FxHashMap::default();
        let mut inside: Vec<&str> = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let places = wanted.entry(name.clone()).or_default();
            if places.is_empty() && !outputs.contains(name) {
                inside.push(name);
            }
            places.push(at);
        }
        let session = if inside.is_empty() { runtime.load(path) } else { runtime.load_with(path, &inside) }?;
        Ok(Self { session, wanted, names, runtime })
    }

    /// Runs the model, and passes each value with its position among the names to `take`.
    ///
    /// # Errors
    /// Those of the runtime; `OP709` if it does not return a value of f32.
    pub(super) fn run(
        &mut self,
        inputs: &[Computed],
        take: &mut dyn FnMut(usize, Floats<'_>),
    ) -> Result<(), Diagnostic> {
        let feeds = inputs.iter().map(Computed::feed).collect::<Result<Vec<Feed<'_>>, Diagnostic>>()?;
        let mut seen = vec![false; self.names.len()];
        let wanted = &self.wanted;
        self.session.run(&feeds, &mut |output| {
            let Some(places) = wanted.get(output.name).filter(|_| output.dtype == Some(DType::F32)) else {
                return;
            };
            let (bytes, rest) = output.bytes.as_chunks::<4>();
            for place in places.iter().filter(|_| rest.is_empty()) {
                // A runtime may return an output twice.
                if let Some(seen) = seen.get_mut(*place).filter(|seen| !**seen) {
                    *seen = true;
                    take(*place, Floats { dims: output.dims, bytes });
                }
            }
        })?;
        match self.names.iter().zip(seen).find(|(_, seen)| !seen) {
            None => Ok(()),
            Some((name, _)) => {
                let message = format!("{} did not return the value `{name}` as f32", self.runtime.name());
                Err(Diagnostic::error(Code::VERIFY_ANSWER, message))
            }
        }
    }
}
