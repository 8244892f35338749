//! Operators that compute each element by itself, and `Cast`.

use super::super::infer::{BROADCAST, COMPARE};
use super::super::tensor::{Data, Tensor};
use super::{Evaluated, Inputs, indices, offset, strides};
use crate::{DType, Kind};

pub(super) fn eval(inputs: &Inputs<'_>) -> Evaluated {
    let op = inputs.node.op.as_str();
    if BROADCAST.contains(&op) || COMPARE.contains(&op) {
        return Some(variadic(inputs));
    }
    Some(match op {
        "Where" => select(inputs),
        "Clip" => clip(inputs),
        "Cast" | "CastLike" => cast(inputs),
        "IsNaN" | "IsInf" => inputs.get(0).map(|x| {
            let is = |x: &f64| i64::from(if op == "IsNaN" { x.is_nan() } else { x.is_infinite() });
            let data = Data::Ints(x.to_f64().iter().map(is).collect());
            vec![Tensor { dtype: DType::Bool, shape: x.shape.clone(), data }]
        }),
        "Identity" => inputs.get(0).map(|x| vec![x.clone()]),
        _ => {
            let float = float_function(inputs)?;
            unary(inputs, &*float)
        }
    })
}

/// The function of an operator over floats.
fn float_function(inputs: &Inputs<'_>) -> Option<Box<dyn Fn(f64) -> f64>> {
    let node = inputs.node;
    let attribute = |name: &str, default: f64| node.float(name).unwrap_or(default);
    Some(match node.op.as_str() {
        "Abs" => Box::new(f64::abs),
        "Neg" => Box::new(|x| -x),
        "Exp" => Box::new(f64::exp),
        "Log" => Box::new(f64::ln),
        "Sqrt" => Box::new(f64::sqrt),
        "Reciprocal" => Box::new(f64::recip),
        "Sigmoid" => Box::new(|x| 1.0 / (1.0 + (-x).exp())),
        "Tanh" => Box::new(f64::tanh),
        "Erf" => Box::new(libm::erf),
        "Floor" => Box::new(f64::floor),
        "Ceil" => Box::new(f64::ceil),
        "Round" => Box::new(f64::round_ties_even),
        "Sign" => Box::new(|x| if x == 0.0 || x.is_nan() { x } else { x.signum() }),
        "Relu" => Box::new(|x| if x < 0.0 { 0.0 } else { x }),
        "Not" => Box::new(|x| f64::from(u8::from(x == 0.0))),
        "Sin" => Box::new(f64::sin),
        "Cos" => Box::new(f64::cos),
        "Tan" => Box::new(f64::tan),
        "Asin" => Box::new(f64::asin),
        "Acos" => Box::new(f64::acos),
        "Atan" => Box::new(f64::atan),
        "Sinh" => Box::new(f64::sinh),
        "Cosh" => Box::new(f64::cosh),
        "Softplus" => Box::new(softplus),
        "Softsign" => Box::new(|x| x / (1.0 + x.abs())),
        "Mish" => Box::new(|x| x * softplus(x).tanh()),
        "HardSwish" => Box::new(|x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0)),
        "LeakyRelu" => {
            let alpha = attribute("alpha", 0.01);
            Box::new(move |x| if x < 0.0 { alpha * x } else { x })
        }
        "Elu" => {
            let alpha = attribute("alpha", 1.0);
            Box::new(move |x| if x < 0.0 { alpha * x.exp_m1() } else { x })
        }
        "Selu" => {
            // The defaults of ONNX.
            let (alpha, gamma) = (attribute("alpha", 1.673_263_2), attribute("gamma", 1.050_701));
            Box::new(move |x| gamma * if x <= 0.0 { alpha * x.exp_m1() } else { x })
        }
        "HardSigmoid" => {
            let (alpha, beta) = (attribute("alpha", 0.2), attribute("beta", 0.5));
            Box::new(move |x| (alpha * x + beta).clamp(0.0, 1.0))
        }
        "Gelu" if node.str("approximate") == Some("tanh") => Box::new(|x| {
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
            0.5 * x * (1.0 + inner.tanh())
        }),
        "Gelu" => Box::new(|x| 0.5 * x * (1.0 + libm::erf(x / std::f64::consts::SQRT_2))),
        _ => return None,
    })
}

/// `log(1 + exp(x))` without overflow.
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

