//! `git push`, `git fetch` and `git ls-remote` through `handoff::<url>`, with real Git and real servers.

#![cfg(test)]

#[path = "remote_helper/by_hand.rs"]
mod by_hand;
#[path = "remote_helper/fetch.rs"]
mod fetch;
#[path = "remote_helper/push.rs"]
mod push;
#[path = "remote_helper/servers.rs"]
mod servers;
#[path = "remote_helper/urls.rs"]
mod urls;
#[path = "remote_helper/world.rs"]
mod world;
