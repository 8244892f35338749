//! Products of matrices.

use onnxport_ir::ops::strides::broadcast;
use onnxport_ir::ops::{Error, Res};
use onnxport_ir::tensor::{DType, Kind};

use super::moves::{Side, moved};
use super::{Line, Operand, Pointer, Request, Step, Work, dense, longs, spread, volume};
use crate::executor::device::{Grid, NUMBERS, Product};
use crate::executor::source::{Kernel, tag};

pub(super) const OPS: &[Line] = &[("Einsum", &[], einsum), ("Gemm", &[], gemm), ("MatMul", &[], matmul)];

const FILE: &str = include_str!("../../../kernels/matmul.cu");
/// Rows and columns of a tile of the kernel.
pub(super) const TILE: usize = 64;

/// How many tiles, and then stacks, a product has.
pub(super) fn tiles(rows: usize, columns: usize, stacks: usize) -> Grid {
    Grid::Tiles([columns.div_ceil(TILE) as u64, rows.div_ceil(TILE) as u64, stacks as u64])
}

/// A stack of products: `[stack…, rows, depth]` with `[stack…, depth, columns]`, each side with its own steps.
struct Matrices {
    dtype: DType,
    stack: Vec<usize>,
    rows: usize,
    depth: usize,
    columns: usize,
    /// For `a` and `b`: the steps per axis of the stack, by row and by column.
    steps: [(Vec<i64>, i64, i64); 2],
    places: [Pointer; 3],
    factor: f64,
    add: bool,
}

impl Matrices {
    fn step(self) -> Option<Step> {
        let tag = tag(self.dtype)?;
        let axes = super::moves::collapse(&self.stack, [&self.steps[0].0, &self.steps[1].0]);
        let [(_, a_row, a_column), (_, b_row, b_column)] = &self.steps;
        let (rows, columns, depth) = (self.rows, self.columns, self.depth);
        let mut numbers: Vec<i64> = longs(&[rows, columns, depth]).collect();
        numbers.extend([*a_row, *a_column, *b_row, *b_column, i64::from(self.add), axes.len() as i64]);
        numbers.extend(axes.iter().map(|(extent, _)| *extent));
        for side in 0..2 {
            numbers.extend(axes.iter().map(|(_, steps)| steps[side]));
        }
        if numbers.len() > NUMBERS {
            return None;
        }
        let grid = tiles(rows, columns, volume(&self.stack));
        let kernel = Kernel::new("matmul", FILE, &[("TYPE", tag)]);
        let mut step = Step::new(kernel, grid, self.places.to_vec(), numbers);
        step.reals = vec![self.factor];
        step.product = self.product(&axes);
        Some(step)
    }

    /// The same for a library: floats, dense matrices, and a stack of one axis at most.
    fn product(&self, axes: &[(i64, [i64; 2])]) -> Option<Product> {
        let extents = [(self.rows, self.depth), (self.depth, self.columns)];
        let transposed = |side: usize| {
            let (rows, columns) = extents[side];
            let (_, row, column) = self.steps[side];
            // Of one row or column, the step does not count.
            let by_row = (column == 1 || columns == 1) && (row == columns as i64 || rows == 1);
            let by_column = (row == 1 || rows == 1) && (column == rows as i64 || columns == 1);
            if by_row { Some(false) } else { by_column.then_some(true) }
        };
        let stack = match axes {
            [] => (1, [0, 0]),
            [(count, steps)] => (usize::try_from(*count).ok()?, *steps),
            _ => return None,
        };
        let floats = matches!(self.dtype, DType::F64 | DType::F32 | DType::F16 | DType::BF16);
        (floats && self.depth > 0).then_some(Product {
            dtype: self.dtype,
            rows: self.rows,
            columns: self.columns,
            depth: self.depth,
            transposed: [transposed(0)?, transposed(1)?],
            stack,
            factor: self.factor,
            add: self.add,
        })
    }
}

fn mismatch(a: &Operand, b: &Operand) -> Error {
    Error::invalid(format!("matrices of shapes {:?} and {:?} have no product", a.shape, b.shape))
}

