//! Domains, hosts and web addresses, parsed by one rule for records and queries alike.
//!
//! What people and sources write is seldom a clean URL: `HTTP://www.Acme.co.uk:80/`, `acme.co.uk.`, `//acme.co.uk/shop`,
//! `Bücher.example`. All of these parse: the scheme, user information after a scheme, port, query, fragment, case, one
//! trailing dot and a leading `www.` are dropped, international names are mapped by UTS #46 and kept both as punycode
//! (to compare) and as Unicode (to compare by first letters).

use std::borrow::Cow;
use std::fmt;

use idna::uts46::{DnsLength, Hyphens, Uts46};
use idna::{AsciiDenyList, domain_to_unicode};
use unicode_normalization::UnicodeNormalization as _;

/// A host name of at least one label, without trailing dot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Host {
    /// Lower case, punycode.
    ascii: String,
}

/// A host that belongs to someone: one with a registrable domain by the public suffix list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Domain {
    host: Host,
    /// Where the registrable domain starts in the host's punycode.
    start: usize,
}

/// Host and path of a web address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WebAddress {
    host: Host,
    path: String,
}

/// What one alternative of the filter `website` asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WebsiteTerm {
    /// A host (with its subdomains), and the first characters of the path.
    Address(WebAddress),
    /// The first letters of a label of the host: lower case, Unicode.
    Label(String),
}

/// Why a text is no host, domain or web address. The text of each can stand after "`acme`: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostProblem {
    /// Nothing is left of it.
    #[error("holds no name")]
    Nothing,
    /// White space within.
    #[error("contains a space")]
    Space,
    /// An `@` without a scheme: rather an e-mail address.
    #[error("is an e-mail address")]
    EmailAddress,
    /// What follows the colon is no port.
    #[error("has a port that is none")]
    Port,
    /// Two dots follow each other, or one leads.
    #[error("has an empty label")]
    EmptyLabel,
    /// A label with a character or at a place that names don't have.
    #[error("has a label that is not made of letters, digits and inner hyphens")]
    BadLabel,
    /// A label of more than 63, or a name of more than 253 characters.
    #[error("is longer than a host name can be")]
    TooLong,
    /// A name where a domain or host is asked for.
    #[error("has no dot")]
    NoDot,
    /// An IP address where a domain is asked for.
    #[error("is an IP address")]
    IpAddress,
    /// A suffix that nobody owns, such as `com` or `co.uk`.
    #[error("is only a public suffix")]
    PublicSuffix,
}

impl Host {
    /// Parses a bare host name: no scheme, port or path. One trailing dot is dropped.
    pub fn parse(text: &str) -> Result<Self, HostProblem> {
        let text = text.trim();
        if text.contains(char::is_whitespace) {
            return Err(HostProblem::Space);
        }
        let mapped = Uts46::new()
            .to_ascii(
                text.as_bytes(),
                AsciiDenyList::URL,
                Hyphens::Allow,
                DnsLength::Ignore,
            )
            .map_err(|_| HostProblem::BadLabel)?;
        let ascii = mapped.strip_suffix('.').unwrap_or(&mapped);
        if ascii.is_empty() {
            return Err(HostProblem::Nothing);
        }
        for label in ascii.split('.') {
            if label.is_empty() {
                return Err(HostProblem::EmptyLabel);
            }
            if label.len() > 63 {
                return Err(HostProblem::TooLong);
            }
            // Underscores occur in the subdomains of real websites, though never in a registrable domain.
            if !label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
            {
                return Err(HostProblem::BadLabel);
            }
        }
        if ascii.len() > 253 {
            return Err(HostProblem::TooLong);
        }
        Ok(Self {
            ascii: ascii.to_owned(),
        })
    }

    /// Lower case, punycode.
    #[must_use]
    pub fn ascii(&self) -> &str {
        &self.ascii
    }

    /// Lower case, Unicode.
    #[must_use]
    pub fn unicode(&self) -> String {
        domain_to_unicode(&self.ascii).0
    }

    /// Whether it has more than one label.
    #[must_use]
    pub fn has_dot(&self) -> bool {
        self.ascii.contains('.')
    }

    /// Whether its last label is a number, as that of an IPv4 address is and that of a name never is.
    #[must_use]
    pub fn is_ip_address(&self) -> bool {
        self.ascii
            .rsplit('.')
            .next()
            .is_some_and(|label| label.bytes().all(|byte| byte.is_ascii_digit()))
    }

    /// The registrable domain, in punycode, by the public suffix list. A suffix of the list's private part
    /// (`github.io`) is someone's domain itself. A suffix that the list does not know is taken for a public one.
    #[must_use]
    pub fn registrable(&self) -> Option<&str> {
        if self.is_ip_address() {
            return None;
        }
        let bytes = self.ascii.as_bytes();
        if let Some(domain) = psl::domain(bytes) {
            return self.ascii.get(bytes.len() - domain.as_bytes().len()..);
        }
        let private = psl::suffix(bytes).is_some_and(|suffix| suffix.typ() == Some(psl::Type::Private));
        private.then_some(self.ascii.as_str())
    }

