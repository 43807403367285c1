use proptest::prelude::*;

use super::*;
use crate::contract::{DecisionDefault, arbitrary};

fn errors(text: &str) -> Vec<String> {
    let reading = Draft::read(text.as_bytes());
    reading.errors.iter().map(ToString::to_string).collect()
}

#[test]
fn yaml_and_json_say_the_same() {
    let yaml = "objective: Parse \"empty\" fields\n\
        claims:\n  - id: AC-3\n    text: 'It''s done'\n    state: evidenced\n    receipt: R1\n\
        untested: []\nleases: null\n\
        decisions:\n  - {id: D1, question: Why?, owner: person:ann, options: [{id: a, text: A}, {id: b, text: B}], default: {option: a}}\n";
    let json = r#"{"objective": "Parse \"empty\" fields",
        "claims": [{"id": "AC-3", "text": "It's done", "state": "evidenced", "receipt": "R1"}],
        "untested": [], "leases": null,
        "decisions": [{"id": "D1", "question": "Why?", "owner": "person:ann",
            "options": [{"id": "a", "text": "A"}, {"id": "b", "text": "B"}], "default": {"option": "a"}}]}"#;
    let (yaml, json) = (Draft::read(yaml.as_bytes()), Draft::read(json.as_bytes()));
    assert_eq!((yaml.errors, json.errors), (Vec::new(), Vec::new()));
    assert_eq!(yaml.draft, json.draft);
    let draft = yaml.draft;
    assert_eq!(draft.untested, Some(Vec::new()));
    assert_eq!((draft.leases, draft.task), (Some(None), None));
    let default = draft.decisions[0].default.clone();
    assert_eq!(default, Some(DecisionDefault::Option("a".parse().unwrap())));
}

#[test]
fn text_keeps_its_look_whatever_yaml_would_make_of_it() {
    let reading = Draft::read(b"objective: 007\ntaskId: 1.10\nforbidden: [no]\nextensions: {a.v1: {n: 7, t: yes, b: true}}\n");
    assert_eq!(reading.errors, []);
    let draft = reading.draft;
    assert_eq!(draft.objective.as_deref(), Some("007"));
    assert_eq!(draft.task_id, Some(Some("1.10".into())));
    assert_eq!(draft.forbidden.unwrap()[0].as_str(), "no");
    let Some(Value::Map(values)) = draft.extensions.get("a.v1") else {
        panic!("{:?}", draft.extensions)
    };
    assert_eq!(
        [&values["n"], &values["t"], &values["b"]],
        [
            &Value::Integer(7),
            &Value::Text("yes".into()),
            &Value::Bool(true)
        ]
    );
}

#[test]
fn every_error_of_a_draft_is_found_in_one_run_with_field_and_line() {
    let text = "objective: [a]\n\
        disposition: almost\n\
        state:\n\
        - text: It works\n  citations: [file/../x, receipt/R1]\n\
        - text:\n  citations: []\n\
        claims:\n\
        - {id: two words, state: evidenced}\n\
        repository: {}\n\
        clams: []\n";
    let found = errors(text);
    let expected = [
        "line 1: objective: text is needed here, not a list",
        "line 2: disposition: unknown variant `almost`, expected one of `continuable`, `completed`, `blocked`",
        "line 5: state[0].citations[0]: `file/../x` is not a citation",
        "line 6: state[1].text: text is needed here, not null",
        "line 9: claims[0].id: ",
        "line 9: claims[0].text: text is needed here, not nothing",
        "line 10: repository: this is captured, and not for a draft to say",
        "line 11: clams: there is no such field",
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found} – {expected}");
    }
}

#[test]
fn what_a_rule_finds_has_its_line_and_what_follows_from_an_unreadable_entry_is_left_out() {
    let mut reading = Draft::read(
        b"claims:\n- {id: A, text: a, state: open}\n- {id: B}\n\ndecisions:\n- {id: x y}\n- {id: D, question: q}\n",
    );
    let before = reading.errors.len();
    let code = ErrorCode::UndecidableDecision;
    reading.add(code, "claims[0].owner", "no owner".into());
    reading.add(code, "claims[1].owner", "no owner".into());
    reading.add(code, "decisions[0].options", "which one is it".into());
    let new: Vec<String> = reading.errors[before..]
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(new, ["line 2: claims[0].owner: no owner"]);
}

