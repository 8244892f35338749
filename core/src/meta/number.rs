//! Calls that compute numbers: sizes of tensors, and arithmetic on numbers.

use crate::arena::Arena;
use crate::program::{Arg, Call, Value, ValueType};
use crate::sym::{Dim, Symbols};

/// A number, as far as it is known before the program runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer.
    Int(Dim),
    /// A float.
    Float(Option<f64>),
    /// A truth value.
    Bool(Option<bool>),
}

impl Number {
    /// Returns the argument with this value, if it is known.
    pub fn known(self) -> Option<Arg> {
        match self {
            Self::Int(Dim::Const(n)) => Some(Arg::Int(n)),
            Self::Float(Some(x)) => Some(Arg::Float(x)),
            Self::Bool(Some(b)) => Some(Arg::Bool(b)),
            _ => None,
        }
    }

    /// The type of the value that holds it.
    pub fn ty(self) -> ValueType {
        match self {
            Self::Int(dim) => ValueType::SymInt(dim),
            Self::Float(_) => ValueType::SymFloat,
            Self::Bool(_) => ValueType::SymBool,
        }
    }

    fn float(self) -> Option<f64> {
        match self {
            Self::Int(dim) => dim.as_const().map(|n| n as f64),
            Self::Float(x) => x,
            Self::Bool(b) => b.map(f64::from),
        }
    }

    fn truth(self) -> Option<bool> {
        match self {
            Self::Bool(b) => b,
            other => other.float().map(|x| x != 0.0),
        }
    }

    /// Truth values count as integers.
    fn int(self) -> Option<Dim> {
        match self {
            Self::Int(dim) => Some(dim),
            Self::Bool(b) => b.map(|b| Dim::Const(i64::from(b))),
            Self::Float(_) => None,
        }
    }
}

/// A call, and the values of its operands.
struct Numbers<'a> {
    call: &'a Call,
    values: &'a Arena<Value>,
    symbols: &'a mut Symbols,
}

impl<'a> Numbers<'a> {
    fn type_of(&self, arg: &Arg) -> Option<&'a ValueType> {
        arg.as_value().and_then(|val| self.values.find(val)).map(|v| &v.ty)
    }

    fn unknown(&self) -> String {
        format!("the result of `{}` is unknown", self.call.target)
    }
}

/// Returns the number that `call` computes; `None` if its operator does not compute one.
///
/// # Errors
/// The reason why it is unknown.
pub fn number(call: &Call, values: &Arena<Value>, symbols: &mut Symbols) -> Result<Option<Number>, String> {
    let target = call.target.as_str();
    let cx = &mut Numbers { call, values, symbols };
    match target {
        "aten.sym_size.int" | "aten.size.int" => return size(cx).map(Some),
        "aten.sym_numel.default" | "aten.numel.default" => {
            let shape = tensor_shape(cx)?;
            return Ok(Some(Number::Int(cx.symbols.product(shape))));
        }
        "aten.dim.default" => {
            let rank = tensor_shape(cx)?.len();
            return Ok(Some(Number::Int(Dim::Const(rank as i64))));
        }
        _ => {}
    }
    let (space, name) = target.split_once('.').unwrap_or(("", target));
    if !matches!(space, "_operator" | "torch" | "math" | "builtins") {
        return Ok(None);
    }
    let name = name.trim_start_matches('_').trim_start_matches("sym_").trim_end_matches('_');
    if name == "sum" {
        return sum(cx).map(Some);
    }
    let operands: Vec<Number> =
        cx.call.args.iter().map(|arg| operand(cx, &arg.arg)).collect::<Result<_, _>>()?;
    let found = match operands.as_slice() {
        [a] => unary(cx, name, *a),
        [a, b] => binary(cx, name, *a, *b),
        [which, a, b] if name == "ite" => match (which.truth(), *a, *b) {
            (Some(true), a, _) => Some(a),
            (Some(false), _, b) => Some(b),
            (None, Number::Int(_), Number::Int(_)) => Some(Number::Int(cx.symbols.opaque())),
            (None, Number::Bool(_), Number::Bool(_)) => Some(Number::Bool(None)),
            (None, ..) => Some(Number::Float(None)),
        },
        _ => None,
    };
    found.map(Some).ok_or_else(|| cx.unknown())
}

fn tensor_shape(cx: &Numbers<'_>) -> Result<Vec<Dim>, String> {
    let first = cx.call.args.first().ok_or_else(|| cx.unknown())?;
    match cx.type_of(&first.arg) {
        Some(ValueType::Tensor(ty)) => Ok(ty.shape.clone()),
        _ => Err(cx.unknown()),
    }
}

fn size(cx: &Numbers<'_>) -> Result<Number, String> {
    let shape = tensor_shape(cx)?;
    let Some(Arg::Int(at)) = cx.call.args.get(1).map(|arg| &arg.arg) else { return Err(cx.unknown()) };
    let at = if *at < 0 { at.saturating_add(shape.len() as i64) } else { *at };
    let dim = usize::try_from(at).ok().and_then(|at| shape.get(at).copied());
    dim.map(Number::Int).ok_or_else(|| format!("axis {at} is out of range"))
}

fn sum(cx: &mut Numbers<'_>) -> Result<Number, String> {
    let call = cx.call;
    let Some(Arg::List(items)) = call.args.first().map(|arg| &arg.arg) else { return Err(cx.unknown()) };
    let mut total = Dim::Const(0);
    for item in items {
        let dim = operand(cx, item)?.int().ok_or_else(|| cx.unknown())?;
        total = cx.symbols.add(total, dim);
    }
    Ok(Number::Int(total))
}

