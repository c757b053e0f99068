//! Which client a request comes from.
//!
//! It is the address that its connection comes from, unless that is a trusted proxy, which tells in a header whom it
//! was called by. Anybody can write a header, and proxies add to what is there, so:
//!
//! - A header counts on connections from trusted proxies alone, and only the one that they are known to write: most
//!   pass on what their client made up in the other.
//! - It is read from its end. The first address that is no trusted proxy is the client; what stands before it is what
//!   the client has to say of itself.
//! - Where it ends, or what is no address stands in it, the last proxy that is known is the client.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::{Extensions, HeaderMap, HeaderName, header};
use ipnet::IpNet;

/// Whom requests are counted by: an IPv4 address, or an IPv6 network of 64 bits, all addresses of which are one
/// client's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientAddress(IpAddr);

impl From<IpAddr> for ClientAddress {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => {
                let network = u128::from(address) & (u128::MAX << 64);
                Ipv6Addr::from(network).into()
            }
            address @ IpAddr::V4(_) => address,
        })
    }
}

/// Where a request's connection comes from, noted on the request by the listener.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub IpAddr);

impl Peer {
    /// The one noted on a request; one that came over no connection has no address.
    #[must_use]
    pub fn of(extensions: &Extensions) -> Self {
        extensions
            .get()
            .copied()
            .unwrap_or(Self(Ipv4Addr::UNSPECIFIED.into()))
    }
}

/// The header in which a proxy tells whom it was called by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardedHeader {
    /// `X-Forwarded-For: client, proxy`.
    XForwardedFor,
    /// `Forwarded: for=client, for=proxy` (RFC 7239).
    Forwarded,
}

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Proxies whose word on their callers counts.
#[derive(Clone, Debug)]
pub struct TrustedProxies {
    networks: Vec<IpNet>,
    header: ForwardedHeader,
}

impl TrustedProxies {
    /// Proxies in these networks (`10.0.0.0/8`, `2001:db8::1`), which write this header; the error names the one that is
    /// none.
    pub fn new(networks: &[String], header: ForwardedHeader) -> Result<Self, String> {
        let parse = |text: &String| {
            let address = || text.parse::<IpAddr>().map(IpNet::from);
            text.parse::<IpNet>()
                .or_else(|_| address())
                .map_err(|_| format!("{text:?} is no address or network, such as 10.0.0.0/8"))
        };
        let networks = networks.iter().map(parse).collect::<Result<_, _>>()?;
        Ok(Self { networks, header })
    }

    /// Nobody is trusted.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            networks: Vec::new(),
            header: ForwardedHeader::XForwardedFor,
        }
    }

    /// The client of a request with these headers on a connection from here.
    #[must_use]
    pub fn client(&self, peer: Peer, headers: &HeaderMap) -> ClientAddress {
        let mut client = peer.0.to_canonical();
        for line in headers.get_all(self.header_name()).iter().rev() {
            let line = String::from_utf8_lossy(line.as_bytes());
            for element in self.elements_from_the_end(&line) {
                if !self.trusts(client) {
                    return client.into();
                }
                match self.address_in(element) {
                    Some(address) => client = address.to_canonical(),
                    None => return client.into(),
                }
            }
        }
        client.into()
    }

    /// Whether somebody who is no trusted proxy claims to have been called by another: either a caller makes that up,
    /// or a proxy should be trusted and is not.
    #[must_use]
    pub fn is_claim(&self, peer: Peer, headers: &HeaderMap) -> bool {
        let claims = headers.contains_key(X_FORWARDED_FOR) || headers.contains_key(header::FORWARDED);
        claims && !self.trusts(peer.0.to_canonical())
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(&address))
    }

    const fn header_name(&self) -> HeaderName {
        match self.header {
            ForwardedHeader::XForwardedFor => X_FORWARDED_FOR,
            ForwardedHeader::Forwarded => header::FORWARDED,
        }
    }

    fn elements_from_the_end<'a>(&self, line: &'a str) -> impl Iterator<Item = &'a str> {
        match self.header {
            ForwardedHeader::XForwardedFor => split_from_the_end(line, ',', false),
            ForwardedHeader::Forwarded => split_from_the_end(line, ',', true),
        }
    }

    fn address_in(&self, element: &str) -> Option<IpAddr> {
        match self.header {
            ForwardedHeader::XForwardedFor => address_of(element),
            ForwardedHeader::Forwarded => {
                let node = split_from_the_end(element, ';', true).find_map(|pair| {
                    let (name, value) = pair.split_once('=')?;
                    name.trim().eq_ignore_ascii_case("for").then_some(value)
                });
                address_of(node?.trim().trim_matches('"'))
            }
        }
    }
}

