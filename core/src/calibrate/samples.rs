//! The samples that activations are measured on. They stay in their files; one is read at a time.

use std::path::PathBuf;

use bytes::Bytes;
use indexmap::IndexMap;

use crate::diagnose::{Code, Diagnostic, Report};
use crate::onnx::{Extent, Port, Signature};
use crate::run::{Computed, Given};
use crate::table::type_of;
use crate::tensor::{DType, LazyTensor};

/// The largest input of a run in bytes.
const LARGEST: u64 = 1 << 30;

/// Inputs for runs of a model.
#[derive(Debug, Default)]
pub struct Samples {
    runs: Vec<Vec<Input>>,
}

/// An input of a run: a part of a tensor.
#[derive(Clone, Debug)]
struct Input {
    name: String,
    dtype: DType,
    shape: Vec<u64>,
    tensor: LazyTensor,
    /// The first byte in the dense form of the tensor.
    start: u64,
    len: u64,
}

impl Samples {
    /// Reads the files at `paths` (`.npz`, or any kind of weight file). A tensor with the name of an input holds one
    /// sample for each index of its first axis: the batch axis of the input, or an axis in front of its own. A tensor
    /// called `CALL/INPUT`, such as `0/x`, is the value of an input in a run.
    ///
    /// # Errors
    /// `OP670` if the files do not fit the model; those of reading them.
    pub fn read(paths: &[PathBuf], signature: &Signature) -> Result<Self, Report> {
        let mut runs = Vec::new();
        for path in paths {
            let mut given = Given::default();
            given.add_all(path)?;
            let tensors = given.names().filter_map(|name| Some((name.to_owned(), given.get(name)?.clone())));
            let found = of_file(tensors.collect(), signature)
                .map_err(|problem| problem.note(format!("in `{}`", path.display())))?;
            runs.extend(found);
        }
        if runs.is_empty() {
            return Err(wrong("there are no samples").into());
        }
        Ok(Self { runs })
    }

    /// The number of runs.
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The inputs of a run.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn run(&self, index: usize) -> Result<Vec<Computed>, Diagnostic> {
        self.runs.get(index).into_iter().flatten().map(Input::read).collect()
    }
}

impl Input {
    fn read(&self) -> Result<Computed, Diagnostic> {
        let mut bytes = Vec::with_capacity(self.len as usize);
        let sink = &mut |piece: &[u8]| {
            bytes.extend_from_slice(piece);
            Ok(())
        };
        self.tensor.stream(self.start..self.start + self.len, usize::MAX, sink).map_err(|error| {
            let error = error.of(&self.name);
            Diagnostic::error(error.code(), error.to_string())
        })?;
        let (name, dtype, shape) = (self.name.clone(), self.dtype, self.shape.clone());
        Ok(Computed { name, dtype, shape, bytes: Bytes::from(bytes) })
    }
}

fn wrong(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::CALIBRATE_SAMPLES, message)
}

fn of_file(
    tensors: IndexMap<String, LazyTensor>,
    signature: &Signature,
) -> Result<Vec<Vec<Input>>, Diagnostic> {
    let is_input = |name: &str| signature.inputs.iter().any(|port| port.name == name);
    let mut calls: IndexMap<String, IndexMap<String, LazyTensor>> = IndexMap::new();
    let mut rows: IndexMap<String, LazyTensor> = IndexMap::new();
    for (name, tensor) in tensors {
        match name.split_once('/') {
            _ if is_input(&name) => {
                rows.insert(name, tensor);
            }
            Some((call, input)) if is_input(input) => {
                calls.entry(call.to_owned()).or_default().insert(input.to_owned(), tensor);
            }
            _ => {
                let names: Vec<&str> = signature.inputs.iter().map(|port| port.name.as_str()).collect();
                return Err(wrong(format!("the model has no input `{name}`"))
                    .help(format!("it takes {}", names.join(", "))));
            }
        }
    }
    if !calls.is_empty() && !rows.is_empty() {
        return Err(wrong("some tensors are named after an input, others after a call and an input").help(
            "use names of inputs, with one sample for each index of the first axis, or `0/x`, `1/x` …",
        ));
    }
    if !calls.is_empty() {
        // Numbers in their order: 2 before 10.
        calls.sort_by(|a, _, b, _| (a.len(), a).cmp(&(b.len(), b)));
        return calls.values().map(|call| whole(call, signature)).collect();
    }
    if rows.is_empty() { Ok(Vec::new()) } else { by_rows(&rows, signature) }
}

