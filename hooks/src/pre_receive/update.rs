//! The lines that Git gives to `pre-receive`: `<old> SP <new> SP <ref> LF`, githooks(5).

use gix::{
    ObjectId,
    bstr::{BString, ByteSlice},
};

/// One ref change of a push, as the pusher asks for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Update {
    /// What the pusher takes the ref to be; the null id for nothing.
    pub old: ObjectId,
    /// What the ref shall become; the null id for nothing.
    pub new: ObjectId,
    /// The ref.
    pub name: BString,
}

/// Says that a line is no ref change.
#[derive(Debug, thiserror::Error)]
#[error("a line on standard input is no ref change: `{0}`")]
pub struct UpdateError(BString);

impl Update {
    /// Reads all lines; one that is empty is passed over.
    ///
    /// # Errors
    ///
    /// Where a line has another form.
    pub fn parse_all(input: &[u8]) -> Result<Vec<Self>, UpdateError> {
        let lines = input.split(|b| *b == b'\n').filter(|line| !line.is_empty());
        lines.map(Self::parse).collect()
    }

    fn parse(line: &[u8]) -> Result<Self, UpdateError> {
        let parse = || {
            let mut parts = line.splitn(3, |b| *b == b' ');
            let old = ObjectId::from_hex(parts.next()?).ok()?;
            let new = ObjectId::from_hex(parts.next()?).ok()?;
            let name = parts.next().filter(|name| !name.is_empty())?;
            (old.kind() == new.kind()).then(|| Update {
                old,
                new,
                name: name.into(),
            })
        };
        parse().ok_or_else(|| UpdateError(line[..line.len().min(200)].as_bstr().into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_empty_ones_passed_over() {
        let (one, null) = ("1".repeat(40), "0".repeat(40));
        let input = format!("{null} {one} refs/heads/a b\n\n{one} {null} refs/heads/c");
        let updates = Update::parse_all(input.as_bytes()).unwrap();
        assert_eq!(updates.len(), 2);
        assert_eq!(updates[0].name, "refs/heads/a b");
        assert!(updates[0].old.is_null() && updates[1].new.is_null());
    }

    #[test]
    fn a_line_of_another_form_is_an_error() {
        let (one, long) = ("1".repeat(40), "1".repeat(64));
        for line in [
            "x".into(),
            format!("{one} {one}"),
            format!("{one} {one} "),
            format!("{one} {long} refs/x"),
            format!("{one}  {one} refs/x"),
        ] {
            assert!(Update::parse_all(line.as_bytes()).is_err(), "{line}");
        }
    }
}
