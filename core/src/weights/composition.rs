//! Tensors composed of those of a checkpoint, which stores them in other forms: experts one by one, projections in
//! one, axes in another order.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{SourcedTensor, WeightSet, into_result};
use crate::diagnose::{Code, Diagnostic, Report};
use crate::table::type_of;
use crate::tensor::data::count;
use crate::tensor::{DType, LazyTensor, Operation, Source, Transform};

/// The most parts that a tensor is cut into so that they have another shape.
const MAX_PARTS: u64 = 1 << 14;

/// How a tensor is made of those of a checkpoint.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Composition {
    /// The tensor with this name.
    Stored(String),
    /// Tensors one behind the other.
    Concat {
        /// The tensors.
        of: Vec<Composition>,
        /// The axis along which they follow each other.
        axis: usize,
    },
    /// Every `step`-th element of a range of an axis.
    Slice {
        /// The tensor.
        of: Box<Composition>,
        /// The axis.
        axis: usize,
        /// The first index.
        start: u64,
        /// The index behind the last one.
        end: u64,
        /// The distance of indices.
        step: u64,
    },
    /// Axes in another order.
    Permute {
        /// The tensor.
        of: Box<Composition>,
        /// The axis of the tensor for each axis of the result.
        axes: Vec<usize>,
    },
    /// The same elements in the same order, in another shape.
    Reshape {
        /// The tensor.
        of: Box<Composition>,
        /// The extents.
        shape: Vec<u64>,
    },
}

impl WeightSet {
    /// Returns the set in which each tensor of `compositions`, by name, replaces the tensors that it is made of. Nothing
    /// is read.
    ///
    /// # Errors
    /// `OP634` for tensors that do not fit each other, all at once.
    pub fn compose(&self, compositions: &BTreeMap<String, Composition>) -> Result<Self, Report> {
        let mut used = BTreeSet::new();
        let mut problems = Vec::new();
        let mut composed = Vec::with_capacity(compositions.len());
        for (name, composition) in compositions {
            let mut names = Vec::new();
            composition.names(&mut names);
            match composition.tensor(self) {
                Ok(tensor) => {
                    let place = names.first().and_then(|first| self.given.get(*first));
                    let place = place.map(|given| given.place.clone()).unwrap_or_default();
                    composed.push((name.clone(), SourcedTensor { tensor, place }));
                }
                Err(why) => {
                    let message = format!("`{name}` cannot be composed of the files' tensors: {why}");
                    problems.push(Diagnostic::error(Code::WEIGHTS_SHAPE, message).help(
                        "save the checkpoint with `save_pretrained(folder, save_original_format=False)`",
                    ));
                }
            }
            used.extend(names);
        }
        into_result(problems)?;
        let left = self.given.iter().filter(|(name, _)| !used.contains(name.as_str()));
        let mut set = Self {
            given: left.map(|(name, given)| (name.clone(), given.clone())).collect(),
            files: self.files.clone(),
        };
        for (name, given) in composed {
            set.insert(name, given.tensor, &given.place)?;
        }
        Ok(set)
    }
}

impl Composition {
    /// Adds the names of the tensors that it uses.
    fn names<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Self::Stored(name) => names.push(name),
            Self::Concat { of, .. } => of.iter().for_each(|part| part.names(names)),
            Self::Slice { of, .. } | Self::Permute { of, .. } | Self::Reshape { of, .. } => of.names(names),
        }
    }

    /// Returns the tensor; a sentence if there is none.
    fn tensor(&self, set: &WeightSet) -> Result<LazyTensor, String> {
        match self {
            Self::Stored(name) => {
                set.get(name).cloned().ok_or_else(|| format!("the files have no tensor `{name}`"))
            }
            Self::Concat { of, axis } => {
                let parts = of.iter().map(|part| part.tensor(set)).collect::<Result<Vec<_>, _>>()?;
                concat(&of_one_type(parts), *axis).ok_or_else(|| {
                    let names = of.len();
                    format!("{names} tensors do not follow each other along axis {axis}")
                })
            }
            Self::Slice { of, axis, start, end, step } => {
                let tensor = of.tensor(set)?;
                let wanted = || format!("{start}..{end} by {step} along axis {axis} of {}", type_of(&tensor));
                tensor.slice(*axis, *start, *end, *step).ok_or_else(wanted)
            }
            Self::Permute { of, axes } => {
                let tensor = of.tensor(set)?;
                tensor.permute(axes).ok_or_else(|| format!("the order {axes:?} of {}", type_of(&tensor)))
            }
            Self::Reshape { of, shape } => {
                let tensor = of.tensor(set)?;
                reshape(&tensor, shape).ok_or_else(|| format!("the shape {shape:?} of {}", type_of(&tensor)))
            }
        }
    }
}

