//! The way to the user's terminal, shared by all threads of the helper.

use std::{
    io::Write,
    sync::{Arc, Mutex, PoisonError},
};

use crate::judge::one_line;

/// Where messages go: standard error, in an executable.
#[derive(Clone)]
pub struct Messages(Arc<Mutex<Box<dyn Write + Send>>>);

impl Messages {
    /// Writes messages to `stream`.
    pub fn new(stream: impl Write + Send + 'static) -> Self {
        Messages(Arc::new(Mutex::new(Box::new(stream))))
    }

    /// Writes `warning: <text>`.
    pub(crate) fn warning(&self, text: &str) {
        self.raw(format!("warning: {}\n", one_line(text)).as_bytes());
    }

    /// Writes `hint: <text>`.
    pub(crate) fn hint(&self, text: &str) {
        self.raw(format!("hint: {}\n", one_line(text)).as_bytes());
    }

    /// Writes bytes as they are. Nothing can be said about a failure, so it is not told.
    pub(crate) fn raw(&self, bytes: &[u8]) {
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = stream.write_all(bytes).and_then(|()| stream.flush());
    }
}
