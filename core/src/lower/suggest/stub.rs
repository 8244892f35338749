//! Skeletons of lowerings, in Python and in Rust: the parameters are those of the operator, the body is left to the
//! user.

use crate::diagnose::{Subject, Suggestion};
use crate::program::{Arg, Body, Call, Output, Val, ValueType};
use crate::registry::{Schema, SchemaType, Schemas};
use crate::sym::{Symbols, is_name};

/// The length up to which lists are spelled out.
const LIST: usize = 8;

/// Words with a meaning in Python other than that of a name.
const PYTHON: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "op", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// The same in Rust, where `cx` is the first parameter of a lowering.
const RUST: &[&str] = &[
    "Self", "as", "async", "await", "box", "break", "const", "continue", "crate", "cx", "do", "dyn", "else",
    "enum", "extern", "false", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "match", "mod", "move",
    "mut", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true", "try", "type",
    "unsafe", "use", "where", "while", "yield",
];

/// Returns lowerings for the operator of `call`; none if it is not an operator of a library, or has odd names.
pub(in crate::lower) fn lowerings(
    schemas: &Schemas,
    symbols: &Symbols,
    body: &Body,
    call: &Call,
) -> Vec<Suggestion> {
    Operator::of(schemas, symbols, body, call)
        .map(|operator| vec![operator.python(), operator.rust()])
        .unwrap_or_default()
}

/// An operator, as far as a call shows it.
struct Operator {
    /// `mylib.softcap.default`.
    target: String,
    /// `mylib::softcap`, with the overload if it has one.
    name: String,
    /// `softcap`.
    word: String,
    parameters: Vec<Parameter>,
    /// The types of the results, as a schema spells them.
    returns: Vec<SchemaType>,
    /// The arguments and results of this call.
    called: String,
}

struct Parameter {
    name: String,
    ty: SchemaType,
}

impl Operator {
    fn of(schemas: &Schemas, symbols: &Symbols, body: &Body, call: &Call) -> Option<Self> {
        let target = call.target.to_string();
        let parts: Vec<&str> = target.split('.').collect();
        let [namespace, word, overload] = parts.as_slice() else { return None };
        if !parts.iter().all(|part| is_name(part))
            || namespace.starts_with('_')
            || *namespace == "higher_order"
        {
            return None;
        }
        let overload = if *overload == "default" { String::new() } else { format!(".{overload}") };
        let name = format!("{namespace}::{word}{overload}");
        let word = (*word).to_owned();
        let schema = schemas.get(&target);
        let parameters = parameters(schema, body, call)?;
        let returns = match schema {
            Some(Schema { returns, .. }) => returns.iter().map(|given| given.ty.clone()).collect(),
            None => call.outputs.iter().map(returned).collect(),
        };
        let show = Shown { symbols, body };
        let given: Vec<String> =
            call.args.iter().filter_map(|arg| show.argument(&arg.name, &arg.arg)).collect();
        let back: Vec<String> = call.outputs.iter().map(|output| show.output(output)).collect();
        let called = format!("Here: {}; gives {}.", given.join(", "), back.join(", "));
        Some(Self { target, name, word, parameters, returns, called })
    }

    /// `mylib::softcap(Tensor x, float cap) -> Tensor`.
    fn schema(&self) -> String {
        let parameters: Vec<String> =
            self.parameters.iter().map(|one| format!("{} {}", spelled(&one.ty), one.name)).collect();
        let returns: Vec<String> = self.returns.iter().map(spelled).collect();
        let returns = match returns.as_slice() {
            [one] => one.clone(),
            several => format!("({})", several.join(", ")),
        };
        format!("{}({}) -> {returns}", self.name, parameters.join(", "))
    }

    fn python(&self) -> Suggestion {
        let Self { name, word, called, .. } = self;
        let mut parameters = vec!["op".to_owned()];
        parameters.extend(self.parameters.iter().map(|one| word_of(&one.name, PYTHON)));
        let parameters = parameters.join(", ");
        let text = format!(
            "import onnxport\n\n\n\
             @onnxport.lowering(\"{name}\")\n\
             def lower_{word}({parameters}):\n    \
                 \"\"\"{}\n\n    \
                 {called}\n    \
                 \"\"\"\n    \
                 raise onnxport.Refusal(\"return the result of `{name}` here, built from `op.Add(x, y)`, `x * 2` and so on\")",
            self.schema(),
        );
        let title = format!("a lowering of `{name}` in Python, to run before the export");
        Suggestion::new(Subject::Lowering, title, text)
    }

