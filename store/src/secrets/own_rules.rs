//! Our own rules, as the build script has put them together from the files in `rules`.

use super::config::RuleConfig;

/// A line for each rule: id, what it reads, `form`, `before`, `after`, and all of it as JSON.
const RULES: &str = include_str!(concat!(env!("OUT_DIR"), "/rules.txt"));
/// A line for each keyword: the word, and the places of its rules.
const KEYWORDS: &str = include_str!(concat!(env!("OUT_DIR"), "/keywords.txt"));
/// What reads the tables, and a test, say this of them.
const IS_A_TABLE: &str = "the build script writes a table";

/// What is known of a rule before it is made.
pub(super) struct OwnRule {
    pub(super) id: &'static str,
    pub(super) reads: Reads,
    pub(super) form: Option<&'static str>,
    pub(super) before: Option<usize>,
    pub(super) after: Option<usize>,
    json: &'static str,
}

/// When a rule is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reads {
    /// Of every file, by its name alone.
    Name,
    /// Where one of its keywords stands.
    Keywords,
    /// Of every text.
    All,
}

/// Returns all rules, in their order.
pub(super) fn rules() -> impl Iterator<Item = OwnRule> {
    RULES.lines().map(|line| {
        let mut fields = line.splitn(6, '\t');
        let mut field = || fields.next().expect(IS_A_TABLE);
        let number = |text: &str| text.parse().ok();
        OwnRule {
            id: field(),
            reads: match field() {
                "name" => Reads::Name,
                "all" => Reads::All,
                _ => Reads::Keywords,
            },
            form: Some(field()).filter(|form| !form.is_empty()),
            before: number(field()),
            after: number(field()),
            json: field(),
        }
    })
}

/// Returns all keywords in order, each with the place of a rule among all.
pub(super) fn keywords() -> impl Iterator<Item = (&'static str, usize)> {
    KEYWORDS.lines().flat_map(|line| {
        let (word, places) = line.split_once('\t').expect(IS_A_TABLE);
        let places = places.split(',');
        places.map(move |place| (word, place.parse().expect(IS_A_TABLE)))
    })
}

impl OwnRule {
    /// Returns all that the rule says.
    pub(super) fn text(&self) -> &'static str {
        self.json
    }

    /// Reads all of the rule.
    ///
    /// # Panics
    ///
    /// Never, as a test shows that reads every one.
    pub(super) fn config(&self) -> RuleConfig {
        serde_json::from_str(self.json).expect(IS_A_TABLE)
    }
}
