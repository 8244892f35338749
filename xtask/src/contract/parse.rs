//! Reads the specification: Rust syntax to a [`Contract`], or a located reason.

use std::collections::{BTreeMap, BTreeSet};

use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, Fields, ItemConst, ItemMod, ItemStruct, ItemUse, Result, UseTree};

use super::facts::{AttributeFacts, revision};
use super::model::{
    Const, Contract, Field, Gives, Group, Handle, Import, Item, Kind, Module, Revision, Struct, Type, Value,
};
use super::types;

/// The types that each module defines.
type Names = BTreeMap<String, BTreeSet<String>>;

/// Reads the text of the specification.
pub(super) fn contract(text: &str) -> Result<Contract> {
    let file = syn::parse_file(text)?;
    let current = current(&file)?;
    let modules: Vec<&ItemMod> = file.items.iter().map(as_module).collect::<Result<_>>()?;
    let names: Names = modules.iter().map(|module| (module.ident.to_string(), defined(module))).collect();
    let statuses = statuses(&modules);
    let reader = Reader { current, names: &names, statuses: &statuses };
    let modules = modules.into_iter().map(|module| reader.module(module)).collect::<Result<_>>()?;
    Ok(Contract { current, modules })
}

fn current(file: &syn::File) -> Result<Revision> {
    let attribute = file.attrs.iter().find(|attribute| attribute.path().is_ident("contract"));
    let attribute = attribute.ok_or_else(|| {
        Error::new(file.span(), "the file states its newest revision: `#![contract(current = 1.0)]`")
    })?;
    let mut found = None;
    attribute.parse_nested_meta(|meta| {
        if !meta.path.is_ident("current") {
            return Err(meta.error("no such fact"));
        }
        found = Some(revision(&meta.value()?.parse()?)?);
        Ok(())
    })?;
    found.ok_or_else(|| Error::new(attribute.span(), "`current = 1.0` is missing"))
}

fn as_module(item: &syn::Item) -> Result<&ItemMod> {
    match item {
        syn::Item::Mod(module) => Ok(module),
        _ => Err(Error::new(item.span(), "the contract consists of modules")),
    }
}

fn items(module: &ItemMod) -> &[syn::Item] {
    module.content.as_ref().map_or(&[], |(_, items)| items)
}

fn defined(module: &ItemMod) -> BTreeSet<String> {
    let name = |item: &syn::Item| match item {
        syn::Item::Struct(found) => Some(found.ident.to_string()),
        _ => None,
    };
    items(module).iter().filter_map(name).collect()
}

fn statuses(modules: &[&ItemMod]) -> Vec<String> {
    let status = modules.iter().filter(|module| module.ident == "status");
    let name = |item: &syn::Item| match item {
        syn::Item::Const(found) => Some(found.ident.to_string()),
        _ => None,
    };
    status.flat_map(|module| items(module)).filter_map(name).collect()
}

struct Reader<'a> {
    current: Revision,
    names: &'a Names,
    statuses: &'a [String],
}

