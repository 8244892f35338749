//! A call that a test describes, as a program.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use onnxport_core::ir::opset::DEFAULT_OPSET;
use onnxport_core::optimise::{Level, OptimiseOptions};
use onnxport_core::pipeline::{self, ConvertOptions};
use onnxport_core::program::Program;
use onnxport_schema::SchemaType;
use onnxport_sdk::DType;

use crate::{Failure, Lowered, Plugin, Tensor};

/// An argument of a call. Numbers, texts, truth values, element types, tensors, lists and options of
/// them convert to it; [`input`] and [`constant`] make the others.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// Python's `None`.
    None,
    /// An input of the stated type, `f32[n, 3]` or `symint(n)`.
    Input(String),
    /// An input with its elements, which [`Lowered::run`] uses unless it is given others.
    Tensor(Tensor),
    /// A constant of the graph, which the lowering may read.
    Constant(Tensor),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A string; a device, layout or memory format where the schema says so.
    Str(String),
    /// A complex number.
    Complex(f64, f64),
    /// An element type.
    DType(DType),
    /// A list.
    List(Vec<Argument>),
}

/// An input of the type in text form: `f32[n, 2*m]`, `symint(n)`, `symfloat`, `symbool`. Equal symbols
/// are equal extents.
pub fn input(ty: &str) -> Argument {
    Argument::Input(ty.to_owned())
}

/// A constant of the graph, whose elements the lowering may read.
pub fn constant(tensor: Tensor) -> Argument {
    Argument::Constant(tensor)
}

macro_rules! conversions {
    ($($from:ty => |$value:ident| $make:expr;)*) => {
        $(impl From<$from> for Argument {
            fn from($value: $from) -> Self {
                $make
            }
        })*
    };
}

conversions! {
    i64 => |n| Self::Int(n);
    i32 => |n| Self::Int(n.into());
    f64 => |x| Self::Float(x);
    bool => |b| Self::Bool(b);
    &str => |text| Self::Str(text.to_owned());
    DType => |dtype| Self::DType(dtype);
    Tensor => |tensor| Self::Tensor(tensor);
    &Tensor => |tensor| Self::Tensor(tensor.clone());
}

