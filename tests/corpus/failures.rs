//! What a case shows that its facts do not say.

/// Failures, in words.
#[derive(Default)]
pub(crate) struct Failures(pub(crate) Vec<String>);

impl Failures {
    pub(crate) fn add(&mut self, failure: String) {
        self.0.push(failure);
    }

    pub(crate) fn all(&mut self, failures: impl Iterator<Item = String>) {
        self.0.extend(failures);
    }

    pub(crate) fn equal<T: PartialEq + std::fmt::Debug>(
        &mut self,
        what: &str,
        found: T,
        expected: T,
    ) {
        if found != expected {
            self.add(format!("{what} is {found:?}, expected {expected:?}"));
        }
    }
}