fn unary(inputs: &Inputs<'_>, float: &dyn Fn(f64) -> f64) -> Result<Vec<Tensor>, String> {
    let x = inputs.get(0)?;
    let data = match &x.data {
        Data::Floats(data) => Data::Floats(data.iter().map(|x| float(*x)).collect()),
        Data::Ints(data) => {
            let int: fn(i64) -> i64 = match inputs.node.op.as_str() {
                "Abs" => i64::wrapping_abs,
                "Neg" => i64::wrapping_neg,
                "Sign" => i64::signum,
                "Relu" => |n| n.max(0),
                "Not" => |n| i64::from(n == 0),
                _ => return Err(format!("it does not take {}", x.dtype)),
            };
            Data::Ints(data.iter().map(|n| int(*n)).collect())
        }
    };
    Ok(vec![Tensor { dtype: x.dtype, shape: x.shape.clone(), data }])
}

/// The shape that `shapes` broadcast to.
pub(super) fn broadcast(shapes: &[&[usize]]) -> Result<Vec<usize>, String> {
    let rank = shapes.iter().map(|s| s.len()).max().unwrap_or(0);
    let mut result = vec![1; rank];
    for shape in shapes {
        for (slot, extent) in result[rank - shape.len()..].iter_mut().zip(*shape) {
            if *slot == 1 {
                *slot = *extent;
            } else if *extent != 1 && *extent != *slot {
                return Err(format!("the shapes {shapes:?} do not broadcast"));
            }
        }
    }
    Ok(result)
}

/// `x` repeated to `shape`.
pub(super) fn expand(x: &Tensor, shape: &[usize]) -> Tensor {
    if x.shape == shape {
        return x.clone();
    }
    let missing = shape.len() - x.shape.len();
    let own = strides(&x.shape);
    let mut steps = vec![0; shape.len()];
    for (axis, extent) in x.shape.iter().enumerate() {
        steps[axis + missing] = if *extent == 1 { 0 } else { own[axis] };
    }
    x.pick(shape.to_vec(), indices(shape).map(|index| offset(&index, &steps)))
}

fn variadic(inputs: &Inputs<'_>) -> Result<Vec<Tensor>, String> {
    let op = inputs.node.op.as_str();
    let tensors = (0..inputs.tensors.len()).map(|i| inputs.get(i)).collect::<Result<Vec<_>, _>>()?;
    let shapes: Vec<&[usize]> = tensors.iter().map(|t| t.shape.as_slice()).collect();
    let shape = broadcast(&shapes)?;
    let first = tensors.first().ok_or("it has no inputs")?;
    // The exponent may be of another type.
    if op != "Pow" && tensors.iter().any(|t| t.dtype != first.dtype) {
        let types: Vec<&str> = tensors.iter().map(|t| t.dtype.as_str()).collect();
        return Err(format!("its inputs are of different types: {}", types.join(", ")));
    }
    let mut result = expand(first, &shape);
    for other in &tensors[1..] {
        result = binary(op, inputs, &result, &expand(other, &shape))?;
    }
    if op == "Mean" {
        let count = tensors.len() as f64;
        result.data = Data::Floats(result.to_f64().into_iter().map(|x| x / count).collect());
    }
    Ok(vec![result])
}

