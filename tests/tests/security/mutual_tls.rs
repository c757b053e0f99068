//! TLS between our processes, with certificates made here: both sides show one, and whoever shows none, or one that is not
//! good, is not spoken with. A certificate says who may connect; what they may do is still the token's to say.

use std::error::Error as _;
use std::path::PathBuf;

use devstack::{Options, Service};
use proto::billing::v1::GetBalanceRequest;
use proto::billing::v1::billing_service_client::BillingServiceClient;
use rcgen::ExtendedKeyUsagePurpose;
use serde_json::json;
use system_tests::{Account, Authority, Pair, World, until};
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Request, Status};

/// Where all services listen.
const HERE: &str = "127.0.0.1";

/// How a caller connects.
#[derive(Clone, Copy)]
enum Caller<'a> {
    /// Without TLS.
    InTheOpen,
    /// Without a certificate of its own.
    Unnamed,
    /// With this certificate.
    Showing(&'a Pair),
}

/// A stack whose processes are told to speak TLS.
struct Secured {
    world: World,
    account: Account,
    authority: Authority,
}

const SERVICES: [Service; 3] = [Service::Search, Service::Keys, Service::Billing];

impl Secured {
    fn start() -> Self {
        let world = World::start(Options::new());
        let secured = Self {
            account: world.account(),
            world,
            authority: Authority::new("ours"),
        };
        let authority = secured.file("authority", &secured.authority.certificate);
        for service in SERVICES {
            secured.serve_with(service, &secured.authority.server(HERE));
            secured.set(service, "tls_client_authority", &authority);
            secured.world.stack.restart(service).unwrap();
            let address = secured.address(service);
            secured.set(Service::Gateway, &format!("{}_url", service.name()), &address);
        }
        secured.set(Service::Gateway, "tls_authority", &authority);
        secured.call_with(&secured.authority.client());
        secured.world.stack.restart(Service::Gateway).unwrap();
        secured
    }

    fn set(&self, service: Service, name: &str, value: &str) {
        let name = format!("DS_{}__{}", service.name().to_uppercase(), name.to_uppercase());
        self.world.stack.set(&name, value);
    }

    /// A file with this text; its path.
    fn file(&self, name: &str, text: &str) -> String {
        let folder: PathBuf = self.world.stack.folder().join("tls");
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("{name}.pem"));
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// What the service shows to its callers from its next start on.
    fn serve_with(&self, service: Service, pair: &Pair) {
        let name = service.name();
        let certificate = self.file(&format!("{name}-certificate"), &pair.certificate);
        let key = self.file(&format!("{name}-key"), &pair.key);
        self.set(service, "tls_certificate", &certificate);
        self.set(service, "tls_key", &key);
    }

    /// What the gateway shows to the services from its next start on.
    fn call_with(&self, pair: &Pair) {
        let certificate = self.file("gateway-certificate", &pair.certificate);
        let key = self.file("gateway-key", &pair.key);
        self.set(Service::Gateway, "tls_client_certificate", &certificate);
        self.set(Service::Gateway, "tls_client_key", &key);
    }

    fn address(&self, service: Service) -> String {
        let address = self.world.stack.address(service).unwrap();
        address.replace("http://", "https://")
    }

    /// A call to billing, with the operators' token or without.
    fn balance(&self, caller: Caller<'_>, with_token: bool) -> Result<i64, Status> {
        let address = self.address(Service::Billing);
        self.world.operator.block_on(async {
            let authority = Certificate::from_pem(&self.authority.certificate);
            let tls = ClientTlsConfig::new().ca_certificate(authority);
            let endpoint = match caller {
                Caller::InTheOpen => Endpoint::from_shared(address.replace("https://", "http://")).unwrap(),
                Caller::Unnamed => Endpoint::from_shared(address).unwrap().tls_config(tls).unwrap(),
                Caller::Showing(pair) => {
                    let tls = tls.identity(Identity::from_pem(&pair.certificate, &pair.key));
                    Endpoint::from_shared(address).unwrap().tls_config(tls).unwrap()
                }
            };
            let mut request = Request::new(GetBalanceRequest {
                account_id: self.account.id.clone(),
            });
            if with_token {
                let token = format!("Bearer {}", self.world.environment.service_token);
                let token = token.parse().unwrap();
                request.metadata_mut().insert("authorization", token);
            }
            let mut client = BillingServiceClient::new(endpoint.connect_lazy());
            let answer = client.get_balance(request).await?;
            Ok(answer.into_inner().balance)
        })
    }

