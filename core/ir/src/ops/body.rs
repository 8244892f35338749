//! Operators that ONNX defines by others: the bodies of its own functions.
//!
//! `cargo xtask gen` writes `body/generated.txt`, in the text form of models: a function for each version of an operator and
//! each operator set that ONNX defines it in. Its overload is the version of the operator, and it imports the operator set
//! that its nodes are of. Where the definition hangs on the call, lines in front of the function say which calls it is for:
//!
//! ```text
//! call +0 +1 -2 axis:negative approximate:tanh ignore_index:given outputs:1
//! ```
//!
//! Inputs 0 and 1 are given and input 2 is not; the axis counts from the end, the attribute `approximate` is `tanh`,
//! `ignore_index` is given, and one output is asked for. `$axis` in the text stands for what the attribute is in the call,
//! `$type0` for the element type of its first input.

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::ir::opset::{self, OpSchema};
use crate::ir::{Attr, Function, Model, Node};
use crate::tensor::DType;

const TEXT: &str = include_str!("body/generated.txt");

/// A body, or what one is made of for a call.
struct Body {
    name: &'static str,
    /// The version of the operator.
    since: u16,
    /// The operator set that the body is of.
    opset: i64,
    /// The calls that it is for; none of one for every call.
    calls: Vec<&'static str>,
    text: &'static str,
    /// Read, where no call has to say more.
    function: Option<Function>,
}

impl Body {
    /// Reads what stands between two empty lines; the first of these is a model without functions.
    fn read(block: &'static str) -> Option<Self> {
        let title = block.lines().find(|line| line.starts_with("function "))?;
        let at = block.find("function ")?;
        let (calls, text) = block.split_at_checked(at)?;
        let calls: Vec<_> = calls.lines().filter_map(|line| line.strip_prefix("call ")).collect();
        let (name, rest) = title.strip_prefix("function \"\"::")?.split_once(" overload \"")?;
        let (since, rest) = rest.split_once('"')?;
        let opset = rest.rsplit_once(" opset ")?.1.strip_suffix(" {")?.parse().ok()?;
        let function = if calls.is_empty() { Some(parse(text)?) } else { None };
        Some(Self { name, since: since.parse().ok()?, opset, calls, text, function })
    }

    /// The body of a call; `None` where it is not for such a call.
    fn of(&'static self, call: &Call<'_>) -> Option<Cow<'static, Function>> {
        if let Some(function) = &self.function {
            return Some(Cow::Borrowed(function));
        }
        let fits = |line: &str| line.split(' ').all(|what| call.is(what).unwrap_or(false));
        self.calls.iter().any(|line| fits(line)).then_some(())?;
        parse(&call.fill(self.text)?).map(Cow::Owned)
    }
}

/// The one function of this text.
fn parse(text: &str) -> Option<Function> {
    let model = Model::parse(&format!("opset {}\ngraph {{\n}}\n{text}\n", opset::MAX_OPSET)).ok()?;
    model.functions.into_iter().next()
}

/// What bodies ask about a node.
struct Call<'a> {
    node: &'a Node,
    dtypes: &'a [Option<DType>],
    schema: &'static OpSchema,
}

impl Call<'_> {
    /// The attribute called `name`, or its default.
    fn attr(&self, name: &str) -> Option<Attr> {
        self.node.attr(name).cloned().or_else(|| self.schema.default_of(name).map(Attr::from))
    }

    /// Whether the call is what a word says.
    fn is(&self, what: &str) -> Option<bool> {
        let given = |at: &str| Some(self.node.inputs.get(at.parse::<usize>().ok()?)?.is_some());
        if let Some(at) = what.strip_prefix('+') {
            return given(at);
        }
        if let Some(at) = what.strip_prefix('-') {
            return Some(!given(at).unwrap_or(false));
        }
        let (name, wanted) = what.split_once(':')?;
        Some(match (name, wanted) {
            ("outputs", count) => count.parse() == Ok(self.node.outputs.len()),
            (_, "given") => self.node.attr(name).is_some(),
            (_, "absent") => self.node.attr(name).is_none(),
            (_, "natural") => matches!(self.attr(name), Some(Attr::Int(0..))),
            (_, "negative") => matches!(self.attr(name), Some(Attr::Int(..=-1))),
            (_, text) => matches!(self.attr(name), Some(Attr::Str(own)) if own == text),
        })
    }

    /// The text with what the call says in place of each `$name`.
    fn fill(&self, text: &str) -> Option<String> {
        let mut parts = text.split('$');
        let mut out = parts.next()?.to_owned();
        for part in parts {
            let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(part.len());
            let (name, rest) = part.split_at_checked(end)?;
            let value = match name.strip_prefix("type") {
                Some(at) => (*self.dtypes.get(at.parse::<usize>().ok()?)?)?.onnx().to_string(),
                None => match self.attr(name)? {
                    Attr::Int(n) => n.to_string(),
                    Attr::Float(x) => format!("{x:?}"),
                    _ => return None,
                },
            };
            out.extend([&value, rest]);
        }
        Some(out)
    }
}

