//! Texts.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use regex::{Regex, RegexBuilder};

use super::call::{Call, one, sizes};
use super::error::{invalid, unsupported};
use super::infer::broadcast as broadcasting;
use super::map::pairs;
use super::strides::broadcast;
use super::{Op, Res, Tensor, Value};
use crate::tensor::DType;

pub(super) const OPS: &[Op] = &[
    Op::new("RegexFullMatch").infer(broadcasting::same).eval(regex_full_match),
    Op::new("StringConcat").infer(broadcasting::all).eval(string_concat),
    Op::new("StringNormalizer").eval(string_normalizer),
    Op::new("StringSplit").infer(infer::split).eval(string_split),
    Op::new("TfIdfVectorizer").infer(infer::tf_idf).eval(tf_idf),
];

/// Bytes that the automaton of a pattern may take.
const AUTOMATON: usize = 1 << 20;

/// A pattern of RE2 for a crate whose classes know all of Unicode and nest. Both match in linear time.
fn re2(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut chars = pattern.chars().peekable();
    // Where a class has just begun, `]` stands for itself.
    let (mut class, mut fresh) = (false, false);
    let mut literal = false;
    while let Some(c) = chars.next() {
        if literal {
            if c == '\\' && chars.next_if_eq(&'E').is_some() {
                literal = false;
            } else {
                out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
            }
            continue;
        }
        let starts = std::mem::take(&mut fresh);
        match c {
            '\\' => match chars.next() {
                // Classes of Perl hold letters and digits of ASCII only.
                Some('d') => out.push_str("[0-9]"),
                Some('D') => out.push_str("[^0-9]"),
                Some('w') => out.push_str("[0-9A-Za-z_]"),
                Some('W') => out.push_str("[^0-9A-Za-z_]"),
                Some('s') => out.push_str("[\\t\\n\\f\\r ]"),
                Some('S') => out.push_str("[^\\t\\n\\f\\r ]"),
                Some('b') => out.push_str("(?-u:\\b)"),
                Some('B') => out.push_str("(?-u:\\B)"),
                // Literal text.
                Some('Q') => literal = true,
                Some(other) => out.extend(['\\', other]),
                None => out.push('\\'),
            },
            '[' if !class => {
                out.push('[');
                (class, fresh) = (true, true);
                if chars.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
            }
            '[' if chars.peek() == Some(&':') => {
                out.push('[');
                // A named class of ASCII ends with `:]`.
                while let Some(c) = chars.next() {
                    out.push(c);
                    if c == ':' && chars.next_if_eq(&']').is_some() {
                        out.push(']');
                        break;
                    }
                }
            }
            ']' if class && !starts => {
                out.push(']');
                class = false;
            }
            // Signs of operations on classes, which RE2 does not have.
            '[' | ']' | '&' | '~' if class => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}

fn regex_full_match(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let pattern = format!(r"\A(?:{})\z", re2(c.text("pattern")?));
    let built: Result<Regex, regex::Error> = RegexBuilder::new(&pattern).size_limit(AUTOMATON).build();
    let Ok(regex) = built else {
        return unsupported!("the pattern {:?} is not understood", c.text("pattern")?);
    };
    c.count(x.shape())?;
    c.spend(x.bytes())?;
    one(Tensor::of_bools(x.shape().to_vec(), x.texts()?.iter().map(|t| regex.is_match(t)).collect())?)
}

fn string_concat(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    let shape = broadcast([a.shape(), b.shape()])?;
    c.count(&shape)?;
    let join = |a: String, b: String| {
        c.spend((a.len() + b.len()) as u64)?;
        Ok(a + &b)
    };
    let out = pairs(&shape, (a.texts()?, a.shape()), (b.texts()?, b.shape()), &join)?;
    one(Tensor::of_texts(shape, out)?)
}

/// Without stop words, and in one case; where nothing is left, one empty text.
fn string_normalizer(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    if !matches!(x.shape(), [_] | [1, _]) {
        return invalid!("the input is {}, not a row", x.describe());
    }
    let exact = c.flag("is_case_sensitive");
    let plain = |text: &String| if exact { text.clone() } else { text.to_lowercase() };
    let stop: HashSet<String> = c.texts("stopwords").unwrap_or_default().iter().map(plain).collect();
    let turn: fn(&String) -> String = match c.text("case_change_action")? {
        "NONE" => String::clone,
        "LOWER" => |t| t.to_lowercase(),
        "UPPER" => |t| t.to_uppercase(),
        other => return invalid!("unknown case change `{other}`"),
    };
    c.count(x.shape())?;
    let mut out: Vec<String> = x.texts()?.iter().filter(|t| !stop.contains(&plain(t))).map(turn).collect();
    if out.is_empty() {
        out.push(String::new());
    }
    let mut shape = x.shape().to_vec();
    if let Some(last) = shape.last_mut() {
        *last = out.len();
    }
    one(Tensor::of_texts(shape, out)?)
}

/// The parts of each text, padded to one number of them, and how many there are.
fn string_split(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let most =
        c.int_if_any("maxsplit").map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
    let delimiter = c.text_if_any("delimiter").unwrap_or_default();
    let split = |text: &String| -> Vec<String> {
        let owned = |part: &str| part.to_owned();
        if !delimiter.is_empty() {
            return text.splitn(most.saturating_add(1), delimiter).map(owned).collect();
        }
        let (mut parts, mut rest) = (Vec::new(), text.trim());
        while !rest.is_empty() {
            let end = if parts.len() < most { rest.find(char::is_whitespace) } else { None };
            let (part, behind) = rest.split_at(end.unwrap_or(rest.len()));
            parts.push(owned(part));
            rest = behind.trim_start();
        }
        parts
    };
    c.spend(x.bytes())?;
    let parts: Vec<Vec<String>> = x.texts()?.iter().map(split).collect();
    let width = parts.iter().map(Vec::len).max().unwrap_or(0);
    let counts: Vec<i64> = parts.iter().map(|p| p.len() as i64).collect();
    let shape: Vec<usize> = x.shape().iter().copied().chain([width]).collect();
    c.count(&shape)?;
    let mut texts = Vec::with_capacity(parts.len() * width);
    for mut row in parts {
        row.resize(width, String::new());
        texts.extend(row);
    }
    Ok(vec![Tensor::of_texts(shape, texts)?.into(), Tensor::of_longs(x.shape().to_vec(), counts)?.into()])
}

/// N-grams: their sequences of tokens, and the place of each in the result and in the weights.
type Pool<T> = HashMap<Vec<T>, Vec<usize>>;

/// Counts in `row` the n-grams of `pool` with up to `skips` tokens between neighbours; single tokens are counted once.
fn count_grams<T: Hash + Eq + Clone>(
    row: &[T],
    pool: &Pool<T>,
    lengths: std::ops::RangeInclusive<usize>,
    skips: usize,
    out: &mut [f64],
) {
    for length in lengths {
        for step in 1..=if length == 1 { 1 } else { skips.saturating_add(1).min(row.len()) } {
            let span = (length - 1).saturating_mul(step).saturating_add(1);
            for start in 0..(row.len() + 1).saturating_sub(span) {
                let gram: Vec<T> = row.iter().skip(start).step_by(step).take(length).cloned().collect();
                for which in pool.get(&gram).into_iter().flatten() {
                    if let Some(slot) = out.get_mut(*which) {
                        *slot += 1.0;
                    }
                }
            }
        }
    }
}

/// The n-grams that the attributes list, one length behind the other from where `starts` says.
fn pool<T: Hash + Eq + Clone>(items: &[T], starts: &[usize]) -> Res<Pool<T>> {
    let mut pool = Pool::new();
    let mut which = 0;
    let ends = starts.iter().copied().skip(1).chain([items.len()]);
    for (length, (start, end)) in (1..).zip(starts.iter().zip(ends)) {
        let Some(part) = items.get(*start..end) else {
            return invalid!("no n-gram from {start} to {end}");
        };
        for gram in part.chunks(length) {
            pool.entry(gram.to_vec()).or_insert_with(Vec::new).push(which);
            which += 1;
        }
    }
    Ok(pool)
}

fn tf_idf(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let list = |name: &str| sizes(c.ints(name).unwrap_or_default());
    let (starts, places) = (list("ngram_counts")?, list("ngram_indexes")?);
    let bound = |name: &str| Ok(usize::try_from(c.int(name)?).unwrap_or(0));
    let lengths = bound("min_gram_length")?.max(1)..=bound("max_gram_length")?.min(starts.len());
    let skips = bound("max_skip_count")?;
    let (batch, width) = match *x.shape() {
        [width] => (1, width),
        [batch, width] => (batch, width),
        _ => return invalid!("the input is {}, not rows", x.describe()),
    };
    let size = places.iter().max().map_or(0, |last| last.saturating_add(1));
    let mut shape = x.shape().get(..x.rank() - 1).unwrap_or_default().to_vec();
    shape.push(size);
    let mut out = vec![0.0; c.count(&shape)?];
    let work = (width as u64).saturating_mul(lengths.end().saturating_mul(skips.saturating_add(1)) as u64);
    c.spend(work.saturating_mul(batch as u64))?;
    c.count(&[batch, places.len()])?;
    let mut counts = vec![vec![0.0; places.len()]; batch];
    if let Some(texts) = c.texts("pool_strings") {
        let (pool, items) = (pool(texts, &starts)?, x.texts()?);
        for (row, counts) in items.chunks(width.max(1)).zip(&mut counts) {
            count_grams(row, &pool, lengths.clone(), skips, counts);
        }
    } else {
        let (pool, items) = (pool(c.ints("pool_int64s").unwrap_or_default(), &starts)?, x.longs()?);
        for (row, counts) in items.chunks(width.max(1)).zip(&mut counts) {
            count_grams(row, &pool, lengths.clone(), skips, counts);
        }
    }
    let weights = c.floats("weights").unwrap_or_else(|| vec![1.0; places.len()]);
    if weights.len() != places.len() {
        return invalid!("{} weights do not fit {} n-grams", weights.len(), places.len());
    }
    let weigh: fn(f64, f64) -> f64 = match c.text("mode")? {
        "TF" => |count, _| count,
        "IDF" => |count, weight| if count > 0.0 { weight } else { 0.0 },
        "TFIDF" => |count, weight| count * weight,
        other => return invalid!("unknown mode `{other}`"),
    };
    for (row, counts) in out.chunks_mut(size.max(1)).zip(&counts) {
        for ((count, weight), place) in counts.iter().zip(&weights).zip(&places) {
            row[*place] += weigh(*count, *weight);
        }
    }
    one(Tensor::of_floats(DType::F32, shape, out)?)
}

#[deny(clippy::arithmetic_side_effects)]
mod infer {
    //! Shapes.

    use smallvec::smallvec;

    use crate::ir::Shape;
    use crate::ops::infer::broadcast::shape_of;
    use crate::ops::infer::cx::{Cx, Dims, Shapes, one};
    use crate::sym::Dim;

    /// `StringSplit`: the number of parts depends on the texts.
    pub(super) fn split(cx: &mut Cx<'_>) -> Option<Shapes> {
        let parts = cx.dims(0)?.iter().copied().chain([None]).collect();
        Some(smallvec![Shape::Ranked(parts), shape_of(cx, 0)])
    }

    /// `TfIdfVectorizer`: as many positions as the attribute names.
    pub(super) fn tf_idf(cx: &mut Cx<'_>) -> Option<Shapes> {
        let last = *cx.node.ints("ngram_indexes")?.iter().max()?;
        let (_, outer) = cx.dims(0)?.split_last()?;
        let mut out: Dims = outer.into();
        out.push(last.checked_add(1).map(Dim::Const));
        one(out)
    }
}

#[cfg(test)]
mod tests {
    use super::{Regex, re2};

    #[test]
    fn patterns_mean_what_they_mean_in_re2() {
        for (pattern, text, expected) in [
            (r"\d+", "12", true),
            (r"\d", "\u{663}", false),
            (r"[\w.]+", "a_1.b", true),
            (r"\w", "\u{e9}", false),
            (r"[[]", "[", true),
            (r"[]a]+", "]a", true),
            (r"[^]]", "]", false),
            (r"[[:alpha:]&&]+", "a&b", true),
            (r"\Qa.b\E+", "a.bb", true),
            (r"\Qa.b\E", "axb", false),
            (r"a\s\S", "a\tb", true),
            (r"\bx\b", "x", true),
            (r"(?i)ABC", "abc", true),
        ] {
            let regex = Regex::new(&format!(r"\A(?:{})\z", re2(pattern))).unwrap();
            assert_eq!(regex.is_match(text), expected, "{pattern} on {text}");
        }
    }
}
