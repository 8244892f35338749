//! How exact a rule or a pass is: `exact`, `bounded(relative = 1e-6)`, `target("onnxruntime", ulps = 4)`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Expr, ExprCall, ExprLit, ExprPath, Ident, Lit, Result};

const EXPECTED: &str = "expected `exact`, `bounded(relative = 1e-6)`, `bounded(ulps = 4)` or `target(\"onnxruntime\")`, \
                        which may have a bound as well";

/// A class as it is written; [`Class::UNSTATED`] where it is not.
#[derive(Clone)]
pub(crate) struct Class {
    kind: Kind,
    relative: f64,
    ulps: f64,
    finite: bool,
}

#[derive(Clone)]
enum Kind {
    Unstated,
    Exact,
    Bounded,
    Target(String),
}

impl Class {
    /// The class of a rule that states none.
    pub(crate) const UNSTATED: Self = Self { kind: Kind::Unstated, relative: 0.0, ulps: 0.0, finite: false };

    /// Reads the value of `class =`.
    pub(crate) fn read(written: &Expr) -> Result<Self> {
        match written {
            Expr::Path(path) if name(path).is_some_and(|name| name == "exact") => {
                Ok(Self { kind: Kind::Exact, ..Self::UNSTATED })
            }
            Expr::Path(path) if name(path).is_some_and(|name| name == "bounded") => {
                Err(Error::new_spanned(path, "state how far results may differ: `bounded(relative = 1e-6)`"))
            }
            Expr::Call(call) => Self::call(call),
            other => Err(Error::new_spanned(other, EXPECTED)),
        }
    }

    fn call(call: &ExprCall) -> Result<Self> {
        let Expr::Path(path) = &*call.func else { return Err(Error::new_spanned(&call.func, EXPECTED)) };
        let name = name(path).ok_or_else(|| Error::new_spanned(path, EXPECTED))?;
        let mut arguments = call.args.iter();
        let kind = match name.to_string().as_str() {
            "bounded" => Kind::Bounded,
            "target" => match arguments.next() {
                Some(Expr::Lit(ExprLit { lit: Lit::Str(target), .. })) => Kind::Target(target.value()),
                _ => return Err(Error::new_spanned(call, "name the target: `target(\"onnxruntime\")`")),
            },
            _ => return Err(Error::new_spanned(path, EXPECTED)),
        };
        let mut class = Self { kind, ..Self::UNSTATED };
        for argument in arguments {
            class.bound(argument)?;
        }
        if matches!(class.kind, Kind::Bounded) && class.relative == 0.0 && class.ulps == 0.0 {
            return Err(Error::new_spanned(call, "state how far results may differ: `bounded(ulps = 4)`"));
        }
        Ok(class)
    }

    /// Reads `relative = 1e-6`, `ulps = 4` or `finite`.
    fn bound(&mut self, argument: &Expr) -> Result<()> {
        if let Expr::Path(path) = argument
            && name(path).is_some_and(|name| name == "finite")
        {
            self.finite = true;
            return Ok(());
        }
        let expected = || Error::new_spanned(argument, "expected `relative = 1e-6`, `ulps = 4` or `finite`");
        let Expr::Assign(assign) = argument else { return Err(expected()) };
        let Expr::Path(path) = &*assign.left else { return Err(expected()) };
        let number = match &*assign.right {
            Expr::Lit(ExprLit { lit: Lit::Float(number), .. }) => number.base10_parse::<f64>()?,
            Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse::<f64>()?,
            other => return Err(Error::new_spanned(other, "expected a number")),
        };
        let is_relative = name(path).is_some_and(|name| name == "relative");
        if !(number > 0.0 && number.is_finite()) || is_relative && number >= 1.0 {
            return Err(Error::new_spanned(
                &assign.right,
                "a bound is larger than 0, and a relative one below 1",
            ));
        }
        match name(path).map(ToString::to_string).as_deref() {
            Some("relative") => self.relative = number,
            Some("ulps") => self.ulps = number,
            _ => return Err(expected()),
        }
        Ok(())
    }

    /// The record of the contract.
    pub(crate) fn record(&self) -> TokenStream {
        let Self { kind, relative, ulps, finite } = self;
        let finite = u32::from(*finite);
        let (class, target) = match kind {
            Kind::Unstated => (quote!(UNSTATED), ""),
            Kind::Exact => (quote!(EXACT), ""),
            Kind::Bounded => (quote!(BOUNDED), ""),
            Kind::Target(target) => (quote!(TARGET), target.as_str()),
        };
        quote! {
            ::onnxport_sdk::abi::rules::ClassRecord {
                kind: ::onnxport_sdk::abi::rules::class::#class,
                relative: #relative,
                ulps: #ulps,
                target: ::onnxport_sdk::text(#target),
                finite: #finite,
            }
        }
    }
}

fn name(path: &ExprPath) -> Option<&Ident> {
    path.path.get_ident()
}
