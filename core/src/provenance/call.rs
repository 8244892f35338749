//! Calls as PyTorch prints them (`Node.format_node` in `torch/fx/node.py`).

use rustc_hash::FxHashMap;

use crate::Name;
use crate::diagnose::{Origin, OriginId, Origins};
use crate::program::{Arg, Body, Call, Output, Val};
use crate::python;
use crate::registry::Schemas;
use crate::tensor::DType;

/// Prints the calls of `body` and of its nested graphs.
pub(super) fn printed(body: &Body, origins: &Origins, schemas: &Schemas) -> Vec<(OriginId, String)> {
    let mut found = Vec::new();
    collect(body, origins, schemas, &mut found);
    found
}

fn collect(body: &Body, origins: &Origins, schemas: &Schemas, found: &mut Vec<(OriginId, String)>) {
    let users = users(body);
    for call in &body.calls {
        let text = Printer { body, schemas }.call(call, origins.get(call.origin), &users);
        found.push((call.origin, text));
        for arg in &call.args {
            nested(&arg.arg, &mut |body| collect(body, origins, schemas, found));
        }
    }
}

fn nested(arg: &Arg, visit: &mut impl FnMut(&Body)) {
    match arg {
        Arg::Graph(graph) => visit(&graph.body),
        Arg::List(items) => items.iter().for_each(|item| nested(item, visit)),
        _ => {}
    }
}

/// Counts the calls that read each value; the return of the graph counts as one call.
fn users(body: &Body) -> FxHashMap<Val, usize> {
    let mut users: FxHashMap<Val, usize> = FxHashMap::default();
    let mut read: Vec<Val> = Vec::new();
    let mut count = |read: &mut Vec<Val>| {
        read.sort_unstable();
        read.dedup();
        for val in read.drain(..) {
            *users.entry(val).or_default() += 1;
        }
    };
    for call in &body.calls {
        for arg in &call.args {
            arg.arg.each_value(&mut |val| read.push(val));
        }
        count(&mut read);
    }
    for arg in &body.outputs {
        arg.each_value(&mut |val| read.push(val));
    }
    count(&mut read);
    users
}

struct Printer<'p> {
    body: &'p Body,
    schemas: &'p Schemas,
}

impl Printer<'_> {
    fn call(&self, call: &Call, origin: &Origin, users: &FxHashMap<Val, usize>) -> String {
        let used = match call.outputs.as_slice() {
            [Output::Value(val)] if self.name(*val) == Some(&origin.node) => {
                users.get(val).copied().unwrap_or_default()
            }
            outputs => {
                // A call of several results is read by the nodes that take one of them. Unused results have a name all
                // the same, made by the serializer.
                let unused = format!("{}_unused_", origin.node);
                let taken = |val| !self.name(val).is_some_and(|name| name.starts_with(&unused));
                let mut results = 0;
                for output in outputs {
                    output.each_value(&mut |val| results += usize::from(taken(val)));
                }
                results
            }
        };
        let schema = self.schemas.get(&call.target);
        let by_name = |name: &str| schema.and_then(|s| s.arg(name)).is_some_and(|arg| arg.kwarg_only);
        let (mut args, mut named) = (Vec::new(), Vec::new());
        for arg in &call.args {
            let text = self.arg(&arg.arg);
            if !arg.name.is_empty() && by_name(&arg.name) {
                named.push(format!("{}: {text}", arg.name));
            } else {
                args.push(text);
            }
        }
        let comma = if args.len() == 1 { "," } else { "" };
        let (args, named) = (args.join(", "), named.join(", "));
        let target = target(&call.target);
        let name = &origin.node;
        format!(
            "%{name} : [num_users={used}] = call_function[target={target}](args = ({args}{comma}), kwargs = {{{named}}})"
        )
    }

    fn name(&self, val: Val) -> Option<&Name> {
        self.body.values.find(val).map(|value| &value.name)
    }

    fn arg(&self, arg: &Arg) -> String {
        match arg {
            Arg::None => "None".to_owned(),
            Arg::Value(val) => format!("%{}", self.name(*val).map_or("", Name::as_str)),
            Arg::Int(n) => n.to_string(),
            Arg::Float(x) => python::float(*x),
            Arg::Bool(b) => if *b { "True" } else { "False" }.to_owned(),
            Arg::Str(text) | Arg::Device(text) | Arg::Layout(text) | Arg::MemoryFormat(text) => {
                text.to_string()
            }
            Arg::Complex(real, imaginary) => complex(*real, *imaginary),
            Arg::DType(dtype) => format!("torch.{}", dtype_name(*dtype)),
            Arg::List(items) => {
                let items: Vec<String> = items.iter().map(|item| self.arg(item)).collect();
                format!("[{}]", items.join(", "))
            }
            Arg::Dict(items) => {
                let items: Vec<String> =
                    items.iter().map(|(key, item)| format!("{key}: {}", self.arg(item))).collect();
                format!("{{{}}}", items.join(", "))
            }
            Arg::Graph(graph) => format!("%{}", graph.name),
            Arg::Operator(name) => target(name),
            Arg::UnknownDType(9) => "torch.complex32".to_owned(),
            Arg::UnknownDType(code) => format!("dtype {code}"),
        }
    }
}

