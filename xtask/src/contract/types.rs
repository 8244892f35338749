//! Types of the specification, and whether they may cross.

use std::collections::BTreeSet;

use syn::spanned::Spanned;
use syn::{Error, GenericArgument, PathArguments, Result, ReturnType, TypeBareFn, TypePath};

use super::model::Type;

/// The types available in every module: numbers, the types of `abi_stable` that cross, and the envelope.
pub(super) const BUILT_IN: &[&str] = &[
    "u8",
    "u16",
    "u32",
    "u64",
    "i8",
    "i16",
    "i32",
    "i64",
    "usize",
    "f32",
    "f64",
    "c_void",
    "RStr",
    "RSlice",
    "RSliceMut",
    "Table",
    "Version",
];

/// Reads a type; `known` are the names of the module besides those that are built in.
pub(super) fn read(ty: &syn::Type, known: &BTreeSet<String>) -> Result<Type> {
    match ty {
        syn::Type::Path(path) => named(path, known),
        syn::Type::Reference(reference) => Ok(Type::Reference {
            lifetime: reference.lifetime.as_ref().map(|lifetime| lifetime.ident.to_string()),
            mutable: reference.mutability.is_some(),
            to: Box::new(read(&reference.elem, known)?),
        }),
        syn::Type::Ptr(pointer) => Ok(Type::Pointer {
            mutable: pointer.mutability.is_some(),
            to: Box::new(read(&pointer.elem, known)?),
        }),
        syn::Type::BareFn(function) => read_function(function, known),
        _ => Err(Error::new(ty.span(), "a type of this form does not cross")),
    }
}

fn named(path: &TypePath, known: &BTreeSet<String>) -> Result<Type> {
    let fail = |why: &str| Err(Error::new(path.span(), why));
    let (None, None, 1) = (&path.qself, &path.path.leading_colon, path.path.segments.len()) else {
        return fail("a type is named by one word; import it with `use crate::module::Name`");
    };
    let segment = &path.path.segments[0];
    let name = segment.ident.to_string();
    if !BUILT_IN.contains(&name.as_str()) && !known.contains(&name) {
        return fail("no such type: numbers, RStr, RSlice, RSliceMut, Table, Version and records cross");
    }
    let (mut lifetime, mut argument) = (None, None);
    if let PathArguments::AngleBracketed(arguments) = &segment.arguments {
        for one in &arguments.args {
            match one {
                GenericArgument::Lifetime(found) if lifetime.is_none() => {
                    lifetime = Some(found.ident.to_string());
                }
                GenericArgument::Type(ty) if argument.is_none() => {
                    argument = Some(Box::new(read(ty, known)?));
                }
                _ => return fail("a type has at most one lifetime and one argument"),
            }
        }
    }
    Ok(Type::Named { name, lifetime, argument })
}

fn read_function(function: &TypeBareFn, known: &BTreeSet<String>) -> Result<Type> {
    let fail = |why: &str| Err(Error::new(function.span(), why));
    let is_c =
        function.abi.as_ref().and_then(|abi| abi.name.as_ref()).is_some_and(|name| name.value() == "C");
    if !is_c || function.variadic.is_some() || function.unsafety.is_some() {
        return fail("a function is `extern \"C\" fn`");
    }
    let mut binder = Vec::new();
    for parameter in function.lifetimes.iter().flat_map(|bound| &bound.lifetimes) {
        let syn::GenericParam::Lifetime(lifetime) = parameter else {
            return fail("a function is generic over lifetimes only");
        };
        binder.push(lifetime.lifetime.ident.to_string());
    }
    let mut parameters = Vec::new();
    for input in &function.inputs {
        let Some((name, _)) = &input.name else { return fail("a parameter has a name") };
        parameters.push((name.to_string(), read(&input.ty, known)?));
    }
    let result = match &function.output {
        ReturnType::Default => None,
        ReturnType::Type(_, ty) => Some(Box::new(read(ty, known)?)),
    };
    Ok(Type::Function { binder, parameters, result })
}