/// The tensor of each input that has no default.
fn ports<'a>(
    tensors: &'a IndexMap<String, LazyTensor>,
    signature: &'a Signature,
) -> impl Iterator<Item = Result<(&'a Port, &'a LazyTensor), Diagnostic>> {
    signature.inputs.iter().filter_map(|port| match tensors.get(&port.name) {
        Some(tensor) => {
            let fits = port.dtype.is_none_or(|dtype| dtype == tensor.dtype);
            Some(if fits { Ok((port, tensor)) } else { Err(misfit(port, tensor)) })
        }
        None if port.optional => None,
        None => Some(Err(wrong(format!("there are no samples for the input `{}`", port.name)))),
    })
}

fn misfit(port: &Port, tensor: &LazyTensor) -> Diagnostic {
    let (name, wanted, found) = (&port.name, port.type_text(), type_of(tensor));
    wrong(format!("the input `{name}` is {wanted}, and its samples are {found}"))
        .help("the first axis counts the samples; the other sizes are those of the input")
}

/// A call with a tensor for each input.
fn whole(tensors: &IndexMap<String, LazyTensor>, signature: &Signature) -> Result<Vec<Input>, Diagnostic> {
    let made = ports(tensors, signature).map(|found| {
        let (port, tensor) = found?;
        if !fits(port, &tensor.shape) {
            return Err(misfit(port, tensor));
        }
        part(port, tensor, tensor.shape.clone(), 0)
    });
    made.collect()
}

fn by_rows(
    tensors: &IndexMap<String, LazyTensor>,
    signature: &Signature,
) -> Result<Vec<Vec<Input>>, Diagnostic> {
    let mut runs: Option<(String, Vec<Vec<Input>>)> = None;
    for found in ports(tensors, signature) {
        let (port, tensor) = found?;
        let each = rows(port, tensor)?;
        match &mut runs {
            None => runs = Some((port.name.clone(), each.into_iter().map(|input| vec![input]).collect())),
            Some((first, runs)) if runs.len() != each.len() => {
                let (name, other, own) = (&port.name, runs.len(), each.len());
                return Err(wrong(format!("`{first}` has samples for {other} runs, `{name}` for {own}")));
            }
            Some((_, runs)) => runs.iter_mut().zip(each).for_each(|(run, input)| run.push(input)),
        }
    }
    Ok(runs.map(|(_, runs)| runs).unwrap_or_default())
}

/// The runs in a tensor of samples.
fn rows(port: &Port, tensor: &LazyTensor) -> Result<Vec<Input>, Diagnostic> {
    let Some(dims) = &port.dims else {
        return Err(wrong(format!("the rank of the input `{}` is not known", port.name))
            .help("name the tensors after a call and the input: `0/x`, `1/x` …"));
    };
    let samples = tensor.shape.first().copied().ok_or_else(|| misfit(port, tensor))?;
    let shape: Vec<u64> = if tensor.shape.len() == dims.len() + 1 {
        tensor.shape.iter().skip(1).copied().collect()
    } else {
        let batch = match dims.first() {
            Some(Extent::Known(batch)) => u64::try_from(*batch).unwrap_or(0),
            _ => 1,
        };
        std::iter::once(batch).chain(tensor.shape.iter().skip(1).copied()).collect()
    };
    if !fits(port, &shape) {
        return Err(misfit(port, tensor));
    }
    let size = |shape: &[u64]| crate::tensor::data::count(shape).filter(|count| *count > 0);
    let each = size(&shape).ok_or_else(|| misfit(port, tensor))?;
    let all = size(&tensor.shape).ok_or_else(|| wrong("there are no samples"))?;
    if !all.is_multiple_of(each) {
        let batch = shape.first().copied().unwrap_or(1);
        return Err(wrong(format!(
            "the input `{}` takes {batch} samples at a time, and {samples} is not a multiple of {batch}",
            port.name
        )));
    }
    (0..all / each).map(|run| part(port, tensor, shape.clone(), run * each)).collect()
}

