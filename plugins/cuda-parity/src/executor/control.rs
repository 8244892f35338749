//! Control flow: conditions and counts on the host, bodies on the device.

use onnxport_ir::ir::{Attr, BlockId, Node, Shape, Type};
use onnxport_ir::ops::{Error, Res, Tensor, Value};
use onnxport_ir::sym::Dim;
use onnxport_ir::tensor::DType;

use super::engine::Engine;
use super::frame::Frame;
use super::ops::{Operand, joined, part};
use super::value::{Array, Held};

fn block(node: &Node, name: &str) -> Res<BlockId> {
    match node.attr(name) {
        Some(Attr::Block(block)) => Ok(*block),
        _ => Err(Error::invalid(format!("the attribute `{name}` is missing"))),
    }
}

fn truth(engine: &mut Engine, held: &Held) -> Res<bool> {
    let value = engine.on_host(held)?;
    match value.tensor().map(Tensor::bools).transpose()?.as_deref() {
        Some([only]) => Ok(*only),
        _ => Err(Error::invalid("a condition is not one truth value")),
    }
}

/// The number of the list at `index`, or 0.
fn pick(node: &Node, name: &str, index: usize) -> i64 {
    node.ints(name).and_then(|list| list.get(index).copied()).unwrap_or(0)
}

fn front(axis: i64, rank: usize) -> Res<usize> {
    let from = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
    let found = usize::try_from(from).ok().filter(|at| *at < rank);
    found.ok_or_else(|| Error::invalid(format!("axis {axis} is out of range for rank {rank}")))
}

impl Frame<'_, '_> {
    /// The outputs of a node of control flow; `None` for every other node.
    pub(super) fn control(
        &mut self,
        engine: &mut Engine,
        node: &Node,
        opset: i64,
        inputs: &[Option<Held>],
    ) -> Res<Option<Vec<Held>>> {
        if !node.domain.is_empty() {
            return Ok(None);
        }
        match node.op.as_str() {
            "If" => {
                let Some(Some(condition)) = inputs.first() else {
                    return Err(Error::invalid("the condition is missing"));
                };
                let name = if truth(engine, condition)? { "then_branch" } else { "else_branch" };
                self.inner(engine, block(node, name)?, Vec::new()).map(Some)
            }
            "Loop" => self.repeat(engine, node, inputs).map(Some),
            "Scan" if opset >= 9 => self.scan(engine, node, inputs).map(Some),
            _ => Ok(None),
        }
    }

    /// At most as many runs as the first input says, while the condition holds.
    fn repeat(&mut self, engine: &mut Engine, node: &Node, inputs: &[Option<Held>]) -> Res<Vec<Held>> {
        let body = block(node, "body")?;
        let most = match inputs.first() {
            Some(Some(held)) => {
                let value = engine.on_host(held)?;
                match value.tensor().map(Tensor::longs).transpose()?.as_deref() {
                    Some([n]) => *n,
                    _ => return Err(Error::invalid("the number of runs is not one integer")),
                }
            }
            _ => i64::MAX,
        };
        let mut go = match inputs.get(1) {
            Some(Some(held)) => truth(engine, held)?,
            _ => true,
        };
        let mut carried: Vec<Held> = inputs.iter().skip(2).flatten().cloned().collect();
        let returned = self.graph.blocks[body].outputs().len();
        let scans = returned.saturating_sub(1 + carried.len());
        let mut collected: Vec<Vec<Held>> = vec![Vec::new(); scans];
        let mut round = 0;
        while go && round < most {
            let number = Tensor::of_longs(Vec::new(), [round])?;
            let truth_of_condition = Tensor::of_bools(Vec::new(), vec![true])?;
            let mut given =
                vec![Held::of_host(number.into(), true), Held::of_host(truth_of_condition.into(), true)];
            let count = carried.len();
            given.append(&mut carried);
            let mut outputs = self.inner(engine, body, given)?.into_iter();
            let condition = outputs.next().ok_or_else(|| Error::invalid("the body returns no condition"))?;
            go = truth(engine, &condition)?;
            carried.extend(outputs.by_ref().take(count));
            for (list, value) in collected.iter_mut().zip(outputs) {
                list.push(value);
            }
            round += 1;
        }
        let first = 1 + carried.len();
        for (index, list) in collected.iter().enumerate() {
            let stacked = self.stacked(engine, list, 0, body, first + index)?;
            carried.push(stacked);
        }
        Ok(carried)
    }

