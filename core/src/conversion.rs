//! The front of the library: from a program's file to a verified model, a step at a time.

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::diagnose::{Code, Diagnostic, Report, Severity};
use crate::host::Host;
use crate::lower::{self, DimName, Names, Naming};
use crate::pipeline::{self, ConvertOptions, ConvertPipeline, Converted};
use crate::program::Program;
use crate::pt2::{self, Archive, Parts, SampleValue};
use crate::sizes::{self, AxisSize};
use crate::sym::Dim;
use crate::table::WeightTable;
use crate::tensor::MappedFile;
use crate::trace;
use crate::verify::{self, Against, Ahead, Drawing, Reference, Runtime, Verification};
use crate::weights::{self, BindOptions, NameMap, WeightSet};
use crate::write::{self, Unpublished, WriteOptions, WritePlan, WriteReport};

/// The name of a program that does not come from a file.
pub const IN_MEMORY: &str = "the program";

/// The calls to verify a model with, and their source file.
pub type Calls = Result<(Against, PathBuf), Report>;

/// A program that is to be converted.
///
/// ```no_run
/// # fn main() -> Result<(), onnxport_core::Report> {
/// use onnxport_core::{Conversion, Host, WriteOptions};
///
/// let host = Host::new(&[&onnxport_aten::ROOT])?;
/// let conversion = Conversion::open("model.pt2")?.opset(20).dim("x", 0, "batch");
/// let written = conversion.run(&host)?.write("model.onnx", &WriteOptions::default())?;
/// println!("{} bytes of weights", written.weight_bytes);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Conversion {
    /// The path of the archive; `None` for a program from memory.
    path: Option<PathBuf>,
    /// The recorded calls of a program from memory.
    recorded: Option<Against>,
    archive: Archive,
    options: ConvertOptions,
    /// Further files that were read.
    sources: Vec<PathBuf>,
    diagnostics: Vec<Diagnostic>,
    reweighted: bool,
    looks_for_calls: bool,
    draws: bool,
    /// PyTorch that loads the program already.
    ahead: Option<Ahead>,
}