/// Returns PyTorch's name of an operator in a call.
fn target(target: &str) -> String {
    match target.strip_prefix("_operator.") {
        Some(function) => format!("operator.{function}"),
        None if ["math.", "torch.", "builtins."].iter().any(|module| target.starts_with(module)) => {
            target.to_owned()
        }
        None => format!("torch.ops.{target}"),
    }
}

/// Formats a complex number like `repr`.
fn complex(real: f64, imaginary: f64) -> String {
    let part = |x: f64| python::float(x).strip_suffix(".0").map_or_else(|| python::float(x), str::to_owned);
    if real == 0.0 && real.is_sign_positive() {
        return format!("{}j", part(imaginary));
    }
    let sign = if imaginary.is_sign_negative() { "" } else { "+" };
    format!("({}{sign}{}j)", part(real), part(imaginary))
}

/// Returns PyTorch's name of an element type.
fn dtype_name(dtype: DType) -> String {
    let text = dtype.as_str();
    match dtype {
        DType::Bool => "bool".to_owned(),
        DType::BF16 => "bfloat16".to_owned(),
        DType::C64 => "complex64".to_owned(),
        DType::C128 => "complex128".to_owned(),
        DType::F8E4M3FN | DType::F8E4M3FNUZ | DType::F8E5M2 | DType::F8E5M2FNUZ | DType::F8E8M0 => {
            let form = text.trim_start_matches("f8").to_lowercase();
            let ending = if dtype == DType::F8E8M0 { "fnu" } else { "" };
            format!("float8_{form}{ending}")
        }
        _ => match text.split_at_checked(1) {
            Some(("f", bits)) => format!("float{bits}"),
            Some(("i", bits)) => format!("int{bits}"),
            Some(("u", bits)) => format!("uint{bits}"),
            _ => text.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_named_as_pytorch_names_them() {
        for (own, torch) in [
            ("aten.add.Tensor", "torch.ops.aten.add.Tensor"),
            ("_operator.mul", "operator.mul"),
            ("higher_order.cond", "torch.ops.higher_order.cond"),
            ("torch.sym_max", "torch.sym_max"),
            ("torchvision.nms.default", "torch.ops.torchvision.nms.default"),
        ] {
            assert_eq!(target(own), torch);
        }
    }

    #[test]
    fn element_types_are_named_as_pytorch_names_them() {
        for (dtype, name) in [
            (DType::F32, "float32"),
            (DType::BF16, "bfloat16"),
            (DType::I64, "int64"),
            (DType::U8, "uint8"),
            (DType::C64, "complex64"),
            (DType::F8E4M3FN, "float8_e4m3fn"),
            (DType::F8E8M0, "float8_e8m0fnu"),
        ] {
            assert_eq!(dtype_name(dtype), name);
        }
    }

    #[test]
    fn complex_numbers_are_those_of_python() {
        assert_eq!(complex(0.0, 2.0), "2j");
        assert_eq!(complex(1.0, -0.5), "(1-0.5j)");
        assert_eq!(complex(-1.5, 1e-5), "(-1.5+1e-05j)");
    }
}
