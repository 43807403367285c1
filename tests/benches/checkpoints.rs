//! Many checkpoints at once: what one `git handoff save` wrote, with other scopes or more generations.

use std::{io::Write, path::Path};

use store::{
    contract::{Manifest, Previous, codec, message},
    digest::Digest,
    generation::Generation,
    scope::ScopeName,
};

use crate::{
    generate::{WHO, import},
    stage::Stage,
};

/// A checkpoint that others are made from.
struct Template {
    manifest: Manifest,
    head: String,
    worktree: String,
    index: String,
}

impl Template {
    /// Saves the worktree as a first generation of `scope` and reads what that wrote.
    fn save(stage: &Stage, dir: &Path, scope: &str) -> Self {
        stage.git(dir, ["handoff", "save", scope, "-q", "-m", "Measure"]);
        let name = format!("refs/handoff/{scope}");
        let bytes = stage
            .command("git", dir)
            .args(["cat-file", "blob", &format!("{name}:manifest.cbor")])
            .output()
            .expect("Git can be started")
            .stdout;
        let part = |suffix: &str| stage.git(dir, ["rev-parse", &format!("{name}{suffix}")]);
        Template {
            manifest: codec::decode(&bytes).expect("the save wrote a manifest"),
            head: part("^@"),
            worktree: part(":worktree"),
            index: part(":index"),
        }
    }

    /// Writes one checkpoint after `before`, a mark or commit id with the digest of its manifest.
    fn write(
        &self,
        out: &mut dyn Write,
        scope: &ScopeName,
        generation: u64,
        before: Option<(&str, Digest)>,
    ) -> std::io::Result<Digest> {
        let mut manifest = self.manifest.clone();
        manifest.scope = scope.clone();
        manifest.generation = Generation::try_from(generation).expect("it is counted from 1");
        manifest.content.objective = format!("Measure {generation}");
        manifest.previous = before.map(|(_, checkpoint)| Previous {
            checkpoint,
            accept: None,
            release: None,
        });
        let bytes = codec::encode(&manifest);
        let digest = Digest::of(&bytes);
        let message = message::checkpoint_message(&manifest, digest);
        let at = manifest.created_at.unix_seconds();
        write!(out, "commit {}\nmark :{generation}\n", scope.to_ref())?;
        write!(out, "author {WHO} {at} +0000\ncommitter {WHO} {at} +0000\n")?;
        write!(out, "data {}\n{message}\n", message.len())?;
        match before {
            Some((before, _)) => write!(out, "from {before}\nmerge {}\n", self.head)?,
            None => writeln!(out, "from {}", self.head)?,
        }
        write!(out, "deleteall\nM 040000 {} worktree\n", self.worktree)?;
        writeln!(out, "M 040000 {} index", self.index)?;
        writeln!(out, "M 100644 inline manifest.cbor\ndata {}", bytes.len())?;
        out.write_all(&bytes)?;
        writeln!(out)?;
        Ok(digest)
    }
}

/// Makes the scopes `s00000`, `s00001`, …, of one generation each, and packs their refs.
pub(crate) fn scopes(stage: &Stage, dir: &Path, count: usize) {
    let template = Template::save(stage, dir, "s00000");
    import(stage, dir, |out| {
        for number in 1..count {
            let scope = format!("s{number:05}").parse().expect("it is a scope name");
            template.write(out, &scope, 1, None)?;
        }
        Ok(())
    });
    stage.git(dir, ["pack-refs", "--all"]);
    stage.git(dir, ["handoff", "verify", &format!("s{:05}", count - 1)]);
}

/// Makes a scope of `count` generations.
pub(crate) fn generations(stage: &Stage, dir: &Path, scope: &str, count: u64) {
    let template = Template::save(stage, dir, scope);
    let tip = stage.git(dir, ["rev-parse", &format!("refs/handoff/{scope}")]);
    let name: ScopeName = scope.parse().expect("it is a scope name");
    import(stage, dir, |out| {
        let mut before = (tip, Digest::of(&codec::encode(&template.manifest)));
        for generation in 2..=count {
            let digest = template.write(out, &name, generation, Some((&before.0, before.1)))?;
            before = (format!(":{generation}"), digest);
        }
        Ok(())
    });
    stage.git(dir, ["handoff", "verify", scope]);
}
