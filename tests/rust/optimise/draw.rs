//! Random tests for rules: element types and sizes of a model, and values of its inputs.

use onnxport_core::ir::{Model, Shape, Type};
use onnxport_core::sym::{Dim, SymId};
use onnxport_core::tensor::{DType, Kind};
pub(crate) use onnxport_fuzz::graphs::agree;
use onnxport_ir::ops::{Tensor, Value};

/// The sizes to choose from.
const SIZES: [i64; 6] = [0, 1, 2, 3, 4, 7];

/// Draws numbers; the same every time.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// Below `count`, which is not 0.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        self.next() as usize % count
    }

    /// One of these.
    pub(crate) fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Between -4 and 4; where `special`, also the special cases of arithmetic, and numbers in the middle between
    /// two integers.
    fn float(&mut self, special: bool) -> f64 {
        const SPECIAL: [f64; 9] =
            [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, -0.5, 0.5, 1.5, 2.5];
        let drawn = self.next();
        if special && drawn.is_multiple_of(4) {
            return self.one_of(&SPECIAL);
        }
        f64::from((drawn % 8001) as u32) / 1000.0 - 4.0
    }

    /// Mostly small; where `special`, also the ends of the type.
    fn int(&mut self, dtype: DType, special: bool) -> i128 {
        let bits = dtype.bits();
        let signed = !matches!(dtype, DType::U8 | DType::U16 | DType::U32 | DType::U64);
        let (least, most) = if signed {
            (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1)
        } else {
            (0, (1_i128 << bits) - 1)
        };
        let drawn = self.next();
        if special && drawn.is_multiple_of(5) {
            return self.one_of(&[least, most, least + 1, 0, 1]);
        }
        (i128::from(drawn % 100) - 50).clamp(least, most)
    }

    pub(crate) fn tensor(&mut self, dtype: DType, shape: Vec<usize>, special: bool) -> Tensor {
        let count: usize = shape.iter().product();
        let made = match dtype.kind() {
            Kind::Bool => {
                Tensor::of_bools(shape, (0..count).map(|_| self.next().is_multiple_of(2)).collect())
            }
            Kind::Int => {
                Tensor::of_ints(dtype, shape, (0..count).map(|_| self.int(dtype, special)).collect())
            }
            _ => Tensor::of_floats(dtype, shape, (0..count).map(|_| self.float(special)).collect()),
        };
        made.expect("a tensor")
    }
}

/// A value for every input of `model`, whose symbols all have this size.
pub(crate) fn inputs(model: &Model, size: i64, special: bool, random: &mut Random) -> Vec<Option<Value>> {
    values(model, &|_| Some(size), special, random)
}

/// A value for every input of `model` at these sizes.
pub(crate) fn values(
    model: &Model,
    sizes: &dyn Fn(SymId) -> Option<i64>,
    special: bool,
    random: &mut Random,
) -> Vec<Option<Value>> {
    let block = &model.graph.blocks[model.graph.main()];
    let drawn = block.inputs.iter().map(|input| {
        let ty = &model.graph.values[*input].ty;
        let shape = ty.shape().and_then(Shape::dims).expect("a rank");
        let extent = |dim: &Option<Dim>| model.symbols.eval(dim.expect("a size"), sizes);
        let shape = shape.iter().map(|dim| extent(dim).expect("a size") as usize).collect();
        Some(Value::Tensor(random.tensor(ty.dtype().expect("a type"), shape, special)))
    });
    drawn.collect()
}

/// Sizes of the symbols of `model`, each drawn by itself from its range.
pub(crate) fn sizes(model: &Model, random: &mut Random) -> Vec<i64> {
    let draw = |(_, symbol): (SymId, &onnxport_core::sym::Symbol)| {
        let fitting: Vec<i64> = SIZES.into_iter().filter(|size| symbol.range.contains(*size)).collect();
        if fitting.is_empty() { symbol.range.min.expect("a range") } else { random.one_of(&fitting) }
    };
    model.symbols.iter().map(draw).collect()
}

/// Sizes at which tensors are empty: each symbol of `model` that may be 0 is, the others drawn, and all of them are.
pub(crate) fn empty(model: &Model, random: &mut Random) -> Vec<Vec<i64>> {
    let may: Vec<usize> = model
        .symbols
        .iter()
        .filter(|(_, symbol)| symbol.range.contains(0))
        .map(|(id, _)| id.index())
        .collect();
    let mut found = Vec::new();
    for at in &may {
        let mut sizes = sizes(model, random);
        sizes[*at] = 0;
        found.push(sizes);
    }
    if may.len() > 1 {
        let mut sizes = sizes(model, random);
        for at in &may {
            sizes[*at] = 0;
        }
        found.push(sizes);
    }
    found
}

/// Returns the model with numbers in place of its symbols.
pub(crate) fn fixed(model: &Model, sizes: &[i64]) -> Model {
    let mut fixed = model.clone();
    let size = |symbol: SymId| sizes.get(symbol.index()).copied();
    let types: Vec<_> = fixed.graph.values.iter().map(|(id, value)| (id, value.ty.clone())).collect();
    for (id, ty) in types {
        let Type::Tensor { dtype, shape: Shape::Ranked(mut dims) } = ty else { continue };
        for dim in dims.iter_mut().flatten() {
            *dim = model.symbols.eval(*dim, &size).map_or(*dim, Dim::Const);
        }
        fixed.graph.values[id].ty = Type::Tensor { dtype, shape: Shape::Ranked(dims) };
    }
    // Known contents are inferred again.
    super::read(&fixed.to_text())
}

/// The models that stand in `text`: as it is, and with every other element type in place of `f32` or of `i32`.
pub(crate) fn of_types(text: &str) -> Vec<Model> {
    const FLOATS: [&str; 7] = ["f64", "f16", "bf16", "i64", "i32", "u8", "i8"];
    const INTS: [&str; 6] = ["i64", "u32", "i16", "u8", "i8", "u64"];
    let mut texts = vec![text.to_owned()];
    texts.extend(FLOATS.map(|dtype| text.replace(": f32[", &format!(": {dtype}["))));
    texts.extend(INTS.map(|dtype| text.replace(": i32[", &format!(": {dtype}["))));
    texts.dedup();
    let mut models: Vec<Model> = texts.iter().filter_map(|text| Model::parse(text).ok()).collect();
    models.iter_mut().for_each(super::inferred);
    models
}
