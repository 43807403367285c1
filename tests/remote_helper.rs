//! `git push`, `git fetch` and `git ls-remote` through `handoff::<url>`, with real Git and real servers.

#![cfg(test)]

#[path = "remote_helper/breaking.rs"]
mod breaking;
#[path = "remote_helper/by_hand.rs"]
mod by_hand;
#[path = "remote_helper/connections.rs"]
mod connections;
#[path = "remote_helper/fetch.rs"]
mod fetch;
#[path = "remote_helper/fetch_options.rs"]
mod fetch_options;
#[path = "remote_helper/http.rs"]
mod http;
#[path = "remote_helper/pair.rs"]
mod pair;
#[path = "remote_helper/push.rs"]
mod push;
#[path = "remote_helper/push_options.rs"]
mod push_options;
#[path = "remote_helper/refusing_servers.rs"]
mod refusing_servers;
#[path = "remote_helper/servers.rs"]
mod servers;
#[path = "remote_helper/terminal.rs"]
mod terminal;
#[path = "remote_helper/urls.rs"]
mod urls;
#[path = "remote_helper/wire.rs"]
mod wire;
#[path = "world/mod.rs"]
mod world;
