//! Measures the gates of one scope.

use hooks::{
    judge::Judge,
    policy::Policy,
    secret_scan::{NewState, SecretScan},
};
use store::{
    changed_paths,
    contract::{BlockerKind, Claim, ClaimState, Conclusion, Content, OmissionReason},
    scope::ScopeName,
    timestamp::Timestamp,
    verify::{self, Depth, VerifiedRecord, Violation},
};

use super::{Gates, MISSING};
use crate::{clean_clone, context::Context, error::CommandError, scopes::Scopes};

impl Gates {
    pub(super) fn look_at(
        &mut self,
        context: &Context,
        scopes: &Scopes<'_>,
        scope: &ScopeName,
    ) -> Result<(), CommandError> {
        let objects = scopes.repository.gix();
        let tip = scopes.newest_unjudged(scope)?;
        let verification = verify::record(objects, tip, Some(scope), None, Depth::Objects);
        for check in &verification.checks {
            for violation in &check.violations {
                self.sort(scope, check.name, violation);
            }
        }
        let judge = Judge {
            objects,
            policy: Policy::default(),
            now: Timestamp::now(),
        };
        self.restored.counted += 1;
        let Some(record) = &verification.record else {
            self.restored.fault(scope, tip, "its record does not hold");
            return Ok(());
        };
        if let Err(rejection) = judge.line(scope, tip, None, None) {
            self.digests.fault(scope, rejection.code, rejection.detail);
        }
        let content = &record.whole().content;
        self.paths(scopes, scope, record)?;
        self.blockers(scope, content);
        self.claims(scope, content);
        self.secrets(scopes, scope, record)?;
        let checked = clean_clone::check(context, scopes.repository, record)?;
        let took = checked.restored_in.map(|took| took.as_millis() as u64);
        self.took.extend(took);
        for (name, violation) in checked.outcomes {
            let Some(violation) = violation else { continue };
            let gate = match name.ends_with(".objects") || name.ends_with(".artifacts") {
                true => &mut self.restored,
                false => &mut self.difference,
            };
            gate.fault(scope, violation.artifact, violation.detail);
        }
        Ok(())
    }

    /// Counts a violation against the gate that it belongs to.
    fn sort(&mut self, scope: &ScopeName, check: &str, violation: &Violation) {
        let gate = match check {
            _ if MISSING.contains(&violation.code) => &mut self.reachable,
            "captured" | "changes" => &mut self.coverage,
            _ => &mut self.digests,
        };
        gate.fault(scope, &violation.artifact, &violation.detail);
    }

    /// Counts the paths that changed or are left out; what a person took out of the work is none of it.
    fn paths(
        &mut self,
        scopes: &Scopes<'_>,
        scope: &ScopeName,
        record: &VerifiedRecord,
    ) -> Result<(), CommandError> {
        let objects = scopes.repository.gix();
        let content = &record.whole().content;
        let base = content.repository.base.map(|base| {
            let commit = objects.find_commit(base.id());
            commit.ok().and_then(|commit| commit.tree_id().ok())
        });
        let base = base.flatten().map(|tree| tree.detach());
        let tree = content.repository.worktree_tree.id();
        match changed_paths::between(objects, base, Some(tree)) {
            Ok(paths) => self.coverage.counted += paths.len() as u64,
            Err(violation) => self
                .reachable
                .fault(scope, violation.artifact, violation.detail),
        }
        for omission in content.omissions.inline() {
            let is_meant = matches!(
                omission.reason,
                OmissionReason::ByRequest
                    | OmissionReason::OutOfScope
                    | OmissionReason::Secret
                    | OmissionReason::SpecialFile
            );
            if let (Some(path), false) = (&omission.path, is_meant) {
                self.coverage.counted += 1;
                let detail = format!("it is left out: {}", omission.reason);
                self.coverage.fault(scope, path, detail);
            }
        }
        Ok(())
    }

    fn blockers(&mut self, scope: &ScopeName, content: &Content) {
        for blocker in content.blockers.inline() {
            let is_missing = matches!(
                blocker.kind,
                BlockerKind::LfsMissing
                    | BlockerKind::SubmoduleUnreachable
                    | BlockerKind::SubmoduleDirty
            );
            if is_missing {
                let path = blocker.path.as_ref().map(ToString::to_string);
                let detail = blocker.kind.to_string();
                self.reachable
                    .fault(scope, path.unwrap_or_default(), detail);
            }
        }
    }

    fn claims(&mut self, scope: &ScopeName, content: &Content) {
        for claim in &content.claims {
            match claim.state {
                ClaimState::Evidenced => {
                    self.evidenced.counted += 1;
                    if !is_covered(claim, content) {
                        let detail = "no receipt that passed covers the worktree";
                        self.evidenced.fault(scope, &claim.id, detail);
                    }
                }
                ClaimState::Open => {
                    self.open.counted += 1;
                    let decision = content
                        .decisions
                        .iter()
                        .find(|decision| Some(&decision.id) == claim.decision.as_ref());
                    let by_decision =
                        |has: fn(&store::contract::Decision) -> bool| decision.is_some_and(has);
                    let has_owner = claim.owner.is_some() || by_decision(|one| one.owner.is_some());
                    let has_default =
                        claim.default.is_some() || by_decision(|one| one.default.is_some());
                    if !(has_owner && has_default) {
                        self.open
                            .fault(scope, &claim.id, "it lacks an owner or a default");
                    }
                }
                ClaimState::Failed => {}
            }
        }
    }

    fn secrets(
        &mut self,
        scopes: &Scopes<'_>,
        scope: &ScopeName,
        record: &VerifiedRecord,
    ) -> Result<(), CommandError> {
        let scan = SecretScan::of_worktree(scopes.repository)?;
        let found = scan.scan(scopes.repository, None, &NewState::of_record(record));
        match found {
            Ok(found) => {
                for located in found.blocking() {
                    self.secrets.fault(scope, &located.finding.path, located);
                }
            }
            Err(rejection) => self.secrets.fault(scope, rejection.code, rejection.detail),
        }
        Ok(())
    }
}

fn is_covered(claim: &Claim, content: &Content) -> bool {
    let receipts = content.receipts.inline().iter();
    receipts
        .filter(|receipt| Some(&receipt.id) == claim.receipt.as_ref())
        .any(|receipt| {
            receipt.tree == content.repository.worktree_tree
                && receipt.conclusion == Conclusion::Pass
        })
}
