//! Sums over shared subscripts.

use onnxport_sdk::prelude::*;

/// Einstein summation: `Einsum` with an explicit output.
#[lowering("aten.einsum.default", multilinear)]
fn einsum(cx: &Lower, equation: Str, tensors: Vec<Value>) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let equation = explicit(equation.0);
    if !equation.contains("...") {
        return emit(cx, &equation, &tensors, dtype);
    }
    // ONNX wants ellipses of one rank, and one in the output.
    let (inputs, output) = equation.split_once("->").ok_or("the equation has no output")?;
    let inputs: Vec<&str> = inputs.split(',').collect();
    let mut ranks = Vec::with_capacity(tensors.len());
    for (subscripts, tensor) in inputs.iter().zip(&tensors) {
        let letters = subscripts.chars().filter(char::is_ascii_alphabetic).count();
        let rank = cx.rank(*tensor)?.saturating_sub(letters);
        ranks.push(subscripts.find("...").map(|place| (place, rank)));
    }
    let most = ranks.iter().flatten().map(|(_, rank)| *rank).max().unwrap_or(0);
    let mut operands = Vec::with_capacity(tensors.len());
    for (tensor, place) in tensors.iter().zip(ranks) {
        let new: Vec<i64> = place.map_or(0..0, |(at, rank)| at..at + most - rank).map(|a| a as i64).collect();
        operands.push(if new.is_empty() { *tensor } else { cx.unsqueeze(*tensor, &new) });
    }
    if output.contains("...") {
        return emit(cx, &equation, &operands, dtype);
    }
    let sum = emit(cx, &format!("{}->...{output}", inputs.join(",")), &operands, dtype)?;
    let summed: Vec<i64> = (0..most as i64).collect();
    Ok(if summed.is_empty() { sum } else { cx.reduce(op::ReduceSum, sum, &summed, false) })
}

/// `sum x1[..., i] weight[n, i, j] x2[..., j] + bias[n]`.
#[lowering("aten.bilinear.default")]
fn bilinear(cx: &Lower, input1: Value, input2: Value, weight: Value, bias: Option<Value>) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let sum = emit(cx, "...i,nij,...j->...n", &[input1, weight, input2], dtype)?;
    Ok(match bias {
        Some(bias) => sum + bias,
        None => sum,
    })
}

/// The product of three operands with new axes at `expand1` and so on, summed over `sumdim`. PyTorch writes `bilinear` so.
#[lowering("aten._trilinear.default")]
fn trilinear(
    cx: &Lower,
    i1: Value,
    i2: Value,
    i3: Value,
    expand1: Vec<i64>,
    expand2: Vec<i64>,
    expand3: Vec<i64>,
    sumdim: Vec<i64>,
) -> Res<Value> {
    let rank = cx.rank(i1)? + expand1.len();
    let letters = ALPHABET.get(..rank).ok_or("`_trilinear` of more than 52 axes is not supported")?;
    let without = |axes: &[i64]| -> String {
        let kept = |(i, _): &(usize, &u8)| !axes.contains(&(*i as i64));
        letters.iter().enumerate().filter(kept).map(|(_, letter)| char::from(*letter)).collect()
    };
    let [a, b, c] = [&expand1, &expand2, &expand3].map(|axes| without(axes));
    emit(cx, &format!("{a},{b},{c}->{}", without(&sumdim)), &[i1, i2, i3], cx.result(0)?.dtype)
}

/// The sum of products over the paired axes `dims_self` and `dims_other`.
#[lowering("aten.tensordot.default", multilinear)]
fn tensordot(cx: &Lower, a: Value, b: Value, dims_self: Vec<i64>, dims_other: Vec<i64>) -> Res<Value> {
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

fn emit(cx: &Lower, equation: &str, tensors: &[Value], dtype: DType) -> Res<Value> {
    if dtype == DType::Bool {
        return Err("a sum of products of truth values is not supported".into());
    }
    let tensors: Vec<Value> = tensors.iter().map(|t| cx.cast(*t, dtype)).collect();
    Ok(cx.op(op::Einsum).inputs(tensors).equation(equation).one())
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
