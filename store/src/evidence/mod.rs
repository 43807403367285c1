//! Evidence: commands that ran, what their receipts say, and where receipts are kept until a checkpoint holds them.

mod command;
mod kept;

pub use command::{CommandError, Ended, Outputs, run};
pub use kept::{Kept, KeptReceipt, cut, keep_receipt, kept};

use crate::{
    contract::{Conclusion, Receipt, ReceiptReference, ReceiptRole},
    digest::Digest,
    oid::Oid,
};

/// Tells whether a receipt covers a tree: its command ran on it, and changed no captured path.
pub fn covers(receipt: &Receipt, tree: Oid) -> bool {
    receipt.tree_before == tree && receipt.tree_after == tree
}

/// Says how the command of a receipt ended.
pub fn conclusion(receipt: &Receipt) -> Conclusion {
    match receipt.exit_code {
        Some(0) => Conclusion::Pass,
        _ => Conclusion::Fail,
    }
}

/// Returns what a manifest says of a receipt: `base` and `worktree` are the trees before and after the change.
pub fn reference(
    receipt: &Receipt,
    bytes: &[u8],
    base: Option<Oid>,
    worktree: Oid,
) -> ReceiptReference {
    let tree = receipt.tree_before;
    let role = match (base == Some(tree), tree == worktree) {
        (true, false) => Some(ReceiptRole::Before),
        (false, true) => Some(ReceiptRole::After),
        _ => None,
    };
    ReceiptReference {
        id: receipt.id.clone(),
        digest: Digest::of(bytes),
        tree,
        conclusion: conclusion(receipt),
        role,
    }
}
