//! A slow interpreter of ATen programs over strided views of memory, as PyTorch runs them: writes reach every view.

use std::collections::HashMap;

use onnxport_core::program::{Arg, Call, Output, Val};

/// A tensor: a view of a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) buffer: usize,
    pub(crate) shape: Vec<i64>,
    pub(crate) strides: Vec<i64>,
    pub(crate) offset: i64,
}

/// The state of a run.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    pub(crate) buffers: Vec<Vec<f64>>,
    pub(crate) objects: Vec<Object>,
    /// The objects that values of the program name.
    pub(crate) named: HashMap<Val, usize>,
    /// Whether each result has memory of its own, dense, as in ONNX. Then nothing may be written.
    pub(crate) copies: bool,
}

/// The results of a call: objects.
pub(crate) enum Results {
    One(usize),
    List(Vec<usize>),
}

/// The strides of a dense tensor.
pub(crate) fn dense(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis].max(1);
    }
    strides
}

impl Object {
    /// The positions of the elements in the buffer, in row-major order.
    pub(crate) fn places(&self) -> Vec<usize> {
        let mut places = vec![self.offset];
        for (size, stride) in self.shape.iter().zip(&self.strides) {
            places = places.iter().flat_map(|at| (0..*size).map(move |i| at + i * stride)).collect();
        }
        places.into_iter().map(|at| at as usize).collect()
    }

    fn axis(&self, dim: i64, extra: i64) -> usize {
        let rank = self.shape.len() as i64 + extra;
        (if dim < 0 { dim + rank } else { dim }) as usize
    }

    /// The strides of this memory in another shape, if there are any: PyTorch's `computeStride`.
    pub(crate) fn strides_as(&self, shape: &[i64]) -> Option<Vec<i64>> {
        let axes =
            self.shape.iter().copied().zip(self.strides.iter().copied()).filter(|(size, _)| *size != 1);
        // Runs of axes that step through memory as one: their sizes, and the stride of the last.
        let mut runs: Vec<(i64, i64)> = Vec::new();
        for (size, stride) in axes {
            match runs.last_mut() {
                Some((total, step)) if *step == stride * size => (*total, *step) = (*total * size, stride),
                _ => runs.push((size, stride)),
            }
        }
        let mut strides = vec![1; shape.len()];
        let mut run = runs.pop();
        let (mut left, mut step) = run.unwrap_or((1, 1));
        for (size, stride) in shape.iter().zip(&mut strides).rev() {
            if left == 1 && *size != 1 {
                run = runs.pop();
                (left, step) = run?;
            }
            if left % size != 0 {
                return None;
            }
            *stride = step;
            (left, step) = (left / size, step * size);
        }
        (left == 1 && runs.is_empty()).then_some(strides)
    }
}

/// The arguments of a call.
struct Args<'a>(&'a Call);

impl Args<'_> {
    fn int(&self, name: &str, default: i64) -> i64 {
        self.0.arg(name).and_then(Arg::as_int).unwrap_or(default)
    }

    fn ints(&self, name: &str) -> Vec<i64> {
        let Some(Arg::List(items)) = self.0.arg(name) else { panic!("{:?} has no list {name}", self.0) };
        items.iter().map(|item| item.as_int().expect("an integer")).collect()
    }
}

impl Machine {
    pub(crate) fn tensor(&mut self, shape: Vec<i64>, items: Vec<f64>) -> usize {
        self.buffers.push(items);
        let strides = dense(&shape);
        self.object(Object { buffer: self.buffers.len() - 1, shape, strides, offset: 0 })
    }

    fn view(&mut self, view: Object) -> usize {
        if self.copies {
            let items = self.read(&view);
            return self.tensor(view.shape, items);
        }
        self.object(view)
    }

    fn object(&mut self, object: Object) -> usize {
        self.objects.push(object);
        self.objects.len() - 1
    }

    pub(crate) fn read(&self, object: &Object) -> Vec<f64> {
        object.places().into_iter().map(|at| self.buffers[object.buffer][at]).collect()
    }

    fn write(&mut self, object: &Object, items: &[f64]) {
        for (at, item) in object.places().into_iter().zip(items) {
            self.buffers[object.buffer][at] = *item;
        }
    }

