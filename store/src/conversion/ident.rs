//! Expansion of `$Id$`, gitattributes(5), `ident`.
//!
//! gix 0.90 leaves out the space before the last dollar sign and keeps expansions that crept into a blob; Git
//! does neither.

use std::borrow::Cow;

use gix::{ObjectId, bstr::ByteSlice, objs::Kind};

/// Replaces each `$Id$`, and each `$Id:…$` that Git can have written, by `$Id: <id of the content> $`.
pub(super) fn expand(content: &[u8], hash: gix::hash::Kind) -> gix::Result<Cow<'_, [u8]>> {
    let mut expanded: Option<(Vec<u8>, ObjectId)> = None;
    let mut done = 0;
    let mut from = 0;
    while let Some(at) = content[from..].find(b"$Id") {
        let after = from + at + 3;
        let Some(length) = keyword_rest(&content[after..]) else {
            from = after;
            continue;
        };
        let (out, id) = match &mut expanded {
            Some(begun) => begun,
            None => {
                let id = gix::objs::compute_hash(hash, Kind::Blob, content)?;
                expanded.insert((Vec::with_capacity(content.len() + 80), id))
            }
        };
        out.extend_from_slice(&content[done..after]);
        out.extend_from_slice(format!(": {id} $").as_bytes());
        (done, from) = (after + length, after + length);
    }
    Ok(match expanded {
        None => Cow::Borrowed(content),
        Some((mut out, _)) => {
            out.extend_from_slice(&content[done..]);
            Cow::Owned(out)
        }
    })
}

/// Returns how many bytes after `$Id` belong to the keyword; `None` where it is none, or one of another system.
fn keyword_rest(rest: &[u8]) -> Option<usize> {
    match rest.first()? {
        b'$' => Some(1),
        b':' => {
            let end = rest.find_byteset(b"$\n").filter(|end| rest[*end] == b'$')?;
            // A space inside, but for the first and the last one, is another system's.
            let inner = rest.get(2..end.saturating_sub(1)).unwrap_or_default();
            (!inner.contains(&b' ')).then_some(end + 1)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_expanded_as_git_does() {
        let id = |content: &str| {
            gix::objs::compute_hash(gix::hash::Kind::Sha1, Kind::Blob, content.as_bytes()).unwrap()
        };
        let cases = [
            ("a $Id$ b\n", "a $Id: @ $ b\n"),
            ("$Id: 0123 $\n", "$Id: @ $\n"),
            ("$Id:$$Id$", "$Id: @ $$Id: @ $"),
            ("$Id: file.c 1.2 me $\n", "$Id: file.c 1.2 me $\n"),
            ("$Id: broken\n$", "$Id: broken\n$"),
            ("$Identity$ $Id", "$Identity$ $Id"),
        ];
        for (content, expected) in cases {
            let expected = expected.replace('@', &id(content).to_string());
            let found = expand(content.as_bytes(), gix::hash::Kind::Sha1).unwrap();
            assert_eq!(found.as_bstr(), expected, "{content}");
        }
    }
}
