//! Certificates of mutual TLS are renewed, and then their authority is changed.

use std::fs;

use devstack::{Options, Service};
use proto::billing::v1::GetBalanceRequest;
use proto::billing::v1::billing_service_client::BillingServiceClient;
use system_tests::{Authority, Pair, World};
use tonic::Code;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

use crate::fleet::{Fleet, SERVICES, setting};

/// Where all services listen.
const HERE: &str = "127.0.0.1";

/// The processes' files: read when a process starts, so that it is replaced after they are.
struct Files<'a> {
    world: &'a World,
    /// Who says for the tests' own calls that they are good, always.
    testers: &'a Authority,
}

impl Files<'_> {
    fn write(&self, service: Service, name: &str, text: &str) {
        let folder = self.world.stack.folder().join("tls");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("{}-{name}.pem", service.name()));
        fs::write(&path, text).unwrap();
        self.world
            .stack
            .set(&setting(service, name), &path.display().to_string());
    }

    /// New certificates for all, of this authority.
    fn certify(&self, authority: &Authority) {
        for service in SERVICES {
            let Pair { certificate, key } = authority.server(HERE);
            self.write(service, "tls_certificate", &certificate);
            self.write(service, "tls_key", &key);
        }
        let Pair { certificate, key } = authority.client();
        self.write(Service::Gateway, "tls_client_certificate", &certificate);
        self.write(Service::Gateway, "tls_client_key", &key);
    }

    /// Whose certificates all take for good.
    fn trust(&self, authorities: &[&Authority]) {
        for service in SERVICES {
            let callers = bundle(&[authorities, &[self.testers]].concat());
            self.write(service, "tls_client_authority", &callers);
        }
        self.write(Service::Gateway, "tls_authority", &bundle(authorities));
    }
}

fn bundle(authorities: &[&Authority]) -> String {
    authorities
        .iter()
        .map(|authority| authority.certificate.as_str())
        .collect()
}

fn tls(trusted: &[&Authority], shown: &Pair) -> ClientTlsConfig {
    ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(bundle(trusted)))
        .identity(Identity::from_pem(&shown.certificate, &shown.key))
}

/// Whether billing and a caller who trusts this authority and shows this certificate speak with each other.
fn speak(fleet: &Fleet, trusted: &Authority, shown: &Pair) -> bool {
    let address = fleet.world.service_address(Service::Billing);
    let answer = fleet.world.operator.block_on(async {
        let endpoint = Endpoint::from_shared(address).unwrap();
        let endpoint = endpoint.tls_config(tls(&[trusted], shown)).unwrap();
        let mut client = BillingServiceClient::new(endpoint.connect_lazy());
        client.get_balance(GetBalanceRequest::default()).await
    });
    // Who is spoken with is asked for a token.
    answer.unwrap_err().code() == Code::Unauthenticated
}

#[test]
fn certificates_and_their_authority_are_changed_and_no_request_is_lost() {
    let [old, new, testers] = ["old", "new", "testers"].map(Authority::new);
    let world = World::start(Options::new());
    let files = Files {
        world: &world,
        testers: &testers,
    };
    files.trust(&[&old]);
    files.certify(&old);
    let fleet = Fleet::of(world.speaking_tls(tls(&[&old, &new], &testers.client())));
    let files = Files {
        world: &fleet.world,
        testers: &testers,
    };
    let roll_all = || Service::ALL.into_iter().for_each(|service| fleet.roll(service));
    fleet.while_asked(|| {
        assert!(speak(&fleet, &old, &old.client()));
        assert!(!speak(&fleet, &new, &old.client()));
        assert!(!speak(&fleet, &old, &new.client()));
        // Renewed by the same authority: each process when it likes.
        files.certify(&old);
        roll_all();
        // Another authority: it is trusted beside the old one by all, then its certificates come, then the old one goes.
        files.trust(&[&old, &new]);
        roll_all();
        assert!(speak(&fleet, &old, &new.client()));
        files.certify(&new);
        roll_all();
        assert!(speak(&fleet, &new, &old.client()));
        files.trust(&[&new]);
        roll_all();
        assert!(speak(&fleet, &new, &new.client()));
        assert!(!speak(&fleet, &new, &old.client()));
        assert!(!speak(&fleet, &old, &new.client()));
    });
}