    fn arg(&self, call: &Call, name: &str) -> usize {
        let val = call.arg(name).and_then(Arg::as_value).unwrap_or_else(|| panic!("{call:?} has no {name}"));
        self.named[&val]
    }

    fn list(&self, call: &Call, name: &str) -> Vec<usize> {
        let Some(Arg::List(items)) = call.arg(name) else { panic!("{call:?} has no {name}") };
        items.iter().map(|item| self.named[&item.as_value().expect("a tensor")]).collect()
    }

    /// The elements of an argument, a tensor or a number, broadcast to a shape.
    fn operand(&self, call: &Call, name: &str, shape: &[i64]) -> Vec<f64> {
        let count = shape.iter().product::<i64>() as usize;
        match call.arg(name) {
            Some(Arg::Int(n)) => vec![*n as f64; count],
            Some(Arg::Float(x)) => vec![*x; count],
            _ => self.read(&expanded(&self.objects[self.arg(call, name)], shape)),
        }
    }

    /// Runs a call and names its results.
    pub(crate) fn run(&mut self, call: &Call) {
        let results = self.call(call);
        let mut vals = Vec::new();
        call.outputs.iter().for_each(|output| output.each_value(&mut |val| vals.push(val)));
        let objects = match (&results, call.outputs.first()) {
            (Results::One(object), Some(Output::Value(_))) => vec![*object],
            (Results::List(objects), Some(Output::List(_))) => objects.clone(),
            _ => panic!("{call:?} has other results"),
        };
        assert_eq!(vals.len(), objects.len(), "{call:?}");
        self.named.extend(vals.into_iter().zip(objects));
    }

    /// Runs a call without naming its results.
    pub(crate) fn call(&mut self, call: &Call) -> Results {
        let args = Args(call);
        let target = call.target.as_str().strip_prefix("aten.").expect("an ATen operator");
        if target == "cat.default" {
            return Results::One(self.cat(call));
        }
        let own = self.arg(call, "self");
        let object = self.objects[own].clone();
        if let Some(views) = parts(target, &object, &args) {
            return Results::List(views.into_iter().map(|view| self.view(view)).collect());
        }
        if let Some(view) = view(target, &object, &args) {
            return Results::One(self.view(view));
        }
        if let Some(view) = metadata(target, &object, &args) {
            self.objects[own] = view;
            return Results::One(own);
        }
        if let Some(plain) = target.split_once("_.").filter(|(op, _)| !op.contains("scatter")) {
            let items = self.pointwise(plain.0, call, &object);
            self.write(&object, &items);
            return Results::One(own);
        }
        let (op, _) = target.split_once('.').expect("an overload");
        let made = match op {
            "reshape" | "reshape_as" => {
                let shape = match op {
                    "reshape" => inferred(&args.ints("shape"), &object),
                    _ => self.objects[self.arg(call, "other")].shape.clone(),
                };
                (shape, self.read(&object))
            }
            "slice_scatter" | "select_scatter" | "diagonal_scatter" | "as_strided_scatter" => {
                let whole = Object { strides: dense(&object.shape), offset: 0, buffer: 0, ..object.clone() };
                let of = match op {
                    "slice_scatter" => "slice.Tensor",
                    "select_scatter" => "select.int",
                    "diagonal_scatter" => "diagonal.default",
                    _ => "as_strided.default",
                };
                let part = view(of, &whole, &args).expect("a view");
                let mut items = self.read(&object);
                let src = self.operand(call, "src", &part.shape);
                part.places().into_iter().zip(src).for_each(|(at, item)| items[at] = item);
                (object.shape.clone(), items)
            }
            "add" | "mul" => {
                let other = match call.arg("other").and_then(Arg::as_value) {
                    Some(val) => self.objects[self.named[&val]].shape.clone(),
                    None => Vec::new(),
                };
                let wide = expanded(&object, &broadcast(&object.shape, &other));
                (wide.shape.clone(), self.pointwise(op, call, &wide))
            }
            _ => (object.shape.clone(), self.pointwise(op, call, &object)),
        };
        Results::One(self.tensor(made.0, made.1))
    }

