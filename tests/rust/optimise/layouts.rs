//! Models with channels at the end, as exporters write them that put a `Transpose` on both sides of each convolution.

use std::fmt::Write;

use onnxport_core::ir::Model;
use onnxport_core::layout::layouts;
use onnxport_core::optimise::{Level, OptimiseOptions, optimise};
use onnxport_core::sym::SymId;
use onnxport_core::tidy;
use onnxport_core::valid::{StatedTypes, validate};
use onnxport_ir::ops::{Limits, run};

use super::draw::{Random, agree, values};
use super::{STANDARD, read};

/// How many networks are drawn.
const NETWORKS: u64 = 150;

/// A network under construction.
struct Net {
    random: Random,
    constants: String,
    nodes: String,
    count: usize,
    /// The values that there are: name, height, width and channels.
    values: Vec<(String, usize, usize, usize)>,
}

impl Net {
    fn new(seed: u64) -> Self {
        let values = vec![("x".to_owned(), 8, 8, 3)];
        Self { random: Random(seed), constants: String::new(), nodes: String::new(), count: 0, values }
    }

    fn constant(&mut self, shape: &[usize], scale: f64) -> String {
        self.count += 1;
        let elements: Vec<String> = (0..shape.iter().product::<usize>())
            .map(|_| format!("{:.3}", (self.random.below(2001) as f64 / 1000.0 - 1.0) * scale))
            .collect();
        writeln!(self.constants, "  constant %c{}: f32{shape:?} = [{}]", self.count, elements.join(", "))
            .expect("a text");
        format!("c{}", self.count)
    }

    fn ints(&mut self, ints: &[i64]) -> String {
        self.count += 1;
        writeln!(self.constants, "  constant %c{}: i64[{}] = {ints:?}", self.count, ints.len())
            .expect("a text");
        format!("c{}", self.count)
    }

    fn node(&mut self, call: &str) -> String {
        self.count += 1;
        writeln!(self.nodes, "  %v{} = {call}", self.count).expect("a text");
        format!("v{}", self.count)
    }

    /// A call that takes channels in front.
    fn in_front(&mut self, x: &str, call: impl Fn(&str) -> String) -> String {
        let front = self.node(&format!("Transpose(%{x}) {{perm = [0, 3, 1, 2]}}"));
        let made = self.node(&call(&front));
        self.node(&format!("Transpose(%{made}) {{perm = [0, 2, 3, 1]}}"))
    }

    /// Adds a layer to a drawn value; nothing where the one that was drawn does not fit.
    fn layer(&mut self) -> Option<()> {
        // Mostly the latest one.
        let back = self.random.one_of(&[0, 0, 0, 1, 2]);
        let (x, h, w, c) = self.values[self.values.len().saturating_sub(1 + back)].clone();
        let made = match self.random.below(11) {
            0..=2 => {
                let out = self.random.one_of(&[2, 3, 4]);
                let weight = self.constant(&[out, c, 3, 3], 0.3);
                let made = self.in_front(&x, |x| format!("Conv(%{x}, %{weight}) {{pads = [1, 1, 1, 1]}}"));
                let bias = self.constant(&[out], 1.0);
                (self.node(&format!("Add(%{made}, %{bias})")), h, w, out)
            }
            3 => {
                let shape = if self.random.below(2) == 0 { vec![c] } else { vec![1, 1, 1, c] };
                let [scale, shift] = [(); 2].map(|()| self.constant(&shape, 1.0));
                let made = self.node(&format!("Mul(%{scale}, %{x})"));
                (self.node(&format!("Sub(%{made}, %{shift})")), h, w, c)
            }
            4 => {
                let op = self.random.one_of(&["Relu", "Sigmoid", "Abs", "Neg"]);
                (self.node(&format!("{op}(%{x})")), h, w, c)
            }
            5 if h % 2 == 0 && w % 2 == 0 => {
                let op = self.random.one_of(&["MaxPool", "AveragePool"]);
                let attributes = "{kernel_shape = [2, 2], strides = [2, 2]}";
                (self.in_front(&x, |x| format!("{op}(%{x}) {attributes}")), h / 2, w / 2, c)
            }
            6 => {
                let alike = self.values.iter().filter(|v| (v.1, v.2) == (h, w)).cloned().collect::<Vec<_>>();
                let (y, .., other) = alike[self.random.below(alike.len())].clone();
                if c + other > 8 {
                    return None;
                }
                let axis = self.random.one_of(&["3", "-1"]);
                (self.node(&format!("Concat(%{x}, %{y}) {{axis = {axis}}}")), h, w, c + other)
            }
            7 => {
                let alike =
                    self.values.iter().filter(|v| (v.1, v.2, v.3) == (h, w, c)).cloned().collect::<Vec<_>>();
                let (y, ..) = alike[self.random.below(alike.len())].clone();
                let op = self.random.one_of(&["Add", "Max", "Mul"]);
                (self.node(&format!("{op}(%{x}, %{y})")), h, w, c)
            }
            8 if h < 12 => {
                let pads = self.ints(&[0, 1, 0, 0, 0, 1, 2, 0]);
                let mode = self.random.one_of(&["constant", "edge"]);
                (self.node(&format!("Pad(%{x}, %{pads}) {{mode = {mode:?}}}")), h + 2, w + 2, c)
            }
            9 => {
                let axes = self.ints(&[1, -2]);
                let mean = self.node(&format!("ReduceMax(%{x}, %{axes})"));
                let gate = self.node(&format!("Sigmoid(%{mean})"));
                (self.node(&format!("Mul(%{x}, %{gate})")), h, w, c)
            }
            10 if h > 3 && w > 3 => {
                let [start, end, axes] = [&[1, 1], &[-1, 100], &[2, 1]].map(|list| self.ints(list));
                (self.node(&format!("Slice(%{x}, %{start}, %{end}, %{axes})")), h - 1, w - 2, c)
            }
            _ => return None,
        };
        self.values.push(made);
        Some(())
    }

