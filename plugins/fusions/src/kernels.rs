//! The measured times of ONNX Runtime's kernels: `kernels.tsv`, which `python -m benches.runtime.kernels` writes.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use onnxport_sdk::prelude::*;

/// A form must take less than this part of the time of the nodes that it replaces; the rest is noise.
const GAIN: f64 = 0.97;

/// The ratios of a form's times to those of the plain one, a size each.
static RATIOS: LazyLock<BTreeMap<&str, Vec<f64>>> = LazyLock::new(|| {
    let mut ratios: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for line in include_str!("../kernels.tsv").lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split('\t').collect();
        if let [form, _size, fused, plain, ..] = cells.as_slice()
            && let (Ok(fused), Ok(plain)) = (fused.parse::<f64>(), plain.parse::<f64>())
        {
            ratios.entry(form).or_default().push(fused / plain);
        }
    }
    ratios
});

/// Refuses a form that was not measured to be faster than the nodes that it replaces, by the geometric mean over the sizes.
pub(crate) fn pays(form: &str) -> Res<()> {
    let ratios = RATIOS.get(form).ok_or_else(|| format!("the kernel of {form} was not measured"))?;
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    if mean < GAIN {
        Ok(())
    } else {
        Err(format!("the kernel of {form} takes {mean:.2} of the time of the nodes that it replaces").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_measured_decides() {
        assert!(pays("LayerNormalization of a Sum").is_ok());
        let slow = pays("Softplus").expect_err("its kernel is slower");
        assert!(format!("{slow:?}").contains("of the time"), "{slow:?}");
        let unknown = pays("Nothing").expect_err("there is no such kernel");
        assert!(format!("{unknown:?}").contains("not measured"), "{unknown:?}");
    }

    #[test]
    fn every_line_was_read() {
        let lines = include_str!("../kernels.tsv").lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(RATIOS.values().map(Vec::len).sum::<usize>(), lines);
    }
}
