//! The explanations that `onnxport explain` prints for each code: meaning, cause, three ways out, an example. The
//! texts are in files, one for each group of codes.

use super::Code;

/// The texts. Each begins with a line that is its code.
const TEXTS: &[&str] = &[
    include_str!("explain/options.txt"),
    include_str!("explain/reading.txt"),
    include_str!("explain/lowering.txt"),
    include_str!("explain/optimising.txt"),
    include_str!("explain/writing.txt"),
    include_str!("explain/weights.txt"),
    include_str!("explain/verifying.txt"),
    include_str!("explain/plugins.txt"),
];

/// The explanation of a code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// The meaning of the code.
    pub means: &'static str,
    /// Why it happens, and why it is a problem.
    pub why: &'static str,
    /// Ways to solve the problem, the likeliest first.
    pub ways_out: Vec<&'static str>,
    /// A command and its output, one entry per line.
    pub example: Vec<&'static str>,
}

/// The explanation of one of the host's own codes.
pub fn explanation(code: &Code) -> Option<Explanation> {
    explanations().find(|(found, _)| *found == code.as_str()).map(|(_, explanation)| explanation)
}

/// Every explanation with its code, in the order of the files.
fn explanations() -> impl Iterator<Item = (&'static str, Explanation)> {
    TEXTS.iter().flat_map(|text| text.split("\n\n")).filter_map(|part| {
        let (code, lines) = part.trim_start().split_once('\n')?;
        Some((code.trim_end(), read(lines)))
    })
}

fn read(text: &'static str) -> Explanation {
    let mut read = Explanation::default();
    let mut lines = text.lines();
    for line in lines.by_ref() {
        if let Some(means) = line.strip_prefix("means: ") {
            read.means = means;
        } else if let Some(why) = line.strip_prefix("why: ") {
            read.why = why;
        } else if let Some(way) = line.strip_prefix("- ") {
            read.ways_out.push(way);
        } else if line == "example:" {
            break;
        }
    }
    read.example = lines.collect();
    read
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Code, explanation, explanations};

    #[test]
    fn every_code_is_explained_in_four_parts() {
        for (code, _) in Code::ALL {
            let found = explanation(code).unwrap_or_else(|| panic!("{code} has no text in `explain`"));
            assert!(found.means.len() > 40 && found.means.ends_with(['.', '!']), "{code}: {}", found.means);
            assert!(found.why.len() > 40 && found.why.ends_with(['.', '!']), "{code}: {}", found.why);
            assert_eq!(found.ways_out.len(), 3, "{code}: three ways out");
            assert!(
                found.ways_out.iter().all(|way| way.len() > 15 && way.ends_with(['.', '!', '`'])),
                "{code}"
            );
            let [command, said, ..] = found.example[..] else { panic!("{code}: the example is too short") };
            assert!(
                ["$ onnxport ", ">>> onnxport."].iter().any(|c| command.starts_with(c)),
                "{code}: {command}"
            );
            let names = found.example.iter().any(|line| line.contains(&format!("[{code}]")));
            assert!(names || said.starts_with("  fail  "), "{code}: the example shows it");
        }
    }

    #[test]
    fn every_text_is_of_a_code_and_none_is_a_copy() {
        let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
        let mut before = Vec::new();
        for (code, found) in explanations() {
            assert!(Code::ALL.iter().any(|(known, _)| known.as_str() == code), "unknown code {code}");
            assert!(!before.contains(&code), "{code} is explained twice");
            before.push(code);
            let texts = [found.means, found.why].into_iter().chain(found.ways_out).chain(found.example);
            // Several examples may show the same text below a message.
            for text in texts.filter(|text| !text.starts_with(['$', ' '])) {
                let other = seen.insert(text, code);
                assert_eq!(other, None, "{code} says what another text says: {text}");
            }
        }
        assert_eq!(before.len(), Code::ALL.len());
    }
}
