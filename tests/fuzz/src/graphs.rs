//! Random models with dimensions `n` and `k`, and their evaluation.

use std::fmt::Write;

use arbitrary::Unstructured;
use onnxport_core::ir::{Model, Shape};
use onnxport_core::ops::infer::infer_all;
use onnxport_core::sym::SymId;
use onnxport_core::tensor::{DType, Kind};
use onnxport_core::valid::{StatedTypes, validate};
use onnxport_ir::ops::{Error, Limits, Tensor, Value, run};

use crate::mutate::Random;

/// Nodes of a model at most.
const MAX_STEPS: usize = 14;

/// A value of the model under construction.
#[derive(Clone)]
struct Made {
    name: String,
    dtype: &'static str,
    /// `n`, `k` and numbers.
    shape: Vec<&'static str>,
}

/// A model under construction, as a text.
struct Graph<'u, 'd> {
    u: &'u mut Unstructured<'d>,
    /// The type of its floats.
    float: &'static str,
    /// Whether a small change of an operand may change a result by much.
    steps: bool,
    /// Whether its inputs are constants.
    constant: bool,
    constants: String,
    nodes: String,
    values: Vec<Made>,
    count: usize,
}

/// The kind of a model.
#[derive(Clone, Copy, Debug)]
pub struct Kinds {
    /// The type of floats.
    pub float: &'static str,
    /// Whether it has operators that are not continuous.
    pub steps: bool,
    /// Whether some of its inputs are constants, and `n` and `k` are numbers.
    pub constant: bool,
}

/// Returns the text of the model that the bytes describe.
pub fn text(bytes: &[u8], kinds: Kinds) -> String {
    Graph::text(&mut Unstructured::new(bytes), kinds)
}

impl<'u, 'd> Graph<'u, 'd> {
    fn text(u: &'u mut Unstructured<'d>, kinds: Kinds) -> String {
        let Kinds { float, steps, constant } = kinds;
        let [constants, nodes] = [String::new(), String::new()];
        let values = Vec::new();
        let mut graph = Self { u, float, steps, constant, constants, nodes, values, count: 0 };
        graph.inputs();
        let given = graph.values.len();
        for _ in 0..64 {
            if graph.u.is_empty() || graph.values.len() >= given + MAX_STEPS {
                break;
            }
            graph.step();
        }
        graph.finish(given)
    }

    /// A number below `bound`; 0 when the bytes are used up.
    fn below(&mut self, bound: usize) -> usize {
        self.u.int_in_range(0..=bound - 1).unwrap_or(0)
    }

    fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    fn fresh(&mut self, letter: char) -> String {
        self.count += 1;
        format!("{letter}{}", self.count)
    }

    fn inputs(&mut self) {
        let (n, k) = if self.constant { ("2", "3") } else { ("n", "k") };
        let float = self.float;
        for (name, dtype, shape) in [
            ("x", float, vec![n, "4", k]),
            ("y", float, vec![n, "4", k]),
            ("z", float, vec!["4", k]),
            ("s", float, vec![]),
            ("i", "i64", vec![n, "4"]),
            ("j", "i64", vec!["4"]),
            ("p", "bool", vec![n, "4", k]),
        ] {
            self.values.push(Made { name: name.to_owned(), dtype, shape });
        }
        if self.constant {
            for made in self.values.clone().into_iter().take(5) {
                let count: usize = made.shape.iter().map(|size| size.parse().unwrap_or(1)).product();
                let mut items = Vec::new();
                for _ in 0..count {
                    items.push(match made.dtype {
                        "i64" => self.one_of(&["0", "1", "-1", "3", "100"]),
                        _ => self.one_of(&["0.0", "1.0", "-1.5", "2.0", "0.1", "-0.0", "3.5"]),
                    });
                }
                let ty = format!("{}[{}]", made.dtype, made.shape.join(", "));
                let name = self.constant_of(&ty, &items.join(", "));
                self.values.push(Made { name, ..made });
            }
        }
    }

    fn constant_of(&mut self, ty: &str, elements: &str) -> String {
        let name = self.fresh('c');
        writeln!(self.constants, "  constant %{name}: {ty} = [{elements}]").expect("a text");
        name
    }

    fn ints(&mut self, ints: &[i64]) -> String {
        let elements: Vec<String> = ints.iter().map(i64::to_string).collect();
        self.constant_of(&format!("i64[{}]", ints.len()), &elements.join(", "))
    }

