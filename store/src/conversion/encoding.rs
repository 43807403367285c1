//! `working-tree-encoding` of the families UTF-16 and UTF-32, gitattributes(5).
//!
//! gix 0.90 reads them but cannot write them, and knows none of the spellings that ask for a byte order mark.

use gix::bstr::{BStr, ByteSlice};

/// An encoding of the families UTF-16 and UTF-32.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct WideEncoding {
    is_utf32: bool,
    is_little_endian: bool,
    /// Whether the text begins with a byte order mark.
    has_mark: bool,
}

impl WideEncoding {
    /// Reads the value of the attribute; `None` where it is of another family.
    ///
    /// Without a byte order, text is written as glibc's iconv writes it: little endian, with the mark.
    pub(super) fn named(name: &BStr) -> Option<Self> {
        let name = name.to_str().ok()?.to_ascii_uppercase();
        let rest = name.strip_prefix("UTF")?;
        let rest = rest.strip_prefix('-').unwrap_or(rest);
        let (is_utf32, rest) = match rest.strip_prefix("16") {
            Some(rest) => (false, rest),
            None => (true, rest.strip_prefix("32")?),
        };
        let (is_little_endian, has_mark) = match rest {
            "" | "LE-BOM" => (true, true),
            "BE-BOM" => (false, true),
            "LE" => (true, false),
            "BE" => (false, false),
            _ => return None,
        };
        // Git makes these two spellings up, for UTF-16 alone.
        (!(is_utf32 && rest.ends_with("-BOM"))).then_some(WideEncoding {
            is_utf32,
            is_little_endian,
            has_mark,
        })
    }

    /// Encodes UTF-8; `None` where the content is none.
    pub(super) fn encode(self, content: &[u8]) -> Option<Vec<u8>> {
        let text = content.to_str().ok()?;
        let mut out = Vec::with_capacity(content.len() * 2 + 4);
        let mark = self.has_mark.then_some('\u{feff}');
        for c in mark.into_iter().chain(text.chars()) {
            if self.is_utf32 {
                let unit = u32::from(c);
                out.extend(if self.is_little_endian {
                    unit.to_le_bytes()
                } else {
                    unit.to_be_bytes()
                });
            } else {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.extend(if self.is_little_endian {
                        unit.to_le_bytes()
                    } else {
                        unit.to_be_bytes()
                    });
                }
            }
        }
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_encoded_as_its_name_says() {
        let cases: [(&str, Option<&[u8]>); 8] = [
            ("UTF-16LE", Some(b"a\0=\xd8\0\xde")),
            ("utf-16be", Some(b"\0a\xd8=\xde\0")),
            ("UTF-16LE-BOM", Some(b"\xff\xfea\0=\xd8\0\xde")),
            ("UTF16BE-BOM", Some(b"\xfe\xff\0a\xd8=\xde\0")),
            ("UTF-16", Some(b"\xff\xfea\0=\xd8\0\xde")),
            ("UTF-32BE", Some(b"\0\0\0a\0\x01\xf6\0")),
            ("UTF-32LE-BOM", None),
            ("latin1", None),
        ];
        for (name, expected) in cases {
            let found = WideEncoding::named(name.into())
                .and_then(|encoding| encoding.encode("a😀".as_bytes()));
            assert_eq!(found.as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn what_is_not_utf8_is_not_encoded() {
        let encoding = WideEncoding::named("UTF-16LE".into()).unwrap();
        assert_eq!(encoding.encode(b"\xff"), None);
    }
}
