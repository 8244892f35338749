//! The matcher: whether a pattern fits at a node, and if not, why.
//!
//! What is left to fit is a list of goals. A goal that can be met in several ways (alternatives, operands in
//! either order, further roots) tries them one after the other with the rest of the list behind; what was
//! bound on the way is taken back. The first way that meets all goals counts.

use std::cmp::Ordering;

use super::mismatch::{Mismatch, Why};
use super::numbers::is_throughout;
use crate::ir::opset::{self, OpSchema};
use crate::ir::{Attr, BlockId, Def, Graph, NodeId, Shape, ValueId};
use crate::rules::pattern::{Attribute, AttributeWants, DimTerm, Kind, NodeTerm, Pattern, TermId};
use crate::sym::Dim;

/// At one place so many goals are tried at most.
const MAX_STEPS: usize = 10_000;
/// A further root is looked for among the readers of a value when it has at most so many.
const MAX_READERS: usize = 64;

/// A place where a pattern fits.
#[derive(Clone, Debug)]
pub(super) struct Match {
    /// One per term: its node. `None` for other terms, and what is left out.
    pub(super) nodes: Vec<Option<NodeId>>,
    /// The nodes whose outputs the patch replaces.
    pub(super) roots: Vec<NodeId>,
    /// The root in front of which the patch goes.
    pub(super) place: NodeId,
    /// One per variable; `None` where an optional part is left out.
    pub(super) values: Vec<Option<ValueId>>,
    pub(super) dims: Vec<Option<Dim>>,
    pub(super) captures: Vec<Option<Attr>>,
}

/// Finds out whether `pattern` fits with its first root at `root`.
pub(super) fn find(pattern: &Pattern, graph: &Graph, opset: i64, root: NodeId) -> Result<Match, Mismatch> {
    let mut search = Search {
        pattern,
        graph,
        opset,
        first: root,
        goals: Vec::new(),
        steps: 0,
        depth: 0,
        best: None,
        trail: Vec::new(),
        nodes: vec![None; pattern.terms.len()],
        chosen: vec![None; pattern.terms.len()],
        values: vec![None; pattern.values.len()],
        dims: vec![None; pattern.dims.len()],
        captures: vec![None; pattern.captures.len()],
        place: root,
    };
    let first = pattern.roots.first().copied().unwrap_or_default();
    let mut goals = search.push(Goal::Finish, None);
    for root in (1..pattern.roots.len()).rev() {
        goals = search.push(Goal::Root(root), Some(goals));
    }
    goals = search.push(Goal::Anchor(first), Some(goals));
    if search.meet(Some(goals)) {
        return Ok(search.finish());
    }
    let unfit = Mismatch { depth: 0, why: Why::Operator(first, Some(root)) };
    Err(search.best.unwrap_or(unfit))
}

#[derive(Clone, Copy)]
enum Goal {
    /// The term, a root, is the node where matching began.
    Anchor(TermId),
    /// The term is the node.
    Is(TermId, NodeId),
    /// The term is this input of the node of another term.
    Input { term: TermId, of: TermId, position: usize, value: Option<ValueId> },
    /// The further root of this number lies somewhere near.
    Root(usize),
    /// Nothing reads what goes, and there is a place for the patch.
    Finish,
}

/// A list of goals: one, and the rest.
type Goals = usize;

/// What was bound, in order.
enum Bound {
    Node(TermId),
    Choice(TermId),
    Value(usize),
    Dim(usize),
    Capture(usize),
}

/// What a variable stands for: nothing yet, this, or something that is left out.
type Variable<T> = Option<Option<T>>;

struct Search<'a> {
    pattern: &'a Pattern,
    graph: &'a Graph,
    opset: i64,
    first: NodeId,
    goals: Vec<(Goal, Option<Goals>)>,
    steps: usize,
    /// How much fitted.
    depth: usize,
    best: Option<Mismatch>,
    trail: Vec<Bound>,
    nodes: Vec<Option<NodeId>>,
    /// The values of alternatives.
    chosen: Vec<Option<ValueId>>,
    values: Vec<Variable<ValueId>>,
    dims: Vec<Option<Dim>>,
    captures: Vec<Variable<Attr>>,
    place: NodeId,
}