    fn node(&mut self, call: &str, dtype: &'static str, shape: Vec<&'static str>) -> String {
        let name = self.fresh('v');
        writeln!(self.nodes, "  %{name} = {call}").expect("a text");
        self.values.push(Made { name: name.clone(), dtype, shape });
        name
    }

    fn of(&mut self, dtype: &str) -> Option<Made> {
        let all: Vec<usize> = (0..self.values.len()).filter(|at| self.values[*at].dtype == dtype).collect();
        let at = self.below(all.len().max(1));
        all.get(at).map(|at| self.values[*at].clone())
    }

    /// A value of the type of `like` that broadcasts to its shape.
    fn beside(&mut self, like: &Made) -> Made {
        let fits = |v: &&Made| {
            v.dtype == like.dtype
                && v.shape.len() <= like.shape.len()
                && v.shape.iter().rev().zip(like.shape.iter().rev()).all(|(a, b)| a == b || *a == "1")
        };
        let all: Vec<Made> = self.values.iter().filter(fits).cloned().collect();
        all[self.below(all.len())].clone()
    }

    /// Adds a node; nothing where the drawn one fits nowhere.
    fn step(&mut self) -> Option<()> {
        let float = self.float;
        let dtype = self.one_of(&[float, float, float, "i64", "bool"]);
        let a = self.of(dtype)?;
        let b = self.beside(&a);
        let (x, y, rank) = (a.name.clone(), b.name.clone(), a.shape.len());
        let (same, is_float) = (a.shape.clone(), dtype == float);
        let axis = self.below(rank.max(1));
        match self.below(29) {
            0..=2 => {
                let ops: &[&str] = match dtype {
                    "i64" => &["Neg", "Abs", "Sign", "Identity"],
                    "bool" => &["Not", "Identity"],
                    _ if self.steps => {
                        &["Neg", "Abs", "Relu", "Floor", "Round", "Sign", "Sqrt", "Exp", "Ceil"]
                    }
                    _ => &["Neg", "Abs", "Relu", "Identity", "Tanh", "Sigmoid", "Erf", "Cos", "Softplus"],
                };
                let op = self.one_of(ops);
                self.node(&format!("{op}(%{x})"), a.dtype, same);
            }
            3..=6 => {
                let (op, dtype): (&str, &'static str) = match dtype {
                    "bool" => (self.one_of(&["And", "Or", "Xor"]), "bool"),
                    _ if self.steps => self.one_of(&[
                        ("Add", a.dtype),
                        ("Sub", a.dtype),
                        ("Mul", a.dtype),
                        ("Max", a.dtype),
                        ("Min", a.dtype),
                        ("Less", "bool"),
                        ("GreaterOrEqual", "bool"),
                        ("Equal", "bool"),
                    ]),
                    _ => (self.one_of(&["Add", "Sub", "Mul", "Max", "Min"]), a.dtype),
                };
                let call = match self.below(3) {
                    0 if op != "Sub" => format!("{op}(%{y}, %{x})"),
                    _ => format!("{op}(%{x}, %{y})"),
                };
                self.node(&call, dtype, same);
            }
            7..=9 if dtype != "bool" => {
                let number = self.one_of(&["0", "1", "2", "-1"]);
                let text = if is_float { format!("{number}.0") } else { number.to_owned() };
                let c = self.constant_of(&format!("{dtype}[]"), &text);
                let op = self.one_of(&["Add", "Mul", "Sub", "Max", "Min"]);
                let call = match self.below(2) {
                    0 => format!("{op}(%{x}, %{c})"),
                    _ => format!("{op}(%{c}, %{x})"),
                };
                self.node(&call, a.dtype, same);
            }
            10 if is_float => {
                let number = self.one_of(&["1.0", "2.0", "-4.0", "0.5", "3.0"]);
                let c = self.constant_of(&format!("{float}[]"), number);
                self.node(&format!("Div(%{x}, %{c})"), a.dtype, same);
            }
            11 | 12 if rank > 1 => {
                let mut perm: Vec<usize> = (0..rank).collect();
                for at in (1..rank).rev() {
                    perm.swap(at, self.below(at + 1));
                }
                let shape = perm.iter().map(|axis| a.shape[*axis]).collect();
                self.node(&format!("Transpose(%{x}) {{perm = {perm:?}}}"), a.dtype, shape);
            }
            13 if rank < 5 => {
                let axes = self.ints(&[axis as i64]);
                let mut shape = same;
                shape.insert(axis, "1");
                self.node(&format!("Unsqueeze(%{x}, %{axes})"), a.dtype, shape);
            }
            14 => {
                let at = a.shape.iter().position(|extent| *extent == "1")?;
                let back = self.one_of(&[0, rank as i64]);
                let axes = self.ints(&[at as i64 - back]);
                let mut shape = same;
                shape.remove(at);
                self.node(&format!("Squeeze(%{x}, %{axes})"), a.dtype, shape);
            }
            15 => {
                let at = a.shape.iter().position(|extent| *extent == "4")?;
                let cut = self.one_of(&[1, 2, 3]);
                let parts = self.ints(&[cut, 4 - cut]);
                let (left, right) = (self.fresh('v'), self.fresh('v'));
                writeln!(self.nodes, "  %{left}, %{right} = Split(%{x}, %{parts}) {{axis = {at}}}").ok()?;
                let order = if self.below(3) == 0 { [right, left] } else { [left, right] };
                self.node(&format!("Concat(%{}, %{}) {{axis = {at}}}", order[0], order[1]), a.dtype, same);
            }
            16 => {
                let at = a.shape.iter().position(|extent| *extent == "4")?;
                let full = self.values.iter().filter(|v| v.dtype == a.dtype && v.shape == a.shape);
                let full: Vec<String> = full.map(|v| v.name.clone()).collect();
                let y = full[self.below(full.len())].clone();
                let joined = self.fresh('v');
                writeln!(self.nodes, "  %{joined} = Concat(%{x}, %{y}) {{axis = {at}}}").ok()?;
                let (from, to, step) =
                    self.one_of(&[(0, 4, 1), (4, 8, 1), (0, 8, 2), (7, -9, -2), (2, 6, 1)]);
                let [from, to, along, step] = [from, to, at as i64, step].map(|n| self.ints(&[n]));
                self.node(&format!("Slice(%{joined}, %{from}, %{to}, %{along}, %{step})"), a.dtype, same);
            }
            17 if is_float && self.steps => {
                let wide = self.node(&format!("Cast(%{x}) {{to = 11}}"), "f64", same.clone());
                self.node(&format!("Cast(%{wide}) {{to = 1}}"), "f32", same);
            }
            18 => {
                let mask = self.of("bool")?;
                let fits = |v: &&Made| v.dtype == float && v.shape == mask.shape;
                let values: Vec<String> = self.values.iter().filter(fits).map(|v| v.name.clone()).collect();
                let (a, b) = (self.below(values.len().max(1)), self.below(values.len().max(1)));
                let call = format!("Where(%{}, %{}, %{})", mask.name, values.get(a)?, values.get(b)?);
                self.node(&call, float, mask.shape);
            }
            19 => {
                let shape = self.fresh('v');
                writeln!(self.nodes, "  %{shape} = Shape(%{x})").ok()?;
                let op = if a.shape == b.shape { self.one_of(&["Reshape", "Expand"]) } else { "Expand" };
                self.node(&format!("{op}(%{y}, %{shape})"), a.dtype, same);
            }
            20 if dtype != "bool" => {
                let at = a.shape.iter().position(|extent| *extent == "4")?;
                let axes = self.ints(&[at as i64]);
                let keep = self.below(2);
                let mut shape = same;
                if keep == 1 {
                    shape[at] = "1";
                } else {
                    shape.remove(at);
                }
                let ops: &[&str] = if is_float && !self.steps {
                    &["ReduceMax", "ReduceSum", "ReduceMean", "ReduceMin", "ReduceSumSquare"]
                } else {
                    &["ReduceMax", "ReduceMin"]
                };
                let op = self.one_of(ops);
                self.node(&format!("{op}(%{x}, %{axes}) {{keepdims = {keep}}}"), a.dtype, shape);
            }
            21 => {
                let condition = match self.below(3) {
                    0 => "go".to_owned(),
                    drawn => self.constant_of("bool[]", if drawn == 1 { "true" } else { "false" }),
                };
                let full = self.values.iter().filter(|v| v.dtype == a.dtype && v.shape == a.shape);
                let full: Vec<String> = full.map(|v| v.name.clone()).collect();
                let y = full[self.below(full.len())].clone();
                let op = if dtype == "bool" { "Not" } else { "Abs" };
                let (inner, outer) = (self.fresh('v'), self.fresh('v'));
                let call = format!(
                    "If(%{condition}) {{else_branch = {{\n    %{inner} = {op}(%{x})\n    output %{inner}\n  }}, \
                     then_branch = {{\n    %{outer} = {op}(%{y})\n    output %{outer}\n  }}}}"
                );
                self.node(&call, a.dtype, same);
            }
            22 if !self.steps && is_float && rank > 0 => {
                self.node(&format!("Softmax(%{x}) {{axis = {axis}}}"), a.dtype, same);
            }
            23 if is_float && rank >= 2 && !self.steps => {
                let (rows, inner) = (a.shape[rank - 2], a.shape[rank - 1]);
                let transpose = {
                    let mut perm: Vec<usize> = (0..rank).collect();
                    perm.swap(rank - 2, rank - 1);
                    format!("Transpose(%{x}) {{perm = {perm:?}}}")
                };
                let mut shape = a.shape.clone();
                shape.swap(rank - 2, rank - 1);
                let other = self.node(&transpose, a.dtype, shape.clone());
                let (call, size) = match self.below(2) {
                    0 => (format!("MatMul(%{x}, %{other})"), rows),
                    _ => (format!("MatMul(%{other}, %{x})"), inner),
                };
                shape[rank - 2] = size;
                shape[rank - 1] = size;
                self.node(&call, a.dtype, shape);
            }
            24 if rank > 0 => {
                let at = a.shape.iter().position(|extent| *extent == "4")?;
                let index = self.one_of(&[0, 3, -1, 1]);
                let mut shape = same;
                let c = if self.below(2) == 0 {
                    shape.remove(at);
                    self.constant_of("i64[]", &index.to_string())
                } else {
                    shape[at] = "1";
                    self.ints(&[index])
                };
                self.node(&format!("Gather(%{x}, %{c}) {{axis = {at}}}"), a.dtype, shape);
            }
            25 if is_float => {
                let [low, high] = [("-1.0", "1.0"), ("0.0", "6.0"), ("-2.0", "0.5")][self.below(3)].into();
                let [low, high] = [low, high].map(|text| self.constant_of(&format!("{float}[]"), text));
                self.node(&format!("Clip(%{x}, %{low}, %{high})"), a.dtype, same);
            }
            26 if is_float && !self.steps => {
                let power = self.one_of(&["2.0", "1.0", "0.0", "3.0"]);
                let c = self.constant_of(&format!("{float}[]"), power);
                self.node(&format!("Pow(%{x}, %{c})"), a.dtype, same);
            }
            27 if rank > 0 && a.shape[0] == "n" => {
                // The pattern with which exporters keep the first size.
                let rest: Vec<i64> = a.shape[1..].iter().map(|d| d.parse().unwrap_or(-1)).collect();
                if rest.iter().filter(|size| **size == -1).count() > 1 {
                    return None;
                }
                let like = if a.shape == b.shape { y } else { x.clone() };
                let [zero, first] = [self.constant_of("i64[]", "0"), self.ints(&[0])];
                let [shape, size, column, target] = ['s', 's', 's', 's'].map(|letter| self.fresh(letter));
                let rest = self.ints(&rest);
                writeln!(
                    self.nodes,
                    "  %{shape} = Shape(%{like})\n  %{size} = Gather(%{shape}, %{zero}) {{axis = 0}}\n  \
                     %{column} = Unsqueeze(%{size}, %{first})\n  %{target} = Concat(%{column}, %{rest}) {{axis = 0}}"
                )
                .ok()?;
                self.node(&format!("Reshape(%{x}, %{target})"), a.dtype, same);
            }
            28 => {
                // The same once more.
                let line = self.nodes.lines().rfind(|line| !line.contains(['{', '}']))?.to_owned();
                let (made, call) = line.trim().split_once(" = ")?;
                let of = self.values.iter().find(|v| made == format!("%{}", v.name))?.clone();
                self.node(call, of.dtype, of.shape);
            }
            _ => return None,
        }
        Some(())
    }

