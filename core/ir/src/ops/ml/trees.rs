//! Ensembles of decision trees.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use std::collections::HashMap;

use super::scores::Transform;
use super::{Classes, Rows, best, infer, numbers, op, scored};
use crate::ops::call::{Call, one};
use crate::ops::error::invalid;
use crate::ops::{Op, Res, Tensor, Value};

pub(in crate::ops) const OPS: &[Op] = &[
    op("TreeEnsemble")
        .dtypes(infer::first)
        .infer(|cx| infer::targets(cx, cx.node.int("n_targets")))
        .eval(ensemble),
    op("TreeEnsembleClassifier").dtypes(infer::classes).infer(infer::classified).eval(classifier),
    op("TreeEnsembleRegressor")
        .dtypes(infer::floats)
        .infer(|cx| infer::targets(cx, cx.node.int("n_targets")))
        .eval(regressor),
];

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    AtMost,
    Below,
    AtLeast,
    Above,
    Equal,
    Other,
    Member,
}

const MODES: [(&str, Mode); 7] = [
    ("BRANCH_LEQ", Mode::AtMost),
    ("BRANCH_LT", Mode::Below),
    ("BRANCH_GTE", Mode::AtLeast),
    ("BRANCH_GT", Mode::Above),
    ("BRANCH_EQ", Mode::Equal),
    ("BRANCH_NEQ", Mode::Other),
    ("BRANCH_MEMBER", Mode::Member),
];

/// Where a branch leads.
#[derive(Clone, Copy)]
enum Next {
    Branch(usize),
    Leaf(usize),
}

struct Branch {
    feature: usize,
    mode: Mode,
    split: f64,
    members: Vec<f64>,
    /// Whether a feature that is missing, which is NaN, takes the first way.
    missing: bool,
    yes: Next,
    no: Next,
}

impl Branch {
    fn takes(&self, x: f64) -> bool {
        let holds = match self.mode {
            Mode::AtMost => x <= self.split,
            Mode::Below => x < self.split,
            Mode::AtLeast => x >= self.split,
            Mode::Above => x > self.split,
            Mode::Equal => x == self.split,
            Mode::Other => x != self.split,
            Mode::Member => self.members.contains(&x),
        };
        holds || self.missing && x.is_nan()
    }
}

/// The votes of a leaf: targets and weights.
type Votes = Vec<(usize, f64)>;

#[derive(Default)]
struct Forest {
    branches: Vec<Branch>,
    leaves: Vec<Votes>,
    roots: Vec<Next>,
}

/// How the votes of several trees become one number.
#[derive(Clone, Copy, PartialEq)]
enum Aggregate {
    Average,
    Sum,
    Min,
    Max,
}

impl Aggregate {
    fn join(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Average | Self::Sum => a + b,
            Self::Min => a.min(b),
            Self::Max => a.max(b),
        }
    }
}

impl Forest {
    /// The leaf that a row reaches.
    fn leaf(&self, c: &Call<'_>, root: Next, row: &[f64]) -> Res<&Votes> {
        let mut at = root;
        // More steps than there are branches go round in a circle.
        for _ in 0..=self.branches.len() {
            match at {
                Next::Leaf(leaf) => match self.leaves.get(leaf) {
                    Some(votes) => return Ok(votes),
                    None => return invalid!("leaf {leaf} does not exist"),
                },
                Next::Branch(number) => {
                    c.spend(1)?;
                    let Some(branch) = self.branches.get(number) else {
                        return invalid!("node {number} does not exist");
                    };
                    let Some(x) = row.get(branch.feature) else {
                        return invalid!(
                            "feature {} is out of range for {} features",
                            branch.feature,
                            row.len()
                        );
                    };
                    at = if branch.takes(*x) { branch.yes } else { branch.no };
                }
            }
        }
        invalid!("the nodes of a tree lead back to each other")
    }

    /// The votes of the trees for one row: a number for each target that a leaf votes for.
    fn votes(&self, c: &Call<'_>, row: &[f64], targets: usize, how: Aggregate) -> Res<Vec<Option<f64>>> {
        let mut out: Vec<Option<f64>> = vec![None; targets];
        for root in &self.roots {
            for (target, weight) in self.leaf(c, *root, row)? {
                let Some(slot) = out.get_mut(*target) else {
                    return invalid!("target {target} is out of range for {targets} targets");
                };
                *slot = Some(slot.map_or(*weight, |sum| how.join(sum, *weight)));
            }
        }
        if how == Aggregate::Average {
            let trees = self.roots.len() as f64;
            out.iter_mut().flatten().for_each(|sum| *sum /= trees);
        }
        Ok(out)
    }
}