    fn pointwise(&self, op: &str, call: &Call, object: &Object) -> Vec<f64> {
        let own = self.read(object);
        let other = |name| self.operand(call, name, &object.shape);
        let with = |name, f: fn(f64, f64) -> f64| {
            own.iter().zip(other(name)).map(|(a, b)| f(*a, b)).collect::<Vec<f64>>()
        };
        match op {
            "add" => with("other", |a, b| a + b),
            "mul" => with("other", |a, b| a * b),
            "copy" => with("src", |_, b| b),
            "fill" => with("value", |_, b| b),
            "zero" => vec![0.0; own.len()],
            "neg" => own.iter().map(|x| -x).collect(),
            "relu" => own.iter().map(|x| if *x > 0.0 { *x } else { 0.0 }).collect(),
            "clone" => own,
            _ => panic!("no interpretation of {op}: {call:?}"),
        }
    }

    fn cat(&mut self, call: &Call) -> usize {
        let parts: Vec<Object> =
            self.list(call, "tensors").into_iter().map(|at| self.objects[at].clone()).collect();
        let axis = parts[0].axis(Args(call).int("dim", 0), 0);
        let mut shape = parts[0].shape.clone();
        shape[axis] = parts.iter().map(|part| part.shape[axis]).sum();
        let outer: usize = shape[..axis].iter().product::<i64>() as usize;
        let items: Vec<Vec<f64>> = parts.iter().map(|part| self.read(part)).collect();
        let row = |items: &Vec<f64>, at: usize| {
            let len = items.len() / outer.max(1);
            items[at * len..(at + 1) * len].to_vec()
        };
        let joined = (0..outer).flat_map(|at| items.iter().flat_map(move |part| row(part, at)));
        let joined = joined.collect();
        self.tensor(shape, joined)
    }
}

/// Both shapes broadcast.
pub(crate) fn broadcast(a: &[i64], b: &[i64]) -> Vec<i64> {
    let (long, short) = if a.len() < b.len() { (b, a) } else { (a, b) };
    let mut shape = long.to_vec();
    shape.iter_mut().rev().zip(short.iter().rev()).for_each(|(a, b)| *a = if *a == 1 { *b } else { *a });
    shape
}

/// The view that repeats axes of size 1; -1 keeps a size.
fn expanded(object: &Object, shape: &[i64]) -> Object {
    let added = shape.len() - object.shape.len();
    let mut shape = shape.to_vec();
    let mut strides = vec![0; shape.len()];
    for axis in 0..object.shape.len() {
        let (size, stride) = (object.shape[axis], object.strides[axis]);
        let wanted = &mut shape[axis + added];
        if *wanted == -1 {
            *wanted = size;
        }
        assert!(size == 1 || size == *wanted, "{object:?} is not broadcast");
        strides[axis + added] = if size == 1 && *wanted != 1 { 0 } else { stride };
    }
    Object { shape, strides, ..object.clone() }
}

fn inferred(shape: &[i64], object: &Object) -> Vec<i64> {
    let count: i64 = object.shape.iter().product();
    let known: i64 = shape.iter().filter(|size| **size >= 0).product();
    shape.iter().map(|size| if *size < 0 { count / known } else { *size }).collect()
}

/// The views that an operator with several results returns.
fn parts(target: &str, object: &Object, args: &Args<'_>) -> Option<Vec<Object>> {
    let axis = object.axis(args.int("dim", 0), 0);
    let range = |start: i64, len: i64| {
        let mut part = object.clone();
        part.offset += start * part.strides[axis];
        part.shape[axis] = len;
        part
    };
    let size = object.shape.get(axis).copied().unwrap_or(1);
    Some(match target {
        "unbind.int" => {
            let drop = |mut part: Object| {
                part.shape.remove(axis);
                part.strides.remove(axis);
                part
            };
            (0..size).map(|at| drop(range(at, 1))).collect()
        }
        "split.Tensor" => {
            let step = args.int("split_size", 1);
            (0..size).step_by(step as usize).map(|at| range(at, step.min(size - at))).collect()
        }
        "split_with_sizes.default" => {
            let mut start = 0;
            let sizes = args.ints("split_sizes").into_iter();
            sizes
                .map(|len| {
                    start += len;
                    range(start - len, len)
                })
                .collect()
        }
        _ => return None,
    })
}

