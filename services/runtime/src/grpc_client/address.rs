//! Where a service is.

use tonic::transport::Uri;

use crate::settings::Setting;

/// One address of a service: `http://host:port` or `https://host:port`. A host name stands for all addresses it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServiceAddress {
    uri: Uri,
    host: String,
    port: u16,
}

impl ServiceAddress {
    fn parse(text: &str) -> Option<Self> {
        let uri = text.parse::<Uri>().ok()?;
        let default_port = match uri.scheme_str()? {
            "http" => 80,
            "https" => 443,
            _ => return None,
        };
        if uri.path() != "/" || uri.query().is_some() {
            return None;
        }
        // In an address an IPv6 host has brackets, for the resolver it has none.
        let host = uri.host()?.trim_matches(['[', ']']).to_owned();
        let port = uri.port_u16().unwrap_or(default_port);
        Some(Self { uri, host, port })
    }

    pub(super) fn uri(&self) -> &Uri {
        &self.uri
    }

    pub(super) fn is_tls(&self) -> bool {
        self.uri.scheme_str() == Some("https")
    }

    /// What the resolver is asked for.
    pub(super) fn name(&self) -> (&str, u16) {
        (&self.host, self.port)
    }
}

/// All addresses of a service, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAddresses(Vec<ServiceAddress>);

impl ServiceAddresses {
    pub(super) fn iter(&self) -> impl Iterator<Item = &ServiceAddress> {
        self.0.iter()
    }
}

/// Comma-separated.
impl Setting for ServiceAddresses {
    const FORM: &'static str = "URL,URL...";

    fn parse(text: &str) -> Result<Self, String> {
        text.split(',')
            .map(|part| ServiceAddress::parse(part.trim()))
            .collect::<Option<Vec<_>>>()
            .map(Self)
            .ok_or_else(|| {
                "has to be http://host:port or https://host:port, several with a comma between".into()
            })
    }

    fn show(&self) -> String {
        let each = self.0.iter().map(|address| address.uri.to_string());
        each.collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_scheme_a_host_and_no_path() {
        let names = |text: &str| {
            let addresses = ServiceAddresses::parse(text).ok()?;
            let names = addresses
                .iter()
                .map(|address| (address.host.clone(), address.port));
            Some(names.collect::<Vec<_>>())
        };
        let one = |host: &str, port| Some(vec![(host.to_owned(), port)]);
        assert_eq!(names("http://search:7101"), one("search", 7101));
        assert_eq!(names("https://search.example/"), one("search.example", 443));
        assert_eq!(names("http://[::1]:7101"), one("::1", 7101));
        assert_eq!(names("http://a:1, http://b:2").map(|names| names.len()), Some(2));
        for bad in [
            "",
            "search:7101",
            "grpc://search:1",
            "http://",
            "http://a:1/path",
            "http://a:1,",
        ] {
            assert_eq!(names(bad), None, "{bad:?}");
        }
    }
}