impl Reader<'_> {
    fn module(&self, module: &ItemMod) -> Result<Module> {
        let stated = AttributeFacts::find(&module.attrs, "interface", self.statuses)?;
        let interface = stated.as_ref().and_then(|stated| stated.id.clone());
        if stated.is_some() && interface.is_none() {
            return Err(Error::new(module.span(), "an interface has an `id`"));
        }
        let first = Revision { major: self.current.major, minor: 0 };
        let since = stated.as_ref().map_or(Some(first), |stated| stated.since);
        let since = since.ok_or_else(|| Error::new(module.span(), "an interface has a `since`"))?;
        let defaults = stated.unwrap_or_default();
        let name = module.ident.to_string();
        let mut known = self.names.get(&name).cloned().unwrap_or_default();
        let mut imports = Vec::new();
        for item in items(module) {
            if let syn::Item::Use(found) = item {
                self.import(found, &mut imports)?;
            }
        }
        known.extend(imports.iter().map(|import| import.name.clone()));
        let mut read = Vec::new();
        for item in items(module) {
            match item {
                syn::Item::Use(_) => {}
                syn::Item::Const(found) => read.push(Item::Const(constant(found)?)),
                syn::Item::Mod(found) => read.push(Item::Group(group(found)?)),
                syn::Item::Struct(found) if matches!(found.fields, Fields::Unnamed(_)) => {
                    read.push(Item::Handle(handle(found)?));
                }
                syn::Item::Struct(found) => {
                    read.push(Item::Struct(self.structure(found, &defaults, &known)?));
                }
                _ => return Err(Error::new(item.span(), "constants, groups of constants and structs cross")),
            }
        }
        let docs = docs(&module.attrs, module)?;
        Ok(Module { name, interface, since, docs, imports, items: read })
    }

    /// `use crate::lowering::{Context, DimRecord};`
    fn import(&self, found: &ItemUse, imports: &mut Vec<Import>) -> Result<()> {
        let wrong = || Error::new(found.span(), "an import is `use crate::module::{Name, ...}`");
        let UseTree::Path(root) = &found.tree else { return Err(wrong()) };
        let UseTree::Path(module) = &*root.tree else { return Err(wrong()) };
        if root.ident != "crate" {
            return Err(wrong());
        }
        let leaves: Vec<&UseTree> = match &*module.tree {
            UseTree::Group(group) => group.items.iter().collect(),
            tree => vec![tree],
        };
        for leaf in leaves {
            let UseTree::Name(leaf) = leaf else { return Err(wrong()) };
            let (module, name) = (module.ident.to_string(), leaf.ident.to_string());
            if !self.names.get(&module).is_some_and(|names| names.contains(&name)) {
                return Err(Error::new(leaf.span(), format!("`{module}` has no `{name}`")));
            }
            imports.push(Import { module, name });
        }
        Ok(())
    }

    fn structure(
        &self,
        found: &ItemStruct,
        outer: &AttributeFacts,
        known: &BTreeSet<String>,
    ) -> Result<Struct> {
        let table = AttributeFacts::find(&found.attrs, "table", self.statuses)?;
        let record = AttributeFacts::find(&found.attrs, "record", self.statuses)?;
        let side = table.as_ref().map(|stated| stated.side);
        let kind = match side {
            None => Kind::Record,
            Some(Some(side)) => side.kind(),
            Some(None) => return Err(Error::new(found.span(), "a table says `plugin` or `host`")),
        };
        let defaults = table.or(record).unwrap_or_default().or(outer);
        let lifetimes: Vec<String> =
            found.generics.lifetimes().map(|l| l.lifetime.ident.to_string()).collect();
        if lifetimes.len() > 1 || found.generics.params.len() != lifetimes.len() {
            return Err(Error::new(found.generics.span(), "a struct has at most one lifetime"));
        }
        let base = defaults.since.unwrap_or(self.current);
        let mut fields: Vec<Field> = Vec::new();
        for field in &found.fields {
            let read = self.field(field, &defaults, base, known)?;
            if kind == Kind::Record && read.since != base {
                return Err(Error::new(field.span(), "a record never changes; make a new one"));
            }
            if fields.last().is_some_and(|last| last.since > read.since) {
                return Err(Error::new(field.span(), "a table grows at its end only"));
            }
            if fields.last().is_some_and(|last| last.optional && !read.optional) {
                return Err(Error::new(field.span(), "what is optional comes last"));
            }
            if kind != Kind::PluginTable && read.optional && read.since == base {
                return Err(Error::new(field.span(), "only functions of plugins are optional"));
            }
            fields.push(read);
        }
        for (field, read) in found.fields.iter().zip(&fields) {
            if let Some(Gives::Until(slot)) = read.facts.as_ref().map(|facts| &facts.gives)
                && !fields.iter().any(|other| other.name == *slot && other.facts.is_some())
            {
                return Err(Error::new(field.span(), format!("there is no function `{slot}`")));
            }
        }
        Ok(Struct {
            name: found.ident.to_string(),
            docs: docs(&found.attrs, found)?,
            derives: derives(&found.attrs)?,
            lifetime: lifetimes.into_iter().next(),
            kind,
            fields,
        })
    }

    fn field(
        &self,
        field: &syn::Field,
        defaults: &AttributeFacts,
        base: Revision,
        known: &BTreeSet<String>,
    ) -> Result<Field> {
        let own = AttributeFacts::find(&field.attrs, "slot", self.statuses)?.unwrap_or_default();
        let ty = types::read(&field.ty, known)?;
        let since = own.since.unwrap_or(base);
        if since > self.current {
            return Err(Error::new(field.span(), format!("the contract is {}", self.current)));
        }
        let optional = own.optional || since > base;
        let is_number = matches!(&ty, Type::Named { name, .. } if matches!(name.as_str(), "u32" | "u64"));
        if optional && !is_number && !matches!(ty, Type::Function { .. }) {
            let why = "what is optional is a function, a u32 or a u64: zero means `not provided`";
            return Err(Error::new(field.span(), why));
        }
        let facts = own.clone().or(defaults).complete(&own, &ty, field)?;
        let name = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
        Ok(Field { name, docs: docs(&field.attrs, field)?, since, optional, ty, facts })
    }
}