impl<'a> Search<'a> {
    fn push(&mut self, goal: Goal, rest: Option<Goals>) -> Goals {
        self.goals.push((goal, rest));
        self.goals.len() - 1
    }

    /// Meets all of `goals`, or leaves everything as it was.
    fn meet(&mut self, mut goals: Option<Goals>) -> bool {
        let (mark, depth) = (self.trail.len(), self.depth);
        while let Some((goal, rest)) = goals.and_then(|at| self.goals.get(at)).copied() {
            self.steps += 1;
            let met = if self.steps > MAX_STEPS { Err(Why::TooMany) } else { self.step(goal, rest) };
            match met {
                Ok(Next::Go(next)) => goals = next,
                Ok(Next::Met) => return true,
                Err(why) => {
                    if self.best.as_ref().is_none_or(|best| best.depth < self.depth) {
                        self.best = Some(Mismatch { depth: self.depth, why });
                    }
                    return self.back(mark, depth);
                }
                Ok(Next::Unmet) => return self.back(mark, depth),
            }
        }
        true
    }

    fn back(&mut self, mark: usize, depth: usize) -> bool {
        for bound in self.trail.drain(mark..) {
            match bound {
                Bound::Node(term) => clear(&mut self.nodes, term),
                Bound::Choice(term) => clear(&mut self.chosen, term),
                Bound::Value(variable) => clear(&mut self.values, variable),
                Bound::Dim(variable) => clear(&mut self.dims, variable),
                Bound::Capture(variable) => clear(&mut self.captures, variable),
            }
        }
        self.depth = depth;
        false
    }

    /// Tries each of `ways`, with what follows.
    fn any(&mut self, ways: Vec<Goals>) -> Next {
        if ways.into_iter().any(|way| self.meet(Some(way))) { Next::Met } else { Next::Unmet }
    }

    fn step(&mut self, goal: Goal, rest: Option<Goals>) -> Result<Next, Why> {
        match goal {
            Goal::Anchor(term) => self.root(term, self.first, rest),
            Goal::Is(term, node) => self.node(term, node, rest),
            Goal::Input { term, of, position, value } => self.input(term, of, position, value, rest),
            Goal::Root(number) => self.further_root(number, rest),
            Goal::Finish => {
                self.interior()?;
                self.place = self.find_place()?;
                Ok(Next::Go(rest))
            }
        }
    }

    /// The term makes what `node` makes, through alternatives.
    fn root(&mut self, term: TermId, node: NodeId, rest: Option<Goals>) -> Result<Next, Why> {
        match self.pattern.terms.get(term).map(|term| &term.kind) {
            Some(Kind::Either(terms)) => {
                let mut ways = Vec::new();
                for option in terms {
                    ways.push(self.root_way(*option, node, rest));
                }
                Ok(self.any(ways))
            }
            Some(Kind::Output(of, _)) => self.root(*of, node, rest),
            _ => self.node(term, node, rest),
        }
    }

    fn root_way(&mut self, term: TermId, node: NodeId, rest: Option<Goals>) -> Goals {
        self.push(Goal::Is(term, node), rest)
    }