impl<T: Into<Argument>> From<Vec<T>> for Argument {
    fn from(items: Vec<T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Argument>, const N: usize> From<[T; N]> for Argument {
    fn from(items: [T; N]) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Argument>> From<Option<T>> for Argument {
    fn from(item: Option<T>) -> Self {
        item.map_or(Self::None, Into::into)
    }
}

/// A call of an operator, before it is lowered.
#[must_use = "`lower` lowers the call"]
#[derive(Clone)]
pub struct Call {
    plugin: Plugin,
    target: String,
    opset: i64,
    args: Vec<(String, Argument)>,
    results: Vec<String>,
    ranges: BTreeMap<String, (i64, i64)>,
}

impl Call {
    pub(crate) fn new(plugin: Plugin, target: &str) -> Self {
        Self {
            plugin,
            target: target.to_owned(),
            opset: DEFAULT_OPSET,
            args: Vec::new(),
            results: Vec::new(),
            ranges: BTreeMap::new(),
        }
    }

    /// States an argument by its name in the schema. One that is not stated has the schema's default.
    pub fn arg(mut self, name: &str, argument: impl Into<Argument>) -> Self {
        self.args.push((name.to_owned(), argument.into()));
        self
    }

    /// States the type of the next result, as the exported program does: `f32[n, 3]`, `symint(n)`, or
    /// `none` for a return that is absent.
    pub fn gives(mut self, ty: &str) -> Self {
        self.results.push(ty.to_owned());
        self
    }

    /// The opset to emit; the converter's own unless it is set.
    pub fn opset(mut self, opset: i64) -> Self {
        self.opset = opset;
        self
    }

    /// The bounds of a symbol, inclusive; a size without bounds is 0 or more.
    pub fn range(mut self, symbol: &str, min: i64, max: i64) -> Self {
        self.ranges.insert(symbol.to_owned(), (min, max));
        self
    }

    /// Lowers the call in the host: the program of this one call becomes a model.
    ///
    /// # Errors
    /// What the host says: the plugin refused or panicked, or what it emitted contradicts the program. A test
    /// that is wrong has [`Code::LOWER_ARGUMENT`](onnxport_core::diagnose::Code::LOWER_ARGUMENT).
    pub fn lower(self) -> Result<Lowered, Failure> {
        self.bound().map_err(Failure::setup)?;
        let mut text = Text::default();
        let arguments: Vec<String> = self
            .args
            .iter()
            .map(|(name, argument)| {
                let ty = self.plugin.host.schemas.get(&self.target).and_then(|s| s.arg(name)).map(|a| &a.ty);
                format!("{name}={}", text.argument(name, argument, ty))
            })
            .collect();
        let program = text.program(&self, &arguments.join(", "));
        let mut program = Program::parse(&program).map_err(|error| {
            Failure::setup(format!("the program of the test is wrong:{error}\n{program}"))
        })?;
        for (name, tensor) in &text.constants {
            let data = tensor.to_lazy().map_err(|error| Failure::setup(error.to_string()))?;
            program.tensors.insert(name.clone(), data);
        }
        let mut options = ConvertOptions {
            validate: true,
            optimise: OptimiseOptions { level: Level::Nothing, ..OptimiseOptions::default() },
            ..ConvertOptions::default()
        };
        options.lower.opset = self.opset;
        let converted =
            pipeline::convert(&self.plugin.host, program, &options).map_err(Failure::from_report)?;
        Ok(Lowered { model: converted.model, given: text.given })
    }

    /// Holds the arguments against the schema.
    fn bound(&self) -> Result<(), String> {
        let target = &self.target;
        if self.results.is_empty() {
            return Err("state the type of each result: `.gives(\"f32[n]\")`".to_owned());
        }
        let Some(schema) = self.plugin.host.schemas.get(target) else { return Ok(()) };
        if let Some((odd, _)) = self.args.iter().find(|(name, _)| schema.arg(name).is_none()) {
            return Err(format!("the schema of `{target}` has no argument `{odd}`"));
        }
        let stated = |name: &str| self.args.iter().any(|(other, _)| other == name);
        match schema.args.iter().find(|formal| formal.default.is_none() && !stated(&formal.name)) {
            Some(missing) => Err(format!("`{target}` needs an argument `{}`", missing.name)),
            None => Ok(()),
        }
    }
}

/// The program while it is written.
#[derive(Default)]
struct Text {
    header: String,
    inputs: String,
    symbols: BTreeSet<String>,
    given: BTreeMap<String, Tensor>,
    constants: BTreeMap<String, Tensor>,
}

impl Text {
    /// An argument as programs write it; `name` is the name of its input.
    fn argument(&mut self, name: &str, argument: &Argument, ty: Option<&SchemaType>) -> String {
        match argument {
            Argument::None => "none".to_owned(),
            Argument::Int(n) => n.to_string(),
            Argument::Float(x) if x.is_nan() => "NaN".to_owned(),
            Argument::Float(x) => format!("{x:?}"),
            Argument::Bool(truth) => truth.to_string(),
            Argument::Complex(re, im) => format!("complex({re:?}, {im:?})"),
            Argument::DType(dtype) => dtype.to_string(),
            Argument::Str(text) => match ty.map(plain) {
                Some(SchemaType::Device) => format!("device({text:?})"),
                Some(SchemaType::Layout) => format!("layout({text:?})"),
                Some(SchemaType::MemoryFormat) => format!("format({text:?})"),
                _ => format!("{text:?}"),
            },
            Argument::List(items) => {
                let item = |(at, item)| self.argument(&format!("{name}_{at}"), item, ty);
                let items: Vec<String> = items.iter().enumerate().map(item).collect();
                format!("[{}]", items.join(", "))
            }
            Argument::Input(ty) => {
                let ty = self.typed(ty);
                let _ = writeln!(self.inputs, "  input %{name}: {ty} = user");
                format!("%{name}")
            }
            Argument::Tensor(tensor) => {
                let _ = writeln!(self.inputs, "  input %{name}: {} = user", tensor.type_text());
                self.given.insert(name.to_owned(), tensor.clone());
                format!("%{name}")
            }
            Argument::Constant(tensor) => {
                let ty = tensor.type_text();
                let _ = writeln!(self.header, "tensor {name}: {ty}");
                let _ = writeln!(self.inputs, "  input %{name}: {ty} = tensor_constant {name}");
                self.constants.insert(name.to_owned(), tensor.clone());
                format!("%{name}")
            }
        }
    }

    /// A type, whose symbols are noted.
    fn typed<'t>(&mut self, ty: &'t str) -> &'t str {
        let sizes = ty.find(['[', '(']).map_or("", |at| &ty[at..]);
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let mut rest = sizes;
        while let Some(at) = rest.find(is_word) {
            let word = rest[at..].split(|c| !is_word(c)).next().unwrap_or_default();
            rest = &rest[at + word.len()..];
            if !word.starts_with(|c: char| c.is_ascii_digit()) && !rest.starts_with('(') {
                self.symbols.insert(word.to_owned());
            }
        }
        ty
    }

    fn program(&mut self, call: &Call, arguments: &str) -> String {
        let mut results = Vec::new();
        let mut outputs = String::new();
        for (at, ty) in call.results.iter().enumerate() {
            if ty == "none" {
                results.push("none".to_owned());
                continue;
            }
            results.push(format!("%result_{at}: {}", self.typed(ty)));
            let _ = writeln!(outputs, "  output %result_{at} = user");
        }
        let symbol = |name: &String| match call.ranges.get(name) {
            Some((min, max)) => format!("symbol {name} {min}..{max}\n"),
            None => format!("symbol {name} 0..\n"),
        };
        let symbols: String = self.symbols.iter().map(symbol).collect();
        let (header, inputs, results) = (&self.header, &self.inputs, results.join(", "));
        format!(
            "{symbols}{header}graph {{\n{inputs}  {results} = {}({arguments})\n{outputs}}}\n",
            call.target
        )
    }
}

/// The type of one, where there may be none or many.
fn plain(ty: &SchemaType) -> &SchemaType {
    match ty {
        SchemaType::Optional(inner) => plain(inner),
        other => other,
    }
}
