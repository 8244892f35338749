//! The one description of a quantised form.

use std::str::FromStr;

use crate::tensor::transform::Bits;
use crate::weights::QuantiserName;

/// The elements that share a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// This many weights along the summed axis.
    Size(u64),
    /// All weights of an output.
    Channel,
}

/// The representation of a quantised weight in the graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// `DequantizeLinear` before each reader of the weight.
    #[default]
    Dequantize,
    /// `com.microsoft::MatMulNBits` instead of the product.
    MatMulNBits,
}

/// A quantised form: `int4:block=32,symmetric`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// Bits of a code.
    pub bits: Bits,
    /// The elements that share a scale.
    pub block: Block,
    /// Whether zero points are absent.
    pub symmetric: bool,
    /// The representation in the graph.
    pub form: Form,
    /// The quantiser that chooses scales and codes; `None` rounds to nearest.
    pub quantiser: Option<QuantiserName>,
    /// The type in which `MatMulNBits` takes its other operand: 1 f32, 2 f16, 3 bf16, 4 int8; 0 leaves it
    /// to the runtime.
    pub accuracy_level: u8,
}

impl FromStr for Scheme {
    type Err = String;

    /// Parses `int4` or `int8`, and after a colon `block=N` or `block=channel`, `symmetric` or
    /// `asymmetric`, and `by=PLUGIN/NAME`, separated by commas. The defaults are symmetric blocks of 32
    /// weights, rounded to nearest.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let bits = match name {
            "int4" => Bits::Four,
            "int8" => Bits::Eight,
            _ => return Err(format!("{name:?} is not int4 or int8")),
        };
        let mut scheme = Self {
            bits,
            block: Block::Size(32),
            symmetric: true,
            form: Form::default(),
            quantiser: None,
            accuracy_level: 0,
        };
        for word in rest.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word.split_once('=') {
                None if word == "symmetric" => scheme.symmetric = true,
                None if word == "asymmetric" => scheme.symmetric = false,
                Some(("block", "channel")) => scheme.block = Block::Channel,
                Some(("block", size)) => {
                    let size = size.parse().ok().filter(|size| (1..1 << 32).contains(size));
                    scheme.block = Block::Size(size.ok_or("a block has a number of weights, or `channel`")?);
                }
                Some(("by", quantiser)) => scheme.quantiser = Some(quantiser.parse()?),
                _ => {
                    return Err(format!(
                        "{word:?} is not block=N, block=channel, symmetric, asymmetric or by=PLUGIN/NAME"
                    ));
                }
            }
        }
        Ok(scheme)
    }
}
