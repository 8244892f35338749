//! Fingerprints of tables, which two builds compare before one reads the other's table.
//!
//! A field's fingerprint covers its name, the sizes and alignments of everything in it, and the
//! parameters and results of its functions with all records that they reach. It is computed from the
//! layouts that `StableAbi` derives, with FNV-1a; the way of computing it is part of the contract.

use abi_stable::StableAbi;
use abi_stable::type_layout::{TLData, TLField, TLFunction, TypeLayout};

/// A line for every field of every revision of the contract: revision, interface, table, field and fingerprint. Lines of
/// a revision that is not released end in `open`.
pub const FINGERPRINTS: &str = include_str!("../fingerprints.txt");

/// Where a field has a pointer that must not be null.
#[derive(Clone, Copy)]
pub(crate) enum Pointer {
    /// A function.
    Function(usize),
    /// A slice or a text, whose length stands behind the pointer; null is right where that is 0.
    Slice(usize),
}

/// The fields of a table.
pub struct Shape {
    prints: Vec<u64>,
    ends: Vec<usize>,
    names: Vec<&'static str>,
    /// Where each field has a pointer that must not be null.
    pointers: Vec<Option<Pointer>>,
}

impl Shape {
    /// The shape of `T`, which must be a `repr(C)` struct.
    pub(crate) fn for_type<T: StableAbi>() -> Self {
        let mut shape =
            Self { prints: Vec::new(), ends: Vec::new(), names: Vec::new(), pointers: Vec::new() };
        let mut hash = Fnv::new();
        let mut end = 0_usize;
        for field in T::LAYOUT.get_fields().into_iter().flat_map(|fields| fields.to_vec()) {
            let layout = field.layout();
            let start = end.next_multiple_of(layout.alignment().max(1));
            end = start + layout.size();
            // Slices and texts begin with their pointer.
            let slice = ["RStr", "RSlice"].contains(&layout.name());
            shape.pointers.push(match (field.is_function(), slice) {
                (true, _) => Some(Pointer::Function(start)),
                (_, true) => Some(Pointer::Slice(start)),
                _ => None,
            });
            add_field(&field, &mut hash, &mut Vec::new());
            shape.prints.push(hash.0);
            shape.ends.push(end);
            shape.names.push(field.name());
        }
        shape
    }

    /// The fingerprint of the first field, of the first two, and so on.
    pub fn prints(&self) -> &[u64] {
        &self.prints
    }

    /// The name of field `index`.
    pub fn name(&self, index: usize) -> &'static str {
        self.names.get(index).copied().unwrap_or("?")
    }

    /// Where field `index` has a pointer that must not be null.
    pub(crate) fn pointer(&self, index: usize) -> Option<Pointer> {
        self.pointers.get(index).copied().flatten()
    }

    /// Where the first `count` fields end, or all of them when there are fewer.
    pub fn end(&self, count: usize) -> usize {
        self.ends.iter().take(count).next_back().copied().unwrap_or(0)
    }
}

type Seen = Vec<&'static TypeLayout>;

fn add_field(field: &TLField, hash: &mut Fnv, seen: &mut Seen) {
    hash.text(field.name());
    hash.number(u64::from(field.is_function()));
    for function in field.function_range() {
        add_function(&function, hash, seen);
    }
    add_layout(field.layout(), hash, seen);
}

fn add_function(function: &TLFunction, hash: &mut Fnv, seen: &mut Seen) {
    hash.number(u64::from(function.fn_qualifs.is_unsafe()));
    for parameter in function.param_type_layouts.iter() {
        add_layout(parameter(), hash, seen);
    }
    hash.text("->");
    if let Some(result) = function.return_type_layout() {
        add_layout(result(), hash, seen);
    }
}

fn add_layout(layout: &'static TypeLayout, hash: &mut Fnv, seen: &mut Seen) {
    hash.text(layout.name());
    hash.number(layout.size() as u64);
    hash.number(layout.alignment() as u64);
    // A record that contains itself behind a reference.
    if seen.iter().any(|outer| std::ptr::eq(*outer, layout)) {
        return;
    }
    seen.push(layout);
    for parameter in layout.generics().type_params() {
        add_layout(parameter(), hash, seen);
    }
    if let TLData::Primitive(primitive) = layout.data() {
        hash.text(&format!("{primitive:?}"));
    }
    for field in layout.get_fields().into_iter().flat_map(|fields| fields.to_vec()) {
        add_field(&field, hash, seen);
    }
    seen.pop();
}

/// FNV-1a of 64 bits.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes(text.as_bytes());
    }
}
