//! The value of every input: given, drawn, or the model's own.

use rustc_hash::FxHashMap;

use super::draw::Draw;
use super::given::{Given, Sizes};
use super::wrong;
use crate::diagnose::Diagnostic;
use crate::onnx::{Extent, Port, Signature};
use crate::sym::{SymId, Symbols};
use crate::tensor::LazyTensor;

/// Returns the values of a run in the model's order; inputs that keep their default are left out.
pub(super) fn bind(
    signature: &Signature,
    given: &Given,
    sizes: &Sizes,
    draw: Option<Draw>,
) -> Result<Vec<(String, LazyTensor)>, Diagnostic> {
    let known = |name: &str| signature.inputs.iter().any(|port| port.name == name);
    if let Some(name) = given.names().find(|name| !known(name)) {
        let names: Vec<&str> = signature.inputs.iter().map(|port| port.name.as_str()).collect();
        return Err(
            wrong(format!("the model has no input `{name}`")).help(format!("it takes {}", names.join(", ")))
        );
    }
    let mut extents = Extents::new(signature);
    for port in &signature.inputs {
        if let Some(tensor) = given.get(&port.name) {
            extents.hold(port, tensor)?;
        }
    }
    for (name, size) in sizes {
        extents.set(signature, name, *size)?;
    }
    let missing = |port: &&Port| given.get(&port.name).is_none() && !port.optional;
    if draw.is_none() {
        let lacking: Vec<String> = signature
            .inputs
            .iter()
            .filter(missing)
            .map(|p| format!("{}: {}", p.name, p.type_text()))
            .collect();
        if !lacking.is_empty() {
            return Err(wrong(format!("no value is given for {}", lacking.join(", ")))
                .help("give one with --input NAME=FILE, or use random values with --random"));
        }
    }
    let mut bound = Vec::new();
    for (at, port) in signature.inputs.iter().enumerate() {
        match (given.get(&port.name), draw) {
            (Some(tensor), _) => bound.push((port.name.clone(), tensor.clone())),
            (None, Some(draw)) if !port.optional => {
                let dtype = port.dtype.ok_or_else(|| {
                    wrong(format!(
                        "the input `{}` is not a tensor of a known type, so it cannot be random",
                        port.name
                    ))
                })?;
                let shape = extents.of(port)?;
                bound.push((
                    port.name.clone(),
                    draw.tensor(at, dtype, shape).map_err(|why| {
                        wrong(format!("no value is generated for the input `{}`: {why}", port.name))
                    })?,
                ));
            }
            (None, _) => {}
        }
    }
    Ok(bound)
}

/// The known sizes of dynamic dimensions.
struct Extents {
    symbols: Symbols,
    sizes: FxHashMap<SymId, i64>,
    /// Sizes of axes without a symbol, by input and axis.
    places: FxHashMap<(String, usize), i64>,
}

impl Extents {
    /// Collects the symbols of all inputs.
    fn new(signature: &Signature) -> Self {
        let mut symbols = Symbols::default();
        for extent in signature.inputs.iter().flat_map(|port| port.dims.iter().flatten()) {
            if let Extent::Named(text) = extent {
                // A size that cannot be parsed is unknown.
                let _ = symbols.parse(text);
            }
        }
        Self { symbols, sizes: FxHashMap::default(), places: FxHashMap::default() }
    }

    /// Returns the symbol in a size.
    fn symbol(&mut self, text: &str) -> Option<SymId> {
        let dim = self.symbols.parse(text).ok()?;
        self.symbols.as_symbol(dim)
    }

    /// Records the sizes of a given tensor for `port`.
    fn hold(&mut self, port: &Port, tensor: &LazyTensor) -> Result<(), Diagnostic> {
        let found = || crate::table::type_of(tensor);
        let misfit =
            || wrong(format!("the input `{}` is {}, and {} is given", port.name, port.type_text(), found()));
        if port.dtype.is_some_and(|dtype| dtype != tensor.dtype) {
            return Err(misfit());
        }
        let Some(dims) = &port.dims else { return Ok(()) };
        if dims.len() != tensor.shape.len() {
            return Err(misfit());
        }
        for (extent, size) in dims.iter().zip(&tensor.shape) {
            let size = i64::try_from(*size).map_err(|_| misfit())?;
            let fits = match extent {
                Extent::Known(wanted) => *wanted == size,
                Extent::Unknown => true,
                Extent::Named(text) => match self.symbol(text) {
                    Some(symbol) => *self.sizes.entry(symbol).or_insert(size) == size,
                    None => true,
                },
            };
            if !fits {
                return Err(misfit());
            }
        }
        Ok(())
    }

    /// Sets a dimension that the user names, or an axis such as `x:0`.
    fn set(&mut self, signature: &Signature, name: &str, size: i64) -> Result<(), Diagnostic> {
        let place = name.rsplit_once(':').and_then(|(input, axis)| {
            let port = signature.inputs.iter().find(|port| port.name == input)?;
            let axis = axis.parse::<usize>().ok()?;
            Some((port, axis, port.dims.as_ref()?.get(axis)?))
        });
        let symbol = match place {
            Some((_, _, Extent::Named(text))) => self.symbol(text),
            Some((_, _, Extent::Known(known))) if *known != size => {
                return Err(wrong(format!("the model fixes `{name}` at {known}")));
            }
            Some(_) => None,
            None => Some(self.symbols.find(name).ok_or_else(|| {
                wrong(format!("no dimension of an input is called `{name}`, nor is it an axis such as `x:0`"))
            })?),
        };
        match (symbol, place) {
            (Some(symbol), _) => {
                if *self.sizes.entry(symbol).or_insert(size) != size {
                    let message = format!("`{name}` is {size}, which contradicts another given size");
                    return Err(wrong(message));
                }
            }
            (None, Some((port, axis, _))) => {
                self.places.insert((port.name.clone(), axis), size);
            }
            (None, None) => {}
        }
        Ok(())
    }

    /// The sizes with which `port` is drawn.
    fn of(&mut self, port: &Port) -> Result<Vec<u64>, Diagnostic> {
        let Some(dims) = &port.dims else {
            return Err(wrong(format!(
                "the rank of the input `{}` is not known, so it is not generated",
                port.name
            )));
        };
        dims.iter().enumerate().map(|(axis, extent)| self.extent(port, axis, extent)).collect()
    }

    fn extent(&mut self, port: &Port, axis: usize, extent: &Extent) -> Result<u64, Diagnostic> {
        let mut name = format!("{}:{axis}", port.name);
        let mut size = self.places.get(&(port.name.clone(), axis)).copied();
        match extent {
            Extent::Known(known) => size = Some(*known),
            Extent::Named(text) if size.is_none() => {
                if self.symbol(text).is_some() {
                    name.clone_from(text);
                }
                let sizes = &self.sizes;
                let dim = self.symbols.parse(text).ok();
                size = dim.and_then(|dim| self.symbols.eval(dim, &|id| sizes.get(&id).copied()));
            }
            _ => {}
        }
        size.and_then(|size| u64::try_from(size).ok()).ok_or_else(|| {
            wrong(format!("the size of axis {axis} of the input `{}`, {extent}, is not known", port.name))
                .help(format!("state it: --dim {name}=SIZE"))
        })
    }
}
