//! Elementwise operators as expressions of C.
//!
//! An expression computes with the wide type of its operands (`W_…` of the prelude), as the evaluator of `onnxport-ir` does
//! with its own, and is rounded to the element type once.

use onnxport_ir::ops::{Error, Res, Traits, traits_of};
use onnxport_ir::tensor::{DType, Kind};

use super::{Operand, Request};
use crate::executor::source::{number, stored, suffix, tag};

/// An expression: its element type, its text with `$k` for the k-th argument, and the arguments: inputs, in the shapes that
/// they broadcast with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Formula {
    pub(crate) dtype: DType,
    pub(crate) text: String,
    pub(crate) arguments: Vec<(usize, Vec<usize>)>,
}

/// The expression of a node; `None` where there is none for its types.
///
/// # Errors
/// Where inputs contradict the operator's definition.
pub(crate) fn formula(r: &Request<'_, '_>) -> Res<Option<Formula>> {
    let casts = matches!(r.call.op(), "Cast" | "CastLike");
    let known = |x: &Operand| if casts { stored(x.dtype) } else { tag(x.dtype) }.is_some();
    if !is_elementwise(r.call.op()) || !r.present().all(known) {
        return Ok(None);
    }
    let x = r.operand(0)?;
    // Before opset 7 broadcasting was an attribute.
    if r.call.opset < 7 && r.present().any(|other| other.shape != x.shape) {
        return Ok(None);
    }
    match r.call.op() {
        "Cast" => {
            let to = r.call.dtype("to")?;
            return Ok(cast(r, x, to).map(|text| unary(x, to, text)));
        }
        "CastLike" => {
            let to = r.operand(1)?.dtype;
            return Ok(cast(r, x, to).map(|text| unary(x, to, text)));
        }
        "Clip" => return Ok(clip(r, x)),
        "BatchNormalization" => return batch(r, x),
        "DequantizeLinear" => return super::codes::dequantize(r),
        "QuantizeLinear" => return super::codes::quantize(r),
        "Pow" => return power(r, x),
        "Where" => {
            let (yes, no) = (r.operand(1)?, r.operand(2)?);
            let fits = x.dtype == DType::Bool && yes.dtype == no.dtype;
            return Ok(fits.then(|| all(r, yes.dtype, "$0 ? $1 : $2".to_owned())));
        }
        _ => {}
    }
    if r.present().any(|other| other.dtype != x.dtype) {
        return Ok(None);
    }
    let found = match x.dtype.kind() {
        Kind::Float => float(r, x.dtype),
        Kind::Int => integer(r, x.dtype),
        _ => truth(r),
    };
    Ok(found.map(|(dtype, text)| all(r, dtype, text)))
}

/// All inputs, as they are.
fn all(r: &Request<'_, '_>, dtype: DType, text: String) -> Formula {
    let arguments = r.operands.iter().enumerate().filter_map(|(at, x)| Some((at, x.as_ref()?.shape.clone())));
    Formula { dtype, text, arguments: arguments.collect() }
}

fn unary(x: &Operand, dtype: DType, text: String) -> Formula {
    Formula { dtype, text, arguments: vec![(0, x.shape.clone())] }
}

/// Casts an element to another type; values beyond the range of an 8-bit float become its largest number with
/// `saturate`.
fn cast(r: &Request<'_, '_>, x: &Operand, to: DType) -> Option<String> {
    let wide = stored(to)?;
    if x.dtype == to {
        return Some("$0".to_owned());
    }
    if to == DType::F8E8M0 && r.call.text("round_mode").ok()? != "up" {
        return None;
    }
    let narrow = tag(to).is_none();
    Some(match (x.dtype.kind(), to.kind()) {
        _ if narrow && r.call.flag("saturate") => format!("saturate_{wide}((double)$0)"),
        (Kind::Float, Kind::Int) => format!("(W_{wide})whole((double)$0)"),
        (_, Kind::Bool) => "$0 != 0".to_owned(),
        _ => format!("(W_{wide})$0"),
    })
}

