//! Where the calls to verify with come from.

use std::path::{Path, PathBuf};

use super::branches;
use super::draw::Drawing;
use super::expected::{Against, Case};
use super::indices;
use super::samples::{self, Sample};
use super::values;
use crate::diagnose::{Code, Diagnostic, Report};
use crate::meta;
use crate::program::{InputSpec, Program, Value, ValueType};
use crate::pt2::{self, Archive, SampleValue};
use crate::registry::Schemas;
use crate::sizes::{self, AxisSize, Constraints, Sizes};
use crate::sym::{Dim, SymId};
use crate::tensor::data::count;
use crate::tensor::{DType, LazyTensor};

impl Against {
    /// Finds calls for a file that the user named: a sidecar, or an archive, whose sidecar is used
    /// when there is one beside it. Sizes are drawn for a model of the sizes `fixed`.
    ///
    /// `drawing` says which calls are drawn besides the recorded ones.
    ///
    /// Returns the calls and the file that they come from.
    ///
    /// # Errors
    /// `OP704` when there are no calls, and errors of reading the file.
    pub fn open(
        path: &Path,
        schemas: &Schemas,
        fixed: &[AxisSize],
        drawing: &Drawing,
    ) -> Result<(Self, PathBuf), Report> {
        let is_sidecar = path.extension().is_some_and(|e| e == "safetensors");
        let sidecar = if is_sidecar { path.to_owned() } else { Self::sidecar_path(path) };
        let archive = if is_sidecar { archive_of(path) } else { Some(path.to_owned()) };
        if is_sidecar || sidecar.exists() {
            let mut recorded = Self::read(&sidecar)?;
            if let Some(path) = archive.as_deref().filter(|_| drawing.besides) {
                let mut archive = pt2::read(path)?;
                sizes::fix(&mut archive.program, schemas, fixed)?;
                match Self::of_archive(&archive, schemas, drawing) {
                    Ok(drawn) => recorded.add_drawn(drawn),
                    Err(report) if drawing.by_rule() => return Err(report),
                    // The user did not ask about inputs without a rule.
                    Err(_) => {}
                }
                recorded.locate(&archive.program);
            }
            recorded.program = archive;
            return Ok((recorded, sidecar));
        }
        let mut archive = pt2::read(path)?;
        sizes::fix(&mut archive.program, schemas, fixed)?;
        let program = Some(path.to_owned());
        let found = Self::of_archive(&archive, schemas, drawing).or_else(|report| {
            // Values that are made up by rules need no recorded ones.
            if !drawing.by_rule() {
                return Err(report);
            }
            Ok(Self::made(&archive.program, schemas, drawing)?)
        })?;
        Ok((Self { program, ..found }, path.to_owned()))
    }

    /// Adds the calls of `other` whose sizes or values were drawn.
    pub(crate) fn add_drawn(&mut self, other: Self) {
        for case in other.cases.into_iter().filter(|case| case.drawn) {
            self.cases.push(Case { name: format!("drawn-{}", case.name), ..case });
        }
    }

    /// Notes where the branches of `program` stand in the user's code.
    pub(crate) fn locate(&mut self, program: &Program) {
        self.branches = branches::places(program);
    }

    /// Calls made from the inputs that an archive records. The `schemas` of its operators state which
    /// sizes must be equal.
    ///
    /// # Errors
    /// `OP704` when it records none or they cannot be fed, errors of reading them, and `OP710` for a rule that
    /// fits no input.
    pub fn of_archive(archive: &Archive, schemas: &Schemas, drawing: &Drawing) -> Result<Self, Report> {
        let nothing = || {
            Diagnostic::error(Code::VERIFY_EXPECTED, "the archive records no sample inputs")
                .help("save it with `onnxport.save(program, path)`, which records inputs and expected values")
        };
        let inputs = archive.sample_inputs()?.ok_or_else(nothing)?;
        let program = &archive.program;
        Ok(Self::of_values(program, schemas, inputs.flatten(&program.signature)?, drawing)?)
    }

    /// Calls made from `call`, which states the inputs of `program` by their names, as [`of_archive`](Self::of_archive)
    /// makes them from recorded ones. The `schemas` of its operators state which sizes must be equal.
    ///
    /// # Errors
    /// `OP704` where the call is not one of the program, and `OP710` for a rule that fits no input.
    pub fn of_call(
        program: &Program,
        schemas: &Schemas,
        call: &Case,
        drawing: &Drawing,
    ) -> Result<Self, Diagnostic> {
        let inputs = program.signature.inputs.iter().enumerate();
        let value = |(place, input): (usize, &InputSpec)| {
            let (_, tensor) = call.inputs.iter().find(|(name, _)| *name == input.name)?;
            Some((place, SampleValue::Tensor(tensor.clone())))
        };
        Self::of_values(program, schemas, inputs.filter_map(value).collect(), drawing)
    }