    fn node(&mut self, term: TermId, id: NodeId, rest: Option<Goals>) -> Result<Next, Why> {
        let (pattern, graph) = (self.pattern, self.graph);
        let node = &graph.nodes[id];
        let Some(Kind::Node(wanted)) = pattern.terms.get(term).map(|term| &term.kind) else {
            return match pattern.terms.get(term).map(|term| &term.kind) {
                Some(Kind::Either(_) | Kind::Output(..)) => self.root(term, id, rest),
                _ => Err(Why::Operator(term, Some(id))),
            };
        };
        if let Some(known) = self.nodes.get(term).copied().flatten() {
            return if known == id { Ok(Next::Go(rest)) } else { Err(Why::Operator(term, Some(id))) };
        }
        // Two terms are two nodes.
        if wanted.op != node.op || wanted.domain != node.domain || self.nodes.contains(&Some(id)) {
            return Err(Why::Operator(term, Some(id)));
        }
        self.depth += 1;
        bind(&mut self.nodes, &mut self.trail, term, id, Bound::Node);
        if let Some(value) = node.outputs.get(wanted.output as usize).copied().flatten() {
            self.shape(term, value)?;
        }
        let schema =
            opset::lookup(&node.op, self.opset).filter(|_| pattern.defaults && node.domain.is_empty());
        for attribute in &wanted.attributes {
            self.attribute(term, attribute, node.attr(&attribute.name), schema)?;
        }
        if !wanted.open {
            let stated = |name: &str| wanted.attributes.iter().any(|a| a.name == name);
            let default = |name: &str| schema.and_then(|schema| schema.default_of(name)).map(Attr::from);
            let further = node.attributes.iter().find(|a| {
                !stated(&a.name) && !default(&a.name).is_some_and(|default| same(&default, &a.value))
            });
            if let Some(further) = further {
                return Err(Why::FurtherAttribute(term, further.name.to_string()));
            }
            if node.inputs.iter().skip(wanted.operands.len()).any(Option::is_some) {
                return Err(Why::FurtherInputs(term));
            }
        }
        let straight = self.inputs(term, wanted, id, false, rest);
        if !wanted.commutative || node.inputs.first() == node.inputs.get(1) {
            return Ok(Next::Go(straight));
        }
        let swapped = self.inputs(term, wanted, id, true, rest);
        Ok(self.any(straight.into_iter().chain(swapped).collect()))
    }

    /// The goals that the inputs of a node are, in front of `rest`.
    fn inputs(
        &mut self,
        of: TermId,
        wanted: &NodeTerm,
        id: NodeId,
        swap: bool,
        mut rest: Option<Goals>,
    ) -> Option<Goals> {
        for (place, term) in wanted.operands.iter().enumerate().rev() {
            let position = if swap && place < 2 { 1 - place } else { place };
            let value = self.graph.nodes[id].inputs.get(position).copied().flatten();
            rest = Some(self.push(Goal::Input { term: *term, of, position, value }, rest));
        }
        rest
    }

    fn input(
        &mut self,
        id: TermId,
        of: TermId,
        position: usize,
        value: Option<ValueId>,
        rest: Option<Goals>,
    ) -> Result<Next, Why> {
        let pattern = self.pattern;
        let Some(term) = pattern.terms.get(id) else { return Err(Why::MissingInput(of, position)) };
        let Some(value) = value else {
            if !term.optional {
                return Err(Why::MissingInput(of, position));
            }
            if let Kind::Value(variable) | Kind::Constant(variable) = term.kind {
                self.variable(variable, None)?;
            }
            self.depth += 1;
            return Ok(Next::Go(rest));
        };
        if !matches!(term.kind, Kind::Node(_)) {
            self.shape(id, value)?;
        }
        match &term.kind {
            Kind::Any => {}
            Kind::Value(variable) => self.variable(*variable, Some(value))?,
            Kind::Constant(variable) => {
                if self.graph.initializer(value).is_none() {
                    return Err(Why::NotConstant(of, position));
                }
                self.variable(*variable, Some(value))?;
            }
            Kind::Number(number) => {
                // The bytes of weights do not decide what a graph looks like.
                let data = self.graph.initializer(value).filter(|_| !self.graph.is_weight(value));
                if !data.is_some_and(|data| is_throughout(data, *number)) {
                    return Err(Why::NotNumber(of, position, number.value));
                }
            }
            Kind::Node(wanted) => return self.made(id, value, wanted.output, rest),
            Kind::Output(node, output) => return self.made(*node, value, *output, rest),
            Kind::Either(terms) => {
                if let Some(known) = self.chosen.get(id).copied().flatten() {
                    return if known == value { Ok(Next::Go(rest)) } else { Err(Why::Operator(id, None)) };
                }
                bind(&mut self.chosen, &mut self.trail, id, value, Bound::Choice);
                let mut ways = Vec::new();
                for term in terms {
                    let goal = Goal::Input { term: *term, of, position, value: Some(value) };
                    ways.push(self.push(goal, rest));
                }
                return Ok(self.any(ways));
            }
        }
        self.depth += 1;
        Ok(Next::Go(rest))
    }