impl Conversion {
    /// Reads the exported program at `path`. Its weights stay in the file.
    ///
    /// # Errors
    /// `OP1xx` for defects of the file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Report> {
        let path = path.as_ref().to_owned();
        let archive = pt2::read(&path)?;
        let sources = vec![Against::sidecar_path(&path)];
        Ok(Self { path: Some(path), sources, ..Self::from_archive(archive, None) })
    }

    /// Takes an exported program from the memory of this process. Its weights are not copied. `recorded` holds calls of
    /// it with their results, in the format of a file of recorded calls.
    ///
    /// # Errors
    /// `OP1xx` for defects of the program, `OP704` for defects of the calls.
    pub fn from_parts(parts: Parts, recorded: Option<Bytes>) -> Result<Self, Report> {
        let recorded = recorded.map(Against::from_bytes).transpose()?;
        Ok(Self::from_archive(pt2::from_parts(parts)?, recorded))
    }

    fn from_archive(archive: Archive, recorded: Option<Against>) -> Self {
        Self {
            path: None,
            recorded,
            archive,
            options: ConvertOptions::default(),
            sources: Vec::new(),
            diagnostics: Vec::new(),
            reweighted: false,
            looks_for_calls: true,
            draws: false,
            ahead: None,
        }
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.archive.program
    }

    /// Replaces all options of the conversion.
    #[must_use]
    pub fn options(mut self, options: ConvertOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the version of ONNX's operators.
    #[must_use]
    pub fn opset(mut self, opset: i64) -> Self {
        self.options.lower.opset = opset;
        self
    }

    /// Names the inputs, in order.
    #[must_use]
    pub fn input_names<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.options.lower.input_names = Names::InOrder(names.into_iter().map(Into::into).collect());
        self
    }

    /// Names the outputs, in order.
    #[must_use]
    pub fn output_names<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.options.lower.output_names = Names::InOrder(names.into_iter().map(Into::into).collect());
        self
    }

    /// Renames one input. Discards names given by position.
    #[must_use]
    pub fn rename_input(mut self, old: &str, new: &str) -> Self {
        self.options.lower.input_names.rename(old.to_owned(), new.to_owned());
        self
    }

    /// Renames one output. Discards names given by position.
    #[must_use]
    pub fn rename_output(mut self, old: &str, new: &str) -> Self {
        self.options.lower.output_names.rename(old.to_owned(), new.to_owned());
        self
    }

    /// Follows a convention for the inputs and outputs that have no other names.
    #[must_use]
    pub fn naming(mut self, naming: Naming) -> Self {
        self.options.lower = self.options.lower.naming(naming, &self.archive.program);
        self
    }

    /// Names the dynamic dimension of an input, whose axes count from 0.
    #[must_use]
    pub fn dim(mut self, input: &str, axis: usize, name: &str) -> Self {
        let (input, name) = (input.to_owned(), name.to_owned());
        self.options.lower.dims.push(DimName { input, axis, name });
        self
    }

    /// Specializes the model to a single size of a dynamic dimension of an input, whose axes count from 0.
    #[must_use]
    pub fn fix(mut self, input: &str, axis: usize, size: u64) -> Self {
        self.options.fixed.push(AxisSize { input: input.to_owned(), axis, size });
        self
    }

    /// Returns the options of a model whose inputs all have the sizes of the program's example inputs, unless `options` gives
    /// another one. Names of dimensions that become static are dropped.
    ///
    /// # Errors
    /// `OP312` for an axis whose size is unknown, and those of [`pipeline::fix`] for the sizes of `options`.
    pub fn freeze(&self, host: &Host, mut options: ConvertOptions) -> Result<ConvertOptions, Report> {
        let mut program = self.archive.program.clone();
        pipeline::fix(host, &mut program, &options)?;
        let examples = LazyCell::new(|| self.example_shapes());
        let example = |input: &str, axis: usize| examples.get(input)?.get(axis).copied();
        let own = self.program();
        let inputs = &options.lower.input_names;
        let names = lower::input_names(own, inputs);
        for size in sizes::traced(&program, &own.symbols, &example)? {
            // Options name inputs as the model does.
            let name = names.iter().find(|(name, _)| *name == size.input).map(|(_, name)| name.clone());
            options.fixed.push(AxisSize { input: name.unwrap_or(size.input), ..size });
        }
        let is_static = |dim: &DimName| {
            let val = lower::program_input(own, inputs, &dim.input).map(|(_, val)| val);
            let ty = val.and_then(|val| own.body.values.find(val)?.ty.as_tensor());
            matches!(ty.and_then(|ty| ty.shape.get(dim.axis)), Some(Dim::Expr(_)))
        };
        let kept: Vec<DimName> = options.lower.dims.iter().filter(|dim| !is_static(dim)).cloned().collect();
        options.lower.dims = kept;
        Ok(options)
    }

    /// The shapes of the example inputs, by the program's names; empty if there are none that can be read.
    fn example_shapes(&self) -> BTreeMap<String, Vec<u64>> {
        if let Some(case) = self.recorded.as_ref().and_then(|recorded| recorded.cases.first()) {
            return case.inputs.iter().map(|(name, tensor)| (name.clone(), tensor.shape.clone())).collect();
        }
        let signature = &self.archive.program.signature;
        let Ok(Some(inputs)) = self.archive.sample_inputs() else { return BTreeMap::new() };
        let values = inputs.flatten(signature).unwrap_or_default().into_iter();
        let shape = |(place, value): (usize, SampleValue)| match value {
            SampleValue::Tensor(tensor) => {
                Some((signature.inputs.get(place)?.name.clone(), tensor.shape.clone()))
            }
            _ => None,
        };
        values.filter_map(shape).collect()
    }

    /// Does not look for recorded calls: the model is not to be verified.
    #[must_use]
    pub fn unverified(mut self) -> Self {
        self.looks_for_calls = false;
        self
    }

    /// Draws calls with other sizes and values even if calls are recorded: for
    /// [`Reference::Torch`](verify::Reference::Torch), which computes their expected results.
    #[must_use]
    pub fn drawing(mut self, draws: bool) -> Self {
        self.draws = draws;
        self
    }

    /// Starts PyTorch, which loads the program while it is converted, if `reference` needs expected values from it.
    #[must_use]
    pub fn refer_ahead(mut self, reference: Reference) -> Self {
        let path = self.path.as_deref().filter(|_| !self.reweighted);
        self.ahead = path.and_then(|path| Ahead::start(path, reference));
        self
    }

    /// As [`refer_ahead`](Self::refer_ahead), with one process for all conversions that get the same `shared`.
    #[must_use]
    pub fn refer_ahead_together(mut self, reference: Reference, shared: &mut Option<Ahead>) -> Self {
        let path = self.path.as_deref().filter(|_| !self.reweighted);
        self.ahead = path.and_then(|path| Ahead::share(path, reference, shared));
        self
    }

    /// Replaces the weights that the program was saved with; returns whether it took any.
    ///
    /// # Errors
    /// `OP632` to `OP638` for mismatches.
    pub fn bind(&mut self, set: &WeightSet, names: &NameMap, options: BindOptions) -> Result<bool, Report> {
        let bound = weights::bind(&mut self.archive.program, set, names, options)?;
        self.sources.extend(set.files().map(Path::to_owned));
        self.diagnostics.extend(bound.diagnostics);
        self.reweighted |= bound.replaced > 0;
        Ok(bound.replaced > 0)
    }

    /// Removes the weights that a state dict would hold: the model waits for them.
    /// [`ConvertOptions::weightless`] allows this.
    pub fn withhold(&mut self) {
        let withheld = weights::withhold(&mut self.archive.program);
        if withheld > 0 {
            let message = format!("weights of the program omitted on request: {withheld}");
            let note =
                Diagnostic { severity: Severity::Note, ..Diagnostic::error(Code::WEIGHTS_MISSING, message) };
            self.diagnostics.push(note.help(
                "bind them with `onnxport weights bind`; buffers that are in no checkpoint stay in the model",
            ));
        }
    }

    /// Adds a file that was read and must never be overwritten.
    pub fn add_source(&mut self, path: PathBuf) {
        self.sources.push(path);
    }

    /// Converts the program with the plugins of `host`.
    ///
    /// # Errors
    /// A report of every problem of the first stage that has any.
    pub fn run(self, host: &Host) -> Result<ConvertedProgram, Report> {
        self.run_with(host, &ConvertPipeline::new())
    }

    /// As [`run`](Self::run), through the stages of `pipeline`.
    ///
    /// # Errors
    /// A report of every problem of the first stage that has any.
    pub fn run_with(
        mut self,
        host: &Host,
        pipeline: &ConvertPipeline<'_>,
    ) -> Result<ConvertedProgram, Report> {
        let (_, note) = pipeline::fix(host, &mut self.archive.program, &self.options)?;
        self.diagnostics.extend(note);
        let looking = trace::span("verify", "looking for calls");
        let calls = if self.looks_for_calls { Some(self.calls(host)) } else { None };
        drop(looking);
        let Archive { program, file, .. } = self.archive;
        let mut converted = pipeline.run(host, program, &self.options)?;
        converted.diagnostics.splice(0..0, self.diagnostics);
        Ok(ConvertedProgram { converted, calls, program: file, sources: self.sources })
    }

    /// Returns the archive of the program.
    pub fn into_archive(self) -> Archive {
        self.archive
    }

    /// Returns the calls to verify a model of this program with, specialized to the sizes `fixed`: the recorded ones,
    /// and calls that `drawing` generates from the first of them.
    ///
    /// # Errors
    /// `OP704` if none is recorded, or they do not belong to the program; `OP710` for a rule that fits no input.
    pub fn against(
        &self,
        host: &Host,
        fixed: &[AxisSize],
        drawing: Option<&Drawing>,
    ) -> Result<Against, Report> {
        let mut program = self.archive.program.clone();
        sizes::fix(&mut program, &host.schemas, fixed)?;
        let mut against = self.recorded.clone().unwrap_or_default();
        let Some(first) = against.cases.first() else {
            return Err(Diagnostic::error(Code::VERIFY_EXPECTED, "there is no call of the program").into());
        };
        let drawn = Against::of_call(&program, &host.schemas, first, drawing.unwrap_or(&Drawing::default()))?;
        if drawing.is_some() {
            against.cases.extend(drawn.cases.into_iter().filter(|case| case.drawn));
        }
        against.locate(&program);
        Ok(against)
    }

    fn calls(&self, host: &Host) -> Calls {
        let sidecar = self.path.as_deref().map(Against::sidecar_path).filter(|path| path.exists());
        // Values that were recorded with other weights do not apply.
        let program = self.path.clone().filter(|_| !self.reweighted);
        let source = self.path.clone().unwrap_or_else(|| PathBuf::from(IN_MEMORY));
        let recorded = match (&self.recorded, sidecar) {
            _ if self.reweighted => None,
            (Some(recorded), _) => Some((recorded.clone(), source.clone())),
            (None, Some(sidecar)) => Some((Against::read(&sidecar)?, sidecar)),
            (None, None) => None,
        };
        if let Some((recorded, source)) = recorded {
            let mut recorded = Against { program, ahead: self.ahead.clone(), ..recorded };
            if self.draws {
                // A failure to draw is ignored: the user asked about the recorded calls.
                let drawn = Against::of_archive(&self.archive, &host.schemas, &Drawing::default());
                recorded.add_drawn(drawn.unwrap_or_default());
            }
            recorded.locate(&self.archive.program);
            return Ok((recorded, source));
        }
        // Sample inputs of fake tensors are fake, and some are of classes that cannot be read.
        let calls =
            Against::of_archive(&self.archive, &host.schemas, &Drawing::default()).or_else(|report| {
                Against::made(&self.archive.program, &host.schemas, &Drawing::default()).map_err(|_| report)
            })?;
        Ok((Against { program, ahead: self.ahead.clone(), ..calls }, source))
    }
}

