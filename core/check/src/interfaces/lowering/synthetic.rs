//! Calls made up from the schemas: an argument of each type, a result like the first tensor. Not every operator accepts
//! them; an answer must be valid, and the same each time.

use onnxport_abi::lowering::entry_flags;

use super::Subject;
use crate::Finding;
use onnxport_core::diagnose::render::{self, Palette};
use onnxport_core::diagnose::{CallSite, Code, Origin, Report, Severity};
use onnxport_core::host::Host;
use onnxport_core::host::Validated;
use onnxport_core::ir::opset::{DEFAULT_OPSET, MAX_OPSET, MIN_OPSET};
use onnxport_core::lower::{LowerOptions, OutputNames, lower};
use onnxport_core::program::{
    Arg, Call, InputKind, InputSpec, NamedArg, Output, OutputKind, OutputSpec, Outputs, Program, TensorType,
    Value, ValueType,
};
use onnxport_core::registry::{Schema, SchemaType, Schemas};
use onnxport_core::sym::{Dim, Range};
use onnxport_core::tensor::DType;

/// The kinds of tensors that calls are made of.
pub(super) const VARIANTS: usize = 4;

/// The result of a call.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    /// A model, in text form.
    Lowered(String),
    /// Problems that a host may have with a call that was made up.
    Refused(String),
    /// A problem that is the plugin's.
    Broken(Finding),
}

/// A host with nothing but the plugin that is checked.
pub(super) struct Bench<'a> {
    subject: &'a Subject,
    host: Host,
}

impl<'a> Bench<'a> {
    pub(super) fn new(subject: &'a Subject) -> Self {
        Self { subject, host: host(subject) }
    }

    /// Lowers a call of entry `index`; `None` when none can be made up.
    pub(super) fn lower(&mut self, index: usize, variant: usize) -> Option<Outcome> {
        let entry = *self.subject.plugin.lowering?.entries.validated().get(index)?;
        let target = entry.target.validated();
        let schema = self.host.schemas.get(target)?;
        let complex = entry.flags & entry_flags::COMPLEX != 0;
        let program = program(schema, Kind::for_variant(variant, complex))?;
        let range = i64::from(entry.min_opset).max(MIN_OPSET)..=i64::from(entry.max_opset).min(MAX_OPSET);
        let opset = if range.contains(&DEFAULT_OPSET) { DEFAULT_OPSET } else { *range.end() };
        let options = LowerOptions { opset, ..LowerOptions::default() };
        Some(match lower(&self.host, program, &options, &OutputNames::default()) {
            Ok(lowered) => Outcome::Lowered(lowered.model.to_text()),
            Err(report) => {
                let broken = [Code::PLUGIN_PANIC, Code::PLUGIN_CONTRACT];
                let found = report
                    .diagnostics
                    .iter()
                    .find(|d| d.severity == Severity::Error && broken.contains(&d.code));
                if let Some(problem) = found {
                    let problem = Finding::from_diagnostic(&format!("lowering/1 {target}"), problem);
                    // A plugin that panicked is not called again by its host.
                    self.host = host(self.subject);
                    return Some(Outcome::Broken(problem));
                }
                Outcome::Refused(text(&report))
            }
        })
    }
}

fn host(subject: &Subject) -> Host {
    let mut host = Host::index(vec![subject.plugin.clone()], &mut Vec::new());
    let own = subject.plugin.lowering.map(|table| table.schemas.validated());
    host.schemas = Schemas::new(own.into_iter().chain(subject.schemas.iter().copied()));
    host
}

fn text(report: &Report) -> String {
    render::text(report, Palette::PLAIN)
}

/// The tensors of a call.
#[derive(Clone, Copy)]
struct Kind {
    dtype: DType,
    rank: usize,
    symbolic: bool,
}

impl Kind {
    fn for_variant(variant: usize, complex: bool) -> Self {
        let (dtype, rank, symbolic) = match variant {
            0 => (DType::F32, 2, false),
            1 => (DType::F32, 4, true),
            2 => (DType::I64, 2, false),
            _ => (DType::Bool, 1, true),
        };
        Self { dtype: if complex && dtype == DType::F32 { DType::C64 } else { dtype }, rank, symbolic }
    }
}

