//! Scopes as files: Git bundles, gitformat-bundle(5).
//!
//! A bundle that is written can be fetched by Git itself. One that is read comes from a stranger: it is taken into a
//! repository of its own, where nothing of it counts until it was judged, and only then copied.

mod copy;
mod header;
mod open;
#[cfg(test)]
mod tests;
mod write;

pub use copy::copy_to;
pub use header::{Header, HeaderError, MAX_HEADER_BYTES};
pub use open::{Beside, BundleError, Opened, open};
pub(crate) use open::{make, open_refs};
pub use write::{WriteError, write};
