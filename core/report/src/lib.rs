//! Report pages: verifications, intermediate values, faulty modules, and models, each as one HTML file that needs no
//! network. [`verification`], [`values`] and [`modules`] render findings of `onnxport-core`, [`model`] also as Markdown
//! and JSON; [`page`] and [`chart`] know nothing of models.

mod along;
pub mod chart;
pub mod draw;
pub mod model;
mod modules;
mod outputs;
pub mod page;
pub mod profile;

pub use modules::modules;
use onnxport_core::bisect::Found;
use onnxport_core::verify::Verification;
use page::{Page, Section, Verdict};

/// The page of the verifications of the model called `model`, one for each executor, with the values inside of it where
/// they were compared.
pub fn verification(model: &str, found: &[Verification], values: Option<&Found>) -> String {
    let mut sections =
        vec![Section { id: "outputs", title: "Outputs".to_owned(), body: outputs::table(found) }];
    sections.extend(values.map(along::section));
    sections.push(Section { id: "calls", title: "Calls".to_owned(), body: outputs::calls(found) });
    sections.extend(outputs::branches(found));
    let (verdict, summary) = outputs::verdict(found);
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let mut facts: Vec<_> = found.iter().map(|one| fact("Run by", short(&one.executor))).collect();
    let torch = found.iter().find_map(|one| one.torch.clone());
    facts.extend(torch.map(|torch| fact("Expected values", format!("PyTorch {torch}"))));
    let largest = found.iter().map(Verification::max_abs).fold(0.0, f64::max);
    let cosine = found.iter().map(Verification::min_cosine).fold(1.0, f64::min);
    facts.push(fact("Largest difference", format!("{largest:.3e}")));
    facts.push(fact("Smallest cosine", format!("{cosine:.9}")));
    page::render(&Page { title: model.to_owned(), verdict, summary, facts, sections })
}

/// The page of the values inside of a model, held against those of a reference.
pub fn values(model: &str, found: &Found) -> String {
    let values = &found.values;
    let (verdict, summary) = match along::departures(found) {
        0 if values.complete => (Verdict::Passed, "every value agrees with the reference".to_owned()),
        0 => (Verdict::Open, "no value departs among those that were compared".to_owned()),
        1 => (Verdict::Failed, "one value departs from the reference".to_owned()),
        n => (Verdict::Failed, format!("{n} values depart from the reference")),
    };
    let mut facts = vec![
        ("Model".to_owned(), short(&values.model)),
        ("Reference".to_owned(), short(&values.reference)),
        ("Compared".to_owned(), format!("{} values", values.rows.len())),
        ("Without a counterpart".to_owned(), format!("{} values", values.without_counterpart)),
    ];
    if let Some(fault) = &found.fault {
        let place = &fault.row.place;
        facts.push(("First wrong node".to_owned(), format!("{} ({})", place.node, place.operator)));
    }
    let sections = vec![along::section(found)];
    page::render(&Page { title: model.to_owned(), verdict, summary, facts, sections })
}

/// The name of a runtime or of a recording, without its folder.
fn short(source: &str) -> String {
    let name = source.split_once(", ").map_or(source, |(name, _)| name);
    let folder = name.find(['/', '\\']).and_then(|at| name.get(..at)?.rfind(' '));
    let Some((what, path)) = folder.and_then(|at| name.split_at_checked(at + 1)) else {
        return name.to_owned();
    };
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    format!("{what}{file}")
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn a_page_names_no_folders() {
        assert_eq!(short("ONNX Runtime 1.31.1, /a/libonnxruntime.so"), "ONNX Runtime 1.31.1");
        assert_eq!(short("the recording /a b/m.safetensors"), "the recording m.safetensors");
        assert_eq!(short("the recording C:\\a\\m.safetensors"), "the recording m.safetensors");
        assert_eq!(short("the reference evaluator 0.1.0"), "the reference evaluator 0.1.0");
    }
}