/// Returns floats of several types as f32, as far as that is exact.
fn of_one_type(parts: Vec<LazyTensor>) -> Vec<LazyTensor> {
    let exact = |part: &LazyTensor| matches!(part.dtype, DType::F32 | DType::F16 | DType::BF16);
    let first = parts.first().map(|part| part.dtype);
    if parts.iter().all(|part| Some(part.dtype) == first) || !parts.iter().all(exact) {
        return parts;
    }
    let cast = |part: LazyTensor| match part.dtype {
        DType::F32 => part,
        _ => part.then(Transform::Cast(DType::F32)).unwrap_or(part),
    };
    parts.into_iter().map(cast).collect()
}

/// Concatenates along `axis`. Parts that are concatenated along an outer axis stay in pieces along that one: the
/// bytes of a piece follow each other in the result.
fn concat(parts: &[LazyTensor], axis: usize) -> Option<LazyTensor> {
    let pieces = |part: &LazyTensor| -> Option<(usize, Vec<LazyTensor>)> {
        let Source::Joined(joined) = &part.source else { return None };
        let Operation::Concat { axis: outer } = joined.operation() else { return None };
        let plain = joined.shape() == part.shape && outer < axis;
        plain.then(|| (outer, joined.inputs().to_vec()))
    };
    let rows: Option<Vec<(usize, Vec<LazyTensor>)>> = parts.iter().map(pieces).collect();
    let across = |rows: Vec<(usize, Vec<LazyTensor>)>| -> Option<LazyTensor> {
        let (outer, first) = rows.first()?;
        let extents = |inputs: &[LazyTensor]| -> Option<Vec<u64>> {
            inputs.iter().map(|input| input.shape.get(*outer).copied()).collect()
        };
        let wanted = extents(first)?;
        if !rows.iter().all(|(own, inputs)| own == outer && extents(inputs).as_ref() == Some(&wanted)) {
            return None;
        }
        let row = |at: usize| -> Option<LazyTensor> {
            let row: Option<Vec<_>> = rows.iter().map(|(_, inputs)| inputs.get(at).cloned()).collect();
            LazyTensor::concat(&row?, axis)
        };
        let rows: Option<Vec<_>> = (0..first.len()).map(row).collect();
        LazyTensor::concat(&rows?, *outer)
    };
    rows.and_then(across).or_else(|| LazyTensor::concat(parts, axis))
}

/// Returns the elements of `tensor` in another shape. If its strides do not allow it, it is cut into parts that they
/// allow it for.
fn reshape(tensor: &LazyTensor, shape: &[u64]) -> Option<LazyTensor> {
    tensor.reshape(shape).or_else(|| {
        let elements = tensor.elements()?;
        if count(shape)? != elements {
            return None;
        }
        let mut parts = Vec::new();
        flatten(tensor, &mut parts)?;
        LazyTensor::concat(&parts, 0)?.reshape(shape)
    })
}

