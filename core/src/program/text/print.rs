//! Writing the text form.

use std::fmt::Write;

use super::super::{
    Arg, Body, Call, InputKind, InputSpec, Output, OutputKind, OutputSpec, Program, TensorType, Val,
    ValueType,
};
use super::row_major;
use crate::sym::{Dim, Symbols};
use crate::text;

pub(super) fn program(program: &Program) -> String {
    let mut printer = Printer { program, symbols: program.symbols.clone(), out: String::new() };
    printer.header();
    printer.out.push_str("graph ");
    let signature = &program.signature;
    printer.body(&program.body, Some((&signature.inputs, &signature.outputs)), 0);
    printer.out.push('\n');
    printer.out
}

struct Printer<'a> {
    program: &'a Program,
    /// A copy, because the row-major strides to compare with are built in it.
    symbols: Symbols,
    out: String,
}

type Specs<'a> = Option<(&'a [InputSpec], &'a [OutputSpec])>;

impl Printer<'_> {
    fn header(&mut self) {
        let program = self.program;
        let producer = &program.producer;
        if producer.schema != (0, 0) || !producer.torch.is_empty() {
            self.out.push_str("torch ");
            self.quoted(&producer.torch);
            self.put(format_args!(" schema {} {}\n", producer.schema.0, producer.schema.1));
        }
        self.out.push_str(&text::symbols(&program.symbols));
        for guard in &program.guards {
            self.out.push_str("guard ");
            self.quoted(&guard.text);
            self.out.push('\n');
        }
        for (name, tensor) in &program.tensors {
            self.out.push_str("tensor ");
            self.name(name);
            self.put(format_args!(": {}[", tensor.dtype));
            self.commas(&tensor.shape, |p, n| p.put(format_args!("{n}")));
            self.out.push_str("]\n");
        }
        for (word, spec) in
            [("in_spec", &program.signature.in_spec), ("out_spec", &program.signature.out_spec)]
        {
            if let Some(spec) = spec {
                self.put(format_args!("{word} "));
                self.quoted(spec);
                self.out.push('\n');
            }
        }
    }

    fn body(&mut self, body: &Body, specs: Specs<'_>, depth: usize) {
        self.out.push_str("{\n");
        for (i, input) in body.inputs.iter().enumerate() {
            self.indent(depth + 1);
            self.out.push_str("input ");
            match input.as_value() {
                Some(val) => self.definition(body, val),
                None => self.arg(body, input, depth + 1),
            }
            if let Some(spec) = specs.and_then(|(inputs, _)| inputs.get(i)) {
                self.out.push_str(" = ");
                self.input_kind(&spec.kind);
                let value = input.as_value().and_then(|v| body.values.find(v));
                if value.is_none_or(|v| v.name != spec.name) {
                    self.out.push_str(" as ");
                    self.name(&spec.name);
                }
            }
            self.out.push('\n');
        }
        for call in &body.calls {
            self.indent(depth + 1);
            self.call(body, call, depth + 1);
            self.out.push('\n');
        }
        for (i, output) in body.outputs.iter().enumerate() {
            self.indent(depth + 1);
            self.out.push_str("output ");
            self.arg(body, output, depth + 1);
            if let Some(spec) = specs.and_then(|(_, outputs)| outputs.get(i)) {
                self.out.push_str(" = ");
                self.output_kind(body, &spec.kind);
            }
            self.out.push('\n');
        }
        self.indent(depth);
        self.out.push('}');
    }

    fn input_kind(&mut self, kind: &InputKind) {
        let (word, name) = match kind {
            InputKind::User => ("user", None),
            InputKind::Constant => ("constant", None),
            InputKind::Parameter(name) => ("parameter", Some(name)),
            InputKind::Buffer { name, .. } => ("buffer", Some(name)),
            InputKind::TensorConstant(name) => ("tensor_constant", Some(name)),
            InputKind::CustomObject(name) => ("custom_object", Some(name)),
            InputKind::Token => ("token", None),
        };
        self.out.push_str(word);
        if let Some(name) = name {
            self.out.push(' ');
            self.name(name);
        }
        if matches!(kind, InputKind::Buffer { persistent: false, .. }) {
            self.out.push_str(" nonpersistent");
        }
    }

    fn output_kind(&mut self, body: &Body, kind: &OutputKind) {
        match kind {
            OutputKind::User => self.out.push_str("user"),
            OutputKind::Loss => self.out.push_str("loss"),
            OutputKind::Token => self.out.push_str("token"),
            OutputKind::Gradient(name) => {
                self.out.push_str("gradient ");
                self.name(name);
            }
            OutputKind::State { kind, name, input } => {
                self.put(format_args!("state {} ", kind.as_str()));
                self.name(name);
                self.out.push_str(" of ");
                self.val(body, *input);
            }
        }
    }

    fn call(&mut self, body: &Body, call: &Call, depth: usize) {
        self.commas(&call.outputs, |p, output| match output {
            Output::None => p.out.push_str("none"),
            Output::Value(val) => p.definition(body, *val),
            Output::List(items) => {
                p.out.push('[');
                p.commas(items, |p, item| match item {
                    Some(val) => p.definition(body, *val),
                    None => p.out.push_str("none"),
                });
                p.out.push(']');
            }
        });
        if !call.outputs.is_empty() {
            self.out.push_str(" = ");
        }
        if text::is_word(&call.target) {
            self.out.push_str(&call.target);
        } else {
            self.out.push_str("call ");
            self.quoted(&call.target);
        }
        self.out.push('(');
        self.commas(&call.args, |p, arg| {
            if !arg.name.is_empty() {
                p.name(&arg.name);
                p.out.push('=');
            }
            p.arg(body, &arg.arg, depth);
        });
        self.out.push(')');
        self.origin(call);
    }

    fn origin(&mut self, call: &Call) {
        let program = self.program;
        if call.origin.index() >= program.origins.len() {
            return;
        }
        let origin = program.origins.get(call.origin);
        let frame = origin.user_frame();
        if origin.module.is_empty() && frame.is_none() {
            return;
        }
        self.out.push_str(" @");
        if !origin.module.is_empty() {
            self.out.push(' ');
            self.name(&origin.module);
        }
        if let Some(frame) = frame {
            self.out.push_str(" at ");
            self.quoted(&frame.file);
            self.put(format_args!(":{}", frame.line));
        }
    }

    fn arg(&mut self, body: &Body, arg: &Arg, depth: usize) {
        match arg {
            Arg::None => self.out.push_str("none"),
            Arg::Value(val) => self.val(body, *val),
            Arg::Int(n) => self.put(format_args!("{n}")),
            Arg::Float(x) => self.put(format_args!("{x:?}")),
            Arg::Bool(b) => self.put(format_args!("{b}")),
            Arg::Str(text) => self.quoted(text),
            Arg::Complex(re, im) => self.put(format_args!("complex({re:?}, {im:?})")),
            Arg::DType(dtype) => self.put(format_args!("{dtype}")),
            Arg::UnknownDType(code) => self.put(format_args!("dtype({code})")),
            Arg::Device(text) => self.wrapped("device", text),
            Arg::Layout(text) => self.wrapped("layout", text),
            Arg::MemoryFormat(text) => self.wrapped("format", text),
            Arg::Operator(text) => self.wrapped("op", text),
            Arg::List(items) => {
                self.out.push('[');
                self.commas(items, |p, item| p.arg(body, item, depth));
                self.out.push(']');
            }
            Arg::Dict(items) => {
                self.out.push('{');
                self.commas(items, |p, (key, item)| {
                    p.quoted(key);
                    p.out.push_str(": ");
                    p.arg(body, item, depth);
                });
                self.out.push('}');
            }
            Arg::Graph(graph) => {
                self.out.push_str("graph ");
                self.name(&graph.name);
                self.out.push(' ');
                self.body(&graph.body, None, depth);
            }
        }
    }

    fn wrapped(&mut self, word: &str, text: &str) {
        self.out.push_str(word);
        self.out.push('(');
        self.quoted(text);
        self.out.push(')');
    }

    fn val(&mut self, body: &Body, val: Val) {
        self.out.push('%');
        match body.values.find(val) {
            Some(value) => self.name(&value.name),
            None => self.put(format_args!("\"undefined {val:?}\"")),
        }
    }

    fn definition(&mut self, body: &Body, val: Val) {
        self.val(body, val);
        self.out.push_str(": ");
        match body.values.find(val).map(|v| &v.ty) {
            Some(ValueType::Tensor(ty)) => self.tensor_type(ty),
            Some(ValueType::SymInt(dim)) => {
                let text = self.symbols.display(*dim);
                self.put(format_args!("symint({text})"));
            }
            Some(ValueType::SymFloat) => self.out.push_str("symfloat"),
            Some(ValueType::SymBool) => self.out.push_str("symbool"),
            Some(ValueType::Token) | None => self.out.push_str("token"),
            Some(ValueType::Custom(class)) => self.wrapped("custom", class),
        }
    }

    fn tensor_type(&mut self, ty: &TensorType) {
        self.put(format_args!("{}[", ty.dtype));
        self.dims(&ty.shape);
        self.out.push(']');
        if !ty.strides.is_empty() && ty.strides != row_major(&mut self.symbols, &ty.shape) {
            self.out.push('{');
            self.dims(&ty.strides);
            self.out.push('}');
        }
    }

    fn dims(&mut self, dims: &[Dim]) {
        self.commas(dims, |p, dim| {
            let text = p.symbols.display(*dim);
            p.out.push_str(&text);
        });
    }

    fn commas<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            write(self, item);
        }
    }

    fn name(&mut self, name: &str) {
        self.out.push_str(&text::name(name));
    }

    fn quoted(&mut self, text: &str) {
        self.out.push_str(&text::quote(text));
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = self.out.write_fmt(text);
    }

    fn indent(&mut self, depth: usize) {
        for _ in 0..depth {
            self.out.push_str("  ");
        }
    }
}