    /// The network, and how many of its ends have channels at the end.
    fn text(&mut self) -> (String, usize) {
        let length = 6 + self.random.below(10);
        let mut layers = 0;
        while layers < length {
            layers += usize::from(self.layer().is_some());
        }
        let (last, ..) = self.values.last().cloned().expect("there are values");
        let (last, ends) = if self.random.below(2) == 0 {
            let axes = self.ints(&[1, 2]);
            (self.node(&format!("ReduceMax(%{last}, %{axes}) {{keepdims = 0}}")), 1)
        } else {
            (last, 2)
        };
        let text = format!(
            "opset 20\nsymbol n 0..\ngraph {{\n{}  input %x: f32[n, 8, 8, 3]\n{}  output %{last} as y\n}}\n",
            self.constants, self.nodes
        );
        (text, ends)
    }
}

fn transposes(model: &Model) -> usize {
    model.graph.nodes.iter().filter(|(_, node)| node.block.is_some() && node.is("Transpose")).count()
}

/// Runs both for a batch of drawn values, which have to give the same, bit for bit.
fn agrees(before: &Model, after: &Model, random: &mut Random) {
    let batch = [1, 2][random.below(2)];
    let size = |_: SymId| Some(batch);
    let given = values(before, &size, false, random);
    let [wanted, found] = [before, after].map(|model| {
        run(model, given.clone(), Limits::default()).unwrap_or_else(|e| panic!("{e:?}\n{}", model.to_text()))
    });
    for (wanted, found) in wanted.iter().zip(&found) {
        let (wanted, found) = (wanted.tensor().expect("a tensor"), found.tensor().expect("a tensor"));
        assert!(agree(wanted, found, 0.0), "{}\n{}", before.to_text(), after.to_text());
    }
}

#[test]
fn networks_are_turned_at_their_ends_alone() {
    let (mut most, mut there) = (0, 0);
    for seed in 0..NETWORKS {
        let (text, ends) = Net::new(seed).text();
        let before = read(&text);
        let found = validate(&before, &StatedTypes::default());
        assert!(found.is_empty(), "network {seed}: {found:?}\n{text}");
        let mut after = before.clone();
        let options = OptimiseOptions { level: Level::Exact, ..OptimiseOptions::default() };
        let (_, found) =
            optimise(&STANDARD, &mut after, &mut StatedTypes::default(), &options).expect("it runs");
        assert!(found.is_empty(), "network {seed}: {found:?}\n{text}");
        let found = validate(&after, &StatedTypes::default());
        assert!(found.is_empty(), "network {seed}: {found:?}\n{}", after.to_text());
        let left = transposes(&after);
        assert!(
            left <= ends && left <= transposes(&before),
            "network {seed}: {left}\n{text}\n{}",
            after.to_text()
        );
        most = most.max(transposes(&before));
        there += transposes(&before);
        agrees(&before, &after, &mut Random(seed));
    }
    assert!(most >= 12 && there > 500, "{most} at most of {there}");
}

