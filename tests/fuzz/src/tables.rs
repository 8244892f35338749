//! Tables of plugins: tables of other builds are read as far as they are known, and lists that cannot be are refused.

use std::cell::RefCell;

use arbitrary::{Result, Unstructured};
use onnxport_abi::about::{AboutTable, OptionEntry};
use onnxport_abi::graph::GraphContext;
use onnxport_abi::pass::PassTable;
use onnxport_abi::rules::{ClassRecord, RuleText, RulesTable};
use onnxport_abi::{HostRoot, Interface, PluginRoot, RSlice, RStr, Table, Version, status};
use onnxport_core::Host;
use onnxport_core::ir::Model;
use onnxport_core::optimise::{OptimiseOptions, optimise};
use onnxport_core::valid::{StatedTypes, validate};

use crate::graphs::model;

const MODEL: &str = "opset 20\nsymbol n 0..\ngraph {\n  input %x: f32[n]\n  %a: f32[n] = Neg(%x)\n  %b: f32[n] = Neg(%a)\n  %c: f32[n] = Add(%b, %x)\n  output %c as y\n}\n";

/// The tables of the plugin that this thread offers.
#[derive(Clone, Copy)]
struct Offered {
    about: Table,
    rules: Table,
    attach: u32,
    answer: u32,
    options: RSlice<'static, OptionEntry<'static>>,
    class: ClassRecord,
}

thread_local! {
    static OFFERED: RefCell<Option<Offered>> = const { RefCell::new(None) };
}

fn offered<T>(read: impl FnOnce(&Offered) -> T, none: T) -> T {
    OFFERED.with_borrow(|offered| offered.as_ref().map_or(none, read))
}

extern "C" fn query(interface: RStr<'_>) -> Table {
    match interface.get() {
        Ok(name) if name == AboutTable::NAME => offered(|o| o.about, Table::NONE),
        Ok(name) if name == RulesTable::NAME => offered(|o| o.rules, Table::NONE),
        _ => Table::NONE,
    }
}

extern "C" fn attach(_: &HostRoot) -> u32 {
    offered(|o| o.attach, status::OK)
}

extern "C" fn options() -> RSlice<'static, OptionEntry<'static>> {
    offered(|o| o.options, RSlice::EMPTY)
}

extern "C" fn answer(_: u32, _: &Table, _: &Table, _: GraphContext) -> u32 {
    offered(|o| o.answer, status::REFUSED)
}

extern "C" fn class_of(_: u32, out: &mut ClassRecord) -> u32 {
    offered(
        |o| {
            *out = o.class;
            status::OK
        },
        status::INVALID,
    )
}

static ROOT: PluginRoot = PluginRoot { query, attach };

pub(crate) fn run(data: &[u8]) {
    let Some((mode, rest)) = data.split_first() else { return };
    let mut u = Unstructured::new(rest);
    // The bytes end somewhere.
    let _ = match mode % 3 {
        0 => envelope::<RulesTable>(&mut u),
        1 => envelope::<PassTable>(&mut u),
        _ => plugin(&mut u),
    };
}

/// Reads a table of another build.
fn envelope<T: Interface>(u: &mut Unstructured<'_>) -> Result<()> {
    let words = vec![0usize; size_of::<T>() / size_of::<usize>() + 1];
    let mut layout: Vec<u64> = T::shape().prints().to_vec();
    for _ in 0..u.int_in_range(0..=2)? {
        match u.int_in_range(0..=3)? {
            0 => layout.push(u.arbitrary()?),
            1 => drop(layout.pop()),
            2 if !layout.is_empty() => {
                let at = u.int_in_range(0..=layout.len() - 1)?;
                layout[at] ^= u64::from(u.arbitrary::<u8>()?);
            }
            _ => layout.clear(),
        }
    }
    let claimed = if u.arbitrary()? { layout.len() } else { u.arbitrary()? };
    let whole = claimed <= layout.len();
    let table = Table {
        version: Version { major: u.int_in_range(0..=2)?, minor: u.arbitrary()? },
        size: if u.arbitrary()? { size_of::<T>() as u64 } else { u.arbitrary()? },
        pointer: if u.ratio(7, 8)? { words.as_ptr().cast() } else { std::ptr::null() },
        // SAFETY: a longer list than there is gets a length that is refused, or is cut here.
        layout: unsafe {
            RSlice::from_raw_parts(layout.as_ptr(), if whole { claimed } else { claimed | 1 << 60 })
        },
    };
    // SAFETY: the memory has the size of the whole table. All of it is zero: a function that must be there is null.
    if let Ok(Some(_)) = unsafe { table.read::<T>() } {
        panic!("a table without its functions is read");
    }
    Ok(())
}

/// Memory that a plugin lends for the rest of the process, as far as the host knows.
#[derive(Default)]
struct Lent {
    texts: Vec<Vec<u8>>,
    lists: Vec<Vec<RStr<'static>>>,
}