    fn rust(&self) -> Suggestion {
        let Self { name, target, called, .. } = self;
        let mut names = Vec::new();
        for (at, one) in self.parameters.iter().enumerate() {
            // A lowering is a free function; its first argument may be called so.
            let name = match one.name.as_str() {
                "self" if at == 0 => "x".to_owned(),
                // The underscore is not part of the argument's name.
                "cx" => "_cx".to_owned(),
                name if RUST.contains(&name) => format!("r#{name}"),
                name => name.to_owned(),
            };
            names.push((name, rust_type(&one.ty)));
        }
        let mut parameters = vec!["cx: &Lower".to_owned()];
        parameters.extend(names.iter().map(|(name, ty)| format!("{name}: {ty}")));
        let parameters = parameters.join(", ");
        let unused: Vec<&str> =
            std::iter::once("cx").chain(names.iter().map(|(name, _)| name.as_str())).collect();
        let result = match self.returns.as_slice() {
            [SchemaType::List(..)] => "Vec<Value>".to_owned(),
            [_] => "Value".to_owned(),
            several => format!("[Value; {}]", several.len()),
        };
        let text = format!(
            "/// `{}`\n\
             ///\n\
             /// {called}\n\
             #[lowering(\"{target}\")]\n\
             fn {}({parameters}) -> Res<{result}> {{\n    \
                 let _ = ({});\n    \
                 Err(\"`{name}` is not written yet\".into())\n\
             }}",
            self.schema(),
            word_of(&self.word, RUST),
            unused.join(", "),
        );
        let title = format!(
            "the same in Rust, for a plugin (`onnxport plugin new`) whose schemas have this line: {}",
            self.schema()
        );
        Suggestion::new(Subject::Plugin, title, text)
    }
}

/// Returns the operator's parameters: those of its schema, or of the call.
fn parameters(schema: Option<&Schema>, body: &Body, call: &Call) -> Option<Vec<Parameter>> {
    let parameters: Vec<Parameter> = match schema {
        Some(schema) => {
            schema.args.iter().map(|arg| Parameter { name: arg.name.clone(), ty: arg.ty.clone() }).collect()
        }
        None => call
            .args
            .iter()
            .map(|arg| Some(Parameter { name: arg.name.to_string(), ty: passed(body, &arg.arg)? }))
            .collect::<Option<_>>()?,
    };
    parameters.iter().all(|one| is_name(&one.name)).then_some(parameters)
}

/// Returns the type of a parameter that accepts `arg`.
fn passed(body: &Body, arg: &Arg) -> Option<SchemaType> {
    Some(match arg {
        Arg::None => SchemaType::Optional(Box::new(SchemaType::Tensor)),
        Arg::Value(val) => match &body.values.find(*val)?.ty {
            ValueType::Tensor(_) => SchemaType::Tensor,
            ValueType::SymInt(_) => SchemaType::SymInt,
            ValueType::SymFloat => SchemaType::Float,
            ValueType::SymBool => SchemaType::Bool,
            ValueType::Token | ValueType::Custom(_) => return None,
        },
        Arg::Int(_) => SchemaType::Int,
        Arg::Float(_) => SchemaType::Float,
        Arg::Bool(_) => SchemaType::Bool,
        Arg::Str(_) => SchemaType::Str,
        Arg::Complex(..) => SchemaType::Scalar,
        Arg::DType(_) => SchemaType::DType,
        Arg::Device(_) => SchemaType::Device,
        Arg::Layout(_) => SchemaType::Layout,
        Arg::MemoryFormat(_) => SchemaType::MemoryFormat,
        Arg::List(items) => {
            let item = match items.iter().find(|item| **item != Arg::None) {
                Some(item) => passed(body, item)?,
                None => SchemaType::Tensor,
            };
            let absent = items.contains(&Arg::None);
            let item = if absent { SchemaType::Optional(Box::new(item)) } else { item };
            SchemaType::List(Box::new(item), None)
        }
        Arg::Dict(_) | Arg::Graph(_) | Arg::Operator(_) | Arg::UnknownDType(_) => return None,
    })
}

fn returned(output: &Output) -> SchemaType {
    match output {
        Output::List(_) => SchemaType::List(Box::new(SchemaType::Tensor), None),
        Output::Value(_) | Output::None => SchemaType::Tensor,
    }
}

