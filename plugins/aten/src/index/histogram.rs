//! Histograms of one and several dimensions.

use onnxport_sdk::prelude::*;

use super::scatter::scattered;

/// The dimensions of a histogram; PyTorch has no tensors of more.
const MOST_COLUMNS: i64 = 64;

/// How many elements, or the sum of which weights, each bin has, and the edges of the bins.
///
/// A bin has its lower edge and the last bin both; elements outside of all count nowhere (`histogramdd_out_cpu` in ATen).
#[lowering("aten.histogram.bin_ct")]
fn histogram(
    cx: &Lower,
    x: Value,
    bins: i64,
    range: Option<Vec<f64>>,
    weight: Option<Value>,
    density: bool,
) -> Res<Vec<Value>> {
    let columns = cx.reshape(x, &[-1, 1]);
    let edges = edges(cx, columns, &[bins], range.as_deref())?;
    let counts = counted(cx, columns, &edges, weight, density)?;
    Ok([vec![counts], edges].concat())
}

/// As `histogram`, with the edges of the bins.
#[lowering("aten.histogram.bins_tensor")]
fn histogram_edges(
    cx: &Lower,
    x: Value,
    bins: Value,
    weight: Option<Value>,
    density: bool,
) -> Res<Vec<Value>> {
    let counts = counted(cx, cx.reshape(x, &[-1, 1]), &[bins], weight, density)?;
    Ok(vec![counts, bins])
}

/// The histogram of the rows of `self`, a dimension for each column, and the edges along each.
#[lowering("aten.histogramdd.default", "aten.histogramdd.int_bins", "aten._histogramdd_from_bin_cts.default")]
fn histogramdd(
    cx: &Lower,
    x: Value,
    bins: Vec<i64>,
    range: Option<Vec<f64>>,
    weight: Option<Value>,
    density: bool,
) -> Res<Vec<Value>> {
    let edges = histogramdd_edges(cx, x, bins, range)?;
    counts_and_edges(cx, x, edges, weight, density)
}

/// As `histogramdd`, with the edges along each dimension.
#[lowering("aten.histogramdd.TensorList_bins", "aten._histogramdd_from_bin_tensors.default")]
fn histogramdd_tensors(
    cx: &Lower,
    x: Value,
    bins: Vec<Value>,
    weight: Option<Value>,
    density: bool,
) -> Res<Vec<Value>> {
    counts_and_edges(cx, x, bins, weight, density)
}

/// The edges of `histogramdd`.
#[lowering("aten._histogramdd_bin_edges.default")]
fn histogramdd_edges(cx: &Lower, x: Value, bins: Vec<i64>, range: Option<Vec<f64>>) -> Res<Vec<Value>> {
    let rows = rows(cx, x)?;
    // A number of bins stands for all columns.
    let bins = match (bins.as_slice(), cx.dim(rows, 1)) {
        ([single], Dim::Const(columns @ 1..=MOST_COLUMNS)) => vec![*single; columns as usize],
        (all, columns) if columns.is(all.len() as i64) => bins,
        _ => return Err("`bins` and the columns of `self` differ in number".into()),
    };
    edges(cx, rows, &bins, range.as_deref())
}

/// The results of `histogramdd`, of which some overloads return the counts only.
fn counts_and_edges(
    cx: &Lower,
    x: Value,
    edges: Vec<Value>,
    weight: Option<Value>,
    density: bool,
) -> Res<Vec<Value>> {
    let mut results = vec![counted(cx, rows(cx, x)?, &edges, weight, density)?];
    results.extend(edges);
    results.truncate(cx.result_count());
    Ok(results)
}

/// `x` as a matrix; its last axis stays.
fn rows(cx: &Lower, x: Value) -> Res<Value> {
    let last = cx.rank(x)?.checked_sub(1).ok_or("`self` has no axes")?;
    Ok(cx.reshape_to(x, &[Dim::Unknown, cx.dim(x, last)]))
}

