//! The stack machine.

use std::collections::HashMap;

use super::cursor::Cursor;
use super::global::Global;
use super::item::{Heap, Item, Ref};
use super::{Storages, refuse, tensor};
use crate::diagnose::Diagnostic;

/// The limit on values in a pickle; each takes some tens of bytes.
const MAX_ITEMS: usize = 4_000_000;

/// The number of bytes of text that cost about as much as a value.
const BYTES_OF_ITEM: usize = 8;

/// Runs the pickle. Every opcode does a bounded amount of work for the bytes that it takes, so time
/// and memory grow with the pickle and with nothing else.
///
/// # Errors
/// `OP107` for an opcode or a global that is not allowed, and for a damaged pickle.
pub(crate) fn load(bytes: &[u8], storages: &dyn Storages) -> Result<(Heap, Ref), Diagnostic> {
    let mut machine = Machine {
        heap: Heap::default(),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: HashMap::new(),
        storages,
        copied: 0,
    };
    let mut input = Cursor::new(bytes);
    loop {
        let at = input.at;
        match machine.step(&mut input) {
            Ok(None) => {}
            Ok(Some(result)) => return Ok((machine.heap, result)),
            Err(e) => return Err(e.note(format!("at byte {at} of the pickle"))),
        }
        if machine.heap.len() > MAX_ITEMS || machine.copied > MAX_ITEMS {
            return Err(refuse("the pickle builds too many values"));
        }
    }
}

struct Machine<'a> {
    heap: Heap,
    stack: Vec<Ref>,
    marks: Vec<usize>,
    memo: HashMap<u32, Ref>,
    storages: &'a dyn Storages,
    /// The number of elements that calls have copied between containers, plus the length of copied text.
    copied: usize,
}