    /// `value` is the output `output` of the node of `term`.
    fn made(&mut self, term: TermId, value: ValueId, output: u32, rest: Option<Goals>) -> Result<Next, Why> {
        let Def::Node(maker, found) = self.graph.values[value].def else {
            return Err(Why::Operator(term, None));
        };
        let next = Some(self.push(Goal::Is(term, maker), rest));
        let named = self.pattern.terms.get(term).map(|term| &term.kind);
        // The operator is the better reason.
        if let Some(Kind::Node(wanted)) = named
            && wanted.op == self.graph.nodes[maker].op
            && found != output
        {
            return Err(Why::Output(term));
        }
        if found != output && !matches!(named, Some(Kind::Node(_))) {
            return Err(Why::Output(term));
        }
        Ok(Next::Go(next))
    }

    fn variable(&mut self, variable: usize, value: Option<ValueId>) -> Result<(), Why> {
        match self.values.get(variable).copied().flatten() {
            Some(bound) if bound == value => Ok(()),
            Some(_) => Err(Why::Variable(variable)),
            None => {
                bind(&mut self.values, &mut self.trail, variable, value, Bound::Value);
                Ok(())
            }
        }
    }

    fn attribute(
        &mut self,
        term: TermId,
        wanted: &Attribute,
        found: Option<&Attr>,
        schema: Option<&OpSchema>,
    ) -> Result<(), Why> {
        let no = || Err(Why::Attribute(term, wanted.name.clone()));
        let default = || schema.and_then(|schema| schema.default_of(&wanted.name)).map(Attr::from);
        let found = found.cloned().or_else(default);
        let fits = match (&wanted.wants, found) {
            (_, None) if !wanted.optional => false,
            (AttributeWants::Capture(variable), found) => match self.captures.get(*variable) {
                Some(Some(bound)) => match (bound, &found) {
                    (None, None) => true,
                    (Some(a), Some(b)) => same(a, b),
                    _ => false,
                },
                _ => {
                    bind(&mut self.captures, &mut self.trail, *variable, found, Bound::Capture);
                    true
                }
            },
            (_, None) => true,
            (AttributeWants::Int(a), Some(Attr::Int(b))) => *a == b,
            (AttributeWants::Float(a), Some(Attr::Float(b))) => a.is(f64::from(b), single),
            // `1` in a text is a float as well as an integer.
            (AttributeWants::Int(a), Some(Attr::Float(b))) => *a as f64 == f64::from(b),
            (AttributeWants::Str(a), Some(Attr::Str(b))) => *a == b,
            (AttributeWants::Ints(a), Some(Attr::Ints(b))) => *a == b,
            (AttributeWants::Floats(a), Some(Attr::Floats(b))) => *a == b,
            _ => false,
        };
        if fits { Ok(()) } else { no() }
    }

    /// `value` has the shape that the term states.
    fn shape(&mut self, term: TermId, value: ValueId) -> Result<(), Why> {
        let pattern = self.pattern;
        let Some(wanted) = pattern.terms.get(term).and_then(|term| term.shape.as_deref()) else {
            return Ok(());
        };
        let graph = self.graph;
        let no = Err(Why::Shape(term, value));
        let Some(found) = graph.values[value].ty.shape().and_then(Shape::dims) else { return no };
        let rest = wanted.iter().position(|dim| *dim == DimTerm::Rest);
        let head = rest.unwrap_or(wanted.len());
        let tail = rest.map_or(0, |rest| wanted.len() - rest - 1);
        match (found.len().cmp(&(head + tail)), rest) {
            (Ordering::Equal, _) | (Ordering::Greater, Some(_)) => {}
            _ => return no,
        }
        let front = wanted.iter().zip(found).take(head);
        let back = wanted.iter().rev().zip(found.iter().rev()).take(tail);
        for (dim, found) in front.chain(back) {
            match (dim, found) {
                (DimTerm::Any | DimTerm::Rest, _) => {}
                (DimTerm::Number(a), Some(Dim::Const(b))) if a == b => {}
                (DimTerm::Variable(variable), Some(found)) => {
                    match self.dims.get(*variable).copied().flatten() {
                        Some(bound) if bound == *found => {}
                        Some(_) => return Err(Why::Dim(*variable)),
                        None => bind(&mut self.dims, &mut self.trail, *variable, *found, Bound::Dim),
                    }
                }
                _ => return no,
            }
        }
        Ok(())
    }

