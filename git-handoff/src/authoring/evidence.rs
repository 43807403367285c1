//! What receipts there are, and which of them a draft hands over.

use std::collections::BTreeMap;

use hooks::rejection::Rejection;
use store::{
    contract::{
        Citation, Claim, ClaimState, Conclusion, Content, EvidenceKind, Receipt, Statement, codec,
    },
    draft::Draft,
    entry_id::EntryId,
    evidence::{self, Kept, KeptReceipt},
    record::Record,
    repository::Repository,
    verify::{self, VerifiedPrepared},
};

use crate::error::CommandError;

/// Longest command that an attempt tells of, in characters.
const MAX_COMMAND_CHARS: usize = 200;

/// The receipts that there are, by id: those of the scope's tip, of what is prepared, and those that are kept here.
pub(super) struct Evidence(BTreeMap<EntryId, KeptReceipt>);

impl Evidence {
    pub(super) fn gather(
        repository: &Repository,
        before: Option<&Record>,
        prepared: Option<&VerifiedPrepared>,
        kept: &Kept,
    ) -> Result<Self, CommandError> {
        let mut all = BTreeMap::new();
        // A checkpoint that was taken back has its receipts there.
        if let Some(prepared) = prepared {
            let files = verify::files_of(repository.gix(), &prepared.root);
            for (_, bytes) in files.map_err(Rejection::from)?.0 {
                if let Ok(receipt) = codec::decode::<Receipt>(&bytes) {
                    all.insert(receipt.id.clone(), KeptReceipt { receipt, bytes });
                }
            }
        }
        if let Some(before) = before {
            for (bytes, receipt) in
                verify::receipts_of(repository.gix(), &before.root).map_err(Rejection::from)?
            {
                all.insert(receipt.id.clone(), KeptReceipt { receipt, bytes });
            }
        }
        // What ran here since then counts.
        for kept in &kept.receipts {
            all.insert(kept.receipt.id.clone(), kept.clone());
        }
        Ok(Evidence(all))
    }

    pub(super) fn get(&self, id: &EntryId) -> Option<&KeptReceipt> {
        self.0.get(id)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &KeptReceipt> {
        self.0.values()
    }

    pub(super) fn bytes_of(&self, used: &[(String, Vec<u8>)]) -> BTreeMap<EntryId, Vec<u8>> {
        let of = |(id, bytes): &(String, Vec<u8>)| Some((id.parse().ok()?, bytes.clone()));
        used.iter().filter_map(of).collect()
    }
}

/// Names the receipts that were made for claims, where the draft names none; else those that `known` contents name, the
/// first that does.
pub(super) fn fill_in_receipts<'a>(
    draft: &mut Draft,
    kept: &Kept,
    known: impl Iterator<Item = &'a Content>,
) {
    let known: Vec<&Claim> = known.flat_map(|content| &content.claims).collect();
    for claim in &mut draft.claims {
        let is_open = claim.state == ClaimState::Open;
        if claim.receipt.is_none() && !is_open {
            let same = |known: &&&Claim| known.id == claim.id && known.state == claim.state;
            let before = known.iter().find(same);
            let before = before.and_then(|known| known.receipt.as_ref());
            claim.receipt = kept.claims.get(&claim.id).or(before).cloned();
        }
    }
}

/// Returns the receipts that a draft refers to.
pub(super) fn referred_to(draft: &Draft) -> Vec<EntryId> {
    let claims = draft
        .claims
        .iter()
        .filter_map(|claim| claim.receipt.clone());
    let effects = draft
        .effects
        .iter()
        .filter_map(|effect| effect.receipt.clone());
    let evidence = draft.evidence.iter().filter_map(|evidence| {
        let of_receipt = evidence.kind == EvidenceKind::Receipt;
        of_receipt
            .then(|| evidence.reference.parse().ok())
            .flatten()
    });
    let cited = citations(draft).filter_map(|citation| citation.receipt().cloned());
    claims.chain(effects).chain(evidence).chain(cited).collect()
}

fn citations(draft: &Draft) -> impl Iterator<Item = &Citation> {
    let statements = [&draft.state, &draft.attempts, &draft.known_failures];
    let statements = statements.into_iter().flatten();
    let statements = statements.flat_map(|statement| &statement.citations);
    let decisions = draft.decisions.iter().flat_map(|entry| &entry.citations);
    let assumptions = draft.assumptions.iter().flat_map(|entry| &entry.citations);
    let lifted = draft.lifted.iter().flat_map(|entry| &entry.citations);
    let omissions = draft
        .omissions
        .iter()
        .filter_map(|entry| entry.citation.as_ref());
    let next = draft.next.iter().flat_map(|next| &next.citations);
    statements
        .chain(decisions)
        .chain(assumptions)
        .chain(lifted)
        .chain(omissions)
        .chain(next)
}

/// Makes an attempt of every failed receipt that no claim and no attempt names.
pub(super) fn tell_failures(draft: &Draft, kept: &Kept) -> Vec<(EntryId, Statement)> {
    let named = |id: &EntryId| {
        let of_claim = draft
            .claims
            .iter()
            .any(|claim| claim.receipt.as_ref() == Some(id));
        let attempts = draft.attempts.iter().flat_map(|attempt| &attempt.citations);
        of_claim
            || attempts
                .into_iter()
                .any(|citation| citation.receipt() == Some(id))
    };
    let receipts = kept.receipts.iter().map(|kept| &kept.receipt);
    let failed = receipts
        .filter(|receipt| evidence::conclusion(receipt) == Conclusion::Fail && !named(&receipt.id));
    failed
        .map(|receipt| {
            let how = match (receipt.exit_code, receipt.signal) {
                (Some(code), _) => format!("failed with exit code {code}"),
                (None, Some(signal)) => format!("was ended by signal {signal}"),
                (None, None) => "failed".into(),
            };
            let statement = Statement {
                text: format!("`{}` {how}", command_line(receipt)),
                citations: vec![Citation::Receipt(receipt.id.clone())],
            };
            (receipt.id.clone(), statement)
        })
        .collect()
}

/// Returns the command of a receipt as one types it, cut where it is long.
pub(crate) fn command_line(receipt: &Receipt) -> String {
    let words: Vec<String> = receipt
        .argv
        .iter()
        .map(|word| word.as_bstr().to_string())
        .collect();
    let line = crate::ui::shell_line(&words);
    let cut: String = line.chars().take(MAX_COMMAND_CHARS).collect();
    if cut.len() < line.len() {
        cut + "…"
    } else {
        cut
    }
}