/// A program of one call.
fn program(schema: &Schema, kind: Kind) -> Option<Program> {
    let mut maker = Maker { program: Program::default(), kind };
    let mut args = Vec::new();
    for formal in &schema.args {
        if formal.default.is_none() {
            args.push(NamedArg {
                name: formal.name.as_str().into(),
                arg: maker.argument(&formal.name, &formal.ty)?,
            });
        }
    }
    let outputs = schema.returns.iter().map(|ret| maker.result(&ret.ty)).collect::<Option<Outputs>>()?;
    let Maker { mut program, .. } = maker;
    let place = CallSite { target: schema.target.as_str().into(), ..CallSite::default() };
    let origin = program.origins.push(Origin::new("", place));
    for output in &outputs {
        output.each_value(&mut |val| {
            program.body.outputs.push(Arg::Value(val));
            program.signature.outputs.push(OutputSpec { kind: OutputKind::User });
        });
    }
    program.body.calls.push(Call { target: schema.target.as_str().into(), args, outputs, origin });
    Some(program)
}

struct Maker {
    program: Program,
    kind: Kind,
}

impl Maker {
    fn ty(&mut self) -> TensorType {
        let mut shape = vec![Dim::Const(4); self.kind.rank];
        if let (true, Some(first)) = (self.kind.symbolic, shape.first_mut()) {
            let symbols = &mut self.program.symbols;
            *first = symbols.symbol("n");
            if let Some(id) = symbols.find("n") {
                symbols.get_mut(id).range = Range { min: Some(2), max: Some(64) };
            }
        }
        TensorType::dense(self.kind.dtype, shape)
    }

    fn value(&mut self, name: String, ty: ValueType) -> onnxport_core::program::Val {
        self.program.body.values.push(Value { name: name.into(), ty })
    }

    fn argument(&mut self, name: &str, ty: &SchemaType) -> Option<Arg> {
        Some(match ty {
            SchemaType::Tensor => {
                let ty = self.ty().into();
                let name = format!("{name}_{}", self.program.body.inputs.len());
                let val = self.value(name.clone(), ty);
                self.program.body.inputs.push(Arg::Value(val));
                self.program.signature.inputs.push(InputSpec { name, kind: InputKind::User });
                Arg::Value(val)
            }
            SchemaType::Int | SchemaType::SymInt => Arg::Int(1),
            SchemaType::Float => Arg::Float(0.5),
            SchemaType::Bool => Arg::Bool(true),
            SchemaType::Scalar => Arg::Int(2),
            SchemaType::Complex => Arg::Complex(1.0, 0.5),
            SchemaType::Str => Arg::Str("none".into()),
            SchemaType::DType => Arg::DType(DType::F32),
            SchemaType::Layout => Arg::Layout("torch.strided".into()),
            SchemaType::Device => Arg::Device("cpu".into()),
            SchemaType::MemoryFormat => Arg::MemoryFormat("torch.contiguous_format".into()),
            SchemaType::Generator | SchemaType::Optional(_) => Arg::None,
            SchemaType::List(element, size) => {
                let count = size.unwrap_or(2).min(8);
                let items = (0..count).map(|_| self.argument(name, element));
                Arg::List(items.collect::<Option<_>>()?)
            }
            SchemaType::Other(_) => return None,
        })
    }

    fn result(&mut self, ty: &SchemaType) -> Option<Output> {
        let name = format!("result_{}", self.program.body.values.len());
        Some(match ty {
            SchemaType::Tensor => {
                let ty = self.ty().into();
                Output::Value(self.value(name, ty))
            }
            SchemaType::List(element, _) if **element == SchemaType::Tensor => {
                let mut items = Vec::new();
                for part in ["a", "b"] {
                    let ty = self.ty().into();
                    items.push(Some(self.value(format!("{name}_{part}"), ty)));
                }
                Output::List(items)
            }
            SchemaType::Int | SchemaType::SymInt => {
                let dim = self.program.symbols.opaque();
                Output::Value(self.value(name, ValueType::SymInt(dim)))
            }
            SchemaType::Float | SchemaType::Scalar => Output::Value(self.value(name, ValueType::SymFloat)),
            SchemaType::Bool => Output::Value(self.value(name, ValueType::SymBool)),
            _ => return None,
        })
    }
}
