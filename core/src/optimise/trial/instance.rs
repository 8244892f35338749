//! A model with one instance of a pattern.

use super::{Random, Trial};
use crate::ir::{Attr, Attribute, Model, OpsetImport, Shape, Type, ValueId, opset};
use crate::ops::{Tensor, Value, infer};
use crate::rules;
use crate::rules::pattern::{AttributeWants, Kind, NodeTerm, Pattern, TermId};
use crate::sym::Dim;
use crate::tensor::DType;

/// The model for a trial, and drawn values of its inputs.
pub(super) fn of(trial: &Trial, random: &mut Random) -> Result<(Model, Vec<Value>), String> {
    let (pattern, _) = rules::parse(&trial.pattern)?;
    let mut model = Model::default();
    model.opsets.push(OpsetImport { domain: String::new(), version: trial.opset });
    let mut builder = Builder {
        trial,
        random,
        variables: vec![None; pattern.values.len()],
        outputs: vec![None; pattern.terms.len()],
        counts: counts(&pattern),
        pattern: &pattern,
        model,
        inputs: Vec::new(),
    };
    let mut returned = Vec::new();
    for root in &pattern.roots {
        builder.value(*root, None)?;
        returned.extend(builder.made(*root));
    }
    let Builder { mut model, inputs, .. } = builder;
    let main = model.graph.main();
    model.output_names = (0..returned.len()).map(|at| format!("out{at}")).collect();
    model.graph.set_outputs(main, returned);
    Ok((model, inputs))
}

/// Returns the least number of outputs of each term's node.
fn counts(pattern: &Pattern) -> Vec<usize> {
    let mut counts = vec![1; pattern.terms.len()];
    for (id, term) in pattern.terms.iter().enumerate() {
        let (of, index) = match &term.kind {
            Kind::Node(node) => (id, node.output),
            Kind::Output(of, index) => (*of, *index),
            _ => continue,
        };
        if let Some(count) = counts.get_mut(of) {
            *count = (*count).max(index as usize + 1);
        }
    }
    counts
}

struct Builder<'a> {
    trial: &'a Trial,
    random: &'a mut Random,
    pattern: &'a Pattern,
    model: Model,
    /// Drawn values of the inputs.
    inputs: Vec<Value>,
    variables: Vec<Option<ValueId>>,
    /// The outputs of the created nodes.
    outputs: Vec<Option<Vec<ValueId>>>,
    counts: Vec<usize>,
}