    fn finish(mut self, given: usize) -> String {
        let mut text = String::from("opset 20\n");
        if !self.constant {
            text.push_str("symbol n 0..\nsymbol k 0..\n");
        }
        text.push_str("graph {\n");
        text.push_str(&self.constants);
        for made in &self.values[..7] {
            writeln!(text, "  input %{}: {}[{}]", made.name, made.dtype, made.shape.join(", "))
                .expect("a text");
        }
        text.push_str("  input %go: bool[]\n");
        text.push_str(&self.nodes);
        let made = self.values.len() - given;
        let between = self.below(made.max(1));
        for (at, value) in self.values[given..].iter().enumerate() {
            if at + 3 >= made || at == between {
                writeln!(text, "  output %{} as out{at}", value.name).expect("a text");
            }
        }
        text.push_str("}\n");
        text
    }
}

/// The model of a text, with inferred types; it is valid.
pub(crate) fn model(text: &str) -> Model {
    let mut model = Model::parse(text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
    let opset = model.opset();
    infer_all(&mut model.graph, &mut model.symbols, opset);
    valid(&model, text);
    model
}

pub(crate) fn valid(model: &Model, text: &str) {
    let found = validate(model, &StatedTypes::default());
    assert!(found.is_empty(), "{found:?}\n{text}\n{}", model.to_text());
}

/// A value for every input at these sizes of `n` and `k`; where `special`, with NaN, infinities and the ends of integers.
pub(crate) fn inputs(
    model: &Model,
    sizes: [i64; 2],
    special: bool,
    random: &mut Random,
) -> Vec<Option<Value>> {
    let size = |symbol: SymId| sizes.get(symbol.index()).copied();
    let block = &model.graph.blocks[model.graph.main()];
    let drawn = block.inputs.iter().map(|input| {
        let ty = &model.graph.values[*input].ty;
        let shape = ty.shape().and_then(Shape::dims).expect("a rank").to_vec();
        let shape = shape.iter().map(|dim| model.symbols.eval(dim.expect("a size"), &size).expect("a size"));
        Some(Value::Tensor(tensor(
            ty.dtype().expect("a type"),
            shape.map(|n| n as usize).collect(),
            special,
            random,
        )))
    });
    drawn.collect()
}

fn tensor(dtype: DType, shape: Vec<usize>, special: bool, random: &mut Random) -> Tensor {
    const SPECIAL: [f64; 8] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, -0.5, 2.5, 1e30];
    let count: usize = shape.iter().product();
    let made = match dtype.kind() {
        Kind::Bool => Tensor::of_bools(shape, (0..count).map(|_| random.below(2) == 0).collect()),
        Kind::Int => {
            let int = |random: &mut Random| match random.below(8) {
                0 if special => i128::from(i64::MIN),
                1 if special => i128::from(i64::MAX),
                _ => random.below(9) as i128 - 4,
            };
            Tensor::of_ints(dtype, shape, (0..count).map(|_| int(random)).collect())
        }
        _ => {
            let float = |random: &mut Random| match random.below(4) {
                0 if special => SPECIAL[random.below(SPECIAL.len())],
                _ => random.below(2001) as f64 / 1000.0 - 1.0,
            };
            Tensor::of_floats(dtype, shape, (0..count).map(|_| float(random)).collect())
        }
    };
    made.expect("a tensor")
}