#[test]
fn what_could_grow_or_hide_in_yaml_is_refused() {
    let deep = format!(
        "extensions: {{a.v1: {}1{}}}",
        "[".repeat(40),
        "]".repeat(40)
    );
    let long = format!("objective: {}", "x".repeat(1 << 20));
    for (text, expected) in [
        (
            "objective: &a x\ntaskId: *a\n",
            "line 2: a draft has no aliases",
        ),
        ("objective: !!binary eA==\n", "line 1: a draft has no tags"),
        (
            "objective: a\n---\nobjective: b\n",
            "line 2: a draft is one document",
        ),
        (
            "objective: a\nobjective: b\n",
            "line 2: the key `objective` stands twice",
        ),
        ("? [a]\n: b\n", "line 1: a key is text"),
        (&deep, "line 1: it nests more than 32 deep"),
        (&long, "line 1: a draft has 1048576 bytes at most"),
        ("objective: 'a\n", "line "),
        ("- a\n", "line 1: a map is needed here, not a list"),
        (
            "extensions: {a.v1: 1.5}\n",
            "line 1: extensions: `1.5` is no whole number",
        ),
    ] {
        let found = errors(text);
        assert!(
            found.len() == 1 && found[0].starts_with(expected),
            "{expected}: {found:?}"
        );
    }
    assert_eq!(
        errors("").len() + errors("# nothing\n").len() + errors("~\n").len(),
        0
    );
}

#[test]
fn a_template_is_a_draft_that_says_nothing_yet() {
    let scope = "DEV-1842".parse().unwrap();
    let text = template(&scope, &Draft::default());
    let reading = Draft::read(text.as_bytes());
    assert_eq!(reading.errors, [], "{text}");
    let nothing = Draft {
        task_id: Some(None),
        objective: Some(String::new()),
        disposition: Some(Disposition::Continuable),
        forbidden: Some(Vec::new()),
        task: Some(None),
        leases: Some(None),
        ..Draft::default()
    };
    assert_eq!(reading.draft, nothing);
}

#[test]
fn every_example_of_a_template_is_well_formed() {
    let scope = "DEV-1842".parse().unwrap();
    let text = template(&scope, &Draft::default());
    let examples: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("#   "))
        .collect();
    let examples = examples.join("\n").replace("<full id>", &"1".repeat(40));
    let reading = Draft::read(examples.as_bytes());
    assert_eq!(reading.errors, [], "{examples}");
    let draft = reading.draft;
    assert!(draft.claims.len() == 2 && draft.decisions.len() == 1 && draft.lifted.len() == 1);
    assert!(draft.leases.flatten().is_some() && draft.task.flatten().is_some());
}

/// Tells whether a value holds what no text can.
fn has_bytes(value: &Value) -> bool {
    match value {
        Value::Bytes(_) => true,
        Value::List(values) => values.iter().any(has_bytes),
        Value::Map(values) => values.values().any(has_bytes),
        Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Text(_) => false,
    }
}

proptest! {
    #[test]
    fn what_a_generation_left_open_reads_back_from_its_template(content in arbitrary::documents::<Content>()) {
        let scope = "s".parse().unwrap();
        let mut content = content;
        content.extensions.retain(|_, value| !has_bytes(value));
        let left = Draft {
            disposition: Some(content.disposition),
            ..Draft::left_open(&content, content.leases.as_deref())
        };
        let text = template(&scope, &left);
        let reading = Draft::read(text.as_bytes());
        prop_assert_eq!(&reading.errors, &[], "{}", text);
        prop_assert_eq!(reading.draft, left, "{}", text);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        Draft::read(&bytes);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[ -~\\n\\t:{}\\[\\],&*!|>'\"%@#-]{0,120}") {
        Draft::read(text.as_bytes());
    }
}
