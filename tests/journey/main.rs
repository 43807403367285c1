//! What users and servers see: journeys through the real executables, with real Git.

#[cfg(test)]
mod accepting;
#[cfg(test)]
mod authoring;
#[cfg(test)]
mod capturing;
#[cfg(test)]
mod continuing;
#[cfg(test)]
mod credentials;
#[cfg(test)]
mod crowds;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod elsewhere;
#[cfg(test)]
mod failing;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod files;
#[cfg(test)]
mod gating;
#[cfg(test)]
mod guarded;
#[cfg(test)]
mod hand_over;
#[cfg(test)]
mod interrupting;
#[cfg(test)]
mod keeping;
#[cfg(test)]
mod listing;
#[cfg(test)]
mod manuals;
#[cfg(test)]
mod next_steps;
#[cfg(test)]
mod other_clients;
#[cfg(test)]
mod parking;
#[cfg(test)]
mod people;
#[cfg(test)]
mod racing;
#[cfg(test)]
mod readme;
#[cfg(test)]
mod real_size;
#[cfg(test)]
mod receipts;
#[cfg(test)]
mod repositories;
#[cfg(test)]
mod schemas;
#[cfg(test)]
mod secret_corpus;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod shallow;
#[cfg(test)]
mod start;
#[cfg(test)]
mod state;
#[cfg(test)]
mod surroundings;
#[cfg(test)]
mod syncing;
#[cfg(test)]
mod tampering;
#[cfg(test)]
mod transports;
#[cfg(test)]
mod travelling;
#[cfg(test)]
#[path = "../world/mod.rs"]
mod world;