/// Cuts `tensor` along its first axes, until each part is a vector.
fn flatten(tensor: &LazyTensor, parts: &mut Vec<LazyTensor>) -> Option<()> {
    if let Some(flat) = tensor.reshape(&[tensor.elements()?]) {
        parts.push(flat);
        return (parts.len() as u64 <= MAX_PARTS).then_some(());
    }
    let axis = tensor.shape.iter().position(|extent| *extent != 1)?;
    let extent = *tensor.shape.get(axis)?;
    (0..extent).try_for_each(|at| flatten(&tensor.slice(axis, at, at + 1, 1)?, parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A set with vectors of the numbers from 10 on, 20 on and so on, called `1`, `2` and so on.
    fn set(shapes: &[&[u64]]) -> WeightSet {
        let mut set = WeightSet::default();
        for (at, shape) in (1u8..).zip(shapes) {
            let values = (0..count(shape).unwrap()).map(|n| f32::from(at) * 10.0 + n as f32);
            let bytes: Vec<u8> = values.flat_map(f32::to_le_bytes).collect();
            set.insert_bytes(&at.to_string(), DType::F32, shape.to_vec(), bytes).unwrap();
        }
        set
    }

    fn compose(set: &WeightSet, text: &str) -> Result<WeightSet, Report> {
        set.compose(&serde_json::from_str(text).unwrap())
    }

    fn values(set: &WeightSet, name: &str) -> (Vec<u64>, Vec<f32>) {
        let tensor = set.get(name).unwrap();
        let bytes = tensor.read().unwrap();
        let values = bytes.chunks_exact(4).map(|one| f32::from_le_bytes(one.try_into().unwrap()));
        (tensor.shape.clone(), values.collect())
    }

    #[test]
    fn experts_are_stacked_and_their_projections_joined() {
        let set = set(&[&[1, 2], &[1, 2], &[2, 2], &[2, 2]]);
        let stacked = |names: [&str; 2], rows| {
            let part = |name| format!(r#"{{"reshape":{{"of":{{"stored":"{name}"}},"shape":[1,{rows},2]}}}}"#);
            format!(r#"{{"concat":{{"of":[{},{}],"axis":0}}}}"#, part(names[0]), part(names[1]))
        };
        let both = [stacked(["1", "2"], 1), stacked(["3", "4"], 2)].join(",");
        let made = compose(&set, &format!(r#"{{"w":{{"concat":{{"of":[{both}],"axis":1}}}}}}"#)).unwrap();
        assert_eq!(made.names().collect::<Vec<_>>(), ["w"]);
        let wanted = vec![10., 11., 30., 31., 32., 33., 20., 21., 40., 41., 42., 43.];
        assert_eq!(values(&made, "w"), (vec![2, 3, 2], wanted));
        // The bytes of each expert are copied as they are.
        let parts = made.get("w").unwrap().parts();
        assert_eq!(parts.len(), 4);
        assert!(parts.iter().all(|part| part.dense_range().is_some()));
    }

    #[test]
    fn tensors_are_renamed_cut_and_transposed() {
        let set = set(&[&[4, 2], &[2, 3], &[1]]);
        let made = compose(
            &set,
            r#"{"q": {"slice": {"of": {"stored": "1"}, "axis": 0, "start": 0, "end": 2, "step": 1}},
                "k": {"slice": {"of": {"stored": "1"}, "axis": 0, "start": 1, "end": 4, "step": 2}},
                "t": {"permute": {"of": {"stored": "2"}, "axes": [1, 0]}}}"#,
        )
        .unwrap();
        // Unused tensors stay.
        assert_eq!(made.names().collect::<Vec<_>>(), ["3", "k", "q", "t"]);
        assert_eq!(values(&made, "q").1, [10., 11., 12., 13.]);
        assert_eq!(values(&made, "k").1, [12., 13., 16., 17.]);
        assert_eq!(values(&made, "t"), (vec![3, 2], vec![20., 23., 21., 24., 22., 25.]));
        let swapped = compose(&set, r#"{"1": {"stored": "2"}, "2": {"stored": "1"}}"#).unwrap();
        assert_eq!((values(&swapped, "1").0, values(&swapped, "2").0), (vec![2, 3], vec![4, 2]));
    }

    #[test]
    fn rows_are_interleaved_where_strides_do_not_suffice() {
        // The halves of each of two heads, one by one: the order of rotary embeddings.
        let made = compose(
            &set(&[&[8, 1]]),
            r#"{"w": {"reshape": {"of": {"permute": {"of": {"reshape": {"of": {"stored": "1"},
                "shape": [2, 2, 2, 1]}}, "axes": [0, 2, 1, 3]}}, "shape": [8, 1]}}}"#,
        )
        .unwrap();
        assert_eq!(values(&made, "w"), (vec![8, 1], vec![10., 12., 11., 13., 14., 16., 15., 17.]));
    }

    #[test]
    fn floats_of_several_types_become_f32() {
        let mut set = set(&[&[2]]);
        set.insert_bytes("h", DType::BF16, vec![2], vec![0x80, 0x3f, 0, 0x40]).unwrap();
        let both = r#"{"w": {"concat": {"of": [{"stored": "1"}, {"stored": "h"}], "axis": 0}}}"#;
        assert_eq!(values(&compose(&set, both).unwrap(), "w").1, [10., 11., 1., 2.]);
        set.insert_bytes("i", DType::I32, vec![2], vec![0; 8]).unwrap();
        let report = compose(&set, &both.replace("\"h\"", "\"i\"")).unwrap_err();
        assert_eq!(report.diagnostics[0].code, Code::WEIGHTS_SHAPE);
    }

    #[test]
    fn tensors_that_do_not_fit_are_refused_all_at_once() {
        let set = set(&[&[4, 2], &[2, 3]]);
        let report = compose(
            &set,
            r#"{"a": {"stored": "none"},
                "b": {"concat": {"of": [{"stored": "1"}, {"stored": "2"}], "axis": 0}},
                "c": {"concat": {"of": [], "axis": 0}},
                "d": {"slice": {"of": {"stored": "1"}, "axis": 0, "start": 3, "end": 5, "step": 1}},
                "e": {"permute": {"of": {"stored": "1"}, "axes": [0, 0]}},
                "f": {"reshape": {"of": {"stored": "1"}, "shape": [9]}},
                "2": {"stored": "1"}}"#,
        )
        .unwrap_err();
        let found: Vec<&str> = report.diagnostics.iter().map(|d| d.code.as_str()).collect();
        assert_eq!(found, ["OP634"; 6]);
        assert!(report.diagnostics.iter().all(|problem| problem.help.is_some()));
        // A new name must be free.
        let taken = compose(&set, r#"{"2": {"stored": "1"}}"#).unwrap_err();
        assert_eq!(taken.diagnostics[0].code, Code::WEIGHTS_TWICE);
    }
}