/// A vector is a row on the left and a column on the right.
fn matmul(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let (a, b) = (r.operand(0)?, r.operand(1)?);
    let (a_stack, rows, depth) = match *a.shape {
        [] => return Err(mismatch(a, b)),
        [k] => (&a.shape[..0], None, k),
        [ref stack @ .., m, k] => (stack, Some(m), k),
    };
    let (b_stack, other, columns) = match *b.shape {
        [] => return Err(mismatch(a, b)),
        [k] => (&b.shape[..0], k, None),
        [ref stack @ .., k, n] => (stack, k, Some(n)),
    };
    if depth != other || a.dtype != b.dtype {
        return Err(mismatch(a, b));
    }
    let stack = broadcast([a_stack, b_stack])?;
    let shape: Vec<usize> = stack.iter().copied().chain(rows).chain(columns).collect();
    let (mut m, n) = (rows.unwrap_or(1), columns.unwrap_or(1));
    let scaled = |own: &[usize], matrix: usize| -> Vec<i64> {
        spread(own, &stack).into_iter().map(|s| s * matrix as i64).collect()
    };
    let (mut left, right) = (scaled(a_stack, m * depth), scaled(b_stack, depth * n));
    let mut stack = stack.clone();
    // A stack of rows with one matrix on the right is one matrix on the left.
    if b_stack.iter().all(|d| *d == 1) && volume(&stack) == volume(a_stack) {
        m *= volume(&stack);
        (stack, left) = (Vec::new(), Vec::new());
    }
    let right = if stack.is_empty() { Vec::new() } else { right };
    let matrices = Matrices {
        dtype: a.dtype,
        stack,
        rows: m,
        depth,
        columns: n,
        steps: [(left, depth as i64, 1), (right, n as i64, 1)],
        places: [Pointer::Input(0), Pointer::Input(1), Pointer::Output(0)],
        factor: 1.0,
        add: false,
    };
    let numbers = matches!(a.dtype.kind(), Kind::Float | Kind::Int);
    Ok(matrices.step().filter(|_| numbers).map(|step| Work::new(a.dtype, shape, vec![step])))
}

/// `alpha · A · B + beta · C`; the last part is spread over the result first.
fn gemm(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let (a, b) = (r.operand(0)?, r.operand(1)?);
    let ([a0, a1], [b0, b1]) = (&*a.shape, &*b.shape) else { return Err(mismatch(a, b)) };
    let (turn_a, turn_b) = (r.call.flag("transA"), r.call.flag("transB"));
    let (rows, depth) = if turn_a { (*a1, *a0) } else { (*a0, *a1) };
    let (other, columns) = if turn_b { (*b1, *b0) } else { (*b0, *b1) };
    if depth != other || a.dtype != b.dtype {
        return Err(mismatch(a, b));
    }
    let (alpha, beta) = (r.call.float("alpha")?, r.call.float("beta")?);
    let added = r.optional(2);
    // A scaled part, and one of integers, is left to the processor.
    if !a.dtype.is_float() || (added.is_some() && beta != 1.0) || r.call.opset < 7 {
        return Ok(None);
    }
    let shape = vec![rows, columns];
    let mut steps = Vec::new();
    if let Some(c) = added {
        if c.dtype != a.dtype || broadcast([shape.as_slice(), &c.shape])? != shape {
            return Err(Error::invalid(format!("the addend has the shape {:?}", c.shape)));
        }
        let from = Side { place: Pointer::Input(2), offset: 0, steps: spread(&c.shape, &shape) };
        let to = Side { place: Pointer::Output(0), offset: 0, steps: dense(&shape) };
        let Some(step) = moved(c.dtype, &shape, &from, &to) else { return Ok(None) };
        steps.push(step);
    }
    let side = |transposed: bool, extents: [usize; 2]| {
        let width = extents[1] as i64;
        if transposed { (Vec::new(), 1, width) } else { (Vec::new(), width, 1) }
    };
    let matrices = Matrices {
        dtype: a.dtype,
        stack: Vec::new(),
        rows,
        depth,
        columns,
        steps: [side(turn_a, [*a0, *a1]), side(turn_b, [*b0, *b1])],
        places: [Pointer::Input(0), Pointer::Input(1), Pointer::Output(0)],
        factor: alpha,
        add: added.is_some(),
    };
    Ok(matrices.step().map(|step| {
        steps.push(step);
        Work::new(a.dtype, shape, steps)
    }))
}

/// The letters of each operand, and those of the result.
fn letters(equation: &str, operands: usize) -> Option<(Vec<Vec<u8>>, Vec<u8>)> {
    let text: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
    if text.contains('.') {
        return None;
    }
    let (left, right) = match text.split_once("->") {
        Some((left, right)) => (left.to_owned(), Some(right.to_owned())),
        None => (text, None),
    };
    let inputs: Vec<Vec<u8>> = left.split(',').map(|t| t.bytes().collect()).collect();
    let right = right.map_or_else(
        || {
            // Without a result, letters that stand once, in order.
            let all: Vec<u8> = inputs.concat();
            let mut once: Vec<u8> = all
                .iter()
                .copied()
                .filter(|l| all.iter().position(|o| o == l) == all.iter().rposition(|o| o == l))
                .collect();
            once.sort_unstable();
            once
        },
        |text| text.bytes().collect(),
    );
    (inputs.len() == operands).then_some((inputs, right))
}

