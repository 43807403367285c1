//! What differs between two contents, field by field and entry by entry.

use serde_json::Value;

/// A field, or an entry of one, that differs.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Change {
    /// Names from the content down, joined by `.`.
    pub(super) field: String,
    /// What names the entry in its field, where something does.
    pub(super) id: Option<String>,
    /// None where it was not there.
    pub(super) before: Option<Value>,
    /// None where it is gone.
    pub(super) after: Option<Value>,
}

/// Keys that name an entry among others, the best first.
const NAMES: [&str; 4] = ["id", "path", "action", "fingerprint"];

/// Compares two contents.
pub(super) fn changes(before: &Value, after: &Value) -> Vec<Change> {
    let mut found = Vec::new();
    compare("", before, after, &mut found);
    found
}

fn compare(field: &str, before: &Value, after: &Value, found: &mut Vec<Change>) {
    match (before, after) {
        _ if before == after => {}
        (Value::Object(old), Value::Object(new)) => {
            for (key, old) in old {
                let field = joined(field, key);
                match new.get(key) {
                    Some(new) => compare(&field, old, new, found),
                    None => found.push(change(&field, None, Some(old), None)),
                }
            }
            for (key, new) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
                found.push(change(&joined(field, key), None, None, Some(new)));
            }
        }
        (Value::Array(old), Value::Array(new)) => entries(field, old, new, found),
        _ => found.push(change(field, None, Some(before), Some(after))),
    }
}

/// Compares entries by what names them, those without a name by what they are.
fn entries(field: &str, old: &[Value], new: &[Value], found: &mut Vec<Change>) {
    let mut left: Vec<&Value> = new.iter().collect();
    let same = |one: &Value, other: &Value| match (name(one), name(other)) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    };
    for before in old {
        // The same entry first: several can have one name, a path left out for two reasons, say.
        let at = left.iter().position(|after| *after == before);
        let at = at.or_else(|| left.iter().position(|after| same(before, after)));
        let after = at.map(|at| left.remove(at));
        if after != Some(before) {
            found.push(change(field, name(before), Some(before), after));
        }
    }
    found.extend(
        left.into_iter()
            .map(|after| change(field, name(after), None, Some(after))),
    );
}

fn name(entry: &Value) -> Option<String> {
    let named = NAMES.iter().find_map(|key| entry.get(key)?.as_str());
    named.or(entry.as_str()).map(String::from)
}

fn joined(field: &str, key: &str) -> String {
    match field.is_empty() {
        true => key.to_owned(),
        false => format!("{field}.{key}"),
    }
}

fn change(
    field: &str,
    id: Option<String>,
    before: Option<&Value>,
    after: Option<&Value>,
) -> Change {
    Change {
        field: field.to_owned(),
        id,
        before: before.cloned(),
        after: after.cloned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn entries_are_compared_by_what_names_them() {
        let before =
            json!({"claims": [{"id": "A", "state": "open"}, {"id": "B", "state": "open"}]});
        let after =
            json!({"claims": [{"id": "C", "state": "open"}, {"id": "A", "state": "failed"}]});
        let found = changes(&before, &after);
        let named: Vec<_> = found
            .iter()
            .map(|change| {
                (
                    change.id.as_deref(),
                    change.before.is_some(),
                    change.after.is_some(),
                )
            })
            .collect();
        assert_eq!(
            named,
            [
                (Some("A"), true, true),
                (Some("B"), true, false),
                (Some("C"), false, true)
            ]
        );
        assert!(found.iter().all(|change| change.field == "claims"));
    }

    #[test]
    fn another_order_is_no_difference_of_entries() {
        let one = json!({"forbidden": ["merge", "deploy"]});
        let other = json!({"forbidden": ["deploy", "merge"]});
        assert_eq!(changes(&one, &other), []);
    }

    #[test]
    fn not_stated_and_stated_none_differ() {
        let found = changes(&json!({"untested": null}), &json!({"untested": []}));
        assert_eq!(
            found,
            [Change {
                field: "untested".into(),
                id: None,
                before: Some(Value::Null),
                after: Some(json!([])),
            }]
        );
    }

    #[test]
    fn fields_of_fields_are_named_from_the_top() {
        let found = changes(
            &json!({"repository": {"head": "1", "base": "0"}}),
            &json!({"repository": {"head": "2", "base": "0"}}),
        );
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].field, "repository.head");
    }
}