    /// One run for each slice of the scanned inputs.
    fn scan(&mut self, engine: &mut Engine, node: &Node, inputs: &[Option<Held>]) -> Res<Vec<Held>> {
        let body = block(node, "body")?;
        let count = node.int("num_scan_inputs").and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        let mut carried: Vec<Held> = inputs.iter().flatten().cloned().collect();
        let Some(states) = carried.len().checked_sub(count) else {
            return Err(Error::invalid(format!("there are fewer than {count} inputs")));
        };
        let mut scanned: Vec<(Array, usize, bool)> = Vec::new();
        for (index, held) in carried.split_off(states).iter().enumerate() {
            let Some(array) = engine.on_device(held)? else {
                return Err(Error::unsupported("a scanned input is not kept on a device"));
            };
            let axis = front(pick(node, "scan_input_axes", index), array.shape.len())?;
            scanned.push((array, axis, pick(node, "scan_input_directions", index) != 0));
        }
        let lengths: Vec<usize> =
            scanned.iter().filter_map(|(x, axis, _)| x.shape.get(*axis).copied()).collect();
        let length = lengths.first().copied().unwrap_or(0);
        if lengths.iter().any(|n| *n != length) {
            return Err(Error::invalid(format!("the scanned inputs have the lengths {lengths:?}")));
        }
        let returned = self.graph.blocks[body].outputs().len();
        let mut collected: Vec<Vec<Held>> = vec![Vec::new(); returned.saturating_sub(states)];
        for step in 0..length {
            let mut given = std::mem::take(&mut carried);
            for (array, axis, reverse) in &scanned {
                let at = if *reverse { length - 1 - step } else { step };
                let operand = Operand { dtype: array.dtype, shape: array.shape.clone() };
                let work = part(&operand, *axis, at)
                    .ok_or_else(|| Error::unsupported("a scanned input has too many axes"))?;
                let made = engine.work(&work, &[Some(array.clone())])?;
                given.extend(made.into_iter().map(Held::of_array));
            }
            let mut outputs = self.inner(engine, body, given)?.into_iter();
            carried.extend(outputs.by_ref().take(states));
            for (list, value) in collected.iter_mut().zip(outputs) {
                list.push(value);
            }
        }
        for (index, list) in collected.iter_mut().enumerate() {
            if pick(node, "scan_output_directions", index) != 0 {
                list.reverse();
            }
            let ty = &self.graph.values[self.graph.blocks[body].outputs()[states + index]].ty;
            let stated = ty.shape().and_then(Shape::rank).unwrap_or(0);
            let rank = list.first().and_then(Held::operand).map_or(stated, |x| x.shape.len());
            let axis = front(pick(node, "scan_output_axes", index), rank + 1)?;
            let stacked = self.stacked(engine, list, axis, body, states + index)?;
            carried.push(stacked);
        }
        Ok(carried)
    }

    /// The results of all runs as one tensor; of none, an empty one of the type that output `output` of the body states.
    fn stacked(
        &self,
        engine: &mut Engine,
        items: &[Held],
        axis: usize,
        body: BlockId,
        output: usize,
    ) -> Res<Held> {
        if items.is_empty() {
            let returned = self.graph.blocks[body].outputs().get(output);
            let ty = returned.map(|value| &self.graph.values[*value].ty);
            let dims = ty.and_then(Type::shape).and_then(Shape::dims).unwrap_or_default();
            let known = dims.iter().map(|d| d.and_then(Dim::as_const).and_then(|n| usize::try_from(n).ok()));
            let mut shape: Vec<usize> = known.map(Option::unwrap_or_default).collect();
            shape.insert(axis.min(shape.len()), 0);
            let dtype = ty.and_then(Type::dtype).unwrap_or(DType::F32);
            let empty: Value = Tensor::packed(dtype, shape, bytes::Bytes::new())?.into();
            return Ok(Held::of_host(empty, false));
        }
        let mut arrays = Vec::with_capacity(items.len());
        for item in items {
            let Some(mut array) = engine.on_device(item)? else {
                return Err(Error::unsupported("the result of a body is not kept on a device"));
            };
            array.shape.insert(axis.min(array.shape.len()), 1);
            arrays.push(array);
        }
        let operands: Vec<Operand> =
            arrays.iter().map(|x| Operand { dtype: x.dtype, shape: x.shape.clone() }).collect();
        let work = joined(&operands.iter().collect::<Vec<_>>(), axis)?
            .ok_or_else(|| Error::unsupported("the result of a body has too many axes"))?;
        let made = engine.work(&work, &arrays.into_iter().map(Some).collect::<Vec<_>>())?;
        let made = made.into_iter().next().ok_or_else(|| Error::invalid("nothing was joined"))?;
        Ok(Held::of_array(made))
    }
}