/// Inputs joined from the left; each step is rounded where `dtype` is rounded.
fn folded(r: &Request<'_, '_>, join: impl Fn(&str, &str) -> String) -> String {
    (1..r.operands.len()).fold("$0".to_owned(), |text, k| join(&text, &format!("${k}")))
}

/// Comparisons, for every type.
fn comparison(op: &str) -> Option<&'static str> {
    Some(match op {
        "Equal" => "$0 == $1",
        "Greater" => "$0 > $1",
        "GreaterOrEqual" => "$0 >= $1",
        "Less" => "$0 < $1",
        "LessOrEqual" => "$0 <= $1",
        _ => return None,
    })
}

fn truth(r: &Request<'_, '_>) -> Option<(DType, String)> {
    let text = match r.call.op() {
        "And" => "$0 && $1",
        "Or" => "$0 || $1",
        "Xor" => "$0 != $1",
        "Not" => "!$0",
        "Equal" => "$0 == $1",
        _ => return None,
    };
    Some((DType::Bool, text.to_owned()))
}

fn integer(r: &Request<'_, '_>, dtype: DType) -> Option<(DType, String)> {
    let (op, s, tag) = (r.call.op(), suffix(dtype), tag(dtype)?);
    if let Some(text) = comparison(op) {
        return Some((DType::Bool, text.to_owned()));
    }
    // Sums and products wrap, which only unsigned types do.
    let wrapped = |x: &str, op: &str, y: &str| format!("(W_{tag})((W_u64){x} {op} (W_u64){y})");
    let fault = "(int *)a.p[15]";
    let signed = s == "i";
    let text = match op {
        "Add" => wrapped("$0", "+", "$1"),
        "Sub" => wrapped("$0", "-", "$1"),
        "Mul" => wrapped("$0", "*", "$1"),
        "Sum" => folded(r, |x, y| wrapped(x, "+", y)),
        "Max" => folded(r, |x, y| format!("larger_{s}({x}, {y})")),
        "Min" => folded(r, |x, y| format!("smaller_{s}({x}, {y})")),
        "Div" => format!("divide_{s}($0, $1, {fault})"),
        "Mod" if r.call.flag("fmod") => format!("remainder_{s}($0, $1, {fault})"),
        "Mod" => format!("modulo_{s}($0, $1, {fault})"),
        "Neg" => wrapped("0", "-", "$0"),
        "Abs" if signed => format!("$0 < 0 ? {} : $0", wrapped("0", "-", "$0")),
        "Abs" => "$0".to_owned(),
        "Sign" => "($0 > 0) - ($0 < 0)".to_owned(),
        "Relu" => "$0 > 0 ? $0 : 0".to_owned(),
        "BitwiseAnd" => "$0 & $1".to_owned(),
        "BitwiseOr" => "$0 | $1".to_owned(),
        "BitwiseXor" => "$0 ^ $1".to_owned(),
        "BitwiseNot" => "~$0".to_owned(),
        "BitShift" if !signed => {
            // All bits of the type, not of the wide one.
            let shift = if r.call.text("direction").ok()? == "LEFT" { "left_u" } else { "right_u" };
            format!("{shift}($0, $1)")
        }
        _ => return None,
    };
    Some((dtype, text))
}

