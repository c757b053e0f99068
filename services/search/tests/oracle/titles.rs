//! Job titles: short forms and what they stand for.

use crate::plural::singular;
use crate::text::{Word, words};

/// Read letter by letter, whether the letters stand together or apart.
const INITIALS: &str = "AVP assistant vice president, CEO chief executive officer, CFO chief financial officer, \
    CHRO chief human resources officer, CIO chief information officer, CISO chief information security officer, \
    CMO chief marketing officer, COO chief operating officer, CPA certified public accountant, \
    CTO chief technology officer, EVP executive vice president, HR human resources, QA quality assurance, \
    RVP regional vice president, SVP senior vice president, VP vice president";

/// Read as the word they are short for.
const SHORT: &str = "assoc associate, asst assistant, coord coordinator, dir director, engr engineer, exec executive, \
    jnr junior, jr junior, mgr manager, mgmt management, ops operations, snr senior, sr senior, supv supervisor";

fn long_form(table: &str, short: &str) -> Option<Vec<Word>> {
    table
        .split(',')
        .filter_map(|row| row.trim().split_once(' '))
        .find(|(form, _)| form.to_lowercase() == short)
        .map(|(_, long)| together(long))
}

/// Words that count only one behind the other.
fn together(text: &str) -> Vec<Word> {
    let mut words = words(text);
    for word in words.iter_mut().skip(1) {
        word.glued = true;
    }
    words
}

/// The words of a title, its short forms written out.
pub(crate) fn title_words(title: &str) -> Vec<Word> {
    let mut rest = &*words(title);
    let mut written = Vec::new();
    while let Some(first) = rest.first() {
        let apart = (2..=4).rev().find_map(|count| {
            let letters = rest.get(..count)?;
            let single = letters.iter().all(|letter| letter.plain.len() == 1);
            let together = letters
                .iter()
                .map(|letter| letter.plain.as_str())
                .collect::<String>();
            Some((count, long_form(INITIALS, &together).filter(|_| single)?))
        });
        let vice_pres = || {
            let vice = rest.len() > 1 && first.plain == "vice" && rest[1].plain == "pres";
            vice.then(|| (2, together("vice president")))
        };
        let alone = || {
            let long =
                long_form(SHORT, &first.plain).or_else(|| long_form(INITIALS, &singular(&first.plain)))?;
            Some((1, long))
        };
        if let Some((count, long)) = apart.or_else(vice_pres).or_else(alone) {
            written.extend(long);
            rest = &rest[count..];
        } else {
            written.push(first.clone());
            rest = &rest[1..];
        }
    }
    written
}
