//! Who may call which method of the services: every method, every scope, and whoever has none.

use std::collections::{BTreeMap, BTreeSet};

use devstack::{Options, Service};
use prost::Message as _;
use prost_types::{DescriptorProto, FileDescriptorSet};
use system_tests::World;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;

/// Each method of ours and the one scope that it asks for. A method without its line here fails the test, and so does a
/// line without its method.
const METHODS: [(&str, &str); 28] = [
    ("/billing.v1.BillingService/AdjustBalance", "admin"),
    ("/billing.v1.BillingService/Charge", "charge"),
    ("/billing.v1.BillingService/GetStatement", "charge"),
    ("/billing.v1.BillingService/GetBalance", "admin"),
    ("/billing.v1.BillingService/GrantCredits", "admin"),
    ("/billing.v1.BillingService/ListLedgerEntries", "admin"),
    ("/billing.v1.BillingService/PreviewCharge", "charge"),
    ("/billing.v1.BillingService/RefundCharge", "admin"),
    ("/billing.v1.BillingService/VerifyBalances", "admin"),
    ("/keys.v1.KeyService/CreateKey", "keys"),
    ("/keys.v1.KeyService/GetRate", "admin"),
    ("/keys.v1.KeyService/ListKeys", "keys"),
    ("/keys.v1.KeyService/RegenerateKey", "keys"),
    ("/keys.v1.KeyService/RenameKey", "keys"),
    ("/keys.v1.KeyService/RevokeKey", "keys"),
    ("/keys.v1.KeyService/SetRate", "admin"),
    ("/keys.v1.KeyService/VerifyKey", "verify"),
    ("/search.v1.IndexService/GetIndexStatus", "admin"),
    ("/search.v1.IndexService/RebuildIndex", "admin"),
    ("/search.v1.RecordService/Import", "admin"),
    ("/search.v1.RecordService/RevealEmail", "admin"),
    ("/search.v1.SearchService/CountCompanies", "search"),
    ("/search.v1.SearchService/CountPeople", "search"),
    ("/search.v1.SearchService/ExplainCompanies", "search"),
    ("/search.v1.SearchService/ExplainPeople", "search"),
    ("/search.v1.SearchService/SearchCompanies", "search"),
    ("/search.v1.SearchService/SearchPeople", "search"),
    ("/search.v1.SearchService/Suggest", "search"),
];

/// Every scope there is.
const SCOPES: [&str; 5] = ["search", "keys", "verify", "charge", "admin"];

/// What the gateway may do: all that a developer's request needs, and nothing of an operator's.
const GATEWAY: [&str; 4] = ["search", "keys", "verify", "charge"];

/// The only answers that hold a secret: those of the two methods that make one.
const ANSWERS_WITH_SECRET: [&str; 2] = ["keys.v1.CreateKeyResponse", "keys.v1.RegenerateKeyResponse"];

/// The packages of ours, with the services that serve them.
const PACKAGES: [(&str, Service); 3] = [
    ("search.v1", Service::Search),
    ("keys.v1", Service::Keys),
    ("billing.v1", Service::Billing),
];

fn descriptors() -> FileDescriptorSet {
    FileDescriptorSet::decode(proto::FILE_DESCRIPTOR_SET).unwrap()
}

#[test]
fn every_method_stands_in_the_table() {
    let mut there = BTreeSet::new();
    for file in descriptors().file {
        for service in &file.service {
            for method in &service.method {
                there.insert(format!(
                    "/{}.{}/{}",
                    file.package(),
                    service.name(),
                    method.name()
                ));
            }
        }
    }
    let listed: BTreeSet<String> = METHODS.iter().map(|(path, _)| (*path).to_owned()).collect();
    assert_eq!(there, listed);
}

#[test]
fn the_guide_lists_every_method_that_is_not_an_operators() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/grpc.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    for scope in SCOPES {
        let methods = METHODS.iter().filter(|(_, asked)| *asked == scope);
        let names = methods.map(|(path, _)| format!("`{}`", path.rsplit('.').next().unwrap()));
        let listed = if scope == "admin" {
            "all others".to_owned()
        } else {
            names.collect::<Vec<_>>().join(", ")
        };
        let row = format!("| `{scope}` | {listed} |");
        assert!(
            guide.lines().any(|line| line == row),
            "docs/grpc.md has not: {row}"
        );
    }
}

#[test]
fn no_answer_holds_a_secret_but_the_one_that_makes_it() {
    let mut with_secret = BTreeSet::new();
    for file in descriptors().file {
        for message in &file.message_type {
            let name = format!("{}.{}", file.package(), message.name());
            let is_request = name.ends_with("Request");
            if !is_request && holds_secret(message) {
                with_secret.insert(name);
            }
        }
    }
    assert_eq!(
        with_secret,
        BTreeSet::from(ANSWERS_WITH_SECRET.map(str::to_owned))
    );
}

/// By the names of its fields: whoever adds one to tell a secret calls it what it is.
fn holds_secret(message: &DescriptorProto) -> bool {
    let tells = |name: &str| {
        let words = ["secret", "hash", "pepper", "token"];
        // Where a list goes on is called so.
        name != "next_page_token" && words.iter().any(|word| name.contains(word))
    };
    message.field.iter().any(|field| tells(field.name())) || message.nested_type.iter().any(holds_secret)
}

/// A stack whose services take, beside their own tokens, one for each scope alone.
struct Services {
    world: World,
    /// What a caller shows as `authorization`, and the scopes it has.
    callers: Vec<(String, Vec<String>)>,
}

