//! Generated graphs: level 1 changes no bit of their results.

use std::fmt::Write;

use onnxport_core::optimise::{Level, OptimiseOptions, optimise};
use onnxport_core::sym::SymId;
use onnxport_core::valid::{StatedTypes, validate};
use onnxport_ir::ops::{Limits, run};

use super::draw::{Random, agree, sizes, values};
use super::{STANDARD, read};

/// How many graphs are generated.
const GRAPHS: u64 = 1_000;

/// A value of the graph under construction.
#[derive(Clone)]
struct GraphValue {
    name: String,
    dtype: &'static str,
    /// `n`, `k` and numbers.
    shape: Vec<&'static str>,
}

/// A graph under construction, as a text.
struct Graph {
    random: Random,
    constants: String,
    nodes: String,
    values: Vec<GraphValue>,
    count: usize,
}

impl Graph {
    fn new(seed: u64) -> Self {
        let mut graph = Self {
            random: Random(seed),
            constants: String::new(),
            nodes: String::new(),
            values: Vec::new(),
            count: 0,
        };
        for (name, dtype, shape) in [
            ("x", "f32", vec!["n", "4", "k"]),
            ("y", "f32", vec!["n", "4", "k"]),
            ("z", "f32", vec!["4", "k"]),
            ("i", "i64", vec!["n", "4"]),
            ("j", "i64", vec!["n", "4"]),
            ("p", "bool", vec!["n", "4", "k"]),
        ] {
            graph.values.push(GraphValue { name: name.to_owned(), dtype, shape });
        }
        graph
    }

    fn fresh(&mut self, letter: char) -> String {
        self.count += 1;
        format!("{letter}{}", self.count)
    }

    fn constant(&mut self, ty: &str, elements: &str) -> String {
        let name = self.fresh('c');
        writeln!(self.constants, "  constant %{name}: {ty} = [{elements}]").expect("a text");
        name
    }

    fn ints(&mut self, ints: &[i64]) -> String {
        let elements: Vec<String> = ints.iter().map(i64::to_string).collect();
        self.constant(&format!("i64[{}]", ints.len()), &elements.join(", "))
    }

    /// Writes a node, and returns its output.
    fn node(&mut self, call: &str, dtype: &'static str, shape: Vec<&'static str>) -> GraphValue {
        let name = self.fresh('v');
        writeln!(self.nodes, "  %{name} = {call}").expect("a text");
        let made = GraphValue { name, dtype, shape };
        self.values.push(made.clone());
        made
    }

    /// A value of this type, drawn.
    fn of(&mut self, dtype: &str) -> Option<GraphValue> {
        let all: Vec<usize> = (0..self.values.len()).filter(|at| self.values[*at].dtype == dtype).collect();
        (!all.is_empty()).then(|| self.values[all[self.random.below(all.len())]].clone())
    }

    /// Another value of the type and the shape of `like`; itself where there is none.
    fn beside(&mut self, like: &GraphValue) -> GraphValue {
        let fits = |v: &&GraphValue| v.dtype == like.dtype && v.shape == like.shape;
        let all: Vec<GraphValue> = self.values.iter().filter(fits).cloned().collect();
        all[self.random.below(all.len())].clone()
    }

