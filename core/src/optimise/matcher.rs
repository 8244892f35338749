//! The matcher: whether a pattern fits at a node, and if not, why.
//!
//! The open part of a pattern is a list of goals. A goal that can be met in several ways (alternatives,
//! operands in either order, further roots) tries each of them followed by the rest of the list, and undoes
//! its bindings on failure. The first way that meets all goals wins.

mod roots;
mod said;

use super::mismatch::{Mismatch, Why};
use super::numbers::is_throughout;
use crate::ir::opset;
use crate::ir::{Attr, Def, Graph, NodeId, ValueId};
use crate::rules::pattern::{Kind, NodeTerm, Pattern, TermId};
use crate::sym::Dim;
use said::same;

/// The limit on goals that are tried at one node.
const MAX_STEPS: usize = 10_000;

/// A match of a pattern.
#[derive(Clone, Debug)]
pub(super) struct Match {
    /// The node of each term; `None` for other terms, and for omitted parts.
    pub(super) nodes: Vec<Option<NodeId>>,
    /// The nodes whose outputs the patch replaces.
    pub(super) roots: Vec<NodeId>,
    /// The root before which the patch is inserted.
    pub(super) place: NodeId,
    /// The value of each variable; `None` for an omitted part.
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
    /// The further root of this number is somewhere near.
    Root(usize),
    /// No other node reads the removed values, and there is a position for the patch.
    Finish,
}

/// A list of goals: one, and the rest.
type Goals = usize;

/// A binding on the trail.
enum Bound {
    Node(TermId),
    Choice(TermId),
    Value(usize),
    Dim(usize),
    Capture(usize),
}

/// The binding of a variable: unbound, bound, or omitted.
type Variable<T> = Option<Option<T>>;

struct Search<'a> {
    pattern: &'a Pattern,
    graph: &'a Graph,
    opset: i64,
    first: NodeId,
    goals: Vec<(Goal, Option<Goals>)>,
    steps: usize,
    /// The number of goals that were met.
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

    /// Meets all of `goals`, or undoes every binding.
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

    /// Tries each of `ways`, followed by its rest.
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

    /// The term, through alternatives, is the node `node`.
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
        if !wanted.fits(graph, node) || self.nodes.contains(&Some(id)) {
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

    /// Returns the goals for the inputs of a node, followed by `rest`.
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
                // The bytes of weights must not affect the structure of a graph.
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
            && wanted.fits(self.graph, &self.graph.nodes[maker])
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

/// The step after a goal.
enum Next {
    /// These goals remain.
    Go(Option<Goals>),
    /// All goals were met, including later ones.
    Met,
    /// No way of several worked; the reason was recorded there.
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
