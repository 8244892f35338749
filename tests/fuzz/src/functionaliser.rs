//! Functionalization: a program that writes through views computes the same as its functional form.

use std::sync::LazyLock;

use arbitrary::{Result, Unstructured};
use onnxport_core::diagnose::Origin;
use onnxport_core::normalise::run_steps;
use onnxport_core::program::{
    Arg, Call, InputKind, InputSpec, NamedArg, Output, OutputKind, OutputSpec, Outputs, Program, TensorType,
    Val, Value, ValueType,
};
use onnxport_core::registry::Schemas;
use onnxport_core::sym::Dim;
use onnxport_core::tensor::DType;

use crate::strided::{Machine, Object, Results, broadcast, dense};

/// The schemas of ATen.
pub(crate) static SCHEMAS: LazyLock<Schemas> =
    LazyLock::new(|| Schemas::new([include_str!("../../../plugins/aten/schemas.txt")]));

/// Calls of a program.
const MAX_CALLS: usize = 14;

/// Elements of a tensor.
const MAX_LEN: i64 = 64;

/// A program under construction, which runs at the same time.
struct Builder {
    program: Program,
    machine: Machine,
    /// The tensors so far.
    vals: Vec<Val>,
    /// The inputs with their first contents.
    inputs: Vec<(Val, Vec<f64>)>,
}

pub(crate) fn run(data: &[u8]) {
    let mut u = Unstructured::new(data);
    let mut builder = Builder {
        program: Program::default(),
        machine: Machine::default(),
        vals: Vec::new(),
        inputs: Vec::new(),
    };
    if builder.inputs(&mut u).is_ok() {
        // The bytes end somewhere; the program ends there.
        let _ = builder.calls(&mut u);
        let all = u.arbitrary().unwrap_or(true);
        builder.outputs(&mut u);
        builder.check(all);
    }
}

impl Builder {
    fn inputs(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        for at in 0..u.int_in_range(1..=3)? {
            let rank = u.int_in_range(0..=3)?;
            let shape: Vec<i64> = (0..rank).map(|_| u.int_in_range(1..=4)).collect::<Result<_>>()?;
            let count = shape.iter().product::<i64>();
            let items: Vec<f64> = (0..count).map(|i| (i + 1 + 100 * at) as f64).collect();
            let object = self.machine.tensor(shape, items.clone());
            let val = self.name(object, &format!("x{at}"));
            self.program.body.inputs.push(Arg::Value(val));
            let name = format!("x{at}");
            let kind = match u.int_in_range(0..=2)? {
                0 => InputKind::Buffer { name: format!("b{at}"), persistent: true },
                _ => InputKind::User,
            };
            self.program.signature.inputs.push(InputSpec { name, kind });
            self.inputs.push((val, items));
        }
        Ok(())
    }

    /// A value of the program for an object.
    fn name(&mut self, object: usize, name: &str) -> Val {
        let Object { shape, strides, .. } = &self.machine.objects[object];
        let dims = |sizes: &[i64]| sizes.iter().map(|n| Dim::Const(*n)).collect();
        let ty = TensorType { dtype: DType::F64, shape: dims(shape), strides: dims(strides) };
        let val = self.program.body.values.push(Value { name: name.into(), ty: ValueType::from(ty) });
        self.machine.named.insert(val, object);
        self.vals.push(val);
        val
    }

    fn object(&self, val: Val) -> &Object {
        &self.machine.objects[self.machine.named[&val]]
    }

    fn calls(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        while !u.is_empty() && self.program.body.calls.len() < MAX_CALLS {
            let val = *u.choose(&self.vals)?;
            let other = *u.choose(&self.vals)?;
            let Some((target, args)) = self.pick(u, val, other)? else { continue };
            let args = args.into_iter().map(|(name, arg)| NamedArg { name: name.into(), arg }).collect();
            let origin = self.program.origins.push(Origin::default());
            let target = format!("aten.{target}").into();
            let mut call = Call { target, args, outputs: Outputs::default(), origin };
            let results = self.machine.call(&call);
            let at = self.program.body.calls.len();
            call.outputs.push(match results {
                Results::One(object) => Output::Value(self.name(object, &format!("v{at}"))),
                Results::List(objects) => {
                    let name = |(i, object)| Some(self.name(object, &format!("v{at}_{i}")));
                    Output::List(objects.into_iter().enumerate().map(name).collect())
                }
            });
            self.program.body.calls.push(call);
        }
        Ok(())
    }