/// The new look of a tensor after an operator that changes it in place.
fn metadata(target: &str, object: &Object, args: &Args<'_>) -> Option<Object> {
    let plain = match target {
        "t_.default" => "t.default",
        "unsqueeze_.default" => "unsqueeze.default",
        "squeeze_.dim" => "squeeze.dim",
        "transpose_.default" => "transpose.int",
        _ => return None,
    };
    view(plain, object, args)
}

/// The view that an operator returns, if it returns one.
fn view(target: &str, object: &Object, args: &Args<'_>) -> Option<Object> {
    let mut made = object.clone();
    let axis = |name: &str, default| object.axis(args.int(name, default), 0);
    let cut = |made: &mut Object, axis: usize, start: i64, end: i64, step: i64| {
        let size = made.shape[axis];
        let clamp = |at: i64| (if at < 0 { at + size } else { at }).clamp(0, size);
        let (start, end) = (clamp(start), clamp(end));
        made.offset += start * made.strides[axis];
        made.shape[axis] = ((end - start).max(0) + step - 1) / step;
        made.strides[axis] *= step;
    };
    match target {
        "alias.default" | "detach.default" => {}
        "view.default" => {
            made.shape = inferred(&args.ints("size"), object);
            made.strides = object.strides_as(&made.shape).expect("a view");
        }
        "permute.default" => {
            let axes: Vec<usize> = args.ints("dims").into_iter().map(|dim| object.axis(dim, 0)).collect();
            made.shape = axes.iter().map(|axis| object.shape[*axis]).collect();
            made.strides = axes.iter().map(|axis| object.strides[*axis]).collect();
        }
        "transpose.int" => {
            let (a, b) = (axis("dim0", 0), axis("dim1", 0));
            made.shape.swap(a, b);
            made.strides.swap(a, b);
        }
        "t.default" => {
            made.shape.reverse();
            made.strides.reverse();
        }
        "select.int" => {
            let axis = axis("dim", 0);
            let (index, size) = (args.int("index", 0), object.shape[axis]);
            made.offset += (if index < 0 { index + size } else { index }) * made.strides[axis];
            made.shape.remove(axis);
            made.strides.remove(axis);
        }
        "slice.Tensor" => {
            let (start, end) = (args.int("start", 0), args.int("end", i64::MAX));
            cut(&mut made, axis("dim", 0), start, end, args.int("step", 1));
        }
        "narrow.default" => {
            let (axis, start) = (axis("dim", 0), args.int("start", 0));
            let start = if start < 0 { start + object.shape[axis] } else { start };
            cut(&mut made, axis, start, start + args.int("length", 0), 1);
        }
        "unsqueeze.default" => {
            let axis = object.axis(args.int("dim", 0), 1);
            let stride = match object.shape.get(axis) {
                Some(size) => size * object.strides[axis],
                None => 1,
            };
            made.shape.insert(axis, 1);
            made.strides.insert(axis, stride);
        }
        "squeeze.dim" => {
            let axis = axis("dim", 0);
            if object.shape.get(axis) == Some(&1) {
                made.shape.remove(axis);
                made.strides.remove(axis);
            }
        }
        "expand.default" => made = expanded(object, &args.ints("size")),
        "diagonal.default" => {
            let (a, b) = (axis("dim1", 0), axis("dim2", 1));
            let offset = args.int("offset", 0);
            let (rows, columns) = (object.shape[a], object.shape[b]);
            let len = if offset >= 0 { rows.min(columns - offset) } else { (rows + offset).min(columns) };
            made.offset += if offset >= 0 { offset * made.strides[b] } else { -offset * made.strides[a] };
            let stride = made.strides[a] + made.strides[b];
            for axis in [a.max(b), a.min(b)] {
                made.shape.remove(axis);
                made.strides.remove(axis);
            }
            made.shape.push(len.max(0));
            made.strides.push(stride);
        }
        "as_strided.default" => {
            (made.shape, made.strides) = (args.ints("size"), args.ints("stride"));
            made.offset = args.int("storage_offset", object.offset);
        }
        _ => return None,
    }
    Some(made)
}
