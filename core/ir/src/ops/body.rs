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
//! `ignore_index` is given, and one output is requested; `type0:1` is for a first input of float32. `$axis` in the text
//! stands for the value of the attribute in the call, `$type0` for the element type of its first input.
//!
//! Bodies that depend on ranks, sizes and several attributes at once are built by a function in Rust, one file for each
//! family: `MADE` lists them.

mod attention;
mod call;
mod causal_conv;
mod flex;
mod graft;
mod linear_attention;
mod range;
mod rotary;
mod sequence_map;
mod space;
mod text;

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::ir::{Attr, Function, Graph, Model, Node, Type, opset};
use call::Call;

const TEXT: &str = include_str!("body/generated.txt");

/// Makes the body of a call; `None` where ONNX has none for it.
type Make = fn(&Call<'_>) -> Option<Function>;

/// The bodies that Rust makes: of which operator, and of which of its versions.
const MADE: &[(&str, &str, &[u16], Make)] = &[
    ("", "Attention", &[23, 24, 25], attention::attention),
    ("", "CausalConvWithState", &[27], causal_conv::causal_conv),
    ("", "DepthToSpace", &[28], space::depth_to_space),
    ("", "LinearAttention", &[27], linear_attention::linear_attention),
    ("", "Range", &[27], range::range),
    ("", "RotaryEmbedding", &[23], rotary::rotary),
    ("", "SequenceMap", &[17], sequence_map::sequence_map),
    ("", "SpaceToDepth", &[28], space::space_to_depth),
    ("ai.onnx.preview", "FlexAttention", &[1], flex::flex),
];

/// A body, or the function that builds one for a call.
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
    /// Reads the text between two empty lines; the first of these is a model without functions.
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
        parse(&call.fill(self.text, &[])?).map(Cow::Owned)
    }
}

/// The one function of this text.
fn parse(text: &str) -> Option<Function> {
    let model = Model::parse(&format!("opset {}\ngraph {{\n}}\n{text}\n", opset::MAX_OPSET)).ok()?;
    model.functions.into_iter().next()
}

fn bodies() -> &'static [Body] {
    static BODIES: LazyLock<Vec<Body>> =
        LazyLock::new(|| TEXT.split("\n\n").filter_map(Body::read).collect());
    &BODIES
}

/// The versions of an operator of ONNX for which there is a body, for some calls at least.
pub fn versions(domain: &str, name: &str) -> Vec<u16> {
    let read = bodies().iter().filter(|b| domain.is_empty() && b.name == name).map(|b| b.since);
    let made = MADE.iter().filter(|(of, own, ..)| (*of, *own) == (domain, name));
    let mut versions: Vec<u16> = read.chain(made.flat_map(|(.., versions, _)| *versions).copied()).collect();
    versions.dedup();
    versions
}

/// The definition of `node` of `graph` at version `opset` of its domain, by operators of the same or an older operator set,
/// given the `types` of its inputs. `None` if ONNX has no such definition, or this module has none for such a call.
pub fn body(graph: &Graph, node: &Node, types: &[Type], opset: i64) -> Option<Cow<'static, Function>> {
    let schema = opset::lookup_in(&node.domain, &node.op, opset).ok().flatten()?;
    let call = Call { graph, node, types, schema };
    // The attributes of an enclosing function are not known here.
    let known = !node.attributes.iter().any(|a| matches!(a.value, Attr::Ref(..)));
    let made = MADE.iter().find(|(domain, name, versions, _)| {
        *domain == node.domain && *name == schema.name && versions.contains(&schema.since)
    });
    if let Some((.., make)) = made {
        return make(&call).filter(|_| known).map(Cow::Owned);
    }
    if !node.domain.is_empty() {
        return None;
    }
    let own =
        bodies().iter().filter(|b| b.name == schema.name && b.since == schema.since && b.opset <= opset);
    let newest = own.clone().map(|b| b.opset).max()?;
    own.filter(|b| b.opset == newest && (known || b.calls.is_empty())).find_map(|b| b.of(&call))
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
        let ty = |v: &Option<_>| v.map_or(Type::Unknown, |v| graph.values[v].ty.clone());
        let types: Vec<Type> = node.inputs.iter().map(ty).collect();
        body(graph, node, &types, opset).map(Cow::into_owned)
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
