//! Made-up e-mail addresses: only below `.example`, which nobody can own (RFC 2606).

use unicode_normalization::UnicodeNormalization as _;

/// Domain of addresses of people without a company.
pub(super) const NO_COMPANY: &str = "mail.example";

/// Longest label of a domain that is made here; the rules of domains allow 63.
const LONGEST_LABEL: usize = 48;

/// The made-up domain of a company: its real domain as one label, or its name and the end of its external id.
pub(super) fn company_domain(domain: Option<&str>, name: &str, external_id: &str) -> String {
    let label = match domain.map(label) {
        Some(label) if !label.is_empty() => label,
        _ => {
            let tail = label(external_id);
            let tail = &tail[tail.len().saturating_sub(6)..];
            let name = label(name);
            label(&format!("{}-{tail}", &name[..name.len().min(LONGEST_LABEL - 7)]))
        }
    };
    format!("{label}.example")
}

/// A text as a label of a domain: ASCII letters and digits in lower case, hyphens for all between. Empty if nothing
/// of it can be written so.
pub(super) fn label(text: &str) -> String {
    let mut label = String::new();
    for character in text.chars().flat_map(char::to_lowercase).nfd() {
        match character {
            'a'..='z' | '0'..='9' => label.push(character),
            'ß' => label.push_str("ss"),
            'æ' => label.push_str("ae"),
            'œ' => label.push_str("oe"),
            'ø' => label.push('o'),
            'ł' => label.push('l'),
            'đ' | 'ð' => label.push('d'),
            'þ' => label.push_str("th"),
            'ı' => label.push('i'),
            _ if unicode_normalization::char::is_combining_mark(character) => {}
            _ if label.is_empty() || label.ends_with('-') => {}
            _ => label.push('-'),
        }
        if label.len() >= LONGEST_LABEL {
            break;
        }
    }
    label.trim_end_matches('-').to_owned()
}

/// `first.last@domain`; the person's number stands in for names that ASCII can't write.
pub(super) fn personal(first: &str, last: &str, number: u32, domain: &str) -> String {
    let (given, family) = (label(first), label(last));
    if given.is_empty() || family.is_empty() {
        format!("p{number}@{domain}")
    } else {
        format!("{given}.{family}@{domain}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_are_one_label_below_example() {
        for (domain, name, external_id, made) in [
            (
                Some("singpost.com"),
                "Singapore Post Limited",
                "fd:singpost.com",
                "singpost-com.example",
            ),
            (
                None,
                "Müller & Söhne GmbH",
                "fd:251958916d89ce15",
                "muller-sohne-gmbh-89ce15.example",
            ),
            (Some(""), "株式会社", "fd:251958916d89ce15", "89ce15.example"),
        ] {
            assert_eq!(company_domain(domain, name, external_id), made);
        }
        let long = company_domain(None, &"Łódź Żółw ".repeat(40), "fd:251958916d89ce15");
        assert!(
            long.len() <= LONGEST_LABEL + ".example".len() && long.ends_with("-89ce15.example"),
            "{long}"
        );
    }

    #[test]
    fn people_are_addressed_by_name_where_ascii_can_write_it() {
        assert_eq!(
            personal("Ayşe", "Yıldız", 7, NO_COMPANY),
            "ayse.yildiz@mail.example"
        );
        assert_eq!(
            personal("Jean-Luc", "D'Arc", 7, NO_COMPANY),
            "jean-luc.d-arc@mail.example"
        );
        assert_eq!(personal("太郎", "山田", 7, NO_COMPANY), "p7@mail.example");
    }
}
