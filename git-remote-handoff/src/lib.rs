//! Remote helper of `handoff::<url>`: a policy layer in front of Git's own transports, never a transport itself.
//!
//! What travels is judged before a byte of it leaves the machine, by a judge that is passed in; what comes back is
//! reduced to the refs under `refs/handoff/`. The two sides are described in `gitremote-helpers(7)`,
//! `gitprotocol-pack(5)` and `gitprotocol-v2(5)`.

pub mod advertisement;
pub mod command_list;
mod connect;
mod environment;
mod error;
mod fetch;
mod git_server;
mod http;
mod http_messages;
mod http_push;
mod judge;
mod messages;
pub mod pkt_line;
mod process;
pub mod protocol;
mod push;
mod refs;
mod relay;
pub mod remarks;
mod report;
mod session;
mod settings;
mod ssh;
pub mod url;

pub use connect::ConnectError;
pub use environment::Environment;
pub use error::HelperError;
pub use fetch::FetchError;
pub use http::HttpError;
pub use judge::{Judge, ProposedUpdate, Refusal};
pub use messages::Messages;
pub use push::PushError;
pub use report::AnswerError;
pub use session::{Invocation, Streams, run};
pub use settings::PermissionError;
pub use ssh::SshError;
