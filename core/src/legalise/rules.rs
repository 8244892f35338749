//! The rules by which a target quantizes: lines of its table.
//!
//! ```text
//! quantize activations=u8 weights=i8 channels bias=i32   the types of codes
//! quantize Conv weighted fused=Relu,Clip                 multiplies by a constant weight
//! quantize MatMul weighted output=needed                 its result may stay a float
//! quantize Add follows fused=Relu                        is quantized if all of its inputs are
//! quantize MaxPool shares                                passes values through: one scale before and behind it
//! quantize-source URL, quantize-date YYYY-MM-DD          where the rules are from
//! ```

use indexmap::IndexMap;

use crate::op;
use crate::tensor::DType;

/// The rules of a target; without operators, the target has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// The types of codes.
    pub types: CodeTypes,
    /// Where the rules are from.
    pub source: String,
    /// When that was published.
    pub date: String,
    operators: IndexMap<String, Rule>,
}

/// The types of codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeTypes {
    /// Of activations.
    pub activations: Codes,
    /// The largest magnitude of the int8 codes of weights, which are symmetric.
    pub largest_weight: i32,
    /// Whether each output channel of a weight has a scale of its own.
    pub channels: bool,
    /// Whether biases become int32 codes, or stay floats.
    pub codes_of_biases: bool,
}

/// Codes of eight bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codes {
    /// 0 to 255 with a zero point.
    U8,
    /// -128 to 127 with a zero point.
    I8,
    /// -127 to 127, and 0 is zero.
    SymmetricI8,
}

/// The rule for an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The role of the operator.
    pub role: Role,
    /// Operators behind this one that its kernel computes as well, so that there are no codes in between.
    pub fused: Vec<String>,
}

/// The role of an operator in a quantized model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It multiplies an activation by a constant weight. Unless `always`, its result stays a float if no other
    /// quantized operator reads it.
    Weighted {
        /// Whether the result always has codes.
        always: bool,
    },
    /// It is quantized if all of its inputs are.
    Follows,
    /// It passes values through, with the same scale before and behind it.
    Shares,
}

impl Default for CodeTypes {
    fn default() -> Self {
        Self { activations: Codes::U8, largest_weight: 127, channels: false, codes_of_biases: true }
    }
}

impl Codes {
    /// The element type.
    pub fn dtype(self) -> DType {
        if self == Self::U8 { DType::U8 } else { DType::I8 }
    }

    /// The smallest and the largest code.
    pub fn limits(self) -> (i32, i32) {
        match self {
            Self::U8 => (0, 255),
            Self::I8 => (-128, 127),
            Self::SymmetricI8 => (-127, 127),
        }
    }
}

impl Rules {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.operators.is_empty()
    }

    /// The rule for ONNX's own operator `op`.
    pub fn of(&self, op: &str) -> Option<&Rule> {
        self.operators.get(op)
    }

    /// Reads the rest of a line behind `quantize`; `None` if it says nothing.
    pub(crate) fn line(&mut self, rest: &str) -> Option<()> {
        let mut words = rest.split_whitespace();
        let first = words.next()?;
        if !first.starts_with(|c: char| c.is_ascii_uppercase()) {
            self.types = types(rest)?;
            return Some(());
        }
        let (mut role, mut fused, mut always) = (None, Vec::new(), true);
        for word in words {
            match word.split_once('=') {
                None => {
                    let stated = match word {
                        "weighted" => Role::Weighted { always: true },
                        "follows" => Role::Follows,
                        "shares" => Role::Shares,
                        _ => return None,
                    };
                    if role.replace(stated).is_some() {
                        return None;
                    }
                }
                Some(("fused", operators)) => fused = operators.split(',').map(str::to_owned).collect(),
                Some(("output", "always")) => always = true,
                Some(("output", "needed")) => always = false,
                Some(_) => return None,
            }
        }
        let role = match role? {
            Role::Weighted { .. } if WEIGHTED.contains(&first) => Role::Weighted { always },
            // Without knowing the place of its weight, an operator cannot be quantized.
            Role::Weighted { .. } => return None,
            _ if !always => return None,
            role => role,
        };
        self.operators.insert(first.to_owned(), Rule { role, fused });
        Some(())
    }
}

/// The operators whose weight is known by its position.
const WEIGHTED: [&str; 3] = [op::Conv, op::Gemm, op::MatMul];

/// `activations=i8 symmetric weights=i8 channels bias=float`.
fn types(rest: &str) -> Option<CodeTypes> {
    let mut types = CodeTypes::default();
    let mut symmetric = false;
    let mut activations = None;
    for word in rest.split_whitespace() {
        match word {
            "activations=u8" => activations = Some(Codes::U8),
            "activations=i8" => activations = Some(Codes::I8),
            "weights=i8" => types.largest_weight = 127,
            // Sums of products of two pairs fit into 16 bits.
            "weights=i7" => types.largest_weight = 63,
            "channels" => types.channels = true,
            "symmetric" => symmetric = true,
            "bias=i32" => types.codes_of_biases = true,
            "bias=float" => types.codes_of_biases = false,
            _ => return None,
        }
    }
    types.activations = match (activations?, symmetric) {
        (Codes::I8, true) => Codes::SymmetricI8,
        (Codes::U8, true) => return None,
        (codes, _) => codes,
    };
    Some(types)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> Option<Rules> {
        let mut rules = Rules::default();
        lines.iter().try_for_each(|line| rules.line(line))?;
        Some(rules)
    }

    #[test]
    fn lines_state_types_and_roles() {
        let lines = [
            "activations=i8 symmetric weights=i8 channels bias=float",
            "Conv weighted fused=Relu,Clip",
            "MatMul weighted output=needed",
            "MaxPool shares",
        ];
        let rules = read(&lines).unwrap();
        assert_eq!(rules.types.activations, Codes::SymmetricI8);
        assert!(rules.types.channels && !rules.types.codes_of_biases);
        assert_eq!(rules.of("Conv").unwrap().fused, ["Relu", "Clip"]);
        assert_eq!(rules.of("MatMul").unwrap().role, Role::Weighted { always: false });
        assert_eq!(rules.of("MaxPool").unwrap().role, Role::Shares);
        assert!(rules.of("Add").is_none());
    }

    #[test]
    fn lines_that_say_nothing_are_refused() {
        for line in [
            "",
            "Conv",
            "Conv weighted follows",
            "Conv weighted output=maybe",
            "LSTM weighted",
            "Add follows output=needed",
            "activations=f32",
            "activations=u8 symmetric",
            "weights=i8",
        ] {
            assert!(read(&[line]).is_none(), "{line}");
        }
    }
}