fn float(r: &Request<'_, '_>, dtype: DType) -> Option<(DType, String)> {
    let (op, s, tag) = (r.call.op(), suffix(dtype), tag(dtype)?);
    let n = |x: f64| number(dtype, x);
    let attr = |name: &str| r.call.float(name).map(n).ok();
    if let Some(text) = comparison(op) {
        return Some((DType::Bool, text.to_owned()));
    }
    let plain = [
        "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor",
        "Log", "Relu", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Sqrt", "Tan", "Tanh", "Abs",
    ];
    if plain.contains(&op) {
        return Some((dtype, format!("{}_{s}($0)", op.to_ascii_lowercase())));
    }
    let text = match op {
        "Add" => "$0 + $1".to_owned(),
        "Sub" => "$0 - $1".to_owned(),
        "Mul" => "$0 * $1".to_owned(),
        "Div" => "$0 / $1".to_owned(),
        "Sum" => folded(r, |x, y| format!("round_{tag}({x} + {y})")),
        "Mean" => format!("({}) / {}", folded(r, |x, y| format!("{x} + {y}")), n(r.operands.len() as f64)),
        "Max" => folded(r, |x, y| format!("larger_{s}({x}, {y})")),
        "Min" => folded(r, |x, y| format!("smaller_{s}({x}, {y})")),
        "Mod" if r.call.flag("fmod") => format!("remainder_{s}($0, $1)"),
        "Mod" => format!("modulo_{s}($0, $1)"),
        "Neg" => "-$0".to_owned(),
        "Reciprocal" => format!("{} / $0", n(1.0)),
        "Round" => format!("nearest_{s}($0)"),
        "IsNaN" => return Some((DType::Bool, "$0 != $0".to_owned())),
        "IsInf" => {
            let side = |name: &str, sign: &str| {
                if r.call.flag(name) { format!("$0 == {sign}INF_{s}") } else { "0".to_owned() }
            };
            let text = format!("{} || {}", side("detect_positive", ""), side("detect_negative", "-"));
            return Some((DType::Bool, text));
        }
        "Celu" => {
            let alpha = attr("alpha")?;
            format!("relu_{s}($0) + smaller_{s}({alpha} * expm1_{s}($0 / {alpha}), {})", n(0.0))
        }
        "Elu" => format!("$0 < 0 ? {} * expm1_{s}($0) : $0", attr("alpha")?),
        "Gelu" => match r.call.text("approximate").ok()? {
            "none" => format!(
                "{} * $0 * ({} + erf_{s}($0 * {}))",
                n(0.5),
                n(1.0),
                n(std::f64::consts::FRAC_1_SQRT_2)
            ),
            "tanh" => format!(
                "{} * $0 * ({} + tanh_{s}({} * ($0 + {} * $0 * $0 * $0)))",
                n(0.5),
                n(1.0),
                n((2.0 / std::f64::consts::PI).sqrt()),
                n(0.044_715)
            ),
            _ => return None,
        },
        "HardSigmoid" => {
            let (alpha, beta) = (attr("alpha")?, attr("beta")?);
            format!("clamp_{s}({alpha} * $0 + {beta}, {}, {})", n(0.0), n(1.0))
        }
        "HardSwish" => format!("$0 * clamp_{s}($0 / {} + {}, {}, {})", n(6.0), n(0.5), n(0.0), n(1.0)),
        "LeakyRelu" => format!("$0 < 0 ? {} * $0 : $0", attr("alpha")?),
        "Mish" => format!("$0 * tanh_{s}(softplus_{s}($0))"),
        "PRelu" => "$0 < 0 ? $1 * $0 : $0".to_owned(),
        "Selu" => {
            let alpha = attr("alpha")?;
            format!("{} * ($0 < 0 ? {alpha} * expm1_{s}($0) : $0)", attr("gamma")?)
        }
        "Shrink" => format!("cut_{s}($0, {}, {})", attr("lambd")?, attr("bias")?),
        "Softsign" => format!("$0 / ({} + abs_{s}($0))", n(1.0)),
        "Swish" => format!("$0 * sigmoid_{s}({} * $0)", attr("alpha")?),
        "ThresholdedRelu" => format!("$0 > {} ? $0 : {}", attr("alpha")?, n(0.0)),
        _ => return None,
    };
    Some((dtype, text))
}

