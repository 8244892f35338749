//! Sums over shared subscripts.

use onnxport_sdk::prelude::*;

/// Einstein summation: `Einsum` with an explicit output.
#[lowering("aten.einsum.default")]
fn einsum(cx: &mut Lower, equation: Str, tensors: Vec<Value>) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    emit(cx, &explicit(equation.0), &tensors, dtype)
}

/// `sum x1[..., i] weight[n, i, j] x2[..., j] + bias[n]`.
#[lowering("aten.bilinear.default")]
fn bilinear(cx: &mut Lower, input1: Value, input2: Value, weight: Value, bias: Option<Value>) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let sum = emit(cx, "...i,nij,...j->...n", &[input1, weight, input2], dtype)?;
    Ok(match bias {
        Some(bias) => cx.add(sum, bias),
        None => sum,
    })
}

/// The sum of products over the paired axes `dims_self` and `dims_other`.
#[lowering("aten.tensordot.default")]
fn tensordot(cx: &mut Lower, a: Value, b: Value, dims_self: Vec<i64>, dims_other: Vec<i64>) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (left, right) = (cx.rank(a)?, cx.rank(b)?);
    if left + right > ALPHABET.len() {
        return Err("`tensordot` of operands with more than 52 axes together is not supported".into());
    }
    let (first, second) = ALPHABET.split_at(left);
    let mut second: Vec<u8> = second.iter().copied().take(right).collect();
    let mut kept: Vec<u8> = first.to_vec();
    for (i, j) in dims_self.iter().zip(&dims_other) {
        let (i, j) = (cx.axis(*i, left)?, cx.axis(*j, right)?);
        if let (Some(letter), Some(place)) = (first.get(i), second.get_mut(j)) {
            *place = *letter;
            kept.retain(|l| l != letter);
        }
    }
    kept.extend(second.iter().filter(|l| !first.contains(l)));
    let text = |letters: &[u8]| String::from_utf8_lossy(letters).into_owned();
    let equation = format!("{},{}->{}", text(first), text(&second), text(&kept));
    emit(cx, &equation, &[a, b], dtype)
}

const ALPHABET: &[u8; 52] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

fn emit(cx: &mut Lower, equation: &str, tensors: &[Value], dtype: DType) -> Res<Value> {
    let compute = match dtype {
        DType::I8 | DType::U8 | DType::I16 => DType::I32,
        DType::Bool => return Err("a sum of products of truth values is not supported".into()),
        other => other,
    };
    let tensors: Vec<Value> = tensors.iter().map(|t| cx.cast(*t, compute)).collect();
    let sum = cx.op("Einsum").inputs(tensors).str("equation", equation).one();
    Ok(cx.cast(sum, dtype))
}

/// The equation without spaces and with its output: by default the axes that are named once, in
/// alphabetical order after those of the ellipsis.
fn explicit(equation: &str) -> String {
    let equation: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
    if equation.contains("->") {
        return equation;
    }
    let mut letters: Vec<char> = equation.chars().filter(char::is_ascii_alphabetic).collect();
    letters.sort_unstable();
    let once = letters.chunk_by(|a, b| a == b).filter(|run| run.len() == 1).flatten();
    let ellipsis = if equation.contains("...") { "..." } else { "" };
    format!("{equation}->{ellipsis}{}", once.collect::<String>())
}