impl Machine<'_> {
    /// Runs one opcode; returns the result at the last one.
    fn step(&mut self, input: &mut Cursor<'_>) -> Result<Option<Ref>, Diagnostic> {
        match input.u8()? {
            // PROTO, FRAME: nothing depends on them.
            0x80 => {
                input.u8()?;
            }
            0x95 => {
                input.u64()?;
            }
            b'.' => return self.pop().map(Some),
            b'(' => self.marks.push(self.stack.len()),
            b'0' => {
                self.pop()?;
            }
            b'1' => {
                self.pop_mark()?;
            }
            b'2' => {
                let top = self.top()?;
                self.stack.push(top);
            }
            b'N' => self.push(Item::None),
            0x88 => self.push(Item::Bool(true)),
            0x89 => self.push(Item::Bool(false)),
            b'J' => {
                let n = i32::from_le_bytes(input.array()?);
                self.push(Item::Int(n.into()));
            }
            b'K' => {
                let n = input.u8()?;
                self.push(Item::Int(n.into()));
            }
            b'M' => {
                let n = u16::from_le_bytes(input.array()?);
                self.push(Item::Int(n.into()));
            }
            0x8a => {
                let len = input.u8()?;
                self.long(input.take(len.into())?)?;
            }
            0x8b => {
                let len = input.u32()?;
                self.long(input.take(len as usize)?)?;
            }
            b'G' => {
                let n = f64::from_be_bytes(input.array()?);
                self.push(Item::Float(n));
            }
            0x8c => {
                let len = input.u8()?;
                self.text(input, len.into())?;
            }
            b'X' => {
                let len = input.u32()?;
                self.text(input, len.into())?;
            }
            0x8d => {
                let len = input.u64()?;
                self.text(input, len)?;
            }
            b']' => self.push(Item::List(Vec::new())),
            b')' => self.push(Item::Tuple(Vec::new())),
            b'}' => self.push(Item::Dict(Vec::new())),
            b'l' => {
                let items = self.pop_mark()?;
                self.push(Item::List(items));
            }
            b't' => {
                let items = self.pop_mark()?;
                self.push(Item::Tuple(items));
            }
            n @ 0x85..=0x87 => {
                let from = self.stack.len().checked_sub(usize::from(n - 0x84));
                let items = self.split(from.ok_or_else(underflow)?)?;
                self.push(Item::Tuple(items));
            }
            b'd' => {
                let items = self.pop_mark()?;
                let items = pairs(&items)?;
                self.push(Item::Dict(items));
            }
            b'a' => {
                let item = self.pop()?;
                self.append(&[item])?;
            }
            b'e' => {
                let items = self.pop_mark()?;
                self.append(&items)?;
            }
            b's' => {
                let value = self.pop()?;
                let key = self.pop()?;
                self.set_items(&[key, value])?;
            }
            b'u' => {
                let items = self.pop_mark()?;
                self.set_items(&items)?;
            }
            b'q' => {
                let slot = input.u8()?;
                self.put(slot.into())?;
            }
            b'r' => {
                let slot = input.u32()?;
                self.put(slot)?;
            }
            0x94 => self.put(self.memo.len() as u32)?,
            b'h' => {
                let slot = input.u8()?;
                self.get(slot.into())?;
            }
            b'j' => {
                let slot = input.u32()?;
                self.get(slot)?;
            }
            b'c' => {
                let (module, name) = (input.line()?, input.line()?);
                self.global(module, name)?;
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                let text = |at| {
                    self.heap.text(at).map(str::to_owned).ok_or_else(|| refuse("a global without a name"))
                };
                let (module, name) = (text(module)?, text(name)?);
                self.global(&module, &name)?;
            }
            b'Q' => {
                let id = self.pop()?;
                let storage = tensor::storage(&self.heap, id, self.storages)?;
                self.copied = self.copied.saturating_add(tensor::key_len(&self.heap, id) / BYTES_OF_ITEM);
                self.push(storage);
            }
            // REDUCE and NEWOBJ differ in Python only; here neither runs anything.
            b'R' | 0x81 => {
                let (args, function) = (self.pop()?, self.pop()?);
                self.reduce(function, args)?;
            }
            b'b' => self.build()?,
            opcode => {
                return Err(refuse(format!(
                    "the pickle uses the opcode 0x{opcode:02x}, which is not allowed"
                )));
            }
        }
        Ok(None)
    }

    fn push(&mut self, item: Item) {
        let item = self.heap.push(item);
        self.stack.push(item);
    }

    fn pop(&mut self) -> Result<Ref, Diagnostic> {
        // Items below a mark belong to an outer container.
        if self.marks.last().is_some_and(|mark| *mark == self.stack.len()) {
            return Err(underflow());
        }
        self.stack.pop().ok_or_else(underflow)
    }

    fn top(&self) -> Result<Ref, Diagnostic> {
        self.stack.last().copied().ok_or_else(underflow)
    }

    fn split(&mut self, from: usize) -> Result<Vec<Ref>, Diagnostic> {
        if from > self.stack.len() || self.marks.last().is_some_and(|mark| from < *mark) {
            return Err(underflow());
        }
        Ok(self.stack.split_off(from))
    }

    fn pop_mark(&mut self) -> Result<Vec<Ref>, Diagnostic> {
        let mark = self.marks.pop().ok_or_else(underflow)?;
        self.split(mark)
    }

    /// A little-endian two's complement integer of any length.
    fn long(&mut self, bytes: &[u8]) -> Result<(), Diagnostic> {
        let fill = if bytes.last().is_some_and(|b| b & 0x80 != 0) { 0xff } else { 0 };
        let mut wide = [fill; 8];
        for (slot, byte) in wide.iter_mut().zip(bytes) {
            *slot = *byte;
        }
        let n = i64::from_le_bytes(wide);
        let excess = bytes.get(8..).unwrap_or_default();
        if excess.iter().any(|b| *b != fill) || (!excess.is_empty() && (n < 0) != (fill == 0xff)) {
            return Err(refuse("the pickle contains an integer beyond 64 bits"));
        }
        self.push(Item::Int(n));
        Ok(())
    }

    fn text(&mut self, input: &mut Cursor<'_>, len: u64) -> Result<(), Diagnostic> {
        let text = input.text(len)?;
        self.push(Item::Str(text));
        Ok(())
    }

    fn append(&mut self, new: &[Ref]) -> Result<(), Diagnostic> {
        let list = self.top()?;
        match self.heap.get_mut(list) {
            Some(Item::List(items)) => items.extend_from_slice(new),
            _ => return Err(refuse("the pickle appends to something that is not a list")),
        }
        Ok(())
    }

    fn set_items(&mut self, items: &[Ref]) -> Result<(), Diagnostic> {
        let new = pairs(items)?;
        let dict = self.top()?;
        match self.heap.get_mut(dict) {
            Some(Item::Dict(items)) => items.extend(new),
            _ => return Err(refuse("the pickle sets items of something that is not a dictionary")),
        }
        Ok(())
    }

    fn put(&mut self, slot: u32) -> Result<(), Diagnostic> {
        let top = self.top()?;
        self.memo.insert(slot, top);
        Ok(())
    }

    fn get(&mut self, slot: u32) -> Result<(), Diagnostic> {
        let item = self.memo.get(&slot).ok_or_else(|| refuse("the pickle refers to nothing"))?;
        self.stack.push(*item);
        Ok(())
    }

    fn global(&mut self, module: &str, name: &str) -> Result<(), Diagnostic> {
        let item = match Global::find(module, name) {
            Some(Global::DType(dtype)) => Item::DType(dtype),
            Some(Global::MemoryFormat(format)) => Item::Name(format.to_owned()),
            Some(global) => Item::Global(global),
            None => {
                let global: String = format!("{module}.{name}").chars().take(200).collect();
                return Err(refuse(format!("the pickle names `{global}`, which is not allowed"))
                    .help("only plain tensors, containers and scalars are read; nothing is executed"));
            }
        };
        self.push(item);
        Ok(())
    }

    fn reduce(&mut self, function: Ref, args: Ref) -> Result<(), Diagnostic> {
        let Item::Global(function) = self.heap.get(function) else {
            return Err(refuse("the pickle calls something that is not a function"));
        };
        let args = self.heap.tuple(args).ok_or_else(|| refuse("the pickle calls without arguments"))?;
        let item = tensor::reduce(&self.heap, function, args)?;
        self.copied = self.copied.saturating_add(match &item {
            Item::Tuple(items) | Item::List(items) => items.len(),
            Item::Dict(items) => items.len(),
            Item::Tensor(tensor) => tensor.shape.len(),
            Item::Name(name) => name.len() / BYTES_OF_ITEM,
            _ => 0,
        });
        self.push(item);
        Ok(())
    }

    /// Sets the state of an object. Dictionaries with attributes (a state dict's `_metadata`) lose
    /// them.
    fn build(&mut self) -> Result<(), Diagnostic> {
        let new = self.pop()?;
        let object = self.top()?;
        match self.heap.get_mut(object) {
            Some(Item::Object { state, .. }) => *state = Some(new),
            Some(Item::Dict(_)) => {}
            _ => return Err(refuse("the pickle sets attributes of something that has none")),
        }
        Ok(())
    }
}

fn pairs(items: &[Ref]) -> Result<Vec<(Ref, Ref)>, Diagnostic> {
    let (pairs, rest) = items.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(refuse("the pickle contains a key without a value"));
    }
    Ok(pairs.iter().map(|[key, value]| (*key, *value)).collect())
}

fn underflow() -> Diagnostic {
    refuse("the pickle takes more than it has put")
}
