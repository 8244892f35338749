//! Recurrent layers: a launch for each step in time, a block for each unit of a sequence.

use onnxport_ir::ops::{Error, Res};
use onnxport_ir::tensor::DType;

use super::layout::invalid;
use super::{Line, Operand, Output, Pointer, Request, Scratch, Step, Work};
use crate::executor::device::Grid;
use crate::executor::source::{Kernel, number, suffix, tag, width};

pub(super) const OPS: &[Line] =
    &[("GRU", &[], |r| layer(r, &GRU)), ("LSTM", &[], |r| layer(r, &LSTM)), ("RNN", &[], |r| layer(r, &RNN))];

const FILE: &str = include_str!("../../../kernels/recurrent.cu");

/// A kind of layer: its gates, and the activations of one direction unless the node names others.
struct Kind {
    gates: usize,
    activations: &'static [&'static str],
}

const RNN: Kind = Kind { gates: 1, activations: &["Tanh"] };
const GRU: Kind = Kind { gates: 3, activations: &["Sigmoid", "Tanh"] };
const LSTM: Kind = Kind { gates: 4, activations: &["Sigmoid", "Tanh", "Tanh"] };

/// Scratch: the states of two steps, cells, and states after reset gates.
const STATES: Pointer = Pointer::Scratch(0);
const CELLS: Pointer = Pointer::Scratch(1);
const KEPT: Pointer = Pointer::Scratch(2);

/// The sizes of a layer.
struct Extents {
    steps: usize,
    batch: usize,
    features: usize,
    directions: usize,
    hidden: usize,
    batch_first: bool,
}

impl Extents {
    /// Those of a node; `None` where an input has another shape than the definition says, or the types differ.
    fn from_request(r: &Request<'_, '_>, kind: &Kind) -> Res<Option<Self>> {
        let (x, w, rec) = (r.operand(0)?, r.operand(1)?, r.operand(2)?);
        let batch_first = r.call.flag("layout");
        let (&[outer, inner, features], &[directions, rows, _]) = (&*x.shape, &*w.shape) else {
            return invalid("the input and the weights have not 3 axes".to_owned());
        };
        let (steps, batch) = if batch_first { (inner, outer) } else { (outer, inner) };
        let hidden = rows / kind.gates;
        let own = Self { steps, batch, features, directions, hidden, batch_first };
        if rec.shape != [directions, rows, hidden] || w.shape != [directions, rows, features] {
            return invalid(format!("weights {:?} and {:?} do not fit", w.shape, rec.shape));
        }
        let is = |index: usize, shape: &[usize], dtype: DType| {
            r.optional(index).is_none_or(|given| given.shape == shape && given.dtype == dtype)
        };
        let lstm = kind.gates == LSTM.gates;
        let fits = rows == kind.gates * hidden
            && [w, rec].iter().all(|given| given.dtype == x.dtype)
            && is(3, &[directions, 2 * rows], x.dtype)
            && is(4, &[batch], DType::I32)
            && is(5, &own.last(), x.dtype)
            && (!lstm || is(6, &own.last(), x.dtype) && is(7, &[directions, 3 * hidden], x.dtype));
        Ok(fits.then_some(own))
    }

    /// The shape of all states.
    fn all(&self) -> Vec<usize> {
        let &Self { steps, batch, directions, hidden, batch_first, .. } = self;
        if batch_first {
            vec![batch, steps, directions, hidden]
        } else {
            vec![steps, directions, batch, hidden]
        }
    }

    /// The shape of the states of one step.
    fn last(&self) -> Vec<usize> {
        let &Self { batch, directions, hidden, batch_first, .. } = self;
        if batch_first { vec![batch, directions, hidden] } else { vec![directions, batch, hidden] }
    }

    /// The numbers of the kernels of a step.
    fn numbers(&self, direction: usize, reverse: bool, step: usize) -> Vec<i64> {
        let &Self { steps, batch, features, directions, hidden, batch_first } = self;
        let (x, all, last) = if batch_first {
            let all = [directions * hidden, hidden, steps * directions * hidden];
            ([features, steps * features], all, [hidden, directions * hidden])
        } else {
            let all = [directions * batch * hidden, batch * hidden, hidden];
            ([batch * features, features], all, [batch * hidden, hidden])
        };
        let head = [batch, hidden, features, steps, direction, directions, usize::from(reverse), step];
        head.iter().chain(&x).chain(&all).chain(&last).map(|n| *n as i64).collect()
    }
}