/// A converted program, ready to be written.
#[derive(Debug)]
pub struct ConvertedProgram {
    /// The model, and a record of its conversion.
    pub converted: Converted,
    /// The calls to verify the model with; `None` if they were not requested.
    pub calls: Option<Calls>,
    program: Option<MappedFile>,
    sources: Vec<PathBuf>,
}

impl ConvertedProgram {
    /// Returns the options of a write, with the files that it must not replace.
    fn guarded(&self, options: &WriteOptions) -> WriteOptions {
        let sources = options.sources.iter().chain(&self.sources).cloned().collect();
        WriteOptions { program: self.program.clone(), sources, ..options.clone() }
    }

    /// Plans a write to `path`: its size, its files and every tensor of it. Writes nothing.
    ///
    /// # Errors
    /// Those of [`plan_tensors()`](write::plan_tensors).
    pub fn plan(
        &self,
        path: impl AsRef<Path>,
        options: &WriteOptions,
    ) -> Result<(WritePlan, WeightTable), Report> {
        write::plan_tensors(&self.converted.model, path.as_ref(), &self.guarded(options))
    }

    /// Writes the model to `path` without running it.
    ///
    /// # Errors
    /// Those of [`write()`](write::write()).
    pub fn write(&self, path: impl AsRef<Path>, options: &WriteOptions) -> Result<WriteReport, Report> {
        write::write(&self.converted.model, path.as_ref(), &self.guarded(options))
    }

