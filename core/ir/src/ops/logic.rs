//! Comparisons, truth values and choices.

use super::call::{Call, one};
use super::error::invalid;
use super::map::{compare, legacy, pairs, test};
use super::strides::{broadcast, expand};
use super::{Elements, Op, Res, Tensor, Value};

pub(super) const OPS: &[Op] = &[
    Op::new("And").broadcasting().commutative().eval(|c| logic(c, |a, b| a && b)),
    Op::new("Equal").broadcasting().commutative().discontinuous().eval(equal),
    Op::new("Greater").broadcasting().discontinuous().eval(|c| compare(c, &|a, b| a > b, &|a, b| a > b)),
    Op::new("GreaterOrEqual")
        .broadcasting()
        .discontinuous()
        .eval(|c| compare(c, &|a, b| a >= b, &|a, b| a >= b)),
    Op::new("IsInf").elementwise().eval(is_inf),
    Op::new("IsNaN").elementwise().eval(|c| test(c, &f64::is_nan)),
    Op::new("Less").broadcasting().discontinuous().eval(|c| compare(c, &|a, b| a < b, &|a, b| a < b)),
    Op::new("LessOrEqual")
        .broadcasting()
        .discontinuous()
        .eval(|c| compare(c, &|a, b| a <= b, &|a, b| a <= b)),
    Op::new("Not").elementwise().eval(not),
    Op::new("Or").broadcasting().commutative().eval(|c| logic(c, |a, b| a || b)),
    Op::new("Where").broadcasting().eval(choose),
    Op::new("Xor").broadcasting().commutative().eval(|c| logic(c, |a, b| a != b)),
];

fn logic(c: &Call<'_>, f: impl Fn(bool, bool) -> bool) -> Res<Vec<Value>> {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    let b = &legacy(c, a, b)?;
    let shape = broadcast([a.shape(), b.shape()])?;
    c.count(&shape)?;
    let out = pairs(&shape, (&a.bools()?, a.shape()), (&b.bools()?, b.shape()), &|x, y| Ok(f(x, y)))?;
    one(Tensor::of_bools(shape, out)?)
}

fn not(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    c.count(x.shape())?;
    one(Tensor::of_bools(x.shape().to_vec(), x.bools()?.into_iter().map(|b| !b).collect())?)
}

/// Texts are equal when their bytes are.
fn equal(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    if let (Elements::Text(x), Elements::Text(y)) = (a.elements(), b.elements()) {
        let shape = broadcast([a.shape(), b.shape()])?;
        c.count(&shape)?;
        let out = pairs(&shape, (&x, a.shape()), (&y, b.shape()), &|x, y| Ok(x == y))?;
        return one(Tensor::of_bools(shape, out)?);
    }
    compare(c, &|a, b| a == b, &|a, b| a == b)
}

fn is_inf(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (negative, positive) = (c.flag("detect_negative"), c.flag("detect_positive"));
    test(c, &|x| (negative && x == f64::NEG_INFINITY) || (positive && x == f64::INFINITY))
}

fn choose(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (condition, yes, no) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let shape = broadcast([condition.shape(), yes.shape(), no.shape()])?;
    c.count(&shape)?;
    let picks = condition.bools()?;
    if picks.len() != condition.len() {
        return invalid!("the number of elements of the condition does not match its shape");
    }
    let places =
        expand(condition.shape(), &shape).zip(expand(yes.shape(), &shape).zip(expand(no.shape(), &shape)));
    let places = places.map(|(at, (yes, no))| if picks.get(at) == Some(&true) { (0, yes) } else { (1, no) });
    one(Tensor::mix(shape.clone(), &[yes, no], places)?)
}
