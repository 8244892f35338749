//! The targets that come with the host.

use std::sync::{Arc, LazyLock};

use super::target::Target;
use crate::tensor::DType;

/// The names of the targets that come with the host.
pub const BUILT_IN: &[&str] = &[
    "onnx",
    "onnxruntime",
    "onnxruntime-cpu",
    "onnxruntime-cuda",
    "onnxruntime-directml",
    "openvino",
    "tensorrt",
    "qnn",
    "coreml",
    "litert",
];

/// The table of ONNX Runtime.
const OWN: &str = include_str!("targets/onnxruntime-cpu.txt");

/// The tables of other runtimes, by their names.
pub(super) const OTHERS: &[(&str, &str)] = &[
    ("onnxruntime-cuda", include_str!("targets/onnxruntime-cuda.txt")),
    ("onnxruntime-directml", include_str!("targets/onnxruntime-directml.txt")),
    ("openvino", include_str!("targets/openvino.txt")),
    ("tensorrt", include_str!("targets/tensorrt.txt")),
    ("qnn", include_str!("targets/qnn.txt")),
    ("coreml", include_str!("targets/coreml.txt")),
    ("litert", include_str!("targets/litert.txt")),
];

/// The rules by which targets quantize, by their names. Those of ONNX Runtime are for its CPU provider.
pub(super) const QUANTISE: &[(&str, &str)] = &[
    ("onnxruntime", include_str!("quantise/onnxruntime.txt")),
    ("openvino", include_str!("quantise/openvino.txt")),
    ("tensorrt", include_str!("quantise/tensorrt.txt")),
    ("qnn", include_str!("quantise/qnn.txt")),
];

/// The lines about the quantization of a target.
fn rules(name: &str) -> &'static str {
    QUANTISE.iter().find(|(known, _)| *known == name).map_or("", |(_, lines)| lines)
}

impl Target {
    /// The target that comes with the host under this name.
    pub fn named(name: &str) -> Option<Arc<Self>> {
        match name {
            "onnx" => Some(Arc::new(Self::unrestricted(name))),
            "onnxruntime" => Some(Self::onnxruntime()),
            "onnxruntime-cpu" => {
                // No other provider helps out: bfloat16, which the CPU has few kernels for, is computed in float32.
                let mut target = (*Self::onnxruntime()).clone();
                name.clone_into(&mut target.name);
                target.executor = Some("ort".to_owned());
                target.leave.clear();
                target.compute.push((DType::BF16, DType::F32));
                Some(Arc::new(target))
            }
            // The tables are made by scripts and a test reads every line.
            _ => OTHERS.iter().find(|(known, _)| *known == name).map(|(_, text)| {
                let target = Self::indexed(text).unwrap_or_else(|_| Self::unrestricted(name));
                Arc::new(target.with(rules(name)))
            }),
        }
    }

    /// A target of this name that takes everything.
    pub fn unrestricted(name: &str) -> Self {
        let mut target = Self::default();
        name.clone_into(&mut target.name);
        target
    }

    /// ONNX Runtime. Types that its CPU provider lacks are computed in another type; bfloat16 is left to other providers.
    pub fn onnxruntime() -> Arc<Self> {
        static TABLE: LazyLock<Arc<Target>> = LazyLock::new(|| {
            // The table is made by a script and a test reads every line.
            Arc::new(Target::indexed(OWN).unwrap_or_default().with(rules("onnxruntime")))
        });
        TABLE.clone()
    }
}