/// What such marks separate, but for those within quotes where these have a meaning. A quote without another has none:
/// with it a client could hide what a proxy adds.
fn split_from_the_end(text: &str, mark: char, may_quote: bool) -> impl Iterator<Item = &str> {
    let has_quotes = may_quote && text.matches('"').count().is_multiple_of(2);
    let mut is_quoted = false;
    text.rsplit(move |character| {
        is_quoted ^= has_quotes && character == '"';
        character == mark && !is_quoted
    })
}

/// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:80`.
fn address_of(node: &str) -> Option<IpAddr> {
    let node = node.trim();
    if let Some(rest) = node.strip_prefix('[') {
        let (address, _port) = rest.split_once(']')?;
        return address.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    let without_port = || node.split_once(':')?.0.parse::<Ipv4Addr>().ok();
    node.parse().ok().or_else(|| without_port().map(IpAddr::V4))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn client_of(peer: &str, header: ForwardedHeader, headers: &[(&'static str, &str)]) -> ClientAddress {
        let networks = ["10.0.0.0/8", "192.0.2.1", "2001:db8:1::/48"].map(str::to_owned);
        let proxies = TrustedProxies::new(&networks, header).unwrap();
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        proxies.client(Peer(peer.parse().unwrap()), &map)
    }

    fn address(text: &str) -> ClientAddress {
        text.parse::<IpAddr>().unwrap().into()
    }

    #[test]
    fn nobody_else_is_believed() {
        for header in [ForwardedHeader::XForwardedFor, ForwardedHeader::Forwarded] {
            let claims = [
                ("x-forwarded-for", "198.51.100.9"),
                ("forwarded", "for=198.51.100.9"),
            ];
            assert_eq!(client_of("203.0.113.7", header, &claims), address("203.0.113.7"));
        }
    }

    #[test]
    fn a_proxy_tells_whom_it_was_called_by() {
        let client = |header: &str| {
            client_of(
                "10.1.2.3",
                ForwardedHeader::XForwardedFor,
                &[("x-forwarded-for", header)],
            )
        };
        for (told, expected) in [
            ("198.51.100.9", "198.51.100.9"),
            ("198.51.100.9:4711", "198.51.100.9"),
            ("2001:db8:2::9", "2001:db8:2::9"),
            ("[2001:db8:2::9]:4711", "2001:db8:2::9"),
            // Made up by the client; told by a proxy behind a proxy.
            ("203.0.113.1, 198.51.100.9", "198.51.100.9"),
            ("203.0.113.1,198.51.100.9,10.9.9.9 , 192.0.2.1", "198.51.100.9"),
            ("10.9.9.9, 192.0.2.1", "10.9.9.9"),
            // No address: the last that is known.
            ("", "10.1.2.3"),
            ("unknown", "10.1.2.3"),
            ("203.0.113.1, what, 10.9.9.9", "10.9.9.9"),
            ("203.0.113.1,", "10.1.2.3"),
            // A quote means nothing here.
            ("\"203.0.113.1, 198.51.100.9", "198.51.100.9"),
        ] {
            assert_eq!(client(told), address(expected), "{told}");
        }
        let none = client_of("10.1.2.3", ForwardedHeader::XForwardedFor, &[]);
        assert_eq!(none, address("10.1.2.3"));
    }

    #[test]
    fn what_is_no_text_hides_nothing() {
        let networks = ["10.0.0.0/8".to_owned()];
        let proxies = TrustedProxies::new(&networks, ForwardedHeader::XForwardedFor).unwrap();
        let told = HeaderValue::from_bytes(b"\xff, 198.51.100.9").unwrap();
        let headers = HeaderMap::from_iter([(X_FORWARDED_FOR, told)]);
        let client = proxies.client(Peer("10.0.0.1".parse().unwrap()), &headers);
        assert_eq!(client, address("198.51.100.9"));
    }

    #[test]
    fn several_lines_are_one_header() {
        let lines = [
            ("x-forwarded-for", "203.0.113.1"),
            ("x-forwarded-for", "198.51.100.9, 10.9.9.9"),
        ];
        let client = client_of("192.0.2.1", ForwardedHeader::XForwardedFor, &lines);
        assert_eq!(client, address("198.51.100.9"));
    }

    #[test]
    fn the_standard_header_is_read_too() {
        let client = |header: &str| {
            client_of(
                "2001:db8:1::1",
                ForwardedHeader::Forwarded,
                &[("forwarded", header)],
            )
        };
        for (told, expected) in [
            ("for=198.51.100.9", "198.51.100.9"),
            ("For=\"198.51.100.9:4711\";proto=https", "198.51.100.9"),
            (
                "by=10.1.1.1; for = \"[2001:db8:2::9]:4711\" ;host=\"a,b;for=1.1.1.1\"",
                "2001:db8:2::9",
            ),
            ("for=203.0.113.1, for=198.51.100.9, for=10.9.9.9", "198.51.100.9"),
            ("for=\"203.0.113.1, for=198.51.100.9", "198.51.100.9"),
            ("for=\"203.0.113.1, for=\"[2001:db8:2::9]\"", "2001:db8:2::9"),
            ("for=203.0.113.1, for=_hidden", "2001:db8:1::1"),
            ("for=203.0.113.1, proto=http", "2001:db8:1::1"),
        ] {
            assert_eq!(client(told), address(expected), "{told}");
        }
        // What the proxies don't write is their client's.
        let other = [("x-forwarded-for", "198.51.100.9")];
        let client = client_of("10.1.2.3", ForwardedHeader::Forwarded, &other);
        assert_eq!(client, address("10.1.2.3"));
    }

    #[test]
    fn a_client_is_an_address_or_a_network_of_64_bits() {
        assert_eq!(address("::ffff:198.51.100.9"), address("198.51.100.9"));
        assert_eq!(address("2001:db8:2:3:4:5:6:7"), address("2001:db8:2:3::1"));
        assert_ne!(address("2001:db8:2:3::1"), address("2001:db8:2:4::1"));
        assert_ne!(address("198.51.100.9"), address("198.51.100.8"));
    }

    #[test]
    fn a_claim_is_what_an_untrusted_peer_says() {
        let networks = ["10.0.0.0/8".to_owned()];
        let proxies = TrustedProxies::new(&networks, ForwardedHeader::XForwardedFor).unwrap();
        let told = HeaderMap::from_iter([(X_FORWARDED_FOR, "198.51.100.9".parse().unwrap())]);
        let peer = |text: &str| Peer(text.parse().unwrap());
        assert!(proxies.is_claim(peer("203.0.113.7"), &told));
        assert!(!proxies.is_claim(peer("203.0.113.7"), &HeaderMap::new()));
        assert!(!proxies.is_claim(peer("10.0.0.1"), &told));
    }

    #[test]
    fn a_network_that_is_none_is_told() {
        for wrong in ["10.0.0.0/33", "proxy.example.com", "10.0.0", ""] {
            let refused = TrustedProxies::new(&[wrong.to_owned()], ForwardedHeader::Forwarded);
            assert!(refused.unwrap_err().contains("is no address or network"));
        }
    }
}