/// A product of two tensors whose letters are those of a stack, of rows, of columns, and of summed axes: each side
/// is transposed to that order, multiplied, and the result transposed to its own.
fn einsum(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let ([Some(a), Some(b)], equation) = (r.operands, r.call.text("equation")?) else { return Ok(None) };
    let Some((inputs, out)) = letters(equation, 2) else { return Ok(None) };
    let [left, right] = inputs.as_slice() else { return Ok(None) };
    let distinct = |list: &[u8]| (0..list.len()).all(|k| !list[k + 1..].contains(&list[k]));
    let fits = left.len() == a.shape.len() && right.len() == b.shape.len() && a.dtype == b.dtype;
    if !fits || ![left, right, &out].iter().all(|list| distinct(list)) || !a.dtype.is_float() {
        return Ok(None);
    }
    let extent = |letter: u8| {
        let find = |list: &[u8], shape: &[usize]| list.iter().position(|l| *l == letter).map(|at| shape[at]);
        match (find(left, &a.shape), find(right, &b.shape)) {
            (Some(x), Some(y)) if x != y => None,
            (x, y) => x.or(y),
        }
    };
    let kept = |list: &[u8], yes: &[&[u8]], no: &[&[u8]]| -> Vec<u8> {
        let fits = |l: &&u8| yes.iter().all(|o| o.contains(l)) && !no.iter().any(|o| o.contains(l));
        list.iter().filter(fits).copied().collect()
    };
    let stack = kept(left, &[right, &out], &[]);
    let summed = kept(left, &[right], &[&out]);
    let rows = kept(left, &[&out], &[right]);
    let columns = kept(right, &[&out], &[left]);
    let used = [stack.len() + summed.len() + rows.len(), stack.len() + summed.len() + columns.len()];
    if used != [left.len(), right.len()] || stack.len() + rows.len() + columns.len() != out.len() {
        return Ok(None);
    }
    let extents = |list: &[u8]| -> Option<Vec<usize>> { list.iter().map(|l| extent(*l)).collect() };
    let parts = [&stack, &rows, &summed, &columns].map(|list| extents(list));
    let [Some(s), Some(m), Some(k), Some(n)] = parts else {
        return Err(Error::invalid(format!("the sizes of `{equation}` contradict each other")));
    };
    let order = |own: &[u8], wanted: &[&[u8]], shape: &[usize], place: Pointer, to: Pointer| {
        let wanted: Vec<u8> = wanted.concat();
        let steps = dense(shape);
        let at = |l: &u8| own.iter().position(|o| o == l);
        let extents: Vec<usize> = wanted.iter().filter_map(at).map(|at| shape[at]).collect();
        let from =
            Side { place, offset: 0, steps: wanted.iter().filter_map(at).map(|at| steps[at]).collect() };
        moved(a.dtype, &extents, &from, &Side { place: to, offset: 0, steps: dense(&extents) })
    };
    let first = order(left, &[&stack, &rows, &summed], &a.shape, Pointer::Input(0), Pointer::Scratch(0));
    let second = order(right, &[&stack, &summed, &columns], &b.shape, Pointer::Input(1), Pointer::Scratch(1));
    let (rows_m, depth, width) = (volume(&m), volume(&k), volume(&n));
    let matrices = Matrices {
        dtype: a.dtype,
        stack: vec![volume(&s)],
        rows: rows_m,
        depth,
        columns: width,
        steps: [
            (vec![(rows_m * depth) as i64], depth as i64, 1),
            (vec![(depth * width) as i64], width as i64, 1),
        ],
        places: [Pointer::Scratch(0), Pointer::Scratch(1), Pointer::Scratch(2)],
        factor: 1.0,
        add: false,
    };
    let made: Vec<u8> = [stack.as_slice(), &rows, &columns].concat();
    let made_shape: Vec<usize> = [s.as_slice(), &m, &n].concat();
    let last = order(&made, &[&out], &made_shape, Pointer::Scratch(2), Pointer::Output(0));
    let (Some(first), Some(second), Some(product), Some(last)) = (first, second, matrices.step(), last)
    else {
        return Ok(None);
    };
    let Some(shape) = extents(&out) else { return Ok(None) };
    let bytes = u64::from(a.dtype.bits() / 8);
    let mut work = Work::new(a.dtype, shape, vec![first, second, product, last]);
    work.scratch = [volume(&a.shape), volume(&b.shape), volume(&made_shape)]
        .map(|count| super::Scratch { bytes: count as u64 * bytes, contents: Vec::new() })
        .to_vec();
    Ok(Some(work))
}