    /// Starts the gateway again, which tells of the services what it then finds.
    fn gateway_finds(&self, status: u16) {
        self.world.stack.restart(Service::Gateway).unwrap();
        until(&format!("the gateway finds {status}"), || {
            let search = self.account.companies(&json!({"limit": 1}));
            let keys = self.account.keys(reqwest::Method::GET, "", None);
            // A connection that is just being made anew is a 503 too; a 200 where there should be none is none for a moment.
            assert!([status, 503].contains(&search.status), "{:#}", search.body);
            assert!([status, 503].contains(&keys.status), "{:#}", keys.body);
            search.status == status && keys.status == status
        });
    }
}

#[test]
fn only_who_shows_a_good_certificate_is_spoken_with() {
    let secured = Secured::start();
    secured.gateway_finds(200);
    let ours = &secured.authority;
    let before = secured.balance(Caller::Showing(&ours.client()), true).unwrap();
    let _ = secured.account.companies(&json!({"limit": 1})).expect(200);
    assert_eq!(
        secured.balance(Caller::Showing(&ours.client()), true).unwrap(),
        before - 1
    );

    // A certificate opens no method.
    let refused = secured
        .balance(Caller::Showing(&ours.client()), false)
        .unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated);

    // A token opens no connection.
    let others = Authority::new("others");
    // Of the same name as ours: a name proves nothing.
    let namesake = Authority::new("ours");
    let client = ExtendedKeyUsagePurpose::ClientAuth;
    let (theirs, forged) = (others.client(), namesake.client());
    let expired = ours.certify("gateway.internal", client, 2021);
    let server = ours.server(HERE);
    for (what, caller) in [
        ("in the open", Caller::InTheOpen),
        ("no certificate", Caller::Unnamed),
        ("another authority's", Caller::Showing(&theirs)),
        ("a namesake's", Caller::Showing(&forged)),
        ("an expired one", Caller::Showing(&expired)),
        ("a server's", Caller::Showing(&server)),
    ] {
        let refused = secured.balance(caller, true).unwrap_err();
        // Told by the connection, not by the service.
        assert!(refused.source().is_some(), "{what}: {refused:?}");
        assert_ne!(refused.code(), Code::Unauthenticated, "{what}");
    }
    // The operators' tool shows one too.
    let dsctl = |with_certificate: bool| {
        let pair = ours.client();
        let mut command = secured.world.stack.dsctl().unwrap();
        command.args(["--json", "credits", "show", "--account", &secured.account.id]);
        command.env("BILLING_GRPC", secured.address(Service::Billing));
        command.env("TLS_AUTHORITY", secured.file("authority", &ours.certificate));
        if with_certificate {
            command.env("TLS_CLIENT_CERTIFICATE", secured.file("dsctl", &pair.certificate));
            command.env("TLS_CLIENT_KEY", secured.file("dsctl-key", &pair.key));
        }
        command.output().unwrap()
    };
    let shown = dsctl(true);
    assert!(
        shown.status.success(),
        "{}",
        String::from_utf8_lossy(&shown.stderr)
    );
    assert_eq!(dsctl(false).status.code(), Some(1));
}

#[test]
fn the_gateway_speaks_with_no_impostor() {
    let secured = Secured::start();
    secured.gateway_finds(200);
    let (ours, others) = (&secured.authority, Authority::new("others"));
    let serve_all = |pair: &dyn Fn() -> Pair| {
        for service in SERVICES {
            secured.serve_with(service, &pair());
            secured.world.stack.restart(service).unwrap();
        }
    };
    // Another authority's, another host's, one that has expired, one that is no server's.
    serve_all(&|| others.server(HERE));
    secured.gateway_finds(503);
    serve_all(&|| ours.server("elsewhere.internal"));
    secured.gateway_finds(503);
    serve_all(&|| ours.certify(HERE, ExtendedKeyUsagePurpose::ServerAuth, 2021));
    secured.gateway_finds(503);
    serve_all(&|| ours.client());
    secured.gateway_finds(503);
    serve_all(&|| ours.server(HERE));
    secured.gateway_finds(200);
    // A gateway with a certificate that is not good finds no service either.
    secured.call_with(&others.client());
    secured.gateway_finds(503);
    secured.call_with(&ours.client());
    secured.gateway_finds(200);
}

#[test]
fn tls_without_certificates_of_callers_is_had_by_leaving_their_authority_out() {
    let secured = Secured::start();
    secured.set(Service::Billing, "tls_client_authority", "");
    secured.world.stack.restart(Service::Billing).unwrap();
    assert!(secured.balance(Caller::Unnamed, true).is_ok());
    let refused = secured.balance(Caller::Unnamed, false).unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated);
    assert!(secured.balance(Caller::InTheOpen, true).is_err(), "in the open");
    secured.gateway_finds(200);
}
