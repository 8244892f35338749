//! The written model, read when an output differs: its graph says how far the output may differ.

use std::cell::OnceCell;
use std::path::Path;

use crate::ir::{self, Model, ValueId};
use crate::tensor::DType;

use super::{codes, narrow, ties};

/// A model that is read when it is first asked for.
pub(super) struct Written<'a> {
    path: &'a Path,
    model: OnceCell<Option<Model>>,
}

impl<'a> Written<'a> {
    pub(super) fn new(path: &'a Path) -> Self {
        Self { path, model: OnceCell::new() }
    }

    /// The step between neighbouring codes of the output `name`, if it is coded.
    pub(super) fn step(&self, name: &str) -> Option<f64> {
        let (model, output) = self.output(name)?;
        codes::step(&model.graph, output)
    }

    /// The narrowest floating-point type that the values of the output `name` were rounded to.
    pub(super) fn narrowest(&self, name: &str) -> Option<DType> {
        let (model, output) = self.output(name)?;
        narrow::narrowest(&model.graph, output)
    }

    /// The output with the sorted values, and the axis, of the sort whose indices are the output `name`.
    pub(super) fn sorted(&self, name: &str) -> Option<(&str, i64)> {
        let (model, output) = self.output(name)?;
        let graph = &model.graph;
        let (node, axis) = ties::sort(graph, model.opset(), output)?;
        let mut outputs = graph.blocks[graph.main()].outputs().iter();
        let values = outputs.find(|output| ties::is_sorted_by(graph, **output, node))?;
        Some((graph.values[*values].name.as_deref()?, axis))
    }

    /// The output `name`; `None` where the model cannot be read.
    fn output(&self, name: &str) -> Option<(&Model, ValueId)> {
        let model = self.model.get_or_init(|| ir::import::import(self.path).ok()).as_ref()?;
        let graph = &model.graph;
        let outputs = graph.blocks[graph.main()].outputs();
        let found = outputs.iter().find(|output| graph.values[**output].name.as_deref() == Some(name))?;
        Some((model, *found))
    }
}