    /// A further root: a node of the match that is let out, or one that reads what is bound.
    fn further_root(&mut self, number: usize, rest: Option<Goals>) -> Result<Next, Why> {
        let Some(term) = self.pattern.roots.get(number).copied() else { return Ok(Next::Go(rest)) };
        if self.node_of(term).is_some() {
            return Ok(Next::Go(rest));
        }
        let block = self.graph.nodes[self.first].block;
        let mut found = self.above(term);
        found.retain(|node| self.graph.nodes[*node].block == block && !self.nodes.contains(&Some(*node)));
        found.sort_by(|a, b| if self.graph.is_before(*a, *b) { Ordering::Less } else { Ordering::Greater });
        found.dedup();
        if found.is_empty() {
            return Err(Why::NoRoot(term));
        }
        let ways = found.into_iter().map(|node| self.push(Goal::Is(term, node), rest)).collect();
        Ok(self.any(ways))
    }

    /// The nodes that could stand for `term`, judged by one thing below it that is bound.
    fn above(&self, term: TermId) -> Vec<NodeId> {
        let readers = |value: ValueId| -> Vec<NodeId> {
            let uses = self.graph.values[value].uses();
            if uses.len() > MAX_READERS { Vec::new() } else { uses.iter().map(|place| place.node).collect() }
        };
        let Some(Kind::Node(node)) = self.pattern.terms.get(term).map(|term| &term.kind) else {
            return Vec::new();
        };
        for operand in &node.operands {
            if let Some(value) = self.value_of(*operand) {
                return readers(value);
            }
            let below = self.above(*operand);
            if !below.is_empty() {
                let outputs = below.iter().flat_map(|node| self.graph.nodes[*node].outputs.iter().flatten());
                return outputs.flat_map(|value| readers(*value)).collect();
            }
        }
        Vec::new()
    }

    /// The value that a term is bound to, but for constants and numbers, which say little.
    fn value_of(&self, term: TermId) -> Option<ValueId> {
        match self.pattern.terms.get(term).map(|term| &term.kind)? {
            Kind::Value(variable) => self.values.get(*variable).copied().flatten().flatten(),
            Kind::Node(node) => {
                let id = self.nodes.get(term).copied().flatten()?;
                self.graph.nodes[id].outputs.get(node.output as usize).copied().flatten()
            }
            Kind::Output(of, output) => {
                let id = self.node_of(*of)?;
                self.graph.nodes[id].outputs.get(*output as usize).copied().flatten()
            }
            Kind::Either(_) => self.chosen.get(term).copied().flatten(),
            _ => None,
        }
    }

    /// The node that a term is bound to, through alternatives.
    fn node_of(&self, term: TermId) -> Option<NodeId> {
        match self.pattern.terms.get(term).map(|term| &term.kind)? {
            Kind::Node(_) => self.nodes.get(term).copied().flatten(),
            Kind::Output(of, _) => self.node_of(*of),
            Kind::Either(terms) => terms.iter().find_map(|term| self.node_of(*term)),
            _ => None,
        }
    }

    fn roots(&self) -> Vec<NodeId> {
        self.pattern.roots.iter().filter_map(|term| self.node_of(*term)).collect()
    }

