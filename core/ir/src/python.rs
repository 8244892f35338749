//! Values as Python prints them.

use std::fmt::Write;

/// `text` as `repr` gives it.
pub fn text(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            c if c.is_control() => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\x{:02x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

/// A list of texts.
pub fn list<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let texts: Vec<String> = texts.into_iter().map(text).collect();
    format!("[{}]", texts.join(", "))
}

/// A float as `repr` gives it: the shortest digits, with an exponent below 1e-4 and from 1e16 on.
pub fn float(x: f64) -> String {
    if x.is_nan() {
        return "nan".to_owned();
    }
    if x == 0.0 || x.is_infinite() || (1e-4..1e16).contains(&x.abs()) {
        let text = x.to_string();
        return if x.is_infinite() || text.contains('.') { text } else { format!("{text}.0") };
    }
    let text = format!("{x:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    format!("{digits}e{sign}{exponent:0>2}")
}

/// Reads a list of texts; `None` where it is none.
pub fn read_list(list: &str) -> Option<Vec<String>> {
    let mut rest = list.trim().strip_prefix('[')?.strip_suffix(']')?.trim();
    let mut texts = Vec::new();
    while !rest.is_empty() {
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let mut chars = rest.char_indices().skip(1);
        let mut text = String::new();
        let end = loop {
            match chars.next()? {
                (at, c) if c == quote => break at + 1,
                (_, '\\') => text.push(escaped(&mut chars)?),
                (_, c) => text.push(c),
            }
        };
        texts.push(text);
        rest = rest.get(end..)?.trim_start();
        rest = match rest.strip_prefix(',') {
            Some(rest) => rest.trim_start(),
            None if rest.is_empty() => rest,
            None => return None,
        };
    }
    Some(texts)
}

/// Returns the character of an escape sequence, without its backslash.
fn escaped(chars: &mut impl Iterator<Item = (usize, char)>) -> Option<char> {
    let (_, kind) = chars.next()?;
    let digits = match kind {
        'n' => return Some('\n'),
        'r' => return Some('\r'),
        't' => return Some('\t'),
        '\\' | '\'' | '"' => return Some(kind),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => return None,
    };
    let code: String = chars.by_ref().take(digits).map(|(_, c)| c).collect();
    char::from_u32(u32::from_str_radix(&code, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_python() {
        for (plain, repr) in [
            ("a", "'a'"),
            ("it's", "\"it's\""),
            ("\"it's\"", "'\"it\\'s\"'"),
            ("a\\b\n\u{1}", "'a\\\\b\\n\\x01'"),
        ] {
            assert_eq!(text(plain), repr);
            assert_eq!(read_list(&list([plain, "b"])).unwrap(), [plain, "b"]);
        }
        assert_eq!(list([]), "[]");
        assert_eq!(read_list("[]").unwrap(), Vec::<String>::new());
        for wrong in ["", "[", "['a", "['a' 'b']", "[1]", "['\\']", "['\\q']"] {
            assert_eq!(read_list(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn floats_are_those_of_python() {
        for (x, repr) in [
            (0.1, "0.1"),
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (1e-5, "1e-05"),
            (0.0001, "0.0001"),
            (1.5e-7, "1.5e-07"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.25e-100, "1.25e-100"),
            (3.402_823_466_385_288_6e38, "3.4028234663852886e+38"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(float(x), repr);
        }
    }
}