fn operand(cx: &Numbers<'_>, arg: &Arg) -> Result<Number, String> {
    Ok(match arg {
        Arg::Int(n) => Number::Int(Dim::Const(*n)),
        Arg::Float(x) => Number::Float(Some(*x)),
        Arg::Bool(b) => Number::Bool(Some(*b)),
        arg => match cx.type_of(arg) {
            Some(ValueType::SymInt(dim)) => Number::Int(*dim),
            Some(ValueType::SymFloat) => Number::Float(None),
            Some(ValueType::SymBool) => Number::Bool(None),
            _ => return Err(cx.unknown()),
        },
    })
}

fn unary(cx: &mut Numbers<'_>, name: &str, a: Number) -> Option<Number> {
    let of = |f: fn(f64) -> f64| Some(Number::Float(a.float().map(f).filter(|x| x.is_finite())));
    // Beyond 2^53 a float does not represent a certain integer.
    let whole = |x: f64| (x.abs() < (1i64 << 53) as f64).then_some(Number::Int(Dim::Const(x as i64)));
    match (name, a) {
        ("pos" | "trunc" | "floor" | "ceil" | "round" | "int", Number::Int(_)) => Some(a),
        ("trunc" | "int", _) => match a.float() {
            Some(x) => whole(x.trunc()),
            None => Some(Number::Int(cx.symbols.opaque())),
        },
        ("floor" | "ceil" | "round", Number::Float(x)) => match x {
            Some(x) if name == "floor" => whole(x.floor()),
            Some(x) if name == "ceil" => whole(x.ceil()),
            Some(x) => whole(x.round_ties_even()),
            None => Some(Number::Int(cx.symbols.opaque())),
        },
        ("neg", Number::Int(dim)) => Some(Number::Int(cx.symbols.mul(dim, Dim::Const(-1)))),
        ("neg", Number::Float(x)) => Some(Number::Float(x.map(|x| -x))),
        ("abs", Number::Int(Dim::Const(n))) => n.checked_abs().map(|n| Number::Int(Dim::Const(n))),
        ("abs", Number::Float(x)) => Some(Number::Float(x.map(f64::abs))),
        ("not", _) => Some(Number::Bool(a.truth().map(|b| !b))),
        ("float", _) => Some(Number::Float(a.float())),
        ("sqrt", _) => of(f64::sqrt),
        ("exp", _) => of(f64::exp),
        ("log", _) => of(f64::ln),
        ("log2", _) => of(f64::log2),
        _ => None,
    }
}

fn binary(cx: &mut Numbers<'_>, name: &str, a: Number, b: Number) -> Option<Number> {
    let symbols = &mut *cx.symbols;
    if let (Some(x), Some(y)) = (a.int(), b.int()) {
        let found = match name {
            "add" => symbols.add(x, y),
            "sub" => symbols.sub(x, y),
            "mul" => symbols.mul(x, y),
            "floordiv" | "mod" if y == Dim::Const(0) => return None,
            "floordiv" => symbols.floor_div(x, y),
            "mod" => symbols.modulo(x, y),
            "max" => symbols.max(x, y),
            "min" => symbols.min(x, y),
            "pow" => {
                let exponent = y.as_const().and_then(|n| usize::try_from(n).ok()).filter(|n| *n <= 64)?;
                symbols.product(std::iter::repeat_n(x, exponent))
            }
            "eq" | "ne" | "lt" | "le" | "gt" | "ge" => {
                let difference = symbols.sub(x, y);
                let range = symbols.range(difference);
                return Some(Number::Bool(compared(name, range.min, range.max)));
            }
            _ => return joined(name, a, b),
        };
        return Some(Number::Int(found));
    }
    joined(name, a, b)
}

/// Whether a difference within these bounds compares so with 0.
fn compared(name: &str, min: Option<i64>, max: Option<i64>) -> Option<bool> {
    let above = min.is_some_and(|n| n > 0);
    let below = max.is_some_and(|n| n < 0);
    let (not_below, not_above) = (min.is_some_and(|n| n >= 0), max.is_some_and(|n| n <= 0));
    let (yes, no) = match name {
        "eq" => (not_below && not_above, above || below),
        "ne" => (above || below, not_below && not_above),
        "lt" => (below, not_below),
        "le" => (not_above, above),
        "gt" => (above, not_above),
        _ => (not_below, below),
    };
    if yes { Some(true) } else { no.then_some(false) }
}

/// Of floats and truth values.
fn joined(name: &str, a: Number, b: Number) -> Option<Number> {
    let pair = a.float().zip(b.float());
    let float =
        |f: fn(f64, f64) -> f64| Some(Number::Float(pair.map(|(x, y)| f(x, y)).filter(|x| x.is_finite())));
    let truth = |f: fn(&f64, &f64) -> bool| Some(Number::Bool(pair.map(|(x, y)| f(&x, &y))));
    match name {
        "add" => float(|x, y| x + y),
        "sub" => float(|x, y| x - y),
        "mul" => float(|x, y| x * y),
        "truediv" => float(|x, y| x / y),
        "pow" => float(f64::powf),
        // As in Python: the result for a NaN is unknown, whereas `f64::max` ignores NaN.
        "max" => float(|x, y| if y > x { y } else { x }),
        "min" => float(|x, y| if y < x { y } else { x }),
        "eq" => truth(f64::eq),
        "ne" => truth(f64::ne),
        "lt" => truth(f64::lt),
        "le" => truth(f64::le),
        "gt" => truth(f64::gt),
        "ge" => truth(f64::ge),
        "and" => Some(Number::Bool(match (a.truth(), b.truth()) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        })),
        "or" => Some(Number::Bool(match (a.truth(), b.truth()) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        })),
        _ => None,
    }
}
