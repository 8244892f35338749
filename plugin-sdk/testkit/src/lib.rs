//! Tests of a plugin's lowerings: a call is lowered by the host that converts programs, and what was emitted is
//! computed by its evaluator.
//!
//! ```toml
//! [dev-dependencies]
//! onnxport-testkit = "0.1"
//! ```
//!
//! ```ignore
//! use onnxport_testkit::*;
//!
//! #[test]
//! fn scaled_multiplies() {
//!     let lowered = Plugin::attach(&crate::ROOT)
//!         .call("mylib.scaled.default")
//!         .arg("x", input("f32[n, 2]"))
//!         .arg("factor", 2.5)
//!         .gives("f32[n, 2]")
//!         .lower()
//!         .unwrap();
//!     assert_eq!(lowered.ops(), ["Mul"]);
//!     let x = Tensor::f32([1, 2], [1.0, -2.0]);
//!     let y = lowered.run(&[("x", &x)]).unwrap();
//!     assert_close(&y[0], &Tensor::f32([1, 2], [2.5, -5.0]), Tolerance::default());
//! }
//! ```
//!
//! A test states a program of one call. It is converted as any other: held against the facts of its operator,
//! normalised, lowered, tidied and validated, without rules and passes. So an operator that does not end in `_` and
//! whose schema says that it writes is not what this is for; neither are nested graphs as arguments.

mod call;
mod close;
pub mod comparer;
mod lowered;
mod plugin;
mod tensor;

pub use call::{Argument, Call, constant, input};
pub use close::{Tolerance, assert_close};
pub use lowered::{Failure, Lowered};
pub use onnxport_core as core;
pub use plugin::Plugin;
pub use tensor::Tensor;