    /// Nothing outside of the match reads what lies inside of it.
    fn interior(&mut self) -> Result<(), Why> {
        let (pattern, graph) = (self.pattern, self.graph);
        let roots = self.roots();
        for (term, id) in self.nodes.iter().enumerate() {
            let Some(id) = id.filter(|id| !roots.contains(id)) else { continue };
            match pattern.terms.get(term).map(|term| &term.kind) {
                Some(Kind::Node(node)) if !node.shared => {}
                _ => continue,
            }
            let node = &graph.nodes[id];
            if node.block != graph.nodes[self.first].block {
                return Err(Why::OtherBlock(term));
            }
            for value in node.outputs.iter().flatten() {
                let mut uses = graph.values[*value].uses().iter();
                if graph.is_returned(*value) || uses.any(|u| !self.nodes.contains(&Some(u.node))) {
                    return Err(Why::Used(term, *value));
                }
            }
            self.depth += 1;
        }
        Ok(())
    }

    /// The root in front of which the patch sees all it may read, and all who read its results see it.
    fn find_place(&self) -> Result<NodeId, Why> {
        let graph = self.graph;
        let mut roots = self.roots();
        if roots.len() < 2 {
            return Ok(self.first);
        }
        let block = graph.nodes[self.first].block;
        if roots.iter().any(|root| graph.nodes[*root].block != block) {
            return Err(Why::NoPlace);
        }
        roots.sort_by(|a, b| if graph.is_before(*a, *b) { Ordering::Less } else { Ordering::Greater });
        let (Some(first), Some(last)) = (roots.first().copied(), roots.last().copied()) else {
            return Err(Why::NoPlace);
        };
        if self.values.iter().copied().flatten().flatten().all(|value| graph.sees(first, value)) {
            return Ok(first);
        }
        let late = |value: &ValueId| {
            let uses = graph.values[*value].uses().iter();
            uses.filter(|place| !self.nodes.contains(&Some(place.node)))
                .all(|place| lift(graph, place.node, block).is_some_and(|node| graph.is_before(last, node)))
        };
        let made = roots.iter().flat_map(|root| graph.nodes[*root].outputs.iter().flatten());
        if made.into_iter().all(late) { Ok(last) } else { Err(Why::NoPlace) }
    }

    fn finish(self) -> Match {
        Match {
            roots: self.roots(),
            nodes: self.nodes,
            place: self.place,
            values: self.values.into_iter().map(Option::flatten).collect(),
            dims: self.dims,
            captures: self.captures.into_iter().map(Option::flatten).collect(),
        }
    }
}

/// What follows a goal.
enum Next {
    /// These goals are left.
    Go(Option<Goals>),
    /// All goals were met, those behind included.
    Met,
    /// No way of several worked; why was said there.
    Unmet,
}

fn bind<T>(
    table: &mut [Option<T>],
    trail: &mut Vec<Bound>,
    at: usize,
    to: T,
    bound: impl FnOnce(usize) -> Bound,
) {
    if let Some(place) = table.get_mut(at) {
        *place = Some(to);
        trail.push(bound(at));
    }
}

fn clear<T>(table: &mut [Option<T>], at: usize) {
    if let Some(place) = table.get_mut(at) {
        *place = None;
    }
}

/// The node of `block` that is `node` or has it in a body.
fn lift(graph: &Graph, mut node: NodeId, block: Option<BlockId>) -> Option<NodeId> {
    while graph.nodes[node].block != block {
        node = graph.holder(graph.nodes[node].block?)?;
    }
    Some(node)
}

/// What `number` is in float32.
fn single(number: f64) -> f64 {
    f64::from(number as f32)
}

/// Whether two attributes say the same.
fn same(a: &Attr, b: &Attr) -> bool {
    match (a, b) {
        (Attr::Int(a), Attr::Int(b)) => a == b,
        (Attr::Float(a), Attr::Float(b)) => a == b,
        (Attr::Str(a), Attr::Str(b)) | (Attr::Ref(a, _), Attr::Ref(b, _)) => a == b,
        (Attr::Ints(a), Attr::Ints(b)) => a == b,
        (Attr::Floats(a), Attr::Floats(b)) => a == b,
        (Attr::Strs(a), Attr::Strs(b)) => a == b,
        (Attr::Tensor(a), Attr::Tensor(b)) => a.same_bytes(b),
        _ => false,
    }
}
