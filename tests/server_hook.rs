//! What a server with the hook takes and refuses: pushes with plain Git, of records written with plumbing.

#[cfg(test)]
#[path = "world/mod.rs"]
mod world;

#[cfg(test)]
#[path = "world/records.rs"]
mod records;

#[cfg(test)]
mod server_hook {
    mod acceptance;
    mod attacks;
    mod audit;
    mod captured;
    mod documents;
    mod evidence;
    mod files;
    mod forges;
    mod history;
    mod hostile;
    mod identity;
    mod installation;
    mod limits;
    mod modes;
    mod namespace;
    mod parts;
    mod policy;
    mod quarantine;
    mod races;
    mod restored;
    mod secrets;
    mod served;
}
