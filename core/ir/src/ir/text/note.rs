//! Metadata of parts of a model: `note(name "conv1", doc "text", meta "key" "value")`.

use onnxport_proto::{DeviceConfigurationProto, NodeDeviceConfigurationProto, TrainingInfoProto};
use prost::Message;

use super::TextError;
use super::literal::{hex, unhex};
use super::parse::Parser;
use crate::ir::{About, BlockNote, Header, NodeNote, ValueNote};
use crate::text::{Reader, quote};

/// One entry of a note: a word and its texts.
type Entry<'a> = (&'static str, Vec<&'a str>);

fn print(entries: &[Entry<'_>], encoded: &[(&'static str, Vec<u8>)]) -> String {
    let plain = entries.iter().map(|(word, texts)| {
        let texts: Vec<String> = texts.iter().map(|text| quote(text)).collect();
        format!("{word} {}", texts.join(" "))
    });
    let encoded = encoded.iter().map(|(word, bytes)| format!("{word} \"{}\"", hex(bytes)));
    let entries: Vec<String> = plain.chain(encoded).collect();
    if entries.is_empty() { String::new() } else { format!(" note({})", entries.join(", ")) }
}

fn about<'a>(entries: &mut Vec<Entry<'a>>, about: &'a About, doc: &'static str, meta: &'static str) {
    named(entries, doc, &about.doc);
    entries.extend(about.metadata.iter().map(|(k, v)| (meta, vec![k.as_str(), v.as_str()])));
}

fn named<'a>(entries: &mut Vec<Entry<'a>>, word: &'static str, text: &'a str) {
    if !text.is_empty() {
        entries.push((word, vec![text]));
    }
}

/// Of a node. An empty note is one as well.
pub(super) fn node(note: &NodeNote) -> String {
    let mut entries = Vec::new();
    named(&mut entries, "name", &note.name);
    about(&mut entries, &note.about, "doc", "meta");
    let devices: Vec<_> = note.devices.iter().map(|d| ("device", d.encode_to_vec())).collect();
    match print(&entries, &devices) {
        empty if empty.is_empty() => " note()".to_owned(),
        text => text,
    }
}

/// Of a value.
pub(super) fn value(note: &ValueNote) -> String {
    let mut entries = Vec::new();
    about(&mut entries, &note.about, "doc", "meta");
    about(&mut entries, &note.tensor, "data_doc", "data_meta");
    named(&mut entries, "denotes", &note.denotation);
    entries.extend(note.axes.iter().map(|axis| ("axis", vec![axis.as_str()])));
    entries.extend(note.quantised.iter().map(|(k, v)| ("quantised", vec![k.as_str(), v.as_str()])));
    print(&entries, &[])
}

/// Of a block.
pub(super) fn block(note: &BlockNote) -> String {
    let mut entries = Vec::new();
    named(&mut entries, "name", &note.name);
    about(&mut entries, &note.about, "doc", "meta");
    print(&entries, &[])
}

/// Of a function.
pub(super) fn function(note: &About) -> String {
    let mut entries = Vec::new();
    about(&mut entries, note, "doc", "meta");
    print(&entries, &[])
}

/// The line of a header: `read ir 10 note(producer "pytorch" "2.11")`.
pub(super) fn header(header: &Header) -> String {
    let mut entries = Vec::new();
    if !header.producer.is_empty() || !header.producer_version.is_empty() {
        entries.push(("producer", vec![header.producer.as_str(), header.producer_version.as_str()]));
    }
    named(&mut entries, "domain", &header.domain);
    let version = header.version.to_string();
    if header.version != 0 {
        entries.push(("version", vec![version.as_str()]));
    }
    named(&mut entries, "doc", &header.doc);
    let devices = header.devices.iter().map(|d| ("device", d.encode_to_vec()));
    let training = header.training.iter().map(|t| ("training", t.encode_to_vec()));
    let encoded: Vec<_> = devices.chain(training).collect();
    format!("read ir {}{}", header.ir_version, print(&entries, &encoded))
}