/// The graph with these constants and nodes after the conversion, and the number of converted nodes.
fn transposed(shape: &str, text: &str, sums: bool) -> (Model, usize) {
    let text = format!("opset 20\nsymbol n 1..\nsymbol h 1..\ngraph {{\n  input %x: {shape}\n{text}}}\n");
    let before = read(&text);
    let mut after = before.clone();
    let count = layouts(&mut after, sums);
    tidy::model(&mut after);
    let found = validate(&after, &StatedTypes::default());
    assert!(found.is_empty(), "{found:?}\n{}", after.to_text());
    agrees(&before, &after, &mut Random(7));
    (after, count)
}

#[test]
fn operators_that_flattened_their_input_stay() {
    for (opset, count) in [(12, 0), (13, 1)] {
        let text = format!(
            "opset {opset}\ngraph {{\n  input %x: f32[2, 3, 4, 5]\n  %a = Transpose(%x) {{perm = [0, 2, 3, 1]}}\n  \
             %b = Hardmax(%a) {{axis = 3}}\n  %c = Transpose(%b) {{perm = [0, 3, 1, 2]}}\n  output %c as y\n}}\n"
        );
        let before = read(&text);
        let mut after = before.clone();
        assert_eq!(layouts(&mut after, false), count, "opset {opset}");
        agrees(&before, &after, &mut Random(7));
    }
}

#[test]
fn what_moves_more_bytes_stays() {
    // The image is transposed before it is enlarged.
    let tiles = "  constant %r: i64[4] = [1, 4, 4, 1]\n  %a = Transpose(%x) {perm = [0, 2, 3, 1]}\n  %b = Tile(%a, %r)\n  output %b as y\n";
    assert_eq!(transposed("f32[n, 3, 4, 4]", tiles, true).1, 0);
    // The other way round it is.
    let small = "  constant %axes: i64[1] = [3]\n  %a = Transpose(%x) {perm = [0, 2, 3, 1]}\n  %b = ReduceMax(%a, %axes)\n  output %b as y\n";
    let (model, count) = transposed("f32[n, 3, 4, 4]", small, false);
    assert_eq!((count, transposes(&model)), (1, 1));
    assert!(model.to_text().contains("ReduceMax(%x"), "{}", model.to_text());
}

#[test]
fn sums_are_added_in_another_order_only_where_that_is_allowed() {
    let text = "  constant %axes: i64[2] = [1, 2]\n  %a = Transpose(%x) {perm = [0, 2, 3, 1]}\n  %b = ReduceMean(%a, %axes) {keepdims = 0}\n  output %b as y\n";
    assert_eq!(transposed("f32[n, 3, 4, 4]", text, false).1, 0);
    let (model, count) = transposed("f32[n, 3, 4, 4]", text, true);
    assert_eq!((count, transposes(&model)), (1, 0), "{}", model.to_text());
    // The remaining rows would be reordered.
    let rows = text.replace("[2] = [1, 2]", "[1] = [2]");
    assert_eq!(transposed("f32[n, 3, 4, 4]", &rows, true).1, 0);
}

#[test]
fn sequences_are_turned_by_the_permutation_that_undoes_itself() {
    let text = "  constant %bias: f32[3] = [1.0, 2.0, 3.0]\n  constant %w: f32[3, 3, 1] = [1.0, 0.5, 2.0, 0.25, 1.0, 0.0, 0.0, 3.0, 1.0]\n  %a = Transpose(%x) {perm = [0, 2, 1]}\n  %b = Conv(%a, %w)\n  %c = Transpose(%b) {perm = [0, 2, 1]}\n  %d = Add(%c, %bias)\n  %e = Relu(%d)\n  %f = Transpose(%e) {perm = [0, 2, 1]}\n  %g = Conv(%f, %w)\n  %h = Transpose(%g) {perm = [0, 2, 1]}\n  %i = Add(%h, %e)\n  output %i as y\n";
    let (model, count) = transposed("f32[n, h, 3]", text, false);
    assert_eq!((count, transposes(&model)), (3, 2), "{}", model.to_text());
}

#[test]
fn what_blocks_read_and_lists_that_are_computed_are_turned_where_they_stand() {
    let text = "  input %sizes: i64[4]\n  constant %go: bool[] = [true]\n  %a = Transpose(%x) {perm = [0, 2, 3, 1]}\n  %b = Relu(%a)\n  %c = Transpose(%b) {perm = [0, 3, 1, 2]}\n  %d = Sigmoid(%c)\n  %e = If(%go) {else_branch = {\n    %f = Neg(%b)\n    output %f\n  }, then_branch = {\n    %g = Abs(%b)\n    output %g\n  }}\n  output %d as y\n  output %e as z\n";
    let text = text.replace("  input %sizes: i64[4]\n", "");
    let (model, _) = transposed("f32[n, 3, 4, 4]", &text, false);
    assert_eq!(transposes(&model), 1, "{}", model.to_text());
}
