//! Support vector machines.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use super::scores::{Transform, logistic};
use super::{Classes, Rows, best, infer, op, scored};
use crate::ops::call::{Call, sizes};
use crate::ops::error::invalid;
use crate::ops::{Op, Res, Value};

pub(in crate::ops) const OPS: &[Op] = &[
    op("SVMClassifier").dtypes(infer::classes).infer(infer::classified).eval(classifier),
    op("SVMRegressor").dtypes(infer::floats).infer(|cx| infer::targets(cx, Some(1))).eval(regressor),
];

/// How alike two rows are.
struct Kernel {
    form: fn(&Kernel, &[f64], &[f64]) -> f64,
    gamma: f64,
    offset: f64,
    degree: f64,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl Kernel {
    fn from_call(c: &Call<'_>, name: &str) -> Res<Self> {
        let form: fn(&Kernel, &[f64], &[f64]) -> f64 = match name {
            "LINEAR" => |_, a, b| dot(a, b),
            "POLY" => |k, a, b| (k.gamma * dot(a, b) + k.offset).powf(k.degree),
            "SIGMOID" => |k, a, b| (k.gamma * dot(a, b) + k.offset).tanh(),
            "RBF" => |k, a, b| {
                let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
                (-k.gamma * square).exp()
            },
            other => return invalid!("unknown kernel `{other}`"),
        };
        let given = c.floats("kernel_params").unwrap_or_default();
        let at = |index: usize| given.get(index).copied().unwrap_or(0.0);
        Ok(Self { form, gamma: at(0), offset: at(1), degree: at(2) })
    }

    fn compare(&self, a: &[f64], b: &[f64]) -> f64 {
        (self.form)(self, a, b)
    }
}

/// The support vectors: `count` of them, each as long as a row.
fn vectors(c: &Call<'_>, count: usize, width: usize) -> Res<Vec<f64>> {
    let vectors = c.floats("support_vectors").unwrap_or_default();
    if width == 0 || count.checked_mul(width) != Some(vectors.len()) {
        return invalid!("{} numbers are not {count} vectors of {width} features", vectors.len());
    }
    Ok(vectors)
}

/// A weighted sum of likenesses; of an anomaly detector, on which side of 0 it is.
fn regressor(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let rows = Rows::from_call(c, c.tensor(0)?)?;
    let transform = Transform::named(c.text("post_transform")?)?;
    let (weights, rho) = (c.floats("coefficients").unwrap_or_default(), c.floats("rho").unwrap_or_default());
    let rho = rho.first().copied().unwrap_or(0.0);
    let count = usize::try_from(c.int("n_supports")?).unwrap_or(0);
    c.count(&[rows.count, 1])?;
    c.spend((rows.items.len() as u64).saturating_mul(count.max(1) as u64))?;
    let mut out = Vec::with_capacity(rows.count);
    if count == 0 {
        if weights.len() != rows.width {
            return invalid!("{} coefficients do not fit {} features", weights.len(), rows.width);
        }
        let kernel = Kernel::from_call(c, "LINEAR")?;
        out.extend(rows.iter().map(|row| kernel.compare(row, &weights) + rho));
    } else {
        let (vectors, kernel) =
            (vectors(c, count, rows.width)?, Kernel::from_call(c, c.text("kernel_type")?)?);
        if weights.len() != count {
            return invalid!("{} coefficients do not fit {count} vectors", weights.len());
        }
        for row in rows.iter() {
            let alike = vectors.chunks(rows.width.max(1)).map(|vector| kernel.compare(row, vector));
            out.push(alike.zip(&weights).map(|(x, w)| x * w).sum::<f64>() + rho);
        }
    }
    if c.flag("one_class") {
        for x in &mut out {
            *x = if *x > 0.0 { 1.0 } else { -1.0 };
        }
    }
    out.chunks_mut(1).for_each(|row| transform.apply(row));
    Ok(vec![scored(rows.count, 1, out)?])
}

/// Each pair of classes decides between its two; the class with the most votes wins. Where the attributes say how,
/// decisions become probabilities.
fn classifier(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let rows = Rows::from_call(c, c.tensor(0)?)?;
    let classes = Classes::from_call(c, "classlabels_ints", "classlabels_strings");
    let transform = Transform::named(c.text("post_transform")?)?;
    let members = sizes(c.ints("vectors_per_class").unwrap_or_default())?;
    let count = members.iter().fold(0usize, |sum, n| sum.saturating_add(*n));
    if count == 0 {
        return linear(c, &rows, &classes, transform);
    }
    let groups = members.len();
    if groups < 2 || classes.len() != groups {
        return invalid!("{groups} groups of vectors do not fit {} classes", classes.len());
    }
    let list = |name: &str| c.floats(name).unwrap_or_default();
    let (weights, rho, slopes, shifts) = (list("coefficients"), list("rho"), list("prob_a"), list("prob_b"));
    let pairs = groups * (groups - 1) / 2;
    let vectors = vectors(c, count, rows.width)?;
    if weights.len() != (groups - 1) * count || rho.len() != pairs {
        return invalid!(
            "{} coefficients and {} offsets do not fit {count} vectors",
            weights.len(),
            rho.len()
        );
    }
    let probable = !slopes.is_empty();
    if probable && (slopes.len() != pairs || shifts.len() != pairs) {
        return invalid!("{} and {} factors do not fit {pairs} pairs", slopes.len(), shifts.len());
    }
    let kernel = Kernel::from_call(c, c.text("kernel_type")?)?;
    let starts: Vec<usize> = members.iter().scan(0, |at, n| Some(std::mem::replace(at, *at + n))).collect();
    let width = if probable { groups } else { pairs };
    c.count(&[rows.count, width.max(2)])?;
    c.spend((rows.items.len() as u64).saturating_mul((count + groups * count) as u64))?;
    let (mut out, mut places) = (Vec::new(), Vec::new());
    for row in rows.iter() {
        let alike: Vec<f64> = vectors.chunks(rows.width.max(1)).map(|v| kernel.compare(row, v)).collect();
        let part = |which: usize, of: usize| {
            let own = starts[of]..starts[of] + members[of];
            dot(&weights[which * count..][own.clone()], &alike[own])
        };
        let (mut votes, mut scores) = (vec![0.0; groups], Vec::with_capacity(pairs));
        for i in 0..groups {
            for j in i + 1..groups {
                let score = part(j - 1, i) + part(i, j) + rho[scores.len()];
                votes[if score > 0.0 { i } else { j }] += 1.0;
                scores.push(score);
            }
        }
        let mut shown = if probable { probabilities(groups, &scores, &slopes, &shifts) } else { scores };
        places.push(best(&votes));
        if shown.len() == 1 {
            shown = vec![-shown[0], shown[0]];
        }
        transform.apply(&mut shown);
        out.extend(shown);
    }
    Ok(vec![classes.name(&places)?, scored(rows.count, width.max(2), out)?])
}

/// Without support vectors: a linear function for each class.
fn linear(c: &Call<'_>, rows: &Rows, classes: &Classes, transform: Transform) -> Res<Vec<Value>> {
    let groups = classes.len().max(1);
    let (weights, rho) = (c.floats("coefficients").unwrap_or_default(), c.floats("rho").unwrap_or_default());
    if weights.len() != groups * rows.width {
        return invalid!("{} coefficients do not fit {groups} classes", weights.len());
    }
    let rho = rho.first().copied().unwrap_or(0.0);
    c.count(&[rows.count, groups])?;
    c.spend((rows.items.len() as u64).saturating_mul(groups as u64))?;
    let (mut out, mut places) = (Vec::new(), Vec::new());
    for row in rows.iter() {
        let mut scores: Vec<f64> = weights.chunks(rows.width.max(1)).map(|w| dot(row, w) + rho).collect();
        places.push(best(&scores));
        transform.apply(&mut scores);
        out.extend(scores);
    }
    Ok(vec![classes.name(&places)?, scored(rows.count, groups, out)?])
}

/// The probabilities of classes from those of pairs, as LIBSVM joins them: the fixed point of Wu, Lin and Weng's second
/// method, <https://www.csie.ntu.edu.tw/~cjlin/papers/svmprob/svmprob.pdf>.
fn probabilities(groups: usize, scores: &[f64], slopes: &[f64], shifts: &[f64]) -> Vec<f64> {
    let mut pairs = vec![0.0; groups * groups];
    let mut at = 0;
    for i in 0..groups {
        for j in i + 1..groups {
            let p = 1.0 - logistic(scores[at] * slopes[at] + shifts[at]);
            let p = p.clamp(1e-7, 1.0 - 1e-7);
            (pairs[i * groups + j], pairs[j * groups + i]) = (p, 1.0 - p);
            at += 1;
        }
    }
    let mut form = vec![0.0; groups * groups];
    for t in 0..groups {
        for j in (0..groups).filter(|j| *j != t) {
            form[t * groups + t] += pairs[j * groups + t] * pairs[j * groups + t];
            form[t * groups + j] = -pairs[j * groups + t] * pairs[t * groups + j];
        }
    }
    let mut out = vec![1.0 / groups as f64; groups];
    for _ in 0..groups.max(100) {
        let mut products: Vec<f64> = form.chunks(groups).map(|row| dot(row, &out)).collect();
        let mut total = dot(&out, &products);
        if products.iter().all(|p| (p - total).abs() < 0.005 / groups as f64) {
            break;
        }
        for t in 0..groups {
            let row = &form[t * groups..(t + 1) * groups];
            let step = (total - products[t]) / row[t];
            total = (total + step * (step * row[t] + 2.0 * products[t])) / ((1.0 + step) * (1.0 + step));
            out[t] += step;
            for p in &mut out {
                *p /= 1.0 + step;
            }
            for (product, q) in products.iter_mut().zip(row) {
                *product = (*product + step * q) / (1.0 + step);
            }
        }
    }
    out
}
