//! Random messages, written by their schemas without the crate's decoder.

use kafkacomp_schemas::schema::{Field, Schema, StructType, Type};
use kafkacomp_schemas::{Struct, Value};

/// A value that was written.
#[derive(Debug)]
pub enum Plain {
    /// Null.
    Null,
    /// An integer of any width, or a boolean.
    Int(i64),
    /// The bits of a float.
    Float(u64),
    /// A string, bytes or a UUID.
    Bytes(Vec<u8>),
    /// Elements.
    List(Vec<Self>),
    /// The fields that were written, by position, and unknown tagged fields.
    Fields(Vec<Option<Self>>, Vec<(u32, Vec<u8>)>),
}

/// A generator of random numbers: `SplitMix64`.
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below a limit.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

/// Writes random values of one version.
pub struct Writer<'a> {
    /// What decides the values.
    pub random: &'a mut Random,
    /// What was written.
    pub out: Vec<u8>,
    version: i16,
    flexible: bool,
}

impl<'a> Writer<'a> {
    /// Writes a message.
    pub fn message(schema: &Schema, version: i16, random: &'a mut Random) -> (Vec<u8>, Plain) {
        let mut writer = Self { random, out: Vec::new(), version, flexible: schema.flexible.contains(version) };
        let plain = writer.fields(&schema.root);
        (writer.out, plain)
    }

    fn varint(&mut self, mut number: usize) {
        while number > 0x7f {
            self.out.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.out.push(number as u8);
    }

    fn fields(&mut self, kind: &StructType) -> Plain {
        let is_tagged = |writer: &Self, field: &Field| field.tagged.contains(writer.version);
        let mut written: Vec<Option<Plain>> = kind.fields.iter().map(|_| None).collect();
        for (field, place) in kind.fields.iter().zip(&mut written) {
            if field.versions.contains(self.version) && !is_tagged(self, field) {
                *place = Some(self.field(field, false));
            }
        }
        let mut unknown = Vec::new();
        if self.flexible {
            let mut tagged: Vec<(usize, Option<usize>)> = (0..kind.fields.len())
                .filter(|at| is_tagged(self, &kind.fields[*at]) && self.random.below(2) == 0)
                .map(|at| (kind.fields[at].tag.unwrap() as usize, Some(at)))
                .collect();
            (0..self.random.below(3)).for_each(|number| tagged.push((100 + 100 * number, None)));
            self.varint(tagged.len());
            for (tag, at) in tagged {
                self.varint(tag);
                let before = std::mem::take(&mut self.out);
                if let Some(at) = at {
                    written[at] = Some(self.field(&kind.fields[at], true));
                } else {
                    let bytes = self.bytes(5);
                    self.out.extend(&bytes);
                    unknown.push((tag as u32, bytes));
                }
                let content = std::mem::replace(&mut self.out, before);
                self.varint(content.len());
                self.out.extend(content);
            }
        }
        Plain::Fields(written, unknown)
    }

    fn field(&mut self, field: &Field, is_tagged: bool) -> Plain {
        let is_nullable = field.nullable.contains(self.version);
        let is_null = is_nullable && self.random.below(3) == 0;
        match (&field.kind, is_null, is_tagged) {
            (Type::Struct(_), false, _) if is_nullable => self.out.push(1),
            (Type::Struct(_), true, true) => self.out.push(0),
            (Type::Struct(_), true, false) => self.out.push(0xff),
            (_, true, _) if self.flexible => self.out.push(0),
            (Type::Text, true, _) => self.out.extend([0xff; 2]),
            (_, true, _) => self.out.extend([0xff; 4]),
            _ => {}
        }
        if is_null { Plain::Null } else { self.value(&field.kind) }
    }

    fn value(&mut self, kind: &Type) -> Plain {
        let bits = if self.random.below(4) == 0 { 0 } else { self.random.next() };
        let number = |writer: &mut Self, width: usize, value: i64| {
            writer.out.extend(&value.to_be_bytes()[8 - width..]);
            Plain::Int(value)
        };
        match kind {
            Type::Bool => number(self, 1, (bits & 1) as i64),
            Type::Int8 => number(self, 1, (bits as i8).into()),
            Type::Int16 => number(self, 2, (bits as i16).into()),
            Type::Uint16 => number(self, 2, (bits as u16).into()),
            Type::Int32 => number(self, 4, (bits as i32).into()),
            Type::Uint32 => number(self, 4, (bits as u32).into()),
            Type::Int64 => number(self, 8, bits as i64),
            Type::Float64 => {
                self.out.extend(bits.to_be_bytes());
                Plain::Float(bits)
            }
            Type::Uuid => {
                let bytes = (0..16).map(|_| self.random.next() as u8).collect::<Vec<_>>();
                self.out.extend(&bytes);
                Plain::Bytes(bytes)
            }
            Type::Text | Type::Bytes => {
                let bytes = self.bytes(if bits.is_multiple_of(16) { 300 } else { 20 });
                self.length(bytes.len(), if matches!(kind, Type::Text) { 2 } else { 4 });
                self.out.extend(&bytes);
                Plain::Bytes(bytes)
            }
            Type::Array(element) => {
                let count = self.random.below(4);
                self.length(count, 4);
                Plain::List((0..count).map(|_| self.value(element)).collect())
            }
            Type::Struct(kind) => self.fields(kind),
        }
    }

    fn bytes(&mut self, limit: usize) -> Vec<u8> {
        (0..self.random.below(limit)).map(|_| self.random.next() as u8).collect()
    }

    fn length(&mut self, length: usize, width: usize) {
        if self.flexible {
            self.varint(length + 1);
        } else {
            self.out.extend(&length.to_be_bytes()[8 - width..]);
        }
    }
}

impl Plain {
    /// Whether a decoded value is the one that was written.
    pub fn is(&self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Self::Null, Value::Null) => true,
            (Self::Int(written), Value::Bool(read)) => *written == i64::from(*read),
            (Self::Int(written), read) => read.int() == Some(*written),
            (Self::Float(bits), Value::Float64(read)) => *bits == read.to_bits(),
            (Self::Bytes(written), Value::Uuid(read)) => written == read,
            (Self::Bytes(written), Value::Bytes(read) | Value::Text(read)) => written == read,
            (Self::List(written), Value::Array(read)) => {
                written.len() == read.len() && written.iter().zip(read).all(|(written, read)| written.is(read))
            }
            (Self::Fields(..), Value::Struct(read)) => self.are(read),
            _ => false,
        }
    }

    /// Whether decoded fields are those that were written, and no others.
    pub fn are(&self, read: &Struct<'_>) -> bool {
        let Self::Fields(written, unknown) = self else { return false };
        let present = written.iter().flatten().count();
        let unknown_read: Vec<_> =
            read.unknown_tagged_fields().iter().map(|(tag, bytes)| (*tag, bytes.to_vec())).collect();
        present == read.present().count()
            && unknown_read == *unknown
            && written.iter().flatten().zip(read.present()).all(|(written, (_, read))| written.is(read))
    }
}
