//! Job titles: usual short forms written out.
//!
//! Each short form becomes its words, in titles and in what is asked for, so that either spelling finds the other. Who
//! asks for a short form asks for its words together: an executive vice president and chief operating officer is no CEO.
//! Short forms that stand for several titles (`CPO`, `PM`, `MD`) are left as they are.

use super::stem;
use super::words::{Word, words};

/// Short forms that are read letter by letter; their letters may stand apart (`V.P.`).
const INITIALS: &[(&str, &str)] = &[
    ("avp", "assistant vice president"),
    ("ceo", "chief executive officer"),
    ("cfo", "chief financial officer"),
    ("chro", "chief human resources officer"),
    ("cio", "chief information officer"),
    ("ciso", "chief information security officer"),
    ("cmo", "chief marketing officer"),
    ("coo", "chief operating officer"),
    ("cpa", "certified public accountant"),
    ("cto", "chief technology officer"),
    ("evp", "executive vice president"),
    ("hr", "human resources"),
    ("qa", "quality assurance"),
    ("rvp", "regional vice president"),
    ("svp", "senior vice president"),
    ("vp", "vice president"),
];

/// Short forms that are read as the word they stand for.
const ABBREVIATIONS: &[(&str, &str)] = &[
    ("assoc", "associate"),
    ("asst", "assistant"),
    ("coord", "coordinator"),
    ("dir", "director"),
    ("engr", "engineer"),
    ("exec", "executive"),
    ("jnr", "junior"),
    ("jr", "junior"),
    ("mgr", "manager"),
    ("mgmt", "management"),
    ("ops", "operations"),
    ("snr", "senior"),
    ("sr", "senior"),
    ("supv", "supervisor"),
    ("vice pres", "vice president"),
];

/// The words of a title, short forms written out. Those of a short form continue each other.
#[must_use]
pub fn title_words(text: &str) -> Vec<Word> {
    write_out(text, true)
}

/// The words of a title, short forms written out; each stands by itself, as if the title had been written so. For
/// comparing beginnings.
#[must_use]
pub fn title_as_written(text: &str) -> Vec<Word> {
    write_out(text, false)
}

fn write_out(text: &str, together: bool) -> Vec<Word> {
    let cut = words(text);
    let mut written = Vec::with_capacity(cut.len());
    let mut at = 0;
    while at < cut.len() {
        if let Some((taken, long)) = short_form(&cut[at..]) {
            written.extend(long.split(' ').enumerate().map(|(number, word)| Word {
                continues: together && number > 0,
                ..Word::plain(word)
            }));
            at += taken;
        } else {
            written.push(cut[at].clone());
            at += 1;
        }
    }
    written
}

/// The long form of what the words begin with, and how many of them it stands for.
fn short_form(words: &[Word]) -> Option<(usize, &'static str)> {
    let long = |short: &str, table: &[(&str, &'static str)]| {
        table
            .iter()
            .find(|(form, _)| *form == short)
            .map(|(_, long)| *long)
    };
    for count in (2..=4).rev() {
        let letters = words.get(..count).and_then(initials);
        if let Some(long) = letters.and_then(|letters| long(&letters, INITIALS)) {
            return Some((count, long));
        }
    }
    if let [first, second, ..] = words
        && let Some(long) = long(&format!("{} {}", first.plain, second.plain), ABBREVIATIONS)
    {
        return Some((2, long));
    }
    let word = &words.first()?.plain;
    let long = long(word, ABBREVIATIONS).or_else(|| long(&stem(word), INITIALS))?;
    Some((1, long))
}

/// Words of one letter each, put together.
fn initials(words: &[Word]) -> Option<String> {
    words
        .iter()
        .map(|word| (word.plain.len() == 1).then_some(word.plain.as_str()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        title_words(text)
            .into_iter()
            .map(|word| word.plain)
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn short_forms_are_written_out() {
        for (title, long) in [
            ("VP Sales", "vice president sales"),
            ("V.P., Sales", "vice president sales"),
            ("Vice-President of Sales", "vice president of sales"),
            ("VPs", "vice president"),
            ("SVP & CFO", "senior vice president chief financial officer"),
            ("C.E.O.", "chief executive officer"),
            ("Sr. HR Mgr", "senior human resources manager"),
            ("Jr Asst. Engineer", "junior assistant engineer"),
            ("Dir. of Ops", "director of operations"),
            ("CPO", "cpo"),
            ("Chief Executive Officer", "chief executive officer"),
            ("Director of Vp2", "director of vp2"),
            ("Geschäftsführer", "geschaftsfuhrer"),
            ("", ""),
        ] {
            assert_eq!(written(title), long, "{title}");
        }
    }

    #[test]
    fn a_short_form_is_written_like_its_words() {
        for (title, long) in [
            ("VP Sales", "Vice President, Sales"),
            ("Sr HR Mgr", "Senior Human Resources Manager"),
        ] {
            assert_eq!(title_as_written(title), words(long));
        }
    }

    #[test]
    fn long_forms_hold_no_short_form() {
        for (short, long) in INITIALS.iter().chain(ABBREVIATIONS) {
            assert_eq!(written(long), *long, "{short}");
        }
    }
}
