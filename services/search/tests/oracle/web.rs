//! Websites, domains and e-mail addresses, by what their texts look like.

use crate::text::nfkc;

/// Labels that are not ASCII, and what they are in the domain name system.
const PUNYCODE: &[(&str, &str)] = &[
    ("bücher", "xn--bcher-kva"),
    ("münchen", "xn--mnchen-3ya"),
    ("例え", "xn--r8jz45g"),
    ("пример", "xn--e1afmkfd"),
    ("παράδειγμα", "xn--hxajbheg2az3al"),
];

/// Second labels below which names are given out, where the last one is a country's.
const SECOND: &str = "ac ad co com edu gov gr ind ne net nic or org plc";

/// Suffixes of two labels that are not of that form.
const OTHER_SUFFIXES: &str = "in.th biz.id web.id sh.cn torino.it";

/// Domains whose owners give out names below them: each is someone's domain itself.
const PRIVATE_SUFFIXES: &str = "uk.com de.com hk.com za.com spb.ru msk.ru wixsite.com";

/// Host and path of a web address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    /// Lower case, international labels in ASCII, without `www.`.
    host: String,
    path: String,
}

fn without_scheme(text: &str) -> String {
    let text = nfkc(text.trim()).to_lowercase();
    let mut rest = text.as_str();
    while let Some(behind) = ["http://", "https://", "ftp://", "//"]
        .iter()
        .find_map(|scheme| rest.strip_prefix(scheme))
    {
        rest = behind;
    }
    rest.to_owned()
}

/// Reads a host or URL.
fn read(text: &str) -> Option<Site> {
    let rest = without_scheme(text);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, tail) = rest.split_at(end);
    let host = host.split(':').next()?;
    let host = host.strip_suffix('.').unwrap_or(host);
    let labels = host.split('.').map(to_ascii).collect::<Option<Vec<_>>>()?;
    let whole = labels.join(".");
    let host = whole
        .strip_prefix("www.")
        .filter(|rest| registrable_of(rest).is_some())
        .unwrap_or(&whole)
        .to_owned();
    let path = tail
        .split(['?', '#'])
        .next()
        .unwrap_or_default()
        .trim_end_matches('/')
        .to_owned();
    Some(Site { host, path })
}

fn to_ascii(label: &str) -> Option<String> {
    let known = PUNYCODE.iter().find(|(unicode, _)| *unicode == label);
    let ascii = known.map_or(label, |(_, ascii)| *ascii);
    let formed = |character: char| character.is_ascii_alphanumeric() || character == '-' || character == '_';
    (!ascii.is_empty() && ascii.chars().all(formed)).then(|| ascii.to_owned())
}

fn to_unicode(label: &str) -> &str {
    let known = PUNYCODE.iter().find(|(_, ascii)| *ascii == label);
    known.map_or(label, |(unicode, _)| *unicode)
}

fn one_of(list: &str, text: &str) -> bool {
    list.split(' ').any(|known| known == text)
}

/// The label of a host before its public suffix, and the suffix.
fn registrable_of(host: &str) -> Option<String> {
    if one_of(PRIVATE_SUFFIXES, host) {
        return Some(host.to_owned());
    }
    let labels = host.split('.').collect::<Vec<_>>();
    let of_two = |second: &str, last: &str| {
        let pair = format!("{second}.{last}");
        let of_a_country = last.len() == 2 && one_of(SECOND, second);
        of_a_country || one_of(OTHER_SUFFIXES, &pair) || one_of(PRIVATE_SUFFIXES, &pair)
    };
    let keep = match labels[..] {
        [.., second, last] if of_two(second, last) => 3,
        _ => 2,
    };
    let start = labels.len().checked_sub(keep)?;
    Some(labels[start..].join("."))
}

/// What a domain is equal by: the part of it that someone has registered.
pub(crate) fn registrable(text: &str) -> Option<String> {
    if text.contains('@') {
        return None;
    }
    registrable_of(&read(text)?.host)
}

impl Site {
    /// A record's website; none if it is no web address.
    pub(crate) fn of(text: &str) -> Option<Self> {
        read(text).filter(|site| site.host.contains('.'))
    }

    /// Whether one alternative of the filter finds it.
    pub(crate) fn meets(&self, asked: &str) -> bool {
        let beginning = without_scheme(asked);
        if !beginning.contains('.') {
            let beginning = to_unicode(&beginning);
            return self
                .host
                .split('.')
                .any(|label| to_unicode(label).starts_with(beginning));
        }
        let Some(asked) = read(asked) else { return false };
        let at_host = self.host == asked.host || self.host.ends_with(&format!(".{}", asked.host));
        at_host && self.path.starts_with(&asked.path)
    }
}

/// Name and host of an address; none if it is none.
pub(crate) fn address(text: &str) -> Option<(String, String)> {
    let text = nfkc(text.trim()).to_lowercase();
    let (name, host) = text.rsplit_once('@')?;
    let host = bare_host(host)?;
    let formed =
        !name.is_empty() && !name.contains(|character: char| character.is_whitespace() || character == '@');
    formed.then(|| (name.to_owned(), host))
}

fn bare_host(host: &str) -> Option<String> {
    let host = host.strip_suffix('.').unwrap_or(host);
    let labels = host.split('.').map(to_ascii).collect::<Option<Vec<_>>>()?;
    (labels.len() > 1).then(|| labels.join("."))
}

/// Whether one alternative of `businessEmail` is this address, or its host.
pub(crate) fn address_meets((name, host): &(String, String), asked: &str) -> bool {
    let asked = nfkc(asked.trim()).to_lowercase();
    match asked.rsplit_once('@') {
        Some(("", asked)) => bare_host(asked).as_ref() == Some(host),
        None => bare_host(&asked).as_ref() == Some(host),
        Some(_) => {
            address(&asked).is_some_and(|(asked_name, asked_host)| asked_name == *name && asked_host == *host)
        }
    }
}