fn handle(found: &ItemStruct) -> Result<Handle> {
    let pointer =
        found.fields.iter().next().map(|field| types::read(&field.ty, &BTreeSet::new())).transpose()?;
    let is_opaque = matches!(&pointer, Some(Type::Pointer { mutable: true, to })
        if matches!(&**to, Type::Named { name, .. } if name == "c_void"));
    if !is_opaque || found.fields.len() != 1 {
        return Err(Error::new(found.span(), "a handle is `struct Name(pub *mut c_void)`"));
    }
    Ok(Handle {
        name: found.ident.to_string(),
        docs: docs(&found.attrs, found)?,
        derives: derives(&found.attrs)?,
        null: found.attrs.iter().any(|attribute| attribute.path().is_ident("null")),
    })
}

fn constant(found: &ItemConst) -> Result<Const> {
    let syn::Type::Path(ty) = &*found.ty else {
        return Err(Error::new(found.ty.span(), "a constant is a number"));
    };
    let ty = ty.path.require_ident()?.to_string();
    if !matches!(ty.as_str(), "u32" | "u64" | "i32" | "i64") {
        return Err(Error::new(found.ty.span(), "a constant is a u32, u64, i32 or i64"));
    }
    let value = value(&found.expr)?;
    Ok(Const { name: found.ident.to_string(), docs: docs(&found.attrs, found)?, ty, value })
}

fn value(expr: &Expr) -> Result<Value> {
    let number = |expr: &Expr| match expr {
        Expr::Lit(literal) => match &literal.lit {
            syn::Lit::Int(number) => Some(number.base10_digits().to_owned()),
            _ => None,
        },
        _ => None,
    };
    let found = match expr {
        Expr::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "MAX") => {
            Some(Value::Max)
        }
        Expr::Unary(unary) => number(&unary.expr).map(|digits| Value::Number(format!("-{digits}"))),
        Expr::Binary(shift) if matches!(shift.op, syn::BinOp::Shl(_)) => number(&shift.left)
            .zip(number(&shift.right))
            .map(|(left, right)| Value::Number(format!("{left} << {right}"))),
        expr => number(expr).map(Value::Number),
    };
    found.ok_or_else(|| Error::new(expr.span(), "a value is a number, a shifted number or `T::MAX`"))
}

fn group(module: &ItemMod) -> Result<Group> {
    let mut constants = Vec::new();
    for item in items(module) {
        let syn::Item::Const(found) = item else {
            return Err(Error::new(item.span(), "a group consists of constants"));
        };
        constants.push(constant(found)?);
    }
    Ok(Group { name: module.ident.to_string(), docs: docs(&module.attrs, module)?, constants })
}

fn derives(attributes: &[Attribute]) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("derive")) {
        attribute.parse_nested_meta(|meta| {
            names.push(meta.path.require_ident()?.to_string());
            Ok(())
        })?;
    }
    Ok(names)
}

/// The lines of the documentation, which everything has.
fn docs(attributes: &[Attribute], of: &impl Spanned) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        if let syn::Meta::NameValue(doc) = &attribute.meta
            && let Expr::Lit(literal) = &doc.value
            && let syn::Lit::Str(text) = &literal.lit
        {
            let text = text.value();
            lines.push(text.strip_prefix(' ').unwrap_or(&text).trim_end().to_owned());
        }
    }
    if lines.is_empty() { Err(Error::new(of.span(), "it has no documentation")) } else { Ok(lines) }
}