    /// The same without a leading `www.`, unless that is the domain itself (`www.com`).
    fn without_www(self) -> Self {
        match self.ascii.strip_prefix("www.") {
            Some(rest) => {
                let rest = Self {
                    ascii: rest.to_owned(),
                };
                if rest.registrable().is_some() { rest } else { self }
            }
            None => self,
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.ascii)
    }
}

impl Domain {
    /// Parses a domain, a host or a URL.
    pub fn parse(text: &str) -> Result<Self, HostProblem> {
        Self::of(WebAddress::parse_any(text)?.host)
    }

    /// The domain that a host belongs to.
    pub fn of(host: Host) -> Result<Self, HostProblem> {
        if !host.has_dot() {
            return Err(HostProblem::NoDot);
        }
        if host.is_ip_address() {
            return Err(HostProblem::IpAddress);
        }
        let registrable = host.registrable().ok_or(HostProblem::PublicSuffix)?;
        let bad = |label: &str| label.starts_with('-') || label.ends_with('-') || label.contains('_');
        if registrable.split('.').any(bad) {
            return Err(HostProblem::BadLabel);
        }
        let start = host.ascii.len() - registrable.len();
        Ok(Self { host, start })
    }

    /// The registrable domain, lower case, punycode: what two domains are equal by.
    #[must_use]
    pub fn registrable(&self) -> &str {
        self.host.ascii.get(self.start..).unwrap_or_default()
    }

    /// The host it was found in.
    #[must_use]
    pub const fn host(&self) -> &Host {
        &self.host
    }
}

impl WebAddress {
    /// Parses a host or URL. The host has a dot; it may be an IPv4 address.
    pub fn parse(text: &str) -> Result<Self, HostProblem> {
        let address = Self::parse_any(text)?;
        if address.host.has_dot() {
            Ok(address)
        } else {
            Err(HostProblem::NoDot)
        }
    }

    /// The host, without a leading `www.`.
    #[must_use]
    pub const fn host(&self) -> &Host {
        &self.host
    }

    /// The path as written, with a leading and without a trailing slash; empty if there is none.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The same, with a host that may be a single label.
    fn parse_any(text: &str) -> Result<Self, HostProblem> {
        let text = text.trim();
        let text = if text.is_ascii() {
            Cow::Borrowed(text)
        } else {
            Cow::Owned(text.nfkc().collect())
        };
        let rest = without_scheme(&text);
        let has_scheme = rest.len() < text.len();
        let (authority, tail) = rest.split_at(rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len()));
        let host = match authority.rsplit_once('@') {
            None => authority,
            Some((_, host)) if has_scheme => host,
            Some(_) => return Err(HostProblem::EmailAddress),
        };
        if host.starts_with('[') {
            return Err(HostProblem::IpAddress);
        }
        let host = match host.split_once(':') {
            None => host,
            Some((host, port)) if port.trim().is_empty() || port.trim().parse::<u16>().is_ok() => host,
            Some(_) => return Err(HostProblem::Port),
        };
        let path = tail
            .split(['?', '#'])
            .next()
            .unwrap_or_default()
            .replace('\\', "/");
        Ok(Self {
            host: Host::parse(host)?.without_www(),
            path: path.trim_end_matches('/').to_owned(),
        })
    }
}

impl WebsiteTerm {
    /// Parses one alternative: what has a dot is an address, what has none and no path is a label's first letters.
    pub fn parse(text: &str) -> Result<Self, HostProblem> {
        let address = WebAddress::parse_any(text)?;
        if address.host.has_dot() {
            Ok(Self::Address(address))
        } else if address.path.is_empty() {
            Ok(Self::Label(address.host.unicode()))
        } else {
            Err(HostProblem::NoDot)
        }
    }
}

/// Drops schemes and leading slashes, also doubled (`http://https://`) and broken ones (`http:/`, `//`).
fn without_scheme(text: &str) -> &str {
    let mut rest = text;
    loop {
        let after = match rest.split_once(':') {
            Some((scheme, after)) if is_scheme(scheme, after) => after,
            _ => rest,
        };
        let after = if after.len() < rest.len() || after.starts_with("//") {
            after.trim_start_matches(['/', '\\'])
        } else {
            after
        };
        if after.len() == rest.len() {
            return rest;
        }
        rest = after;
    }
}