impl Services {
    fn start() -> Self {
        let world = World::start(Options::new());
        let single = SCOPES.map(|scope| format!("only-{scope}:{scope}:the-token-for-{scope}-alone-0123"));
        let mut callers = BTreeMap::new();
        for (_, service) in PACKAGES {
            let settings = world
                .stack
                .folder()
                .join(format!("settings/{}.toml", service.name()));
            let settings: toml::Table = std::fs::read_to_string(settings).unwrap().parse().unwrap();
            let own = settings["service_tokens"].as_str().unwrap();
            let accepted = format!("{own},{}", single.join(","));
            for line in accepted.split(',') {
                let [name, scopes, token] = line.splitn(3, ':').collect::<Vec<_>>()[..] else {
                    panic!("a token is name:scopes:token")
                };
                let scopes = scopes.split('+').map(str::to_owned).collect::<Vec<_>>();
                if name == "gateway" {
                    assert_eq!(scopes, GATEWAY);
                }
                callers.insert(format!("Bearer {token}"), scopes);
            }
            let name = format!("DS_{}__SERVICE_TOKENS", service.name().to_uppercase());
            world.stack.set(&name, &accepted);
            world.stack.restart(service).unwrap();
        }
        // An operator, the gateway, and one for each scope.
        assert_eq!(callers.len(), 2 + SCOPES.len());
        Self {
            world,
            callers: callers.into_iter().collect(),
        }
    }

    /// Calls the method with an empty message; what it is answered with.
    fn call(&self, path: &str, authorization: Option<&str>) -> Code {
        let mut packages = PACKAGES.iter();
        let own = packages.find(|(package, _)| path.starts_with(&format!("/{package}.")));
        let (_, service) = own.unwrap_or(&PACKAGES[0]);
        self.call_at(*service, path, authorization)
    }

    fn call_at(&self, service: Service, path: &str, authorization: Option<&str>) -> Code {
        let address = self.world.stack.address(service).unwrap();
        self.world.operator.block_on(async {
            let channel = Endpoint::from_shared(address).unwrap().connect_lazy();
            let answer = call(channel, path, authorization).await;
            answer.map_or_else(|status| status.code(), |()| Code::Ok)
        })
    }
}

/// A call whose messages are not looked at. On the wire, one message is no different from a stream of one.
async fn call(channel: Channel, path: &str, authorization: Option<&str>) -> Result<(), Status> {
    let mut client = Grpc::new(channel);
    client
        .ready()
        .await
        .map_err(|error| Status::unavailable(error.to_string()))?;
    let mut request = Request::new(tokio_stream::once(()));
    if let Some(authorization) = authorization {
        let value = authorization.parse().unwrap();
        request.metadata_mut().insert("authorization", value);
    }
    let codec = ProstCodec::<(), ()>::default();
    let answer = client.streaming(request, path.parse().unwrap(), codec).await?;
    let mut answer = answer.into_inner();
    while answer.message().await?.is_some() {}
    Ok(())
}

#[test]
fn a_token_opens_the_methods_of_its_scopes_and_no_others() {
    let services = Services::start();
    for (path, scope) in METHODS {
        for (authorization, scopes) in &services.callers {
            let code = services.call(path, Some(authorization));
            if scopes.iter().any(|held| held == scope) {
                // What it then says of an empty message is its own business.
                let let_in = ![Code::Unauthenticated, Code::PermissionDenied].contains(&code);
                assert!(let_in, "{path} with {scopes:?}: {code:?}");
            } else {
                assert_eq!(code, Code::PermissionDenied, "{path} with {scopes:?}");
            }
        }
        let (good, _) = &services.callers[0];
        let token = good.strip_prefix("Bearer ").unwrap();
        let (start, end) = token.split_at(token.len() - 1);
        let another_end = if end == "0" { "1" } else { "0" };
        let nearly = [
            None,
            Some(String::new()),
            Some("Bearer".to_owned()),
            Some("Bearer ".to_owned()),
            Some(token.to_owned()),
            Some(format!("Basic {token}")),
            Some(format!("Bearer {start}")),
            Some(format!("Bearer {start}{another_end}")),
            Some(format!("Bearer {token}0")),
            Some(format!("Bearer {}", token.to_uppercase())),
            Some(format!("Bearer {token},Bearer {token}")),
        ];
        for shown in nearly {
            let code = services.call(path, shown.as_deref());
            assert_eq!(code, Code::Unauthenticated, "{path}");
        }
    }
    // What is no method is nobody's, whoever asks.
    for path in [
        "/keys.v1.KeyService/Nothing",
        "/keys.v1.KeyService/verifykey",
        "/keys.v1.KeyService/VerifyKey/",
        "/keys.v1.KeyService//VerifyKey",
        "/keys.v1.keyservice/VerifyKey",
        "/keys.v2.KeyService/VerifyKey",
        "/grpc.health.v1.Healthy/Check",
        "/",
    ] {
        for (authorization, _) in &services.callers {
            let code = services.call(path, Some(authorization));
            assert_eq!(code, Code::PermissionDenied, "{path}");
        }
        assert_eq!(services.call(path, None), Code::Unauthenticated, "{path}");
    }
    // Reflection tells any caller of ours what there is, and nobody else. Health is for everybody: whoever balances loads
    // has no token.
    let reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
    for (_, service) in PACKAGES {
        assert_eq!(services.call_at(service, reflection, None), Code::Unauthenticated);
        for (authorization, _) in &services.callers {
            let code = services.call_at(service, reflection, Some(authorization));
            assert!(![Code::Unauthenticated, Code::PermissionDenied].contains(&code));
        }
        let health = services.call_at(service, "/grpc.health.v1.Health/Check", None);
        assert_eq!(health, Code::Ok);
    }
}