fn place(n: i64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// Lists that belong together have one length.
fn fits(count: usize, lists: &[(&str, usize)]) -> Res<()> {
    match lists.iter().find(|(_, length)| *length != count) {
        Some((name, length)) => invalid!("`{name}` has {length} elements for {count}"),
        None => Ok(()),
    }
}

fn tensor(c: &Call<'_>, name: &str) -> Res<Vec<f64>> {
    match c.tensor_attr(name) {
        Some(data) => Tensor::read(data)?.floats(),
        None => Ok(Vec::new()),
    }
}

/// The trees of version 5: branches and leaves in lists of their own.
fn forest(c: &Call<'_>) -> Res<Forest> {
    let ints = |name: &str| c.ints(name).unwrap_or_default();
    let (splits, modes, weights) =
        (tensor(c, "nodes_splits")?, tensor(c, "nodes_modes")?, tensor(c, "leaf_weights")?);
    let count = splits.len();
    let names = [
        "nodes_featureids",
        "nodes_truenodeids",
        "nodes_falsenodeids",
        "nodes_trueleafs",
        "nodes_falseleafs",
    ];
    let [features, yes, no, yes_leaf, no_leaf] = names.map(ints);
    fits(count, &[("nodes_modes", modes.len())])?;
    fits(count, &names.map(|name| (name, ints(name).len())))?;
    let missing = ints("nodes_missing_value_tracks_true");
    let mut sets = tensor(c, "membership_values")?
        .split(|x| x.is_nan())
        .map(<[f64]>::to_vec)
        .collect::<Vec<_>>()
        .into_iter();
    let next = |id: i64, leaf: i64| if leaf == 0 { Next::Branch(place(id)) } else { Next::Leaf(place(id)) };
    let mut branches = Vec::with_capacity(count);
    for at in 0..count {
        let Some((_, mode)) = MODES.get(modes[at] as usize) else {
            return invalid!("unknown mode {} of a node", modes[at]);
        };
        // Sets stand in the order of the nodes that ask for one, each closed by NaN.
        let members = if *mode == Mode::Member { sets.next() } else { Some(Vec::new()) };
        let Some(members) = members else { return invalid!("there are too few sets of members") };
        branches.push(Branch {
            feature: place(features[at]),
            mode: *mode,
            split: splits[at],
            members,
            missing: missing.get(at).is_some_and(|n| *n != 0),
            yes: next(yes[at], yes_leaf[at]),
            no: next(no[at], no_leaf[at]),
        });
    }
    let targets = ints("leaf_targetids");
    fits(weights.len(), &[("leaf_targetids", targets.len())])?;
    let leaves = targets.iter().zip(weights).map(|(target, weight)| vec![(place(*target), weight)]).collect();
    let roots = ints("tree_roots").iter().map(|root| Next::Branch(place(*root))).collect();
    Ok(Forest { branches, leaves, roots })
}

fn ensemble(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let (rows, forest) = (Rows::from_call(c, x)?, forest(c)?);
    let targets = usize::try_from(c.int("n_targets")?).unwrap_or(0);
    let transform = Transform::numbered(c.int("post_transform")?)?;
    let how = match c.int("aggregate_function")? {
        0 => Aggregate::Average,
        1 => Aggregate::Sum,
        2 => Aggregate::Min,
        3 => Aggregate::Max,
        other => return invalid!("unknown aggregate {other}"),
    };
    let mut out = Vec::with_capacity(c.count(&[rows.count, targets])?);
    for row in rows.iter() {
        let votes = forest.votes(c, row, targets, how)?;
        let mut scores: Vec<f64> = votes.into_iter().map(Option::unwrap_or_default).collect();
        transform.apply(&mut scores);
        out.extend(scores);
    }
    one(Tensor::of_floats(x.dtype(), vec![rows.count, targets], out)?)
}

/// The trees of older versions: nodes by tree and number, leaves among them. `kind` begins the names of the attributes
/// that hold the votes.
fn numbered(c: &Call<'_>, kind: &str) -> Res<Forest> {
    let ints = |name: &str| c.ints(name).unwrap_or_default();
    let [trees, ids, features, yes, no] =
        ["nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids"]
            .map(ints);
    let modes = c.texts("nodes_modes").unwrap_or_default();
    let values = numbers(c, "nodes_values")?.unwrap_or_default();
    let missing = ints("nodes_missing_value_tracks_true");
    let lists = [trees.len(), features.len(), yes.len(), no.len(), modes.len(), values.len()];
    fits(ids.len(), &lists.map(|length| ("nodes", length)))?;
    // Every node is a branch or a leaf, at its place in the list of those.
    let (mut nodes, mut roots, mut forest) = (HashMap::new(), Vec::new(), Forest::default());
    let (mut inner, mut seen) = (0, std::collections::HashSet::new());
    for (at, (tree, id)) in trees.iter().zip(ids).enumerate() {
        let next = if modes[at] == "LEAF" {
            forest.leaves.push(Votes::new());
            Next::Leaf(forest.leaves.len() - 1)
        } else {
            inner += 1;
            Next::Branch(inner - 1)
        };
        nodes.insert((*tree, *id), next);
        if seen.insert(*tree) {
            roots.push(next);
        }
    }
    for at in 0..ids.len() {
        let mode = MODES.iter().find(|(name, mode)| *name == modes[at] && *mode != Mode::Member);
        let Some((_, mode)) = mode else {
            if modes[at] == "LEAF" {
                continue;
            }
            return invalid!("unknown mode `{}` of a node", modes[at]);
        };
        let (Some(yes), Some(no)) = (nodes.get(&(trees[at], yes[at])), nodes.get(&(trees[at], no[at])))
        else {
            return invalid!("node {} of tree {} leads nowhere", ids[at], trees[at]);
        };
        forest.branches.push(Branch {
            feature: place(features[at]),
            mode: *mode,
            split: values[at],
            members: Vec::new(),
            missing: missing.get(at).is_some_and(|n| *n != 0),
            yes: *yes,
            no: *no,
        });
    }
    let [trees, ids, targets] =
        ["treeids", "nodeids", "ids"].map(|what| c.ints(&format!("{kind}_{what}")).unwrap_or_default());
    let weights = numbers(c, &format!("{kind}_weights"))?.unwrap_or_default();
    fits(weights.len(), &[("treeids", trees.len()), ("nodeids", ids.len()), ("ids", targets.len())])?;
    for (at, weight) in weights.into_iter().enumerate() {
        match nodes.get(&(trees[at], ids[at])) {
            Some(Next::Leaf(leaf)) => forest.leaves[*leaf].push((place(targets[at]), weight)),
            _ => return invalid!("node {} of tree {} is not a leaf", ids[at], trees[at]),
        }
    }
    forest.roots = roots;
    Ok(forest)
}

fn regressor(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let rows = Rows::from_call(c, c.tensor(0)?)?;
    let forest = numbered(c, "target")?;
    let targets = usize::try_from(c.int("n_targets")?).unwrap_or(0);
    let transform = Transform::named(c.text("post_transform")?)?;
    let how = match c.text("aggregate_function")? {
        "AVERAGE" => Aggregate::Average,
        "SUM" => Aggregate::Sum,
        "MIN" => Aggregate::Min,
        "MAX" => Aggregate::Max,
        other => return invalid!("unknown aggregate `{other}`"),
    };
    let base = numbers(c, "base_values")?.unwrap_or_default();
    if !base.is_empty() && base.len() != targets {
        return invalid!("{} base values do not fit {targets} targets", base.len());
    }
    let mut out = Vec::with_capacity(c.count(&[rows.count, targets])?);
    for row in rows.iter() {
        let votes = forest.votes(c, row, targets, how)?.into_iter().enumerate();
        let mut scores: Vec<f64> =
            votes.map(|(at, vote)| vote.unwrap_or(0.0) + base.get(at).copied().unwrap_or(0.0)).collect();
        transform.apply(&mut scores);
        out.extend(scores);
    }
    Ok(vec![scored(rows.count, targets, out)?])
}

/// The class of the largest sum of votes, and the sums. Where only one of two classes is voted for, the other one has
/// the rest: of 1 if no weight is negative, else of 0.
fn classifier(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let rows = Rows::from_call(c, c.tensor(0)?)?;
    let forest = numbered(c, "class")?;
    let classes = Classes::from_call(c, "classlabels_int64s", "classlabels_strings");
    let transform = Transform::named(c.text("post_transform")?)?;
    let base = numbers(c, "base_values")?.unwrap_or_default();
    let ids = c.ints("class_ids").unwrap_or_default();
    let single = classes.len() == 2 && ids.windows(2).all(|pair| pair[0] == pair[1]);
    let shares = forest.leaves.iter().flatten().all(|(_, weight)| *weight >= 0.0);
    if !base.is_empty() && base.len() != classes.len() && !(single && base.len() == 1) {
        return invalid!("{} base values do not fit {} classes", base.len(), classes.len());
    }
    let mut out = Vec::with_capacity(c.count(&[rows.count, classes.len()])?);
    let mut places = Vec::with_capacity(rows.count);
    for row in rows.iter() {
        let votes = forest.votes(c, row, classes.len(), Aggregate::Sum)?;
        let mut scores: Vec<f64>;
        if single {
            let sum = votes.into_iter().flatten().next().unwrap_or(0.0) + base.last().copied().unwrap_or(0.0);
            places.push(usize::from(sum > if shares { 0.5 } else { 0.0 }));
            scores = vec![if shares { 1.0 - sum } else { -sum }, sum];
            if !shares {
                transform.apply(&mut scores);
            }
        } else {
            let sum =
                |(at, vote): (usize, Option<f64>)| vote.unwrap_or(0.0) + base.get(at).copied().unwrap_or(0.0);
            scores = votes.into_iter().enumerate().map(sum).collect();
            places.push(best(&scores));
            transform.apply(&mut scores);
        }
        out.extend(scores);
    }
    Ok(vec![classes.name(&places)?, scored(rows.count, classes.len(), out)?])
}
