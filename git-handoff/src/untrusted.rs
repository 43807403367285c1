//! Text of others: what it may do on a terminal and in a document of ours, which is nothing.
//!
//! The one place for that rule. Text stands alone only where it is one line and was made safe ([`terminal_safe`]);
//! everything longer stands in a [`Fence`].

use store::contract::message;

/// Columns of a line of a fence, its marks included.
const COLUMNS: usize = 100;
/// Columns of what we say of a line, before the bar.
const MARK_COLUMNS: usize = 9;
/// Stands between what we say and what others have written.
const BAR: &str = " | ";
/// Opens and closes a fence in Markdown. No line of others can close it: each begins with a mark and the bar.
const MARKDOWN_FENCE: &str = "````";

/// Makes text of others safe for a terminal: control characters, and what steers the direction of text or cannot be
/// seen, become visible escapes; line feeds and tabs too.
pub(crate) fn terminal_safe(text: &str) -> String {
    if !text.chars().any(is_hidden) {
        return text.into();
    }
    text.chars()
        .map(|c| {
            if is_hidden(c) {
                c.escape_unicode().to_string()
            } else {
                c.to_string()
            }
        })
        .collect()
}

/// Tells whether a character steers a terminal, or shows nothing where it stands.
fn is_hidden(c: char) -> bool {
    message::is_control(c)
        || matches!(c,
            // Invisible: soft hyphen, joiner, fillers, vowel separators, blank braille, annotations, musical controls.
            '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{2800}' | '\u{3164}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
            // Variation selectors, which can carry a text that nobody sees.
            | '\u{fe00}'..='\u{fe0f}' | '\u{e0080}'..='\u{e0fff}')
}

/// Lines of others, each behind a bar; what stands before the bar is ours.
///
/// Every line begins with our mark and the bar, long lines are broken so that a terminal does not do it, and what could
/// steer a terminal is escaped: nothing in it can look as if it stood outside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fence(Vec<String>);

impl Fence {
    /// Adds text of others, with our mark before its first line.
    pub(crate) fn add(&mut self, mark: &str, text: &str) {
        let width = COLUMNS - 2 - MARK_COLUMNS - BAR.len();
        let mut mark = mark;
        for line in broken(text, width) {
            let line = format!("  {mark:<MARK_COLUMNS$}{BAR}{line}");
            self.0.push(line.trim_end().into());
            mark = "";
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the lines as a terminal shows them.
    pub(crate) fn to_text(&self) -> String {
        self.0.iter().map(|line| format!("{line}\n")).collect()
    }

    /// Returns the lines in a code block of Markdown.
    pub(crate) fn to_markdown(&self) -> String {
        format!("{MARKDOWN_FENCE}text\n{}{MARKDOWN_FENCE}\n", self.to_text())
    }
}

/// Makes lines of a text, none wider than so many columns; where it can be, they break at spaces.
fn broken(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.trim_end_matches(['\n', '\r']).split('\n') {
        let line = line
            .strip_suffix('\r')
            .unwrap_or(line)
            .replace('\t', "    ");
        let line = terminal_safe(&line);
        let mut rest = line.as_str();
        loop {
            let at = break_at(rest, width);
            lines.push(rest[..at].trim_end().to_owned());
            rest = &rest[at..];
            if rest.is_empty() {
                break;
            }
        }
    }
    lines
}

/// Returns where a line is broken, in bytes.
fn break_at(line: &str, width: usize) -> usize {
    let (mut columns, mut space) = (0, None);
    for (at, c) in line.char_indices() {
        // What is not ASCII may be wide.
        columns += if c.is_ascii() { 1 } else { 2 };
        if columns > width {
            return space.unwrap_or(at);
        }
        if c == ' ' && at > 0 {
            space = Some(at + 1);
        }
    }
    line.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_of_others_cannot_steer_a_terminal() {
        assert_eq!(
            terminal_safe("a\u{1b}[31mb\u{202e}c\nd"),
            "a\\u{1b}[31mb\\u{202e}c\\u{a}d"
        );
    }

    #[test]
    fn text_that_nobody_sees_is_shown() {
        for hidden in [
            '\u{200b}',
            '\u{ad}',
            '\u{e0041}',
            '\u{e0101}',
            '\u{fe0f}',
            '\u{3164}',
        ] {
            let shown = terminal_safe(&format!("a{hidden}b"));
            assert_eq!(shown, format!("a{}b", hidden.escape_unicode()));
        }
    }

    #[test]
    fn a_fence_has_our_mark_before_the_bar_and_breaks_long_lines() {
        let mut fence = Fence::default();
        fence.add("ok", "one\r\n\ttwo\n\n");
        fence.add("", &"word ".repeat(40));
        fence.add("bound", &"x".repeat(200));
        insta::assert_snapshot!(fence.to_text(), @r"
          ok        | one
                    |     two
                    | word word word word word word word word word word word word word word word word word
                    | word word word word word word word word word word word word word word word word word
                    | word word word word word word
          bound     | xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                    | xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                    | xxxxxxxxxxxxxxxxxxxxxxxxxxxx
        ");
    }

    proptest! {
        #[test]
        fn nothing_leaves_a_fence(text in any::<String>(), fakes in "[`~|>#<! \n\r\t\u{1b}\u{85}\u{2028}a]{0,200}") {
            for text in [text, fakes] {
                let mut fence = Fence::default();
                fence.add("ok", &text);
                let block = fence.to_markdown();
                let inside = block.strip_prefix("````text\n").unwrap();
                let inside = inside.strip_suffix("````\n").unwrap();
                for (at, line) in inside.split_terminator('\n').enumerate() {
                    let mark = if at == 0 { "  ok        |" } else { "            |" };
                    prop_assert!(line.starts_with(mark), "{line:?}");
                    prop_assert!(line.chars().count() <= COLUMNS);
                    prop_assert!(!line.chars().any(is_hidden), "{line:?}");
                }
            }
        }

        #[test]
        fn breaking_lines_loses_nothing_but_spaces(text in "[ab \n]{0,300}") {
            let without = |text: &str| text.replace([' ', '\n'], "");
            prop_assert_eq!(without(&broken(&text, 10).join("\n")), without(&text));
        }
    }
}
