//! Maps from names to numbers.

use super::{Classes, Rows, op};
use crate::ops::call::{Call, one};
use crate::ops::error::{invalid, unsupported};
use crate::ops::{Elements, Op, Res, Tensor, Value};
use crate::tensor::DType;

pub(in crate::ops) const OPS: &[Op] =
    &[op("CastMap").eval(cast_map), op("DictVectorizer").eval(vectorizer), op("ZipMap").eval(zip_map)];

/// The keys and the values of the input.
fn entries<'a>(c: &'a Call<'_>) -> Res<(&'a Tensor, &'a Tensor)> {
    match c.value(0) {
        Some(Value::Map(keys, values)) => match &**values {
            Value::Tensor(values) if values.len() == keys.len() => Ok((keys, values)),
            other => unsupported!("a map to {}", other.describe()),
        },
        Some(other) => invalid!("the input is {}, not a map", other.describe()),
        None => invalid!("the input is missing"),
    }
}

/// A map for each row, from the names of the columns to their values.
fn zip_map(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let rows = Rows::from_call(c, c.tensor(0)?)?;
    let names = match Classes::from_call(c, "classlabels_int64s", "classlabels_strings") {
        Classes::Ints(names) => Tensor::of_longs(vec![names.len()], names)?,
        Classes::Texts(names) => Tensor::of_texts(vec![names.len()], names)?,
    };
    if names.len() != rows.width {
        return invalid!("{} names do not fit {} columns", names.len(), rows.width);
    }
    c.count(&[rows.count, rows.width, 2])?;
    let map = |row: &[f64]| {
        let values = Tensor::of_floats(DType::F32, vec![row.len()], row.to_vec())?;
        Ok(Value::Map(names.clone(), Box::new(values.into())))
    };
    Ok(vec![Value::Sequence(DType::F32, rows.iter().map(map).collect::<Res<_>>()?)])
}

/// The values in the order of a vocabulary; zeros, or empty texts, for keys that are not there.
fn vectorizer(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (keys, values) = entries(c)?;
    let vocabulary = Classes::from_call(c, "int64_vocabulary", "string_vocabulary");
    c.spend((vocabulary.len() as u64).saturating_mul(keys.len() as u64))?;
    let places: Vec<Option<usize>> = match vocabulary {
        Classes::Ints(words) => {
            let keys = keys.longs()?;
            words.iter().map(|word| keys.iter().position(|key| key == word)).collect()
        }
        Classes::Texts(words) => {
            let keys = keys.texts()?;
            words.iter().map(|word| keys.iter().position(|key| key == word)).collect()
        }
    };
    let nothing = match values.dtype() {
        DType::String => Tensor::of_texts(Vec::new(), vec![String::new()])?,
        dtype => Tensor::of_numbers(dtype, Vec::new(), vec![0.0])?,
    };
    let shape = vec![places.len()];
    c.count(&shape)?;
    let picks = places.into_iter().map(|place| place.map_or((1, 0), |at| (0, at)));
    one(Tensor::mix(shape, &[values, &nothing], picks)?)
}

/// The values as a row: in the order of the keys, or each at the place that its key names.
fn cast_map(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (keys, values) = entries(c)?;
    let mut order: Vec<(i64, usize)> = keys.longs()?.into_iter().zip(0..).collect();
    order.sort_unstable();
    let places: Vec<Option<usize>> = match c.text("map_form")? {
        "DENSE" => order.into_iter().map(|(_, at)| Some(at)).collect(),
        "SPARSE" => {
            let width = usize::try_from(c.int("max_map")?).unwrap_or(0);
            let mut places = vec![None; c.count(&[width])?];
            for (key, at) in order {
                let Some(slot) = usize::try_from(key).ok().and_then(|key| places.get_mut(key)) else {
                    return invalid!("the key {key} is beyond {width}");
                };
                *slot = Some(at);
            }
            places
        }
        other => return invalid!("unknown form `{other}` of a map"),
    };
    let shape = vec![1, places.len()];
    c.count(&shape)?;
    let number = |text: &String| text.trim().parse().unwrap_or(f64::NAN);
    let numbers: Vec<f64> = match values.elements() {
        Elements::Text(texts) => texts.iter().map(number).collect(),
        _ => values.floats()?,
    };
    let at = |place: &Option<usize>| place.map_or(0.0, |at| numbers[at]);
    one(match c.text("cast_to")? {
        "TO_FLOAT" => Tensor::of_floats(DType::F32, shape, places.iter().map(at).collect())?,
        "TO_INT64" => Tensor::of_numbers(DType::I64, shape, places.iter().map(at).collect())?,
        "TO_STRING" => {
            let texts = match values.elements() {
                Elements::Text(texts) => texts,
                _ => numbers.iter().map(|x| (*x as f32).to_string()).collect(),
            };
            let text = |place: &Option<usize>| place.map_or_else(String::new, |at| texts[at].clone());
            Tensor::of_texts(shape, places.iter().map(text).collect())?
        }
        other => return invalid!("unknown cast `{other}` of a map"),
    })
}
