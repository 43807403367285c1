//! The refs of `objects.bundle`.

use gix::{ObjectId, refs::FullName};

use crate::{contract::Content, record::RootTree};

/// Namespace of what the manifest names.
pub(super) const NAMESPACE: &str = "refs/checkpoint/";

/// Returns the name of something that the manifest names.
pub(super) fn name(part: &str) -> FullName {
    FullName::try_from(format!("{NAMESPACE}{part}")).expect("the parts are valid components")
}

/// Returns what a manifest says that the refs name: head, index, raw, conflict stages and heads of an operation.
pub(super) fn of_manifest(content: &Content) -> Vec<(FullName, ObjectId)> {
    let repository = &content.repository;
    let mut refs = vec![(name("index"), repository.index_tree.id())];
    refs.extend(repository.head.map(|head| (name("head"), head.id())));
    refs.extend(content.artifacts.raw.map(|raw| (name("raw"), raw.id())));
    let stages = content.artifacts.conflicts.iter().enumerate();
    refs.extend(stages.map(|(at, tree)| (name(&format!("conflicts/{}", at + 1)), tree.id())));
    let heads = repository
        .operation
        .iter()
        .flat_map(|operation| &operation.heads);
    let heads = heads.enumerate();
    refs.extend(heads.map(|(at, head)| (name(&format!("operation/{}", at + 1)), head.id())));
    refs
}

/// Returns the refs by which git-clone(1) finds the code.
pub(super) fn of_code(content: &Content) -> Vec<(FullName, ObjectId)> {
    let Some(head) = content.repository.head else {
        return Vec::new();
    };
    let branch = content.repository.branch.as_ref();
    let branch = branch.and_then(|branch| FullName::try_from(branch.as_bstr()).ok());
    let names = [FullName::try_from("HEAD").expect("Git has it")]
        .into_iter()
        .chain(branch);
    names.map(|name| (name, head.id())).collect()
}

/// Returns the names of the documents that a checkpoint has where it needs them.
pub(super) fn of_documents() -> [FullName; 3] {
    ["lists", "receipts", "attachments"].map(name)
}

/// Returns all refs of a bundle.
pub(super) fn of_bundle(content: &Content, root: &RootTree) -> Vec<(FullName, ObjectId)> {
    let mut refs = of_code(content);
    refs.extend(of_manifest(content));
    let documents = [root.lists, root.receipts, root.attachments];
    refs.extend(
        of_documents()
            .into_iter()
            .zip(documents)
            .filter_map(|(name, tree)| Some((name, tree?))),
    );
    refs
}