/// Whether what stands before a colon is a scheme, not a host before its port.
fn is_scheme(scheme: &str, after: &str) -> bool {
    let named = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let formed = !scheme.is_empty()
        && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'-');
    (named && !after.starts_with(|next: char| next.is_ascii_digit())) || (formed && after.starts_with("//"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registrable(text: &str) -> Result<String, HostProblem> {
        Domain::parse(text).map(|domain| domain.registrable().to_owned())
    }

    #[test]
    fn all_spellings_of_a_domain_are_one() {
        for text in [
            "acme.co.uk",
            " ACME.CO.UK ",
            "acme.co.uk.",
            "www.acme.co.uk",
            "WWW.shop.acme.co.uk",
            "http://acme.co.uk",
            "https://www.acme.co.uk:8443/a/b?c=d@e#f",
            "HTTPS://user:password@acme.co.uk/",
            "//acme.co.uk/",
            "http:acme.co.uk",
            "http:/acme.co.uk",
            "http://https://acme.co.uk",
            "ftp://acme.co.uk",
            "acme.co.uk:80",
            "acme.co.uk:",
            "acme.co.uk?x=1",
            "acme.co.uk\\shop",
            "acme。co。uk",
            "ｗｗｗ．ａｃｍｅ．ｃｏ．ｕｋ",
            "my_shop.acme.co.uk",
        ] {
            assert_eq!(registrable(text).as_deref(), Ok("acme.co.uk"), "{text}");
        }
    }

    #[test]
    fn international_names_are_punycode() {
        for text in [
            "Bücher.example",
            "BU\u{308}CHER.example",
            "xn--bcher-kva.example",
            "https://www.bücher.example/ä",
        ] {
            assert_eq!(
                registrable(text).as_deref(),
                Ok("xn--bcher-kva.example"),
                "{text}"
            );
        }
        assert_eq!(
            registrable("食狮.公司.cn").as_deref(),
            Ok("xn--85x722f.xn--55qx5d.cn")
        );
        assert_eq!(
            Host::parse("xn--bcher-kva.example").unwrap().unicode(),
            "bücher.example"
        );
    }

    #[test]
    fn suffixes_are_those_of_the_list() {
        assert_eq!(registrable("a.b.github.io").as_deref(), Ok("b.github.io"));
        assert_eq!(registrable("github.io").as_deref(), Ok("github.io"));
        assert_eq!(registrable("www.com").as_deref(), Ok("www.com"));
        assert_eq!(registrable("www.co.uk").as_deref(), Ok("www.co.uk"));
        assert_eq!(
            registrable("a.b.unknown-suffix").as_deref(),
            Ok("b.unknown-suffix")
        );
    }

    #[test]
    fn what_is_no_domain_is_told_why() {
        let long_label = format!("{}.com", "a".repeat(64));
        let long_name = format!("{}com", "abcdefg.".repeat(32));
        for (text, problem) in [
            ("", HostProblem::Nothing),
            (".", HostProblem::Nothing),
            ("https://", HostProblem::Nothing),
            ("/path", HostProblem::Nothing),
            ("acme", HostProblem::NoDot),
            ("com", HostProblem::NoDot),
            ("co.uk", HostProblem::PublicSuffix),
            ("acme corp.com", HostProblem::Space),
            ("acme..com", HostProblem::EmptyLabel),
            (".com", HostProblem::EmptyLabel),
            ("acme!.com", HostProblem::BadLabel),
            ("*.acme.com", HostProblem::BadLabel),
            ("-acme.com", HostProblem::BadLabel),
            ("acme-.com", HostProblem::BadLabel),
            ("ac_me.com", HostProblem::BadLabel),
            ("info@acme.com", HostProblem::EmailAddress),
            ("acme.com:many", HostProblem::Port),
            ("acme.com:70000", HostProblem::Port),
            ("127.0.0.1", HostProblem::IpAddress),
            ("http://[::1]/", HostProblem::IpAddress),
            (&long_label, HostProblem::TooLong),
            (&long_name, HostProblem::TooLong),
        ] {
            assert_eq!(registrable(text), Err(problem), "{text}");
        }
    }

    #[test]
    fn web_addresses_keep_host_and_path() {
        for (text, host, path) in [
            ("https://www.acme.com/", "acme.com", ""),
            ("acme.com/Shop//?q=1", "acme.com", "/Shop"),
            ("shop.acme.com/a/b/#top", "shop.acme.com", "/a/b"),
            ("http://10.0.0.1:8080/x", "10.0.0.1", "/x"),
            ("www.com/a", "www.com", "/a"),
        ] {
            let address = WebAddress::parse(text).unwrap();
            assert_eq!((address.host().ascii(), address.path()), (host, path), "{text}");
        }
        assert_eq!(WebAddress::parse("acme"), Err(HostProblem::NoDot));
    }

    #[test]
    fn a_website_term_is_an_address_or_a_label() {
        assert!(matches!(
            WebsiteTerm::parse("acme.com/shop"),
            Ok(WebsiteTerm::Address(_))
        ));
        assert_eq!(
            WebsiteTerm::parse("ACME"),
            Ok(WebsiteTerm::Label("acme".to_owned()))
        );
        assert_eq!(
            WebsiteTerm::parse("BÜC"),
            Ok(WebsiteTerm::Label("büc".to_owned()))
        );
        assert_eq!(WebsiteTerm::parse("acme/shop"), Err(HostProblem::NoDot));
        assert_eq!(WebsiteTerm::parse("two words"), Err(HostProblem::Space));
    }
}