    /// Calls made from values of the inputs at some positions.
    fn of_values(
        program: &Program,
        schemas: &Schemas,
        values: Vec<(usize, SampleValue)>,
        drawing: &Drawing,
    ) -> Result<Self, Diagnostic> {
        let mut samples = Vec::new();
        let mut extents = indices::extents(program, schemas);
        for (place, value) in values {
            let spec = program.signature.inputs.get(place);
            let (Some(spec), Some(stated)) = (spec, stated(program, place)) else { continue };
            let sample = sample(&spec.name, stated, value).ok_or_else(|| {
                let message = format!("the recorded input {} does not match the program", spec.name);
                Diagnostic::error(Code::VERIFY_EXPECTED, message)
            })?;
            samples.push(Sample { within: extents.remove(&place).unwrap_or_default(), ..sample });
        }
        let ports = samples.iter().map(Sample::port);
        let constraints = Constraints::new(meta::implied(program, schemas), &program.guards, ports);
        let places = branches::places(program);
        let mut against = samples::cases(&program.symbols, &samples, &constraints);
        let sizes = samples::traced_sizes(&program.symbols, &samples);
        // A model for other sizes than the recorded ones is one for other values as well.
        for sample in &mut samples {
            if let Some(tensor) = samples::resize(&program.symbols, sample, &sizes) {
                sample.tensor = tensor;
            }
        }
        against.cases.extend(values::cases(&program.symbols, &samples, &sizes, !places.is_empty()));
        against.cases.extend(drawing.cases(&program.symbols, &samples, &constraints, &cost(program))?);
        against.branches = places;
        Ok(against)
    }
}

/// The bytes of all values of the main graph of `program` at some sizes. Those about which nothing is known are
/// left out.
pub(super) fn cost(program: &Program) -> impl Fn(&Sizes) -> Option<u64> {
    let all: Vec<(DType, &[Dim])> = program
        .body
        .values
        .iter()
        .filter_map(|(_, value)| value.ty.as_tensor())
        .map(|ty| (ty.dtype, ty.shape.as_slice()))
        .collect();
    move |sizes| {
        let size = |id: SymId| sizes.iter().find(|(symbol, _)| *symbol == id).map(|(_, size)| *size);
        all.iter().try_fold(0u64, |sum, (dtype, dims)| {
            let shape = dims.iter().map(|dim| u64::try_from(program.symbols.eval(*dim, &size)?).ok());
            let Some(shape) = shape.collect::<Option<Vec<u64>>>() else { return Some(sum) };
            sum.checked_add(dtype.byte_len(count(&shape)?)?)
        })
    }
}

/// The archive that a sidecar lies beside.
fn archive_of(sidecar: &Path) -> Option<PathBuf> {
    let stem = sidecar.file_name()?.to_str()?.strip_suffix(".expected.safetensors")?;
    Some(sidecar.with_file_name(format!("{stem}.pt2"))).filter(|path| path.is_file())
}

/// The program's statement about an input; `None` for one that was specialised to a constant.
fn stated(program: &Program, place: usize) -> Option<&Value> {
    program.body.values.find(program.body.inputs.get(place)?.as_value()?)
}

fn sample(name: &str, stated: &Value, value: SampleValue) -> Option<Sample> {
    let scalar = |dtype, bytes: Vec<u8>| LazyTensor::inline(dtype, Vec::new(), bytes);
    let (dims, number, tensor) = match (&stated.ty, value) {
        (ValueType::Tensor(ty), SampleValue::Tensor(tensor)) => (ty.shape.clone(), None, as_real(tensor)?),
        (ValueType::SymInt(dim), SampleValue::Int(n)) => {
            (Vec::new(), Some(*dim), scalar(DType::I64, n.to_le_bytes().to_vec()))
        }
        (ValueType::SymFloat, SampleValue::Float(n)) => {
            (Vec::new(), None, scalar(DType::F64, n.to_le_bytes().to_vec()))
        }
        (ValueType::SymBool, SampleValue::Bool(b)) => (Vec::new(), None, scalar(DType::Bool, vec![b.into()])),
        // A number that was recorded as a tensor.
        (ty, SampleValue::Tensor(tensor))
            if tensor.shape.is_empty() && number_type(ty) == Some(tensor.dtype) =>
        {
            (Vec::new(), if let ValueType::SymInt(dim) = ty { Some(*dim) } else { None }, tensor)
        }
        _ => return None,
    };
    // A complex tensor is fed as pairs, which its stated shape does not know of.
    let pair = (tensor.shape.len() > dims.len()).then_some(Dim::Const(2));
    let dims = dims.into_iter().chain(pair.filter(|_| number.is_none())).collect();
    Some(Sample { name: name.to_owned(), dims, number, tensor, within: Vec::new(), made: false })
}

/// The element type of a number as a tensor.
fn number_type(ty: &ValueType) -> Option<DType> {
    match ty {
        ValueType::SymInt(_) => Some(DType::I64),
        ValueType::SymFloat => Some(DType::F64),
        ValueType::SymBool => Some(DType::Bool),
        _ => None,
    }
}

/// A complex tensor as pairs of real numbers, as the converted model takes it.
fn as_real(tensor: LazyTensor) -> Option<LazyTensor> {
    let dtype = tensor.dtype.real();
    if dtype == tensor.dtype {
        return Some(tensor);
    }
    let strides = match tensor.strides {
        Some(strides) => {
            let doubled = strides.into_iter().map(|s| s.checked_mul(2)).chain([Some(1)]);
            Some(doubled.collect::<Option<Vec<u64>>>()?)
        }
        None => None,
    };
    let shape = tensor.shape.iter().copied().chain([2]).collect();
    Some(LazyTensor { dtype, shape, source: tensor.source, offset: tensor.offset.checked_mul(2)?, strides })
}