/// A type as PyTorch spells it.
fn spelled(ty: &SchemaType) -> String {
    match ty {
        SchemaType::Tensor => "Tensor".to_owned(),
        SchemaType::Int => "int".to_owned(),
        SchemaType::SymInt => "SymInt".to_owned(),
        SchemaType::Float => "float".to_owned(),
        SchemaType::Bool => "bool".to_owned(),
        SchemaType::Complex => "complex".to_owned(),
        SchemaType::Scalar => "Scalar".to_owned(),
        SchemaType::Str => "str".to_owned(),
        SchemaType::DType => "ScalarType".to_owned(),
        SchemaType::Layout => "Layout".to_owned(),
        SchemaType::Device => "Device".to_owned(),
        SchemaType::MemoryFormat => "MemoryFormat".to_owned(),
        SchemaType::Generator => "Generator".to_owned(),
        SchemaType::Optional(inner) => format!("{}?", spelled(inner)),
        SchemaType::List(inner, Some(length)) => format!("{}[{length}]", spelled(inner)),
        SchemaType::List(inner, None) => format!("{}[]", spelled(inner)),
        SchemaType::Other(text) => text.clone(),
    }
}

/// The type of a parameter of a lowering in Rust.
fn rust_type(ty: &SchemaType) -> String {
    match ty {
        SchemaType::Tensor => "Value".to_owned(),
        SchemaType::Int => "i64".to_owned(),
        SchemaType::SymInt => "SymInt".to_owned(),
        SchemaType::Float => "f64".to_owned(),
        SchemaType::Bool => "bool".to_owned(),
        SchemaType::Complex | SchemaType::Scalar => "Scalar".to_owned(),
        SchemaType::Str | SchemaType::Layout | SchemaType::Device | SchemaType::MemoryFormat => {
            "Str".to_owned()
        }
        SchemaType::DType => "DType".to_owned(),
        SchemaType::Generator | SchemaType::Other(_) => "Arg".to_owned(),
        SchemaType::Optional(inner) => format!("Option<{}>", rust_type(inner)),
        SchemaType::List(inner, _) => format!("Vec<{}>", rust_type(inner)),
    }
}

/// Returns `name`, or a variant if it is a reserved word of the language.
fn word_of(name: &str, taken: &[&str]) -> String {
    if taken.contains(&name) { format!("{name}_") } else { name.to_owned() }
}

/// The arguments and results of a call, for people.
struct Shown<'a> {
    symbols: &'a Symbols,
    body: &'a Body,
}

impl Shown<'_> {
    fn argument(&self, name: &str, arg: &Arg) -> Option<String> {
        Some(format!("{name} {}", self.arg(arg)?))
    }

    /// Describes an argument; `None` if it is absent.
    fn arg(&self, arg: &Arg) -> Option<String> {
        Some(match arg {
            Arg::None => return None,
            Arg::Value(val) => self.value(*val),
            Arg::Int(n) => n.to_string(),
            Arg::Float(x) => format!("{x:?}"),
            Arg::Bool(b) => b.to_string(),
            Arg::Complex(real, imaginary) => format!("{real:?}{imaginary:+?}j"),
            Arg::DType(dtype) => dtype.to_string(),
            Arg::Str(text) | Arg::Device(text) | Arg::Layout(text) | Arg::MemoryFormat(text) => {
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.,:> ".contains(c);
                if text.chars().all(is_plain) { format!("'{text}'") } else { "a text".to_owned() }
            }
            Arg::List(items) if items.len() <= LIST => {
                let items = items.iter().map(|item| self.arg(item).unwrap_or_else(|| "None".to_owned()));
                format!("[{}]", items.collect::<Vec<_>>().join(", "))
            }
            Arg::List(items) => format!("a list of {}", items.len()),
            _ => "an object".to_owned(),
        })
    }

    fn output(&self, output: &Output) -> String {
        match output {
            Output::None => "nothing".to_owned(),
            Output::Value(val) => self.value(*val),
            Output::List(items) => {
                let shown =
                    items.iter().take(LIST).map(|item| item.map_or("None".to_owned(), |val| self.value(val)));
                let rest = if items.len() > LIST { ", ..." } else { "" };
                format!("[{}{rest}]", shown.collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn value(&self, val: Val) -> String {
        match self.body.values.find(val).map(|value| &value.ty) {
            Some(ValueType::Tensor(ty)) => {
                let dims: Vec<String> = ty.shape.iter().map(|dim| self.symbols.display(*dim)).collect();
                format!("{}[{}]", ty.dtype, dims.join(", "))
            }
            Some(ValueType::SymInt(dim)) => self.symbols.display(*dim),
            Some(ValueType::SymFloat) => "a float".to_owned(),
            Some(ValueType::SymBool) => "a truth value".to_owned(),
            _ => "an object".to_owned(),
        }
    }
}