    /// Adds what one draw comes to; nothing where it fits nowhere.
    fn step(&mut self) -> Option<()> {
        let dtype = self.random.one_of(&["f32", "f32", "f32", "i64", "bool"]);
        let a = self.of(dtype)?;
        let b = self.beside(&a);
        let (x, y, rank) = (a.name.clone(), b.name.clone(), a.shape.len());
        let (same, is_float) = (a.shape.clone(), dtype == "f32");
        let axis = self.random.below(rank.max(1));
        match self.random.below(22) {
            0..=2 => {
                let ops: &[&str] = match dtype {
                    "f32" => {
                        &["Neg", "Abs", "Relu", "Floor", "Ceil", "Round", "Sign", "Identity", "Exp", "Tanh"]
                    }
                    "i64" => &["Neg", "Abs", "Sign", "Identity"],
                    _ => &["Not", "Identity"],
                };
                let op = self.random.one_of(ops);
                self.node(&format!("{op}(%{x})"), a.dtype, same);
            }
            3..=5 => {
                let (op, dtype): (&str, &'static str) = match dtype {
                    "bool" => (self.random.one_of(&["And", "Or", "Xor"]), "bool"),
                    _ => self.random.one_of(&[
                        ("Add", a.dtype),
                        ("Sub", a.dtype),
                        ("Mul", a.dtype),
                        ("Max", a.dtype),
                        ("Min", a.dtype),
                        ("Less", "bool"),
                        ("GreaterOrEqual", "bool"),
                        ("Equal", "bool"),
                    ]),
                };
                self.node(&format!("{op}(%{x}, %{y})"), dtype, same);
            }
            6 if dtype != "bool" => {
                let number = self.random.one_of(&["0", "1", "2"]);
                let text = if is_float { format!("{number}.0") } else { number.to_owned() };
                let c = self.constant(&format!("{dtype}[]"), &text);
                let op = self.random.one_of(&["Add", "Mul", "Sub"]);
                let call = if self.random.below(2) == 0 || op == "Sub" {
                    format!("{op}(%{x}, %{c})")
                } else {
                    format!("{op}(%{c}, %{x})")
                };
                self.node(&call, a.dtype, same);
            }
            7 | 8 if rank > 1 => {
                let mut perm: Vec<usize> = (0..rank).collect();
                for at in (1..rank).rev() {
                    perm.swap(at, self.random.below(at + 1));
                }
                let shape = perm.iter().map(|axis| a.shape[*axis]).collect();
                self.node(&format!("Transpose(%{x}) {{perm = {perm:?}}}"), a.dtype, shape);
            }
            9 | 10 => {
                let axes = self.ints(&[axis as i64]);
                let mut shape = same;
                shape.insert(axis, "1");
                self.node(&format!("Unsqueeze(%{x}, %{axes})"), a.dtype, shape);
            }
            11 | 12 => {
                let at = a.shape.iter().position(|extent| *extent == "1")?;
                let back = self.random.one_of(&[0, rank as i64]);
                let axes = self.ints(&[at as i64 - back]);
                let mut shape = same;
                shape.remove(at);
                self.node(&format!("Squeeze(%{x}, %{axes})"), a.dtype, shape);
            }
            13 => {
                let at = a.shape.iter().position(|extent| *extent == "4")?;
                let cut = self.random.one_of(&[1, 2, 3]);
                let parts = self.ints(&[cut, 4 - cut]);
                let (left, right) = (self.fresh('v'), self.fresh('v'));
                writeln!(self.nodes, "  %{left}, %{right} = Split(%{x}, %{parts}) {{axis = {at}}}")
                    .expect("a text");
                self.node(&format!("Concat(%{left}, %{right}) {{axis = {at}}}"), a.dtype, same);
            }
            14 => {
                let at = a.shape.iter().position(|extent| *extent == "4")?;
                let [zero, four, along] = [0, 4, at as i64].map(|n| self.ints(&[n]));
                let joined = self.fresh('v');
                writeln!(self.nodes, "  %{joined} = Concat(%{x}, %{y}) {{axis = {at}}}").expect("a text");
                let (from, to) =
                    if self.random.below(2) == 0 { (zero, four) } else { (four, self.ints(&[8])) };
                self.node(&format!("Slice(%{joined}, %{from}, %{to}, %{along})"), a.dtype, same);
            }
            15 if is_float => {
                let wide = self.node(&format!("Cast(%{x}) {{to = 11}}"), "f64", same.clone());
                self.node(&format!("Cast(%{}) {{to = 1}}", wide.name), "f32", same);
            }
            16 => {
                let mask = self.of("bool")?;
                let values: Vec<GraphValue> = self
                    .values
                    .iter()
                    .filter(|v| v.dtype == "f32" && v.shape == mask.shape)
                    .cloned()
                    .collect();
                let pick = |random: &mut Random| values.get(random.below(values.len().max(1))).cloned();
                let (a, b) = (pick(&mut self.random)?, pick(&mut self.random)?);
                self.node(&format!("Where(%{}, %{}, %{})", mask.name, a.name, b.name), "f32", mask.shape);
            }
            17 => {
                let shape = self.fresh('v');
                writeln!(self.nodes, "  %{shape} = Shape(%{y})").expect("a text");
                let op = self.random.one_of(&["Reshape", "Expand"]);
                self.node(&format!("{op}(%{x}, %{shape})"), a.dtype, same);
            }
            18 if dtype != "bool" && rank > 0 => {
                // Whatever is reduced has elements, so that the largest is known.
                let at = a.shape.iter().position(|extent| *extent == "4")?;
                let axes = self.ints(&[at as i64]);
                let keep = self.random.below(2);
                let mut shape = same;
                if keep == 1 {
                    shape[at] = "1";
                } else {
                    shape.remove(at);
                }
                self.node(&format!("ReduceMax(%{x}, %{axes}) {{keepdims = {keep}}}"), a.dtype, shape);
            }
            19 => {
                let condition = match self.random.below(3) {
                    0 => "go".to_owned(),
                    drawn => self.constant("bool[]", if drawn == 1 { "true" } else { "false" }),
                };
                let op = if dtype == "bool" { "Not" } else { "Abs" };
                let (inner, outer) = (self.fresh('v'), self.fresh('v'));
                let call = format!(
                    "If(%{condition}) {{else_branch = {{\n    %{inner} = {op}(%{x})\n    output %{inner}\n  }}, \
                     then_branch = {{\n    %{outer} = {op}(%{y})\n    output %{outer}\n  }}}}"
                );
                self.node(&call, a.dtype, same);
            }
            20 if rank > 0 && a.shape[0] == "n" => {
                // The pattern that exporters write to keep the first extents.
                let [zero, first] = [self.constant("i64[]", "0"), self.ints(&[0])];
                let [shape, extent, column, target] = ['s', 's', 's', 's'].map(|letter| self.fresh(letter));
                let rest: Vec<i64> = a.shape[1..].iter().map(|d| d.parse().unwrap_or(-1)).collect();
                if rest.iter().filter(|d| **d == -1).count() > 1 {
                    return None;
                }
                let rest = self.ints(&rest);
                writeln!(
                    self.nodes,
                    "  %{shape} = Shape(%{y})\n  %{extent} = Gather(%{shape}, %{zero}) {{axis = 0}}\n  \
                     %{column} = Unsqueeze(%{extent}, %{first})\n  %{target} = Concat(%{column}, %{rest}) {{axis = 0}}"
                )
                .expect("a text");
                self.node(&format!("Reshape(%{x}, %{target})"), a.dtype, same);
            }
            21 => {
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

    fn text(&mut self) -> String {
        let length = 6 + self.random.below(14);
        let mut steps = 0;
        while steps < length {
            steps += usize::from(self.step().is_some());
        }
        let mut text = String::from("opset 20\nsymbol n 0..\nsymbol k 0..\ngraph {\n");
        text.push_str(&self.constants);
        for made in &self.values[..6] {
            writeln!(text, "  input %{}: {}[{}]", made.name, made.dtype, made.shape.join(", "))
                .expect("a text");
        }
        text.push_str("  input %go: bool[]\n");
        text.push_str(&self.nodes);
        // The last ones, and one of those before, so that it is read inside and outside.
        let made = &self.values[6..];
        let between = self.random.below(made.len());
        for (at, value) in made.iter().enumerate() {
            if at + 3 >= made.len() || at == between {
                writeln!(text, "  output %{} as out{at}", value.name).expect("a text");
            }
        }
        text.push_str("}\n");
        text
    }
}

#[test]
fn generated_graphs_compute_the_same_bit_for_bit() {
    let (mut applied, mut cleaned, mut ran) = (0, 0, 0);
    for seed in 0..GRAPHS {
        let text = Graph::new(seed).text();
        let before = read(&text);
        let found = validate(&before, &StatedTypes::default());
        assert!(found.is_empty(), "graph {seed}: {found:?}\n{text}");
        let mut after = before.clone();
        let options = OptimiseOptions { level: Level::Exact, ..OptimiseOptions::default() };
        let (done, found) =
            optimise(&STANDARD, &mut after, &mut StatedTypes::default(), &options).expect("it runs");
        assert!(found.is_empty(), "graph {seed}: {found:?}\n{text}");
        let found = validate(&after, &StatedTypes::default());
        assert!(found.is_empty(), "graph {seed}: {found:?}\n{}", after.to_text());
        assert!(after.graph.node_count() <= before.graph.node_count(), "graph {seed} grew");
        applied += done.applied;
        cleaned += done.folded + done.merged + done.decided;
        let mut random = Random(seed);
        for special in [false, true] {
            let drawn = sizes(&before, &mut random);
            let size = |symbol: SymId| drawn.get(symbol.index()).copied();
            let given = values(&before, &size, special, &mut random);
            // Without elements the open extent of a `Reshape` is anything.
            let Ok(wanted) = run(&before, given.clone(), Limits::default()) else { continue };
            let found = run(&after, given, Limits::default());
            let found =
                found.unwrap_or_else(|error| panic!("graph {seed}: {error:?}\n{text}\n{}", after.to_text()));
            ran += 1;
            for (wanted, found) in wanted.iter().zip(&found) {
                let (wanted, found) = (wanted.tensor().expect("a tensor"), found.tensor().expect("a tensor"));
                assert!(
                    agree(wanted, found, 0.0),
                    "graph {seed}: {wanted:?}, {found:?}\n{text}\n{}",
                    after.to_text()
                );
            }
        }
    }
    // The graphs hold what there is to do.
    assert!(
        applied > 1_000 && cleaned > 500 && ran > 1_000,
        "{applied} patches, {cleaned} cleaned, {ran} runs"
    );
}