    /// A call with `val` as its first argument; `None` where the drawn operator does not take it.
    #[allow(clippy::type_complexity, reason = "used once")]
    fn pick(
        &self,
        u: &mut Unstructured<'_>,
        val: Val,
        other: Val,
    ) -> Result<Option<(&'static str, Vec<(&'static str, Arg)>)>> {
        let object = self.object(val).clone();
        let (rank, shape) = (object.shape.len() as i64, &object.shape);
        let own = ("self", Arg::Value(val));
        let ints = |items: Vec<i64>| Arg::List(items.into_iter().map(Arg::Int).collect());
        let dim = |u: &mut Unstructured<'_>| -> Result<i64> {
            let dim = u.int_in_range(0..=(rank - 1).max(0))?;
            Ok(if u.ratio(1, 4)? { dim - rank } else { dim })
        };
        let size_of = |dim: i64| shape[(if dim < 0 { dim + rank } else { dim }) as usize];
        let mut places = object.places();
        places.sort_unstable();
        let overlaps = places.windows(2).any(|pair| pair[0] == pair[1]);
        let with = |mut rest: Vec<(&'static str, Arg)>| {
            rest.insert(0, own.clone());
            rest
        };
        let one = |name, arg| with(vec![(name, arg)]);
        let operand = |u: &mut Unstructured<'_>| -> Result<Option<Arg>> {
            if u.ratio(1, 3)? {
                return Ok(Some(Arg::Int(u.int_in_range(-2..=3)?)));
            }
            let theirs = &self.object(other).shape;
            let fits = theirs.len() <= shape.len()
                && theirs.iter().rev().zip(shape.iter().rev()).all(|(a, b)| a == b || *a == 1);
            Ok(fits.then_some(Arg::Value(other)))
        };
        let picked = u.int_in_range(0..=31)?;
        Ok(Some(match picked {
            0 => ("alias.default", with(vec![])),
            1 => ("detach.default", with(vec![])),
            2 | 3 => {
                let count: i64 = shape.iter().product();
                let first = u.int_in_range(1..=4)?;
                let to = match u.int_in_range(0..=3)? {
                    0 => vec![count],
                    1 if count % first == 0 => vec![first, count / first],
                    2 if count % first == 0 => vec![count / first, -1],
                    _ => vec![1, count],
                };
                let full: Vec<i64> = to.iter().map(|n| if *n < 0 { first } else { *n }).collect();
                if object.strides_as(&full).is_none() {
                    return Ok(None);
                }
                ("view.default", one("size", ints(to)))
            }
            4 => {
                let mut axes: Vec<i64> = (0..rank).collect();
                for at in (1..axes.len()).rev() {
                    axes.swap(at, u.int_in_range(0..=at)?);
                }
                ("permute.default", one("dims", ints(axes)))
            }
            5 if rank > 0 => {
                let dims = vec![("dim0", Arg::Int(dim(u)?)), ("dim1", Arg::Int(dim(u)?))];
                ("transpose.int", with(dims))
            }
            6 if rank <= 2 => ("t.default", with(vec![])),
            7 | 8 if rank > 0 => {
                let dim = dim(u)?;
                let index = u.int_in_range(-size_of(dim)..=size_of(dim) - 1)?;
                ("select.int", with(vec![("dim", Arg::Int(dim)), ("index", Arg::Int(index))]))
            }
            9..=11 if rank > 0 => {
                let dim = dim(u)?;
                let (start, end) = (u.int_in_range(-3..=3)?, *u.choose(&[i64::MAX, 1, 2, 3, 4, -1])?);
                let at = |at: i64| (if at < 0 { at + size_of(dim) } else { at }).clamp(0, size_of(dim));
                if at(end) <= at(start) {
                    return Ok(None);
                }
                let mut args =
                    vec![("dim", Arg::Int(dim)), ("start", Arg::Int(start)), ("end", Arg::Int(end))];
                if u.arbitrary()? {
                    args.push(("step", Arg::Int(u.int_in_range(1..=3)?)));
                }
                ("slice.Tensor", with(args))
            }
            12 if rank > 0 => {
                let dim = dim(u)?;
                let start = u.int_in_range(0..=size_of(dim) - 1)?;
                let length = u.int_in_range(1..=size_of(dim) - start)?;
                let start = if u.ratio(1, 3)? { start - size_of(dim) } else { start };
                let (start, length) = (("start", Arg::Int(start)), ("length", Arg::Int(length)));
                ("narrow.default", with(vec![("dim", Arg::Int(dim)), start, length]))
            }
            13 if rank < 4 => {
                let dim = u.int_in_range(-rank - 1..=rank)?;
                ("unsqueeze.default", one("dim", Arg::Int(dim)))
            }
            14 if rank > 0 => ("squeeze.dim", one("dim", Arg::Int(dim(u)?))),
            15 => {
                let mut wide: Vec<i64> = Vec::new();
                for size in shape {
                    wide.push(if *size == 1 { u.int_in_range(1..=3)? } else { *size });
                }
                if wide.iter().product::<i64>() > MAX_LEN {
                    return Ok(None);
                }
                ("expand.default", one("size", ints(wide)))
            }
            16 if rank > 1 => {
                let (a, b) = (dim(u)?, dim(u)?);
                if (a - b) % rank == 0 {
                    return Ok(None);
                }
                let (rows, columns) = (size_of(a), size_of(b));
                let offset = u.int_in_range(1 - rows..=columns - 1)?;
                let dims = [("offset", offset), ("dim1", a), ("dim2", b)];
                ("diagonal.default", with(dims.map(|(name, n)| (name, Arg::Int(n))).to_vec()))
            }
            17 => {
                let len = self.machine.buffers[object.buffer].len() as i64;
                let offset = u.int_in_range(0..=2)?;
                let strides = vec![u.int_in_range(0..=4)?, u.int_in_range(1..=2)?];
                let sizes = vec![u.int_in_range(1..=3)?, u.int_in_range(1..=3)?];
                let last: i64 = sizes.iter().zip(&strides).map(|(n, s)| (n - 1) * s).sum();
                // The offset counts from the start of the storage, also for a view of it.
                if offset + last >= len {
                    return Ok(None);
                }
                let offset = ("storage_offset", Arg::Int(offset));
                ("as_strided.default", with(vec![("size", ints(sizes)), ("stride", ints(strides)), offset]))
            }
            18 if rank > 0 => ("unbind.int", one("dim", Arg::Int(dim(u)?))),
            19 if rank > 0 => {
                let size = ("split_size", Arg::Int(u.int_in_range(1..=3)?));
                ("split.Tensor", with(vec![size, ("dim", Arg::Int(dim(u)?))]))
            }
            20..=23 if !overlaps => {
                let Some(operand) = operand(u)? else { return Ok(None) };
                match (picked, operand) {
                    (20, operand) => ("add_.Tensor", one("other", operand)),
                    (21, operand) => ("mul_.Tensor", one("other", operand)),
                    (22, operand @ Arg::Value(_)) => ("copy_.default", one("src", operand)),
                    (_, number @ Arg::Int(_)) => ("fill_.Scalar", one("value", number)),
                    _ => return Ok(None),
                }
            }
            24 if !overlaps => {
                (*u.choose(&["zero_.default", "neg_.default", "relu_.default"])?, with(vec![]))
            }
            25 if rank <= 2 => ("t_.default", with(vec![])),
            26 if rank < 4 => ("unsqueeze_.default", one("dim", Arg::Int(u.int_in_range(0..=rank)?))),
            27 if rank > 0 => ("squeeze_.dim", one("dim", Arg::Int(dim(u)?))),
            28 => {
                let wide = broadcast(shape, &self.object(other).shape);
                let fits =
                    |part: &[i64]| part.iter().rev().zip(wide.iter().rev()).all(|(a, b)| a == b || *a == 1);
                if !fits(shape) || !fits(&self.object(other).shape) || wide.iter().product::<i64>() > MAX_LEN
                {
                    return Ok(None);
                }
                (*u.choose(&["add.Tensor", "mul.Tensor"])?, one("other", Arg::Value(other)))
            }
            29 => (*u.choose(&["neg.default", "relu.default"])?, with(vec![])),
            30 => ("clone.default", with(vec![])),
            31 if rank > 0 && self.object(other).shape == *shape => {
                let tensors = Arg::List(vec![Arg::Value(val), Arg::Value(other)]);
                if 2 * shape.iter().product::<i64>() > MAX_LEN {
                    return Ok(None);
                }
                ("cat.default", vec![("tensors", tensors), ("dim", Arg::Int(dim(u)?))])
            }
            _ => return Ok(None),
        }))
    }

    fn outputs(&mut self, u: &mut Unstructured<'_>) {
        for _ in 0..u.int_in_range(1..=3).unwrap_or(1) {
            let last = self.vals[self.vals.len() - 1];
            let val = u.choose(&self.vals).copied().unwrap_or(last);
            self.program.body.outputs.push(Arg::Value(val));
            self.program.signature.outputs.push(OutputSpec { kind: OutputKind::User });
        }
    }

    /// Whether the program states that the first argument is dense.
    fn is_dense(program: &Program, call: &Call) -> bool {
        let val = call.args.first().and_then(|first| first.arg.as_value()).expect("a tensor");
        let ty = program.body.values[val].ty.as_tensor().expect("a tensor");
        let sizes = |dims: &[Dim]| dims.iter().filter_map(|dim| dim.as_const()).collect::<Vec<i64>>();
        let (shape, strides) = (sizes(&ty.shape), sizes(&ty.strides));
        let expected = dense(&shape);
        (0..shape.len()).all(|axis| shape[axis] == 1 || strides[axis] == expected[axis])
    }

    /// Compares the program, which has run, with its functional form.
    fn check(&self, all: bool) {
        let text = self.program.to_text();
        let wanted = |step: &str| all || step == "functionalise";
        // A write that cannot be expressed is refused.
        let Ok(functional) = run_steps(self.program.clone(), &SCHEMAS, wanted) else { return };
        let shown = functional.to_text();
        let mut machine = Machine { copies: true, ..Machine::default() };
        for ((_, items), arg) in self.inputs.iter().zip(&functional.body.inputs) {
            let val = arg.as_value().expect("an input");
            let ty = functional.body.values[val].ty.as_tensor().expect("a tensor");
            let shape = ty.shape.iter().map(|dim| dim.as_const().expect("a size")).collect();
            let object = machine.tensor(shape, items.clone());
            machine.named.insert(val, object);
        }
        for call in &functional.body.calls {
            let (_, op) = call.target.split_once('.').expect("a name");
            assert!(!op.contains("_."), "{op} writes:\n{text}\n{shown}");
            if op.starts_with("as_strided") && !Self::is_dense(&functional, call) {
                // Its lowering refuses a tensor whose layout in memory is another.
                return;
            }
            machine.run(call);
            call.outputs.iter().for_each(|output| {
                output.each_value(&mut |val| {
                    let ty = functional.body.values[val].ty.as_tensor().expect("a tensor");
                    let found = &machine.objects[machine.named[&val]].shape;
                    let stated: Vec<i64> = ty.shape.iter().filter_map(|dim| dim.as_const()).collect();
                    assert_eq!(*found, stated, "{op} has another shape:\n{text}\n{shown}");
                });
            });
        }
        let read = |machine: &Machine, val| machine.read(&machine.objects[machine.named[&val]]);
        let bits = |items: Vec<f64>| items.into_iter().map(f64::to_bits).collect::<Vec<u64>>();
        let mut users = self.program.body.outputs.iter().filter_map(Arg::as_value);
        let mut written = Vec::new();
        let outputs = functional.body.outputs.iter().zip(&functional.signature.outputs);
        for (arg, spec) in outputs {
            let found = bits(read(&machine, arg.as_value().expect("an output")));
            let expected = match &spec.kind {
                OutputKind::State { input, .. } => {
                    let at = functional.body.inputs.iter().position(|arg| arg.as_value() == Some(*input));
                    let at = at.expect("an input");
                    written.push(at);
                    self.machine.buffers[at].clone()
                }
                _ => read(&self.machine, users.next().expect("an output of the program")),
            };
            assert_eq!(found, bits(expected), "{spec:?} differs:\n{text}\n{shown}");
        }
        assert!(users.next().is_none());
        for (at, (_, items)) in self.inputs.iter().enumerate().filter(|(at, _)| !written.contains(at)) {
            let unchanged = bits(self.machine.buffers[at].clone()) == bits(items.clone());
            assert!(unchanged, "a write to input {at} is lost:\n{text}\n{shown}");
        }
    }
}