impl Parser<'_> {
    /// The entries of a note, if one comes next: `each` takes those whose word it knows.
    fn note(
        &mut self,
        mut each: impl FnMut(&mut Self, &str) -> Result<bool, TextError>,
    ) -> Result<bool, TextError> {
        if !self.lexer.keyword("note") {
            return Ok(false);
        }
        self.lexer.expect("(")?;
        self.list(")", |p| {
            let word = p.lexer.word()?;
            if each(p, word)? { Ok(()) } else { p.lexer.fail(format!("`{word}` is not part of this note")) }
        })?;
        Ok(true)
    }

    fn pair(&mut self) -> Result<(String, String), TextError> {
        Ok((self.lexer.quoted()?, self.lexer.quoted()?))
    }

    fn encoded<T: Message + Default>(&mut self) -> Result<T, TextError> {
        let text = self.lexer.quoted()?;
        match unhex(&text).and_then(|bytes| T::decode(bytes.as_slice()).ok()) {
            Some(message) => Ok(message),
            None => self.lexer.fail("not an encoded message"),
        }
    }

    /// Notes are boxed, because nested blocks keep those around them on the stack.
    pub(super) fn node_note(&mut self) -> Result<Option<Box<NodeNote>>, TextError> {
        let mut note = Box::<NodeNote>::default();
        let found = self.note(|p, word| {
            match word {
                "name" => note.name = p.lexer.quoted()?,
                "doc" => note.about.doc = p.lexer.quoted()?,
                "meta" => note.about.metadata.push(p.pair()?),
                "device" => note.devices.push(p.encoded::<NodeDeviceConfigurationProto>()?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(found.then_some(note))
    }

    pub(super) fn value_note(&mut self) -> Result<Option<Box<ValueNote>>, TextError> {
        if self.lexer.peek_word() != "note" {
            return Ok(None);
        }
        let mut note = Box::<ValueNote>::default();
        self.note(|p, word| {
            match word {
                "doc" => note.about.doc = p.lexer.quoted()?,
                "meta" => note.about.metadata.push(p.pair()?),
                "data_doc" => note.tensor.doc = p.lexer.quoted()?,
                "data_meta" => note.tensor.metadata.push(p.pair()?),
                "denotes" => note.denotation = p.lexer.quoted()?,
                "axis" => note.axes.push(p.lexer.quoted()?),
                "quantised" => note.quantised.push(p.pair()?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(Some(note))
    }

    pub(super) fn block_note(&mut self) -> Result<Option<BlockNote>, TextError> {
        let mut note = BlockNote::default();
        let found = self.note(|p, word| {
            match word {
                "name" => note.name = p.lexer.quoted()?,
                "doc" => note.about.doc = p.lexer.quoted()?,
                "meta" => note.about.metadata.push(p.pair()?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(found.then_some(note))
    }

    pub(super) fn function_note(&mut self) -> Result<About, TextError> {
        Ok(self.block_note()?.unwrap_or_default().about)
    }

    /// The rest of a line that [`header`] wrote.
    pub(super) fn read_header(&mut self) -> Result<Header, TextError> {
        if !self.lexer.keyword("ir") {
            return self.lexer.fail("expected `ir`");
        }
        let mut header = Header { ir_version: self.lexer.int()?, ..Header::default() };
        self.note(|p, word| {
            match word {
                "producer" => (header.producer, header.producer_version) = p.pair()?,
                "domain" => header.domain = p.lexer.quoted()?,
                "version" => match p.lexer.quoted()?.parse() {
                    Ok(version) => header.version = version,
                    Err(_) => return p.lexer.fail("expected an integer in quotes"),
                },
                "doc" => header.doc = p.lexer.quoted()?,
                "device" => header.devices.push(p.encoded::<DeviceConfigurationProto>()?),
                "training" => header.training.push(p.encoded::<TrainingInfoProto>()?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(header)
    }
}
