//! What the words of the output mean: the glossary and the pages of the messages, built into the program.

include!(concat!(env!("OUT_DIR"), "/explanations.rs"));

/// Longest line of a paragraph, in characters: what all other pages of the program keep to.
const WIDTH: usize = 98;

/// An entry of the glossary, or the page of a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The word that it explains.
    pub word: &'static str,
    /// Other words for the same thing.
    pub also: Vec<&'static str>,
    /// The text, Markdown without links and pictures.
    pub text: String,
}

/// The entry of a term, of the code of a message, or of a kind of singular point such as `5-A`.
///
/// ```
/// let found = daelight::explain("5-A").expect("kinds are explained");
/// assert_eq!(found.word, "kind");
/// assert_eq!(daelight::explain("overdetermined").map(|found| found.word), Some("overdetermined"));
/// assert_eq!(daelight::explain("gravel"), None);
/// ```
pub fn explain(word: &str) -> Option<Explanation> {
    let wanted = plain(word);
    let entries = entries();
    let named = |entry: &&Explanation| plain(entry.word) == wanted;
    let found = entries.iter().find(named).or_else(|| {
        entries
            .iter()
            .find(|entry| entry.also.iter().any(|also| plain(also) == wanted))
    });
    found.cloned().or_else(|| kind(&wanted, &entries))
}

/// All entries, terms first.
pub fn entries() -> Vec<Explanation> {
    let terms = GLOSSARY.split("\n## ").skip(1).filter_map(term);
    let codes = MESSAGES.iter().map(|(code, page)| Explanation {
        word: code,
        also: Vec::new(),
        text: readable(page.split_once('\n').map_or("", |(_, text)| text)),
    });
    terms.chain(codes).collect()
}

fn term(section: &'static str) -> Option<Explanation> {
    let (word, text) = section.split_once('\n')?;
    let (also, text) = match text.strip_prefix("*also: ") {
        Some(rest) => rest.split_once("*\n")?,
        None => ("", text),
    };
    Some(Explanation {
        word: word.trim(),
        also: also.split(", ").filter(|also| !also.is_empty()).collect(),
        text: readable(text),
    })
}

/// Kinds of any level have one entry.
fn kind(word: &str, entries: &[Explanation]) -> Option<Explanation> {
    let (level, letter) = word.split_once('-')?;
    let is_kind = level.parse::<u32>().is_ok() && matches!(letter, "a" | "b");
    let entry = entries.iter().find(|entry| entry.word == "kind");
    entry.filter(|_| is_kind).cloned()
}

/// A word as it is compared: small letters, blanks for hyphens between letters, no quotes and no plural.
fn plain(word: &str) -> String {
    let word = word
        .trim()
        .trim_matches(|c| c == '`' || c == '\'' || c == '"');
    let word = word.to_lowercase().replace('_', "-");
    let is_kind = word
        .split_once('-')
        .is_some_and(|(a, _)| a.parse::<u32>().is_ok());
    if is_kind {
        word
    } else {
        word.replace('-', " ")
    }
}

/// Markdown for a terminal: no addresses of links, no pictures, paragraphs of lines that fit.
fn readable(text: &str) -> String {
    let mut out = String::new();
    let mut paragraph = String::new();
    let mut in_block = false;
    for line in text.trim().lines().filter(|line| !line.starts_with("![")) {
        let is_fence = line.starts_with("```");
        if is_fence {
            // Blocks are indented; what stands behind a fence is for tests.
            flush(&mut paragraph, &mut out);
            if !in_block && !out.is_empty() && !out.ends_with("\n\n") {
                out.push('\n');
            }
            in_block ^= true;
            continue;
        }
        let is_kept = in_block || line.is_empty() || line.starts_with(['|', '#']);
        if is_kept || line.starts_with("- ") {
            flush(&mut paragraph, &mut out);
        }
        if in_block {
            out.push_str("    ");
        }
        if is_kept {
            out.push_str(line);
            out.push('\n');
        } else {
            paragraph.push_str(&without_addresses(line));
            paragraph.push(' ');
        }
    }
    flush(&mut paragraph, &mut out);
    out
}

/// Writes a paragraph in lines of at most [`WIDTH`] characters.
fn flush(paragraph: &mut String, out: &mut String) {
    let mut width = 0;
    for word in paragraph.split_whitespace() {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > WIDTH {
            out.push('\n');
            width = 0;
        }
        if width > 0 {
            out.push(' ');
            width += 1;
        }
        out.push_str(word);
        width += length;
    }
    if width > 0 {
        out.push('\n');
    }
    paragraph.clear();
}

/// `[words](address)` becomes `words`; a page of the documents is named.
fn without_addresses(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("](") {
        let (Some((ahead, label)), Some((address, beyond))) =
            (before.rsplit_once('['), after.split_once(')'))
        else {
            break;
        };
        out.push_str(ahead);
        out.push_str(label);
        if address.ends_with(".md") && !address.contains("://") {
            out.push_str(&format!(" (docs/{address})"));
        }
        rest = beyond;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_however_they_are_written() {
        for (word, entry) in [
            ("1-full", "1-full"),
            ("rank T", "rank T"),
            ("rank-v", "rank V"),
            ("jets", "jet"),
            ("7-B", "kind"),
            ("?", "kind"),
            ("`dof`", "degrees of freedom"),
            ("Degrees of Freedom", "degrees of freedom"),
            ("sigma_min", "least singular value"),
            ("singular-start", "singular-start"),
        ] {
            let found = explain(word).unwrap_or_else(|| panic!("{word} is not explained"));
            assert_eq!(found.word, entry, "{word}");
        }
    }

    #[test]
    fn no_word_has_two_entries() {
        let mut seen = std::collections::BTreeMap::new();
        for entry in entries() {
            assert!(!entry.text.is_empty(), "{}", entry.word);
            // Examples of Modelica have brackets before parentheses too; everywhere else that is a link.
            let prose = entry.text.lines().filter(|line| !line.starts_with("    "));
            let links = prose.filter(|part| part.contains("](")).count();
            assert_eq!(links, 0, "{}", entry.word);
            for word in entry.also.iter().chain([&entry.word]) {
                let other = seen.insert(plain(word), entry.word);
                assert_eq!(other, None, "{word} is explained twice");
            }
        }
    }
}
