//! What a pusher reads where something was refused.

use gix::bstr::BString;
use store::error_code::ErrorCode;

use super::Update;
use crate::rejection::Rejection;

/// How many refs are named in a command; whoever pushes more of them does not type them.
const MAX_NAMED: usize = 20;

/// Returns the lines for a push of which `refused` is not empty and `good` was judged good, or not ours.
pub(super) fn lines(refused: &[(&Update, &Rejection)], good: &[&Update]) -> Vec<String> {
    let mut lines: Vec<String> = refused
        .iter()
        .flat_map(|(update, rejection)| rejection.lines(&update.name))
        .collect();
    if let (Some((first, _)), false) = (refused.first(), good.is_empty()) {
        lines.extend(
            good.iter()
                .take(MAX_NAMED)
                .flat_map(|update| held(update, &first.name)),
        );
        lines.push(alone(good));
    }
    lines
}

/// Returns the lines for a ref that would be refused were the rules enforced.
pub(super) fn in_shadow(update: &Update, rejection: &Rejection) -> Vec<String> {
    let mut lines = rejection.lines(&update.name);
    if let Some(first) = lines.first_mut() {
        // Not the form of a refusal: what reads these lines must not take it for one.
        *first = first.replacen("handoff: ", "handoff: would refuse: ", 1);
    }
    lines
}

fn held(update: &Update, because: &BString) -> Vec<String> {
    Rejection::new(ErrorCode::Held, format!("refused together with {because}")).lines(&update.name)
}

/// The command that sends the good refs without the others.
fn alone(good: &[&Update]) -> String {
    if good.len() > MAX_NAMED {
        return format!(
            "handoff:   hint: push the other {} refs without those that were refused",
            good.len()
        );
    }
    let mut command = String::from("git push <remote>");
    for update in good {
        let source = if update.new.is_null() {
            String::new()
        } else {
            update.new.to_string()
        };
        command.push(' ');
        command.push_str(&word(&format!("{source}:{}", update.name)));
    }
    format!("handoff:   hint: push the others alone: {command}")
}

/// Writes a refspec as one types it in a shell; Git allows no control characters in ref names.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if text.chars().all(plain) {
        text.into()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use gix::ObjectId;

    use super::*;

    fn update(name: &str, digit: &str) -> Update {
        Update {
            old: ObjectId::null(gix::hash::Kind::Sha1),
            new: ObjectId::from_hex(digit.repeat(40).as_bytes()).unwrap(),
            name: name.into(),
        }
    }

    #[test]
    fn a_refusal_ends_with_the_command_for_the_others() {
        let bad = update("refs/handoff/a/b", "1");
        let (one, two) = (
            update("refs/heads/it's", "2"),
            update("refs/heads/gone", "0"),
        );
        let rejection = Rejection::new(ErrorCode::ScopeInvalid, "no name").hint("choose another");
        assert_eq!(
            lines(&[(&bad, &rejection)], &[&one, &two]),
            [
                "handoff: SCOPE_INVALID refs/handoff/a/b: no name",
                "handoff:   hint: choose another",
                "handoff: HELD refs/heads/it's: refused together with refs/handoff/a/b",
                "handoff: HELD refs/heads/gone: refused together with refs/handoff/a/b",
                "handoff:   hint: push the others alone: git push <remote> \
                 '2222222222222222222222222222222222222222:refs/heads/it'\\''s' :refs/heads/gone",
            ]
        );
    }

    #[test]
    fn many_refs_are_counted_and_not_named() {
        let bad = update("refs/handoff/a/b", "1");
        let good: Vec<Update> = (0..30)
            .map(|n| update(&format!("refs/heads/{n}"), "2"))
            .collect();
        let rejection = Rejection::new(ErrorCode::ScopeInvalid, "no name");
        let lines = lines(&[(&bad, &rejection)], &good.iter().collect::<Vec<_>>());
        assert_eq!(lines.len(), 1 + MAX_NAMED + 1);
        assert!(lines.last().unwrap().contains("the other 30 refs"));
    }
}