fn binary(op: &str, inputs: &Inputs<'_>, a: &Tensor, b: &Tensor) -> Result<Tensor, String> {
    let fmod = inputs.node.int("fmod") == Some(1);
    if COMPARE.contains(&op) {
        let holds: fn(f64, f64) -> bool = match op {
            "Equal" => |a, b| a == b,
            "Less" => |a, b| a < b,
            "LessOrEqual" => |a, b| a <= b,
            "Greater" => |a, b| a > b,
            _ => |a, b| a >= b,
        };
        let data = match (&a.data, &b.data) {
            // Integers beyond 2^53 are not floats.
            (Data::Ints(x), Data::Ints(y)) => x
                .iter()
                .zip(y)
                .map(|(x, y)| {
                    let order = x.cmp(y) as i8;
                    i64::from(holds(f64::from(order), 0.0))
                })
                .collect(),
            _ => a.to_f64().iter().zip(b.to_f64()).map(|(x, y)| i64::from(holds(*x, y))).collect(),
        };
        return Ok(Tensor { dtype: DType::Bool, shape: a.shape.clone(), data: Data::Ints(data) });
    }
    let data = match &a.data {
        Data::Floats(x) => {
            let float: fn(f64, f64) -> f64 = match op {
                "Add" | "Sum" | "Mean" => |a, b| a + b,
                "Sub" => |a, b| a - b,
                "Mul" => |a, b| a * b,
                "Div" => |a, b| a / b,
                "Pow" => f64::powf,
                "Mod" if fmod => |a, b| a % b,
                "Max" => |a, b| if a.is_nan() || a > b { a } else { b },
                "Min" => |a, b| if a.is_nan() || a < b { a } else { b },
                "PRelu" => |x, slope| if x < 0.0 { x * slope } else { x },
                _ => return Err(format!("it does not take {}", a.dtype)),
            };
            Data::Floats(x.iter().zip(b.to_f64()).map(|(x, y)| float(*x, y)).collect())
        }
        Data::Ints(x) => {
            let int: fn(i64, i64) -> Option<i64> = match op {
                "Add" | "Sum" => |a, b| Some(a.wrapping_add(b)),
                "Sub" => |a, b| Some(a.wrapping_sub(b)),
                "Mul" => |a, b| Some(a.wrapping_mul(b)),
                "Div" => i64::checked_div,
                "Mod" if fmod => i64::checked_rem,
                "Mod" => {
                    |a, b| a.checked_rem(b).map(|r| if r != 0 && (r < 0) != (b < 0) { r + b } else { r })
                }
                "Pow" => |a, b| Some((a as f64).powf(b as f64) as i64),
                "Max" => |a, b| Some(a.max(b)),
                "Min" => |a, b| Some(a.min(b)),
                "And" => |a, b| Some(a & b),
                "Or" => |a, b| Some(a | b),
                "Xor" => |a, b| Some(a ^ b),
                _ => return Err(format!("it does not take {}", a.dtype)),
            };
            let items = x.iter().zip(b.to_i64()).map(|(x, y)| int(*x, y));
            Data::Ints(items.collect::<Option<_>>().ok_or("an integer is divided by zero")?)
        }
    };
    Ok(Tensor { dtype: a.dtype, shape: a.shape.clone(), data })
}

fn select(inputs: &Inputs<'_>) -> Result<Vec<Tensor>, String> {
    let (condition, a, b) = (inputs.get(0)?, inputs.get(1)?, inputs.get(2)?);
    if a.dtype != b.dtype {
        return Err(format!("its branches are {} and {}", a.dtype, b.dtype));
    }
    let shape = broadcast(&[&condition.shape, &a.shape, &b.shape])?;
    let condition = expand(condition, &shape).to_i64();
    let (a, b) = (expand(a, &shape), expand(b, &shape));
    let data = match (a.data, b.data) {
        (Data::Floats(a), Data::Floats(b)) => {
            Data::Floats((0..a.len()).map(|i| if condition[i] != 0 { a[i] } else { b[i] }).collect())
        }
        (Data::Ints(a), Data::Ints(b)) => {
            Data::Ints((0..a.len()).map(|i| if condition[i] != 0 { a[i] } else { b[i] }).collect())
        }
        _ => return Err("its branches are of different kinds".to_owned()),
    };
    Ok(vec![Tensor { dtype: a.dtype, shape, data }])
}

fn clip(inputs: &Inputs<'_>) -> Result<Vec<Tensor>, String> {
    let mut x = inputs.get(0)?.clone();
    for (index, op) in [(1, "Max"), (2, "Min")] {
        if let Some(bound) = inputs.maybe(index) {
            let bound = expand(bound, &x.shape);
            x = binary(op, inputs, &x, &bound)?;
        }
    }
    Ok(vec![x])
}

fn cast(inputs: &Inputs<'_>) -> Result<Vec<Tensor>, String> {
    let x = inputs.get(0)?;
    let dtype = match inputs.node.int("to") {
        Some(code) => DType::from_onnx(code as i32).ok_or("its `to` is no element type")?,
        None => inputs.get(1)?.dtype,
    };
    let data = match (dtype.kind(), &x.data) {
        (Kind::Float, _) => Data::Floats(x.to_f64()),
        (Kind::Bool, Data::Floats(data)) => Data::Ints(data.iter().map(|x| i64::from(*x != 0.0)).collect()),
        (Kind::Bool | Kind::Int, _) => Data::Ints(x.to_i64()),
        _ => return Err(format!("the test kit's evaluator does not cast to {dtype}")),
    };
    Ok(vec![Tensor { dtype, shape: x.shape.clone(), data }])
}