    /// Writes the files of a model for `path` under temporary names. Existing files stay until
    /// [`Staged::publish`].
    ///
    /// # Errors
    /// Those of [`stage()`](write::stage).
    pub fn stage(&self, path: impl AsRef<Path>, options: &WriteOptions) -> Result<Staged<'_>, Report> {
        let files = write::stage(&self.converted.model, path.as_ref(), &self.guarded(options))?;
        Ok(Staged { program: self, files })
    }
}

/// A model whose files are complete but not yet visible. They are removed unless published.
#[derive(Debug)]
pub struct Staged<'p> {
    program: &'p ConvertedProgram,
    /// The files.
    pub files: Unpublished,
}

impl Staged<'_> {
    /// Runs the model on the calls that were found for the program.
    ///
    /// A divergence is part of the result, not an error: see [`passed`](Verification::passed).
    ///
    /// # Errors
    /// `OP704` if there are no calls, `OP701` if there is no runtime.
    pub fn verify(
        &mut self,
        runtime: &Runtime,
        options: &verify::Options<'_>,
    ) -> Result<Verification, Report> {
        let (against, _) = match &self.program.calls {
            Some(Ok(found)) => found,
            Some(Err(report)) => return Err(report.clone()),
            None => return Err(Diagnostic::error(Code::VERIFY_EXPECTED, "no calls were looked for").into()),
        };
        let readable = self.files.readable()?;
        Ok(verify::verify(runtime, readable.path(), against, options, &mut |_| {})?)
    }

    /// Renames the files to their final names.
    ///
    /// # Errors
    /// `OP601`, `OP612`. After an error the previous files are unchanged.
    pub fn publish(self) -> Result<WriteReport, Report> {
        self.files.publish()
    }
}