/// An activation as an expression of `x`; `None` for one that there is not.
fn activation(name: &str, alpha: Option<f64>, beta: Option<f64>, dtype: DType) -> Option<String> {
    let (s, n) = (suffix(dtype), |x: f64| number(dtype, x));
    let (a, b) = (|default: f64| n(alpha.unwrap_or(default)), |default: f64| n(beta.unwrap_or(default)));
    let (zero, one) = (n(0.0), n(1.0));
    Some(match name.to_ascii_lowercase().as_str() {
        name @ ("relu" | "tanh" | "sigmoid" | "softplus") => format!("{name}_{s}(x)"),
        "softsign" => format!("((x) / ({one} + abs_{s}(x)))"),
        "affine" => format!("({} * (x) + {})", a(1.0), b(0.0)),
        "leakyrelu" => format!("((x) < 0 ? {} * (x) : (x))", a(f64::from(0.01f32))),
        "thresholdedrelu" => format!("((x) >= {} ? (x) : {zero})", a(1.0)),
        "scaledtanh" => format!("({} * tanh_{s}({} * (x)))", a(1.0), b(1.0)),
        "hardsigmoid" => format!("clamp_{s}({} * (x) + {}, {zero}, {one})", a(f64::from(0.2f32)), b(0.5)),
        "elu" => format!("((x) < 0 ? {} * expm1_{s}(x) : (x))", a(1.0)),
        _ => return None,
    })
}

/// The source of the kernels of a direction.
struct Source {
    tag: &'static str,
    gates: String,
    late: &'static str,
    held: String,
    activations: [String; 3],
}

impl Source {
    fn from_request(r: &Request<'_, '_>, kind: &Kind, x: &Operand, direction: usize) -> Option<Self> {
        let tag = tag(x.dtype).filter(|_| x.dtype.is_float())?;
        let per = kind.activations.len();
        let (alphas, betas) = (r.call.floats("activation_alpha"), r.call.floats("activation_beta"));
        let mut activations = [const { String::new() }; 3];
        for (at, (slot, own)) in activations.iter_mut().zip(kind.activations).enumerate() {
            let place = direction * per + at;
            let name = match r.call.texts("activations") {
                Some(names) => names.get(place)?,
                None => *own,
            };
            let parameter = |list: &Option<Vec<f64>>| list.as_ref().and_then(|l| l.get(place).copied());
            *slot = activation(name, parameter(&alphas), parameter(&betas), x.dtype)?;
        }
        let held = match r.call.float_if_any("clip").unwrap_or(f64::INFINITY) {
            f64::INFINITY => "(x)".to_owned(),
            clip => {
                let [low, high] = [-clip, clip].map(|bound| number(x.dtype, bound));
                format!("clamp_{}(x, {low}, {high})", suffix(x.dtype))
            }
        };
        let late = if r.call.flag("linear_before_reset") { "1" } else { "0" };
        Some(Self { tag, gates: kind.gates.to_string(), late, held, activations })
    }

    fn kernel(&self, name: &'static str) -> Kernel {
        let [first, second, third] = &self.activations;
        let macros = [
            ("TYPE", self.tag),
            ("GATES", &self.gates),
            ("LATE", self.late),
            ("HELD(x)", &self.held),
            ("ACT0(x)", first),
            ("ACT1(x)", second),
            ("ACT2(x)", third),
        ];
        Kernel::new(name, FILE, &macros)
    }
}

fn layer(r: &Request<'_, '_>, kind: &Kind) -> Res<Option<Work>> {
    let x = r.operand(0)?;
    if r.call.float_if_any("clip").unwrap_or(f64::INFINITY) < 0.0 {
        return Err(Error::invalid("a bound of activations is negative"));
    }
    let Some(extents) = Extents::from_request(r, kind)? else { return Ok(None) };
    let (lstm, gru) = (kind.gates == LSTM.gates, kind.gates == GRU.gates);
    let given = |index: usize| r.optional(index).map_or(Pointer::Nothing, |_| Pointer::Input(index));
    let cell = |place: Pointer| if lstm { place } else { Pointer::Nothing };
    let mut places: Vec<Pointer> = (0..5).map(given).collect();
    places.extend([cell(given(7)), Pointer::Output(0), Pointer::Output(1), cell(Pointer::Output(2))]);
    places.extend([STATES, CELLS, KEPT, given(5), cell(given(6))]);
    let groups = (extents.batch * extents.hidden) as u64;
    let mut steps = Vec::new();
    for direction in 0..extents.directions {
        let Some(source) = Source::from_request(r, kind, x, direction) else { return Ok(None) };
        let reverse = direction == 1 || r.call.text("direction")? == "reverse";
        let launch = |name: &'static str, grid: Grid, step: usize| {
            Step::new(source.kernel(name), grid, places.clone(), extents.numbers(direction, reverse, step))
        };
        steps.push(launch("begin", Grid::Each(groups), 0));
        for step in 0..extents.steps {
            if gru && source.late == "0" {
                steps.push(launch("reset", Grid::Groups(groups), step));
            }
            steps.push(launch("step", Grid::Groups(groups), step));
        }
    }
    let dtype = x.dtype;
    let made = |shape: Vec<usize>| Output::new(dtype, shape);
    let mut made = vec![made(extents.all()), made(extents.last()), made(extents.last())];
    made.truncate(if lstm { 3 } else { 2 });
    // States are kept in the wide type: that of f32 for narrow floats.
    let wide = width(dtype).unwrap_or(0).max(4);
    let states = groups * extents.directions as u64 * wide;
    let scratch = |bytes: u64| Scratch { bytes, contents: Vec::new() };
    Ok(Some(Work { made, scratch: [2 * states, states, states].map(scratch).into(), steps }))
}
