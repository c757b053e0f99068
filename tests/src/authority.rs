//! Certificates for TLS between processes, made here.

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};

/// Somebody who says which certificates are good.
pub struct Authority {
    /// Its own certificate, as PEM.
    pub certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, as PEM.
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

impl Authority {
    /// A new one. Others may have the same name: it proves nothing.
    ///
    /// # Panics
    /// If no certificate can be made.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no name is a good one");
        params.distinguished_name = named(name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().expect("a key can be made");
        let certificate = params.self_signed(&key).expect("a certificate can be made");
        Self {
            certificate: certificate.pem(),
            issuer: Issuer::new(params, key),
        }
    }

    /// A certificate for this host, good for one of the two sides, until the first day of this year.
    ///
    /// # Panics
    /// If it can't be made.
    #[must_use]
    pub fn certify(&self, host: &str, usage: ExtendedKeyUsagePurpose, until: i32) -> Pair {
        let mut params = CertificateParams::new(vec![host.to_owned()]).expect("a host is a name");
        params.distinguished_name = named("a process");
        params.extended_key_usages = vec![usage];
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        let key = KeyPair::generate().expect("a key can be made");
        let certificate = params.signed_by(&key, &self.issuer);
        Pair {
            certificate: certificate.expect("a certificate can be made").pem(),
            key: key.serialize_pem(),
        }
    }

    /// One that a service at this host shows to its callers.
    #[must_use]
    pub fn server(&self, host: &str) -> Pair {
        self.certify(host, ExtendedKeyUsagePurpose::ServerAuth, 2120)
    }

    /// One that a caller shows to services.
    #[must_use]
    pub fn client(&self) -> Pair {
        self.certify("gateway.internal", ExtendedKeyUsagePurpose::ClientAuth, 2120)
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}
