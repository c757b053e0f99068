//! E-mail addresses, parsed by one rule for records and queries alike.

use unicode_normalization::UnicodeNormalization as _;

use crate::host::{Host, HostProblem};

/// An address, to compare: case does not count.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EmailAddress {
    local: String,
    domain: Host,
}

/// What one alternative of the filter `businessEmail` asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EmailTerm {
    /// This address.
    Address(EmailAddress),
    /// Any address at this host.
    Domain(Host),
}

/// Why a text is no e-mail address. The text of each can stand after "`acme`: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmailProblem {
    /// What stands before the `@` can't.
    #[error("has no valid name before the @")]
    Local,
    /// What stands after the `@` is no host.
    #[error("has a domain that {0}")]
    Domain(#[from] HostProblem),
}

impl EmailAddress {
    /// Parses an address.
    pub fn parse(text: &str) -> Result<Self, EmailProblem> {
        let text = text.trim().nfkc().collect::<String>();
        let (local, domain) = text.rsplit_once('@').ok_or(EmailProblem::Local)?;
        let forbidden = |character: char| {
            character.is_whitespace() || character.is_control() || ",;:<>()[]\\\"@".contains(character)
        };
        if local.is_empty() || local.chars().count() > 64 || local.contains(forbidden) {
            return Err(EmailProblem::Local);
        }
        Ok(Self {
            local: local.to_lowercase(),
            domain: host(domain)?,
        })
    }

    /// The host after the `@`.
    #[must_use]
    pub const fn domain(&self) -> &Host {
        &self.domain
    }

    /// The whole address: lower case, its host in punycode.
    #[must_use]
    pub fn folded(&self) -> String {
        format!("{}@{}", self.local, self.domain)
    }
}

impl EmailTerm {
    /// Parses an address, or a host with or without a leading `@`.
    pub fn parse(text: &str) -> Result<Self, EmailProblem> {
        let text = text.trim().nfkc().collect::<String>();
        match text.rsplit_once('@') {
            None => Ok(Self::Domain(host(&text)?)),
            Some(("", domain)) => Ok(Self::Domain(host(domain)?)),
            Some(_) => EmailAddress::parse(&text).map(Self::Address),
        }
    }
}

fn host(text: &str) -> Result<Host, HostProblem> {
    let host = Host::parse(text)?;
    if host.has_dot() {
        Ok(host)
    } else {
        Err(HostProblem::NoDot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_spelling_of_the_domain_do_not_count() {
        for text in [
            "Info@Bücher.example",
            " info@XN--BCHER-KVA.example. ",
            "ＩＮＦＯ＠bücher.example",
        ] {
            assert_eq!(
                EmailAddress::parse(text).unwrap().folded(),
                "info@xn--bcher-kva.example",
                "{text}"
            );
        }
        assert_eq!(
            EmailAddress::parse("o'hara+x@acme.example").unwrap().folded(),
            "o'hara+x@acme.example"
        );
    }

    #[test]
    fn a_term_is_an_address_or_a_domain() {
        assert!(matches!(
            EmailTerm::parse("info@acme.com"),
            Ok(EmailTerm::Address(_))
        ));
        for text in ["acme.com", "@acme.com", " @ACME.com. "] {
            let domain = EmailTerm::Domain(Host::parse("acme.com").unwrap());
            assert_eq!(EmailTerm::parse(text), Ok(domain), "{text}");
        }
    }

    #[test]
    fn what_is_none_is_told_why() {
        for (text, problem) in [
            ("info", EmailProblem::Domain(HostProblem::NoDot)),
            ("@", EmailProblem::Domain(HostProblem::Nothing)),
            ("info@", EmailProblem::Domain(HostProblem::Nothing)),
            ("in fo@acme.com", EmailProblem::Local),
            ("a@b@acme.com", EmailProblem::Local),
            ("info@acme .com", EmailProblem::Domain(HostProblem::Space)),
        ] {
            assert_eq!(EmailTerm::parse(text), Err(problem), "{text}");
        }
    }
}