fn bodies() -> &'static [Body] {
    static BODIES: LazyLock<Vec<Body>> =
        LazyLock::new(|| TEXT.split("\n\n").filter_map(Body::read).collect());
    &BODIES
}

/// The versions of an operator of ONNX's main domain for which there is a body, for some calls at least.
pub fn versions(name: &str) -> Vec<u16> {
    let mut versions: Vec<u16> = bodies().iter().filter(|b| b.name == name).map(|b| b.since).collect();
    versions.dedup();
    versions
}

/// What defines `node` at `opset` by operators of the same or an older operator set, with `dtypes` the element types of its
/// inputs. `None` where ONNX has no such definition, or none for such a call is here.
pub fn body(node: &Node, dtypes: &[Option<DType>], opset: i64) -> Option<Cow<'static, Function>> {
    if !node.domain.is_empty() {
        return None;
    }
    let schema = opset::lookup(&node.op, opset)?;
    let call = Call { node, dtypes, schema };
    let own =
        bodies().iter().filter(|b| b.name == schema.name && b.since == schema.since && b.opset <= opset);
    let newest = own.clone().map(|b| b.opset).max()?;
    own.filter(|b| b.opset == newest).find_map(|b| b.of(&call))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_body_is_read() {
        let functions = TEXT.lines().filter(|line| line.starts_with("function ")).count();
        assert_eq!(bodies().len(), functions);
        for body in bodies() {
            // Any number will do.
            let text = body.text.split('$').collect::<Vec<_>>();
            let filled = text.iter().skip(1).map(|part| {
                let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(0);
                format!("1{}", &part[end..])
            });
            let filled: String = std::iter::once(text[0].to_owned()).chain(filled).collect();
            assert!(parse(&filled).is_some(), "{filled}");
        }
    }

    fn of(text: &str, opset: i64) -> Option<Function> {
        let model = Model::parse(text).unwrap();
        let graph = &model.graph;
        let node = &graph.nodes[graph.order(graph.main()).next().unwrap()];
        let dtypes: Vec<_> = node.inputs.iter().map(|v| v.and_then(|v| graph.values[v].ty.dtype())).collect();
        body(node, &dtypes, opset).map(Cow::into_owned)
    }

    #[test]
    fn a_body_is_that_of_the_version_in_force() {
        let text = "opset 20\ngraph {\n  input %x: f32[2, 3]\n  %0 = MeanVarianceNormalization(%x)\n}\n";
        let found = |opset| of(text, opset).map(|f| (f.overload.clone(), f.opsets[0].version));
        assert_eq!(found(12), Some(("9".to_owned(), 9)));
        assert_eq!(found(17), Some(("13".to_owned(), 13)));
        assert_eq!(found(20), Some(("13".to_owned(), 18)));
        assert!(of("opset 20\ngraph {\n  input %x: f32[2]\n  %0 = Add(%x, %x)\n}\n", 20).is_none());
        assert!(
            of("opset 20\nopset a 1\ngraph {\n  input %x: f32[2]\n  %0 = a::Relu(%x)\n}\n", 20).is_none()
        );
    }

    #[test]
    fn a_body_takes_over_what_its_call_says() {
        let ops = |text: &str| {
            let function = of(text, 20)?;
            let graph = &function.graph;
            Some(graph.order(graph.main()).map(|n| graph.nodes[n].op.to_string()).collect::<Vec<_>>())
        };
        let head = "opset 20\ngraph {\n  input %x: f16[2, 3]\n  input %m: f16[]\n";
        let clip = |inputs: &str| ops(&format!("{head}  %0 = Clip({inputs})\n}}\n"));
        assert_eq!(clip("%x"), Some(vec!["Identity".to_owned()]));
        assert_eq!(clip("%x, _, %m"), Some(vec!["Less".to_owned(), "Where".to_owned()]));
        assert_eq!(clip("%x, %m, %m").map(|ops| ops.len()), Some(4));
        let norm =
            of(&format!("{head}  %0 = LayerNormalization(%x, %x) {{axis = 1, epsilon = 0.5}}\n}}\n"), 20);
        let norm = norm.unwrap();
        let casts = norm.graph.nodes.iter().filter(|(_, n)| n.op == "Cast").filter_map(|(_, n)| n.int("to"));
        assert_eq!(casts.collect::<Vec<_>>(), [1, 1, 10]);
        let axes =
            norm.graph.nodes.iter().filter(|(_, n)| n.op == "Flatten").filter_map(|(_, n)| n.int("axis"));
        assert_eq!(axes.collect::<Vec<_>>(), [1, 0]);
    }
}