impl Lent {
    /// A text, which need not be one.
    fn text(&mut self, u: &mut Unstructured<'_>, of: &[&str]) -> Result<RStr<'static>> {
        let bytes = match u.int_in_range(0..=7)? {
            0 => {
                let len = u.int_in_range(0..=20)?;
                u.bytes(len)?.to_vec()
            }
            1 if u.ratio(1, 4)? => {
                // SAFETY: lengths without memory are refused before they are read.
                return Ok(unsafe { RStr::from_raw_parts(std::ptr::null(), u.arbitrary()?) });
            }
            _ => u.choose(of)?.as_bytes().to_vec(),
        };
        let (data, len) = (bytes.as_ptr(), bytes.len());
        self.texts.push(bytes);
        // SAFETY: the bytes live until the host is gone.
        Ok(unsafe { RStr::from_raw_parts(data, len) })
    }

    fn list(&mut self, u: &mut Unstructured<'_>, of: &[&str]) -> Result<RSlice<'static, RStr<'static>>> {
        let count = u.int_in_range(0..=2)?;
        let list = (0..count).map(|_| self.text(u, of)).collect::<Result<Vec<_>>>()?;
        let (data, len) = (list.as_ptr(), list.len());
        self.lists.push(list);
        // SAFETY: the list lives until the host is gone.
        Ok(unsafe { RSlice::from_raw_parts(data, len) })
    }
}

/// Attaches a plugin, and applies its rules.
fn plugin(u: &mut Unstructured<'_>) -> Result<()> {
    let mut lent = Lent::default();
    let mut entries = Vec::new();
    for _ in 0..u.int_in_range(0..=2)? {
        entries.push(OptionEntry {
            name: lent.text(u, &["threads", "a b", ""])?,
            kind: u.int_in_range(0..=6)?,
            required: u.int_in_range(0..=2)?,
            default: lent.text(u, &["", "1", "true", "x", "0.5"])?,
            doc: lent.text(u, &["", "A line."])?,
            allowed: lent.list(u, &["1", "2", "true"])?,
        });
    }
    let mut rules = Vec::new();
    for _ in 0..u.int_in_range(0..=3)? {
        rules.push(RuleText {
            name: lent.text(u, &["a", "b", "", "a b"])?,
            documentation: lent.text(u, &["", "Does it."])?,
            pattern: lent
                .text(u, &["Neg(Neg(x))", "Neg(x)", "Add(x, y)", "Neg(", "let a = Neg(x); Add(a, y)", ""])?,
            min_opset: *u.choose(&[0, 7, 21, u32::MAX])?,
            max_opset: *u.choose(&[u32::MAX, 20, 3])?,
            priority: u.arbitrary()?,
            flags: u.int_in_range(0..=3)?,
            nodes: lent.list(u, &["a"])?,
            values: lent.list(u, &["x", "y"])?,
            dims: lent.list(u, &["n"])?,
            attributes: lent.list(u, &["p"])?,
        });
    }
    let class = ClassRecord {
        kind: u.int_in_range(0..=4)?,
        relative: u.arbitrary()?,
        ulps: u.arbitrary()?,
        target: lent.text(u, &["", "onnxruntime"])?,
        finite: u.int_in_range(0..=2)?,
    };
    // SAFETY: the lists live until the host is gone.
    let (entries_of, rules_of) = unsafe {
        (
            RSlice::from_raw_parts(entries.as_ptr(), entries.len()),
            RSlice::from_raw_parts(rules.as_ptr(), rules.len()),
        )
    };
    let about = AboutTable {
        id: lent.text(u, &["p", "p", "p", "P", ""])?,
        version: lent.text(u, &["1.0", ""])?,
        description: lent.text(u, &["", "One.", "Two\nlines."])?,
        contract: Version::CURRENT,
        needs: if u.ratio(1, 8)? { Version { major: 1, minor: 99 } } else { Version::CURRENT },
        provides: lent.list(u, &["rules/1"])?,
        options: u.arbitrary::<bool>()?.then_some(options as extern "C" fn() -> _),
        configure: None,
    };
    let class_of = u.arbitrary::<bool>()?.then_some(class_of as extern "C" fn(u32, &mut ClassRecord) -> u32);
    let table = RulesTable { rules: rules_of, check: answer, build: answer, class_of };
    let of = |size: usize, pointer: *const std::ffi::c_void, prints: &'static [u64]| Table {
        version: Version::CURRENT,
        size: size as u64,
        pointer,
        layout: RSlice::from_slice(prints),
    };
    let offer = Offered {
        about: of(size_of::<AboutTable>(), std::ptr::from_ref(&about).cast(), AboutTable::shape().prints()),
        rules: of(size_of::<RulesTable>(), std::ptr::from_ref(&table).cast(), RulesTable::shape().prints()),
        attach: if u.ratio(7, 8)? { status::OK } else { u.int_in_range(0..=9)? },
        answer: u.int_in_range(0..=9)?,
        options: entries_of,
        class,
    };
    OFFERED.set(Some(offer));
    if let Ok(host) = Host::new(&[&ROOT]) {
        let before: Model = model(MODEL);
        let mut after = before.clone();
        if let Ok((done, _)) =
            optimise(&host, &mut after, &mut StatedTypes::default(), &OptimiseOptions::default())
        {
            // The plugin builds nothing.
            assert_eq!(done.applied, 0);
        }
        assert!(validate(&after, &StatedTypes::default()).is_empty());
    }
    OFFERED.set(None);
    Ok(())
}