/// The elements of a tensor from `first` on.
fn part(port: &Port, tensor: &LazyTensor, shape: Vec<u64>, first: u64) -> Result<Input, Diagnostic> {
    let bytes = |elements: u64| tensor.dtype.byte_len(elements);
    let len = crate::tensor::data::count(&shape).and_then(bytes).filter(|len| *len <= LARGEST);
    let (Some(len), Some(start)) = (len, bytes(first)) else {
        return Err(wrong(format!("a sample of the input `{}` has more than 1 GiB", port.name)));
    };
    let (name, dtype) = (port.name.clone(), tensor.dtype);
    Ok(Input { name, dtype, shape, tensor: tensor.clone(), start, len })
}

fn fits(port: &Port, shape: &[u64]) -> bool {
    let same = |(extent, size): (&Extent, &u64)| match extent {
        Extent::Known(wanted) => u64::try_from(*wanted) == Ok(*size),
        Extent::Named(_) | Extent::Unknown => true,
    };
    let Some(dims) = &port.dims else { return true };
    dims.len() == shape.len() && dims.iter().zip(shape).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(name: &str, dims: &[Extent]) -> Port {
        Port { name: name.to_owned(), dtype: Some(DType::F32), dims: Some(dims.to_vec()), optional: false }
    }

    fn tensor(shape: &[u64]) -> LazyTensor {
        let count: u64 = shape.iter().product();
        let bytes: Vec<u8> = (0..count).flat_map(|n| (n as f32).to_le_bytes()).collect();
        LazyTensor::inline(DType::F32, shape.to_vec(), bytes)
    }

    fn read(ports: Vec<Port>, tensors: &[(&str, &[u64])]) -> Result<Samples, String> {
        let signature = Signature { inputs: ports, ..Signature::default() };
        let tensors = tensors.iter().map(|(name, shape)| ((*name).to_owned(), tensor(shape))).collect();
        let runs = of_file(tensors, &signature).map_err(|problem| problem.message)?;
        Ok(Samples { runs })
    }

    /// The names and shapes of tensors.
    type Shapes = &'static [(&'static str, &'static [u64])];

    fn x(batch: Extent) -> Vec<Port> {
        vec![port("x", &[batch, Extent::Known(2)])]
    }

    #[test]
    fn the_first_axis_counts_samples() {
        let samples = read(x(Extent::Named("n".to_owned())), &[("x", &[3, 2])]).unwrap();
        assert_eq!(samples.len(), 3);
        let last = samples.run(2).unwrap().remove(0);
        assert_eq!(last.shape, [1, 2]);
        assert_eq!(&last.bytes[..], [4f32.to_le_bytes(), 5f32.to_le_bytes()].concat());
        assert_eq!(read(x(Extent::Known(3)), &[("x", &[6, 2])]).unwrap().len(), 2);
        assert_eq!(read(x(Extent::Known(3)), &[("x", &[5, 3, 2])]).unwrap().len(), 5);
    }

    #[test]
    fn calls_are_in_the_order_of_their_numbers() {
        let samples = read(x(Extent::Unknown), &[("10/x", &[1, 2]), ("2/x", &[4, 2])]).unwrap();
        assert_eq!(samples.run(0).unwrap()[0].shape, [4, 2]);
    }

    #[test]
    fn samples_that_do_not_fit_are_refused() {
        let two = || vec![port("x", &[Extent::Unknown]), port("y", &[Extent::Unknown])];
        let refused: [(Vec<Port>, Shapes, &str); 7] = [
            (x(Extent::Unknown), &[("y", &[3, 2])], "the model has no input `y`"),
            (x(Extent::Unknown), &[("x", &[3, 3])], "the input `x` is"),
            (x(Extent::Unknown), &[("x", &[0, 2])], "there are no samples"),
            (x(Extent::Known(2)), &[("x", &[3, 2])], "the input `x` takes 2 samples at a time"),
            (x(Extent::Unknown), &[("x", &[3, 2]), ("0/x", &[1, 2])], "some tensors are named"),
            (two(), &[("x", &[3])], "there are no samples for the input `y`"),
            (two(), &[("x", &[3]), ("y", &[2])], "`x` has samples for 3 runs, `y` for 2"),
        ];
        for (ports, tensors, message) in refused {
            let said = read(ports, tensors).unwrap_err();
            assert!(said.starts_with(message), "{said}");
        }
    }
}
