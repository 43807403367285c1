//! Examples of command lines, for help and man pages.

/// A command line with what it does.
pub(crate) type Example = (&'static str, &'static str);

/// Returns the examples of a subcommand of `git handoff`.
pub(crate) fn of(command: &str) -> &'static [Example] {
    match command {
        "accept" => &[
            ("git handoff accept parser", "take over what was read last"),
            (
                "git handoff accept parser --until 12h --delegate 'agent:codex-*'",
                "for half a day, and agents may write too",
            ),
        ],
        "allow" => &[(
            "git handoff allow hs1:9f1c0b6e3a5d48c7b2e0f4a6918d3c57 --reason 'made up for a test'",
            "say that a value which was stopped is no secret",
        )],
        "commit" => &[("git handoff commit parser", "append what was prepared")],
        "completions" => &[
            (
                "git handoff completions bash > ~/.local/share/bash-completion/completions/git-handoff",
                "complete `git-handoff`, and `git handoff` too",
            ),
            (
                "git handoff completions zsh > ~/.zfunc/_git-handoff",
                "for zsh, with ~/.zfunc in fpath",
            ),
        ],
        "continue" => &[
            (
                "git handoff continue parser",
                "what there is to go on with, and how it stands here",
            ),
            (
                "git handoff continue parser --format markdown",
                "for the first turn of an agent",
            ),
        ],
        "demo" => &[(
            "git handoff demo --keep",
            "play it, and look around afterwards",
        )],
        "diff" => &[
            (
                "git handoff diff parser@3..5",
                "what came of two generations",
            ),
            (
                "git handoff diff parser@3 parser --contract",
                "claims and decisions alone",
            ),
        ],
        "doctor" => &[("git handoff doctor", "see whether all is set up here")],
        "draft" => &[("git handoff draft parser", "begin a draft, to be filled in")],
        "export" => &[
            ("git handoff export parser -o parser.bundle", "one file"),
            (
                "git handoff export parser --artifacts parser.artifacts",
                "manifest, patch, bundle and archive",
            ),
        ],
        "gate" => &[
            ("git handoff gate parser", "the hard gates of one scope"),
            (
                "git handoff gate --sample 20 --seed 7",
                "of the same twenty scopes as another time",
            ),
        ],
        "help" => &[
            ("git handoff help save", "one command"),
            ("git handoff help codes", "exit codes and error codes"),
        ],
        "import" => &[(
            "git handoff import ./parser.bundle",
            "take what a file holds",
        )],
        "init" => &[(
            "git handoff init ssh://git.example/project.git",
            "keep the scopes there",
        )],
        "list" => &[
            ("git handoff list", "what is open here"),
            (
                "git handoff list --from ssh://git.example/project.git",
                "what is open there, without a clone",
            ),
        ],
        "log" => &[("git handoff log parser", "every record, the newest first")],
        "man" => &[
            (
                "git handoff man --install",
                "so that `git handoff --help` works",
            ),
            ("git handoff man save | man -l -", "read one page"),
        ],
        "prepare" => &[
            ("git handoff prepare parser -f draft.yaml", "judge a draft"),
            (
                "git handoff prepare parser --rerun",
                "run again what no longer covers the tree",
            ),
        ],
        "push" => &[
            ("git handoff push", "send all that is ahead"),
            ("git handoff push --dry-run parser", "judge it alone"),
        ],
        "release" => &[("git handoff release parser", "let somebody else go on")],
        "restore" => &[
            (
                "git handoff restore parser --from ssh://git.example/project.git",
                "from nothing but the URL",
            ),
            (
                "git handoff restore --in-place",
                "go on where it was parked",
            ),
        ],
        "run" => &[(
            "git handoff run --claim AC-3 -- cargo test",
            "evidence for a claim",
        )],
        "save" => &[
            ("git handoff save --push", "park the work"),
            (
                "git handoff save parser -m 'Treat empty fields as null'",
                "name the scope and the objective",
            ),
        ],
        "scan" => &[
            ("git handoff scan src", "the files of a directory"),
            ("git handoff scan --staged", "what would be committed"),
            (
                "git handoff scan --records parser",
                "what the records of a scope brought along",
            ),
        ],
        "schema" => &[
            ("git handoff schema draft", "what a draft may hold"),
            ("git handoff schema json/save", "what `save --json` prints"),
        ],
        "show" => &[
            (
                "git handoff show parser",
                "what the current generation says",
            ),
            (
                "git handoff show parser@3 --json",
                "an older one, as a document",
            ),
        ],
        "snapshot" => &[("git handoff snapshot", "what a save would capture")],
        "sync" => &[("git handoff sync", "fetch, and settle what diverged")],
        "uncommit" => &[(
            "git handoff uncommit parser",
            "take back what no remote has seen",
        )],
        "verify" => &[
            (
                "git handoff verify parser --worktree",
                "compare with the disk",
            ),
            (
                "git handoff verify ./parser.bundle --clean-clone",
                "restore a file by two routes",
            ),
        ],
        _ => &[],
    }
}

/// Writes examples as help shows them.
pub(crate) fn text(examples: &[Example]) -> String {
    let mut text = String::from("Examples:\n");
    for (command, what) in examples {
        text.push_str(&format!("  # {what}\n  {command}\n"));
    }
    text
}