/// Runs the model within the budget of a test.
pub(crate) fn evaluate(model: &Model, inputs: Vec<Option<Value>>) -> Result<Vec<Value>, Error> {
    run(model, inputs, Limits { bytes: 16 << 20, steps: 50_000_000, ..Limits::default() })
}

/// Whether two values are the same but for `tolerance`, relative to the larger of 1 and the number.
pub(crate) fn same(wanted: &Value, found: &Value, tolerance: f64) -> bool {
    wanted.tensor().zip(found.tensor()).is_some_and(|(wanted, found)| agree(wanted, found, tolerance))
}

/// Whether two tensors are the same but for `tolerance`, relative to the larger of 1 and the number.
pub fn agree(wanted: &Tensor, found: &Tensor, tolerance: f64) -> bool {
    if (wanted.dtype(), wanted.shape()) != (found.dtype(), found.shape()) {
        return false;
    }
    let (Ok(wanted_floats), Ok(found_floats)) = (wanted.floats(), found.floats()) else {
        return wanted == found;
    };
    let close = |a: f64, b: f64| {
        let is_same = a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
        is_same || tolerance > 0.0 && (a == b || (a - b).abs() <= tolerance * a.abs().max(1.0))
    };
    wanted_floats.into_iter().zip(found_floats).all(|(a, b)| close(a, b))
}
