//! Linear models.

use super::scores::Transform;
use super::{Classes, Rows, best, infer, op, scored};
use crate::ops::call::Call;
use crate::ops::error::invalid;
use crate::ops::{Op, Res, Value};

pub(in crate::ops) const OPS: &[Op] = &[
    op("LinearClassifier").dtypes(infer::classes).infer(infer::classified).eval(classifier),
    op("LinearRegressor")
        .dtypes(infer::floats)
        .infer(|cx| infer::targets(cx, Some(cx.int("targets")?)))
        .eval(regressor),
];

/// The sums of products for each row: `targets` of them, or as many as there are coefficients for.
fn sums(c: &Call<'_>, targets: Option<usize>) -> Res<(Rows, usize, Vec<f64>)> {
    let rows = Rows::from_call(c, c.tensor(0)?)?;
    let coefficients = c.floats("coefficients").unwrap_or_default();
    let targets = targets.or_else(|| coefficients.len().checked_div(rows.width)).unwrap_or(0);
    if targets.checked_mul(rows.width) != Some(coefficients.len()) {
        return invalid!("{} coefficients do not fit {} features", coefficients.len(), rows.width);
    }
    let intercepts = c.floats("intercepts").unwrap_or_default();
    if !intercepts.is_empty() && intercepts.len() != targets {
        return invalid!("{} intercepts do not fit {targets} targets", intercepts.len());
    }
    let count = c.count(&[rows.count, targets])?;
    c.spend((count as u64).saturating_mul(rows.width as u64))?;
    let mut out = Vec::with_capacity(count);
    for row in rows.iter() {
        for (at, own) in coefficients.chunks(rows.width.max(1)).enumerate() {
            let sum: f64 = row.iter().zip(own).map(|(x, w)| x * w).sum();
            out.push(sum + intercepts.get(at).copied().unwrap_or(0.0));
        }
    }
    Ok((rows, targets, out))
}

fn regressor(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let transform = Transform::named(c.text("post_transform")?)?;
    let targets = usize::try_from(c.int("targets")?).unwrap_or(0);
    let (rows, targets, mut out) = sums(c, Some(targets))?;
    out.chunks_mut(targets.max(1)).for_each(|row| transform.apply(row));
    Ok(vec![scored(rows.count, targets, out)?])
}

/// The class of the largest score, and the scores. One score for two classes is that of the second; the first has its
/// opposite.
fn classifier(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let transform = Transform::named(c.text("post_transform")?)?;
    let classes = Classes::from_call(c, "classlabels_ints", "classlabels_strings");
    let (rows, mut targets, mut out) = sums(c, None)?;
    if targets == 1 && classes.len() == 2 {
        c.count(&[rows.count, 2])?;
        out = out.into_iter().flat_map(|x| [-x, x]).collect();
        targets = 2;
    }
    out.chunks_mut(targets.max(1)).for_each(|row| transform.apply(row));
    let places: Vec<usize> = if targets == 0 { Vec::new() } else { out.chunks(targets).map(best).collect() };
    Ok(vec![classes.name(&places)?, scored(rows.count, targets, out)?])
}