impl Builder<'_> {
    /// Returns the value of a term; `None` for an omitted part. A number takes the element type of its neighbour,
    /// `beside`.
    fn value(&mut self, id: TermId, beside: Option<DType>) -> Result<Option<ValueId>, String> {
        let pattern = self.pattern;
        let Some(term) = pattern.terms.get(id) else { return Err("the pattern is malformed".to_owned()) };
        match &term.kind {
            Kind::Any if term.optional => Ok(None),
            Kind::Any => Err("a value without a name cannot be tried: give `_` a name".to_owned()),
            Kind::Value(variable) => self.variable(*variable, term.optional, false),
            Kind::Constant(variable) => self.variable(*variable, term.optional, true),
            Kind::Number(number) => {
                let dtype = beside.unwrap_or(DType::F32);
                let made = Tensor::of_numbers(dtype, Vec::new(), vec![number.value]);
                let data = made.and_then(|tensor| tensor.to_lazy()).map_err(|fault| format!("{fault:?}"))?;
                Ok(Some(self.model.graph.add_initializer(None, data)))
            }
            Kind::Node(node) => {
                self.node(id, node)?;
                let outputs = self.outputs.get(id).and_then(Option::as_ref);
                Ok(outputs.and_then(|outputs| outputs.get(node.output as usize)).copied())
            }
            Kind::Output(of, index) => {
                self.value(*of, beside)?;
                Ok(self.made(*of).get(*index as usize).copied())
            }
            Kind::Either(terms) => match terms.first() {
                Some(first) => self.value(*first, beside),
                None => Err("the pattern is malformed".to_owned()),
            },
        }
    }

    /// The outputs of the node of a term.
    fn made(&self, id: TermId) -> Vec<ValueId> {
        match self.pattern.terms.get(id).map(|term| &term.kind) {
            Some(Kind::Output(of, _)) => self.made(*of),
            Some(Kind::Either(terms)) => terms.first().map(|first| self.made(*first)).unwrap_or_default(),
            _ => self.outputs.get(id).cloned().flatten().unwrap_or_default(),
        }
    }

    fn variable(&mut self, at: usize, optional: bool, constant: bool) -> Result<Option<ValueId>, String> {
        if let Some(known) = self.variables.get(at).copied().flatten() {
            return Ok(Some(known));
        }
        let name = self.pattern.values.get(at).map(String::as_str).unwrap_or_default();
        let Some((dtype, shape)) = self.trial.values.get(name) else {
            return if optional { Ok(None) } else { Err(format!("state the type and shape of `{name}`")) };
        };
        let drawn = self.random.tensor(*dtype, shape)?;
        let made = if constant {
            let data = drawn.to_lazy().map_err(|fault| format!("{fault:?}"))?;
            self.model.graph.add_weight(Some(name.into()), data)
        } else {
            self.inputs.push(Value::Tensor(drawn));
            let dims: Option<Vec<Dim>> =
                shape.iter().map(|extent| i64::try_from(*extent).ok().map(Dim::Const)).collect();
            let ty = Type::tensor(*dtype, Shape::of(dims.ok_or("a size is too large")?));
            let main = self.model.graph.main();
            self.model.graph.add_input(main, Some(name.into()), ty)
        };
        if let Some(place) = self.variables.get_mut(at) {
            *place = Some(made);
        }
        Ok(Some(made))
    }

    fn node(&mut self, id: TermId, node: &NodeTerm) -> Result<(), String> {
        if self.outputs.get(id).is_some_and(Option::is_some) {
            return Ok(());
        }
        if !node.domain.is_empty() {
            return Err(format!("`{}` of `{}` has no evaluator", node.op, node.domain));
        }
        let is_number =
            |id: &TermId| matches!(self.pattern.terms.get(*id).map(|term| &term.kind), Some(Kind::Number(_)));
        let numbers: Vec<bool> = node.operands.iter().map(is_number).collect();
        let mut inputs: Vec<Option<ValueId>> = Vec::with_capacity(node.operands.len());
        // Numbers take the element type of their neighbours, which are created first.
        for (operand, number) in node.operands.iter().zip(&numbers) {
            inputs.push(if *number { None } else { self.value(*operand, None)? });
        }
        let beside = inputs.iter().flatten().find_map(|value| self.model.graph.values[*value].ty.dtype());
        for ((operand, number), input) in node.operands.iter().zip(&numbers).zip(&mut inputs) {
            if *number {
                *input = self.value(*operand, beside)?;
            }
        }
        let attributes = node.attributes.iter().filter_map(|attribute| {
            let value = match &attribute.wants {
                AttributeWants::Capture(at) => {
                    self.trial.attributes.get(self.pattern.captures.get(*at)?)?.clone()
                }
                AttributeWants::Int(n) => Attr::Int(*n),
                AttributeWants::Float(number) => Attr::Float(number.value as f32),
                AttributeWants::Str(text) => Attr::Str(text.clone()),
                AttributeWants::Ints(ints) => Attr::Ints(ints.clone()),
                AttributeWants::Floats(floats) => Attr::Floats(floats.clone()),
            };
            Some(Attribute { name: attribute.name.as_str().into(), value })
        });
        let attributes: Vec<Attribute> = attributes.collect();
        let op = node.class.map_or(node.op.as_str(), |class| class.example(node.operands.len()));
        let fewest = opset::lookup(op, self.trial.opset).map(|schema| usize::from(schema.min_outputs));
        let Some(fewest) = fewest else {
            return Err(format!("ONNX has no operator `{op}` at opset {}", self.trial.opset));
        };
        let count = self.counts.get(id).copied().unwrap_or(1).max(fewest);
        let main = self.model.graph.main();
        let made = self.model.graph.append(main, "", op, inputs, attributes, count, None);
        infer::infer(&mut self.model.graph, &mut self.model.symbols, self.trial.opset, made);
        let outputs = self.model.graph.nodes[made].outputs.iter().copied().flatten().collect();
        if let Some(place) = self.outputs.get_mut(id) {
            *place = Some(outputs);
        }
        Ok(())
    }
}