/// The edges of `bins` bins of equal width for each column, over its elements where no range is given.
fn edges(cx: &Lower, rows: Value, bins: &[i64], range: Option<&[f64]>) -> Res<Vec<Value>> {
    let dtype = cx.dtype(rows)?;
    let range = range.filter(|range| !range.is_empty());
    let mut edges = Vec::new();
    for (column, bins) in bins.iter().enumerate() {
        let (low, high) = match range {
            Some(range) => match range.get(2 * column..2 * column + 2) {
                Some([low, high]) => (cx.numbers(&[*low], dtype), cx.numbers(&[*high], dtype)),
                _ => return Err("`range` needs two numbers for each dimension".into()),
            },
            None if cx.dim(rows, 0).is(0) => (cx.numbers(&[0.0], dtype), cx.numbers(&[1.0], dtype)),
            None => {
                let column = cx.gather(rows, cx.int(column as i64), 1);
                let of = |op| cx.reduce(op, column, &[0], true);
                (of(op::ReduceMin.named()), of(op::ReduceMax.named()))
            }
        };
        // As numpy, an empty range becomes one of width 1.
        let empty = cx.equal(low, high);
        let (low, high) = (cx.select(empty, low - 0.5, low), cx.select(empty, high + 0.5, high));
        edges.push(between(cx, low, high, *bins, dtype));
    }
    Ok(edges)
}

/// `bins + 1` numbers from `low` to `high`, as `linspace` counts them: each half from its own end.
fn between(cx: &Lower, low: Value, high: Value, bins: i64, dtype: DType) -> Value {
    let step = (high - low) / bins as f64;
    let number = cx.range(cx.int(0), cx.int(bins.saturating_add(1)), cx.int(1));
    let (up, down) = (cx.cast(number, dtype), cx.cast(cx.int(bins) - number, dtype));
    cx.select(cx.less(up, down + 1.0), low + step * up, high - step * down)
}

/// The histogram of `rows` over the bins between `edges`.
fn counted(cx: &Lower, rows: Value, edges: &[Value], weight: Option<Value>, density: bool) -> Res<Value> {
    let dtype = cx.dtype(rows)?;
    let (mut bin, mut inside): (Option<Value>, Option<Value>) = (None, None);
    let mut sizes = Vec::new();
    for (column, edges) in edges.iter().enumerate() {
        let x = cx.gather(rows, cx.ints(&[column as i64]), 1);
        let bins = cx.extent(*edges, 0) - cx.ints(&[1]);
        let passed = cx.cast(cx.less_equal(*edges, x), DType::I64);
        let place = cx.reduce(op::ReduceSum, passed, &[1], false) - cx.ints(&[1]);
        let (first, last) = (cx.slice(*edges, 0, 0, 1, 1), cx.slice(*edges, 0, -1, i64::MAX, 1));
        let x = cx.squeeze(x, &[1]);
        let within = cx.greater_equal(x, first) & cx.less_equal(x, last);
        // The last edge is in the last bin; elements outside are counted with weight zero.
        let place = cx.max(cx.min(place, bins - cx.ints(&[1])), 0);
        bin = Some(bin.map_or(place, |before| before * bins + place));
        inside = Some(inside.map_or(within, |before| before & within));
        sizes.push(bins);
    }
    let (Some(bin), Some(inside)) = (bin, inside) else {
        return Err("a histogram needs a dimension".into());
    };
    let weights = match weight {
        Some(weight) => cx.select(inside, cx.cast(cx.reshape(weight, &[-1]), dtype), 0.0),
        None => cx.cast(inside, dtype),
    };
    let total = sizes.iter().skip(1).fold(sizes[0], |n, size| n * *size);
    let table = cx.constant_of_shape(total, cx.filled(&Scalar::Int(0), dtype, &[1]));
    let counts = scattered(cx, table, 0, bin, weights, "add")?;
    let mut counts = cx.reshape_dynamic(counts, cx.concat(&sizes, 0));
    if density {
        counts = counts / cx.reduce(op::ReduceSum, counts, &[], false);
        for (axis, edges) in edges.iter().enumerate() {
            let widths = cx.slice(*edges, 0, 1, i64::MAX, 1) - cx.slice(*edges, 0, 0, -1, 1);
            let behind: Vec<i64> = (1..(sizes.len() - axis) as i64).collect();
            counts = counts / if behind.is_empty() { widths } else { cx.unsqueeze(widths, &behind) };
        }
    }
    Ok(counts)
}
