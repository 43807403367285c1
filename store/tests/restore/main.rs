//! Restores records that were put together with plain Git, and lets Git compare.

#[cfg(test)]
mod branches;
#[cfg(test)]
mod conversions;
#[cfg(test)]
mod fresh;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod in_place;
#[cfg(test)]
mod interrupted;
#[cfg(test)]
mod linked_worktree;
#[cfg(test)]
mod producer;
#[cfg(test)]
mod world;
