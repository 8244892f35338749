//! Local functions: a plugin states the body of one while it lowers a call.
//!
//! A body is emitted for every call of the function, on inputs typed as the values that the call passes, so
//! that the types of the call's results are inferred for any types. It is stored once, without types. A
//! different body of the same name is refused.
//!
//! While a body is stated, its graph is the driver's. Outside values do not exist inside it: see
//! [`Told`](super::frame::Told).

use rustc_hash::FxHashSet;

use super::dims::DimValues;
use super::driver::{Constants, Driver};
use crate::diagnose::{Code, Diagnostic};
use crate::ir::{self, Attr, Attribute, BlockId, Function, Graph, OpsetImport, Type, ValueId};
use crate::op;
use crate::tidy;

/// A body that is being stated, and the enclosing state.
pub(super) struct Open {
    domain: String,
    name: String,
    version: i64,
    /// The arguments of the call: values and attributes.
    inputs: Vec<ValueId>,
    attributes: Vec<Attribute>,
    /// The surroundings, to go on with.
    graph: Graph,
    block: BlockId,
    dims: DimValues,
    constants: Constants,
}

impl Driver<'_> {
    /// Begins the body of a function and returns its inputs.
    pub(super) fn begin_function(
        &mut self,
        (domain, name, version): (&str, &str, i64),
        inputs: Vec<ValueId>,
        mut attributes: Vec<Attribute>,
    ) -> Option<Vec<ValueId>> {
        attributes.sort_by(|a, b| a.name.cmp(&b.name));
        let twice = attributes.iter().zip(attributes.iter().skip(1)).any(|(a, b)| a.name == b.name);
        let plain = attributes.iter().all(|a| !matches!(a.value, Attr::Block(_) | Attr::Ref(..)));
        let itself = self.functions.iter().any(|f| f.domain == domain && f.name == name);
        if domain.is_empty() || name.is_empty() || twice || !plain || itself {
            return None;
        }
        let mut body = Graph::default();
        let main = body.main();
        let mut dims = DimValues::default();
        let mut formal = Vec::with_capacity(inputs.len());
        for input in &inputs {
            let ty = self.model.graph.values[*input].ty.clone();
            let value = body.add_input(main, None, ty.clone());
            for (axis, dim) in ty.shape().and_then(ir::Shape::dims).unwrap_or_default().iter().enumerate() {
                if let Some(dim) = dim {
                    dims.offer_axis(&self.model.symbols, main, *dim, value, axis);
                }
            }
            formal.push(value);
        }
        self.functions.push(Open {
            domain: domain.to_owned(),
            name: name.to_owned(),
            version: version.max(1),
            inputs,
            attributes,
            graph: std::mem::replace(&mut self.model.graph, body),
            block: std::mem::replace(&mut self.block, main),
            dims: std::mem::replace(&mut self.dims, dims),
            constants: std::mem::take(&mut self.constants),
        });
        Some(formal)
    }

    /// Ends the body with these outputs and calls the function at the point where it began. `Ok(None)` if
    /// no body is open, or a block inside it is.
    ///
    /// # Errors
    /// If the model has another function of this name.
    pub(super) fn end_function(&mut self, outputs: Vec<ValueId>) -> Result<Option<Vec<ValueId>>, Diagnostic> {
        if self.block != self.model.graph.main() {
            return Ok(None);
        }
        let Some((open, mut body)) = self.leave() else { return Ok(None) };
        let types: Vec<Type> = outputs.iter().map(|v| body.values[*v].ty.clone()).collect();
        let main = body.main();
        body.set_outputs(main, outputs);
        let Open { domain, name, version, inputs, attributes, .. } = open;
        let function = Function {
            domain: domain.clone(),
            name: name.clone(),
            attributes: attributes.iter().map(|a| a.name.to_string()).collect(),
            graph: generic(body),
            ..Function::default()
        };
        match self.model.functions.iter().find(|f| f.domain == domain && f.name == name) {
            Some(known) if known.same(&function) => {}
            Some(_) => {
                let message = format!("the function `{domain}::{name}` was defined with another body before");
                let help =
                    "the body may depend only on inputs and attributes of the function, or on its name";
                return Err(Diagnostic::error(Code::LOWER_FUNCTION, message).help(help));
            }
            None => self.model.functions.push(function),
        }
        self.import(&domain, version);
        let inputs = inputs.into_iter().map(Some);
        let graph = &mut self.model.graph;
        let call = graph.append(self.block, &domain, &name, inputs, attributes, types.len(), self.origin);
        let results: Vec<ValueId> = graph.nodes[call].outputs.iter().copied().flatten().collect();
        for (value, ty) in results.iter().zip(types) {
            graph.values[*value].ty = ty;
        }
        Ok(Some(results))
    }

    /// Leaves all open bodies, after a plugin failed inside one.
    pub(super) fn leave_functions(&mut self) {
        while self.leave().is_some() {}
    }

    /// Returns to the enclosing state of the current body, and returns both.
    fn leave(&mut self) -> Option<(Open, Graph)> {
        let mut open = self.functions.pop()?;
        let body = std::mem::replace(&mut self.model.graph, std::mem::take(&mut open.graph));
        self.block = open.block;
        self.dims = std::mem::take(&mut open.dims);
        self.constants = std::mem::take(&mut open.constants);
        Some((open, body))
    }

    /// Returns the value of the function's attribute `name` in the current call.
    pub(super) fn given(&self, name: &str) -> Option<&Attr> {
        self.functions.last()?.attributes.iter().find(|a| a.name == name).map(|a| &a.value)
    }

    /// Records that the model uses operators of `domain`.
    pub(super) fn import(&mut self, domain: &str, version: i64) {
        if !domain.is_empty() && !self.model.opsets.iter().any(|o| o.domain == domain) {
            self.model.opsets.push(OpsetImport { domain: domain.to_owned(), version: version.max(1) });
        }
    }
}

/// Returns the body without the properties of one call: types, names and origins.
fn generic(mut body: Graph) -> Graph {
    tidy::tidy(&mut body);
    let mut stored: FxHashSet<ValueId> = body.initializers.iter().map(|i| i.value).collect();
    // A count and a condition have the same type in every call, and ONNX Runtime needs them.
    let loops = body.nodes.ids().map(|node| &body.nodes[node]).filter(|node| node.is(op::Loop));
    stored.extend(
        loops.flat_map(ir::Node::blocks).flat_map(|block| body.blocks[block].inputs.iter().take(2).copied()),
    );
    let values: Vec<ValueId> = body.values.ids().collect();
    for value in values {
        let info = &mut body.values[value];
        info.name = None;
        if !stored.contains(&value) {
            info.ty = Type::Unknown;
        }
    }
    let nodes: Vec<ir::NodeId> = body.nodes.ids().collect();
    for node in nodes {
        body.nodes[node].origin = None;
    }
    body.forget_contents();
    body
}