/// The bounds are inputs of one element, and were attributes before opset 11. Where they cross, the upper one wins; NaN
/// stays.
fn clip(r: &Request<'_, '_>, x: &Operand) -> Option<Formula> {
    let mut arguments = vec![(0, x.shape.clone())];
    let mut text = "$0".to_owned();
    for (index, name, sign) in [(1, "min", "<"), (2, "max", ">")] {
        let bound = match r.optional(index) {
            Some(bound) if bound.dtype != x.dtype || super::volume(&bound.shape) != 1 => return None,
            Some(_) => {
                arguments.push((index, Vec::new()));
                format!("${}", arguments.len() - 1)
            }
            None => match r.call.float_if_any(name) {
                Some(bound) if x.dtype.is_float() => number(x.dtype, bound),
                Some(_) => return None,
                None => continue,
            },
        };
        text = format!("(({text}) {sign} {bound} ? {bound} : ({text}))");
    }
    matches!(x.dtype.kind(), Kind::Float | Kind::Int).then_some(Formula { dtype: x.dtype, text, arguments })
}

/// In inference, with one number for each channel.
fn batch(r: &Request<'_, '_>, x: &Operand) -> Res<Option<Formula>> {
    let training = r.call.flag("training_mode") || r.call.opset < 9 || r.call.outputs() > 1;
    let floats = r.operands.iter().take(5).flatten().all(|x| x.dtype.is_float());
    let Some(channels) = x.shape.get(1).copied().filter(|_| !training && floats && r.operands.len() == 5)
    else {
        return Ok(None);
    };
    let mut arguments = vec![(0, x.shape.clone())];
    for index in 1..5 {
        if r.operand(index)?.shape != [channels] {
            return Err(Error::invalid(format!("input {index} does not fit {channels} channels")));
        }
        let behind = std::iter::repeat_n(1, x.shape.len().saturating_sub(2));
        arguments.push((index, std::iter::once(channels).chain(behind).collect()));
    }
    let Some(wide) = tag(x.dtype) else { return Ok(None) };
    let (s, epsilon) = (suffix(x.dtype), number(x.dtype, r.call.float("epsilon")?));
    let [scale, bias, mean, variance] = [1, 2, 3, 4].map(|k| format!("(W_{wide})${k}"));
    let text = format!("($0 - {mean}) / sqrt_{s}({variance} + {epsilon}) * {scale} + {bias}");
    Ok(Some(Formula { dtype: x.dtype, text, arguments }))
}

/// The result has the type of the base, whatever the exponent is.
fn power(r: &Request<'_, '_>, base: &Operand) -> Res<Option<Formula>> {
    let exponent = r.operand(1)?;
    let Some(wide) = tag(base.dtype) else { return Ok(None) };
    let s = suffix(base.dtype);
    let text = match (base.dtype.kind(), exponent.dtype.kind()) {
        (Kind::Float, Kind::Float | Kind::Int) => format!("pow_{s}($0, (W_{wide})$1)"),
        (Kind::Int, Kind::Int) if s == "i" || suffix(exponent.dtype) == "u" => {
            format!("integer_power_{s}($0, (W_{wide})$1)")
        }
        (Kind::Int, Kind::Float) => format!("(W_{wide})whole(pow((double)$0, (double)$1))"),
        _ => return Ok(None),
    };
    // An exponent of 64 bits may be no number of a narrower wide type.
    let fits = base.dtype.kind() != Kind::Int || exponent.dtype != DType::U64;
    Ok(fits.then(|| all(r, base.dtype, text)))
}

/// Whether an operator of ONNX's own domain is part of chains.
pub(crate) fn is_elementwise(op: &str) -> bool {
    let traits = traits_of("", op);
    let alone = Traits::ELEMENTWISE.with(Traits::BROADCASTING).with(Traits::QUANTIZES);
    // One factor and one shift for each channel.
    op == "BatchNormalization" || traits.has_any(alone) && !traits.has(Traits::RESHAPES)
}
