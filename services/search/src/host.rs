//! Websites, domains and e-mail addresses as terms.
//!
//! [`proto::host`] and [`proto::email`] parse both sides; here stands what a record is found by.

use proto::email::{EmailAddress, EmailTerm};
use proto::host::{Domain, Host, WebAddress, WebsiteTerm};

use crate::plan::{Condition, KeyField};

/// Marks a host: that of a website, or one it is a subdomain of.
const HOST: &str = "h:";
/// Marks a host with a path.
const PATH: &str = "u:";
/// Marks a label of a host.
const LABEL: &str = "l:";

/// The terms of a company's website; none if it is no web address.
#[must_use]
pub fn website_terms(website: &str) -> Vec<String> {
    let Ok(address) = WebAddress::parse(website) else {
        return Vec::new();
    };
    let mut terms = Vec::new();
    let path = folded_path(address.path());
    let mut host = address.host().ascii();
    // A number's digits are no labels, and its ends are no hosts.
    if address.host().is_ip_address() {
        terms.push(format!("{HOST}{host}"));
        terms.push(format!("{PATH}{host}{path}"));
        return terms;
    }
    terms.extend(
        address
            .host()
            .unicode()
            .split('.')
            .map(|label| format!("{LABEL}{label}")),
    );
    loop {
        terms.push(format!("{HOST}{host}"));
        if !path.is_empty() {
            terms.push(format!("{PATH}{host}{path}"));
        }
        match host.split_once('.') {
            Some((_, parent)) if parent.contains('.') => host = parent,
            _ => break,
        }
    }
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// What one alternative of `website` asks for; none if it is no website.
#[must_use]
pub fn asked_website(text: &str) -> Option<Condition> {
    let field = KeyField::Website;
    Some(match WebsiteTerm::parse(text).ok()? {
        WebsiteTerm::Label(label) => Condition::KeyPrefix {
            field,
            prefix: format!("{LABEL}{label}"),
        },
        WebsiteTerm::Address(address) if address.path().is_empty() => Condition::Key {
            field,
            any: vec![format!("{HOST}{}", address.host())],
        },
        WebsiteTerm::Address(address) => Condition::KeyPrefix {
            field,
            prefix: format!("{PATH}{}{}", address.host(), folded_path(address.path())),
        },
    })
}

/// The term of a company's domain; none if it is no domain.
#[must_use]
pub fn domain_term(domain: &str) -> Option<String> {
    Domain::parse(domain)
        .ok()
        .map(|domain| domain.registrable().to_owned())
}

/// The terms of an e-mail address: itself, and its host with a leading `@`. None if it is no address.
#[must_use]
pub fn email_terms(address: &str) -> Vec<String> {
    EmailAddress::parse(address)
        .map(|address| vec![address.folded(), at_host(address.domain())])
        .unwrap_or_default()
}

/// The term that one alternative of `businessEmail` asks for; none if it is neither an address nor a host.
#[must_use]
pub fn asked_email(text: &str) -> Option<String> {
    Some(match EmailTerm::parse(text).ok()? {
        EmailTerm::Address(address) => address.folded(),
        EmailTerm::Domain(host) => at_host(&host),
    })
}

fn at_host(host: &Host) -> String {
    format!("@{host}")
}

/// Case counts in few paths, and to none who searches.
fn folded_path(path: &str) -> String {
    path.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(asked: &str, website: &str) -> bool {
        let terms = website_terms(website);
        match asked_website(asked).expect("a website") {
            Condition::Key { any, .. } => any.iter().any(|term| terms.contains(term)),
            Condition::KeyPrefix { prefix, .. } => terms.iter().any(|term| term.starts_with(&prefix)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_host_finds_itself_and_its_subdomains() {
        for (asked, website) in [
            ("acme.com", "http://www.acme.com"),
            ("https://www.ACME.com:443/", "acme.com"),
            ("acme.com", "https://shop.eu.acme.com/x"),
            ("eu.acme.com", "https://shop.eu.acme.com/x"),
            ("acme.com/en", "https://www.acme.com/en/about/"),
            ("acme.com/EN/", "https://shop.acme.com/en"),
            ("bücher.example", "http://xn--bcher-kva.example"),
            ("acme", "https://www.acme.co.uk"),
            ("ac", "acme.com"),
            ("shop", "https://shop.acme.com"),
            ("büch", "http://xn--bcher-kva.example"),
            ("10.0.0.1", "http://10.0.0.1/"),
        ] {
            assert!(finds(asked, website), "{asked} in {website}");
        }
        for (asked, website) in [
            ("shop.acme.com", "acme.com"),
            ("acme.com", "notacme.com"),
            ("acme.com", "acme.com.evil.example"),
            ("acme.com/en", "acme.com"),
            ("acme.com/en", "acme.com/de"),
            ("cme", "acme.com"),
            ("www", "www.acme.com"),
            ("0.0.1", "http://10.0.0.1/"),
        ] {
            assert!(!finds(asked, website), "{asked} in {website}");
        }
    }

    #[test]
    fn domains_are_equal_by_their_registrable_part() {
        assert_eq!(
            domain_term("https://www.Shop.Acme.co.uk/x").as_deref(),
            Some("acme.co.uk")
        );
        assert_eq!(domain_term("acme.co.uk."), domain_term("shop.acme.co.uk"));
        assert_eq!(domain_term("co.uk"), None);
    }

    #[test]
    fn an_address_is_found_by_itself_and_its_host() {
        assert_eq!(email_terms("Info@ACME.com"), ["info@acme.com", "@acme.com"]);
        assert_eq!(asked_email("INFO@acme.com").as_deref(), Some("info@acme.com"));
        assert_eq!(asked_email("acme.com"), asked_email("@Acme.com"));
        assert_eq!(email_terms("no address"), Vec::<String>::new());
    }
}
