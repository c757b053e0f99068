//! The processes, asked what they know.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use devstack::Service;
use system_tests::program;

/// A setting as its process tells it.
pub(crate) struct Known {
    /// `DS_KEYS__PEPPER`.
    pub(crate) name: String,
    pub(crate) is_secret: bool,
    pub(crate) is_required: bool,
}

/// All settings of a process, from the table that it prints.
pub(crate) fn settings(service: Service) -> Vec<Known> {
    let table = ask(service, &["settings".to_owned()], &[]).unwrap();
    let rows = table.lines().skip(2);
    let settings: Vec<Known> = rows
        .map(|row| {
            let cells: Vec<&str> = row.split(" | ").collect();
            let names: Vec<&str> = cells[0].split('`').skip(1).step_by(2).collect();
            Known {
                name: names[0].to_owned(),
                is_secret: names.len() > 1,
                is_required: cells[2].contains("required"),
            }
        })
        .collect();
    assert!(settings.len() > 10, "{table}");
    settings
}

/// Every name that an environment may have.
pub(crate) fn variables() -> Vec<String> {
    let names = Service::ALL.into_iter().flat_map(settings).flat_map(|known| {
        let file = known.is_secret.then(|| format!("{}_FILE", known.name));
        std::iter::once(known.name).chain(file)
    });
    names.collect()
}

/// What a process would run with, given these arguments and nothing but this environment; what it says if it refuses.
pub(crate) fn configuration(
    service: Service,
    arguments: &[String],
    environment: &[(String, String)],
) -> Result<BTreeMap<String, String>, String> {
    let mut arguments = arguments.to_vec();
    arguments.push("--print-config".to_owned());
    let told = ask(service, &arguments, environment)?;
    let table: toml::Table = told.parse().unwrap();
    Ok(table
        .into_iter()
        .map(|(name, value)| (name, value.as_str().unwrap_or_default().to_owned()))
        .collect())
}

fn ask(service: Service, arguments: &[String], environment: &[(String, String)]) -> Result<String, String> {
    let output = Command::new(program(service))
        .args(arguments)
        .env_clear()
        .envs(environment.iter().cloned())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    if output.status.success() {
        Ok(String::from_utf8(output.stdout).unwrap())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn given(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// Of which process, which setting, what it is set to, and what is told of it.
const WRONG: [(Service, &str, &str, &str); 12] = [
    (
        Service::Gateway,
        "SESSION_ALGORITHM",
        "HS512",
        "session_algorithm: is none of HS256, RS256, ES256, EdDSA",
    ),
    (
        Service::Gateway,
        "SESSION_ALGORITHM",
        "HS256",
        "session_algorithm HS256 needs session_secret",
    ),
    (
        Service::Gateway,
        "OTLP_ENDPOINT",
        "collector:4317",
        "otlp_endpoint: \"collector:4317\" (from the environment) has to be http://host:port",
    ),
    (
        Service::Gateway,
        "OTLP_ENDPOINT",
        "https://collector:4317",
        "has to be http://host:port: gRPC, without TLS",
    ),
    (
        Service::Gateway,
        "OTLP_ENDPOINT",
        "http://collector:4318/v1/traces",
        "without a path",
    ),
    (
        Service::Gateway,
        "REDIS_URL",
        "postgres://redis",
        "redis_url: is no address of a Redis, such as redis://",
    ),
    (
        Service::Gateway,
        "REDIS_TLS_AUTHORITY",
        "/authority.pem",
        "redis_url does not begin with rediss://",
    ),
    (
        Service::Billing,
        "DATABASE_URL",
        "mysql://billing:hush@mysql/billing",
        "database_url: is no Postgres address, such as postgres://",
    ),
    (
        Service::Billing,
        "DATABASE_URL",
        "postgres://postgres/billing?sslmode=on",
        "database_url: is no Postgres address, such as postgres://",
    ),
    (
        Service::Billing,
        "DATABASE_URL",
        "postgres://postgres/billing?sslmod=verify-full",
        "database_url: has a parameter behind the ? that is none of sslmode, sslrootcert",
    ),
    (
        Service::Billing,
        "DATABASE_URL",
        "postgres://billing:1?hush@postgres/billing",
        "a ? in a password is written %3F",
    ),
    (
        Service::Billing,
        "DATABASE_URL",
        "postgres://postgres/billing?sslmode=verify-full&sslrootcert=/no/such/file",
        "database_url: sslrootcert: /no/such/file can't be read",
    ),
];

#[test]
fn what_can_not_be_right_is_refused_and_nothing_else_is_for_its_sake() {
    let token = "a-token-of-the-tests-0123456789";
    let gateway = [
        given("DS_GATEWAY__SEARCH_URL", "http://search:7101"),
        given("DS_GATEWAY__KEYS_URL", "http://keys:7102"),
        given("DS_GATEWAY__BILLING_URL", "http://billing:7103"),
        given("DS_GATEWAY__REDIS_URL", "redis://redis"),
        given("DS_GATEWAY__SERVICE_TOKEN", token),
        given("DS_GATEWAY__SESSION_ALGORITHM", "EdDSA"),
        given("DS_GATEWAY__SESSION_JWKS_URL", "https://issuer.example/keys"),
    ];
    let billing = [
        given(
            "DS_BILLING__DATABASE_URL",
            "postgres://billing:hush@postgres/billing",
        ),
        given("DS_BILLING__SERVICE_TOKENS", &format!("gateway:charge:{token}")),
    ];
    let good = [
        (Service::Gateway, gateway.to_vec()),
        (Service::Billing, billing.to_vec()),
    ];
    for (service, environment) in &good {
        configuration(*service, &[], environment).unwrap();
    }
    for (service, name, value, told) in WRONG {
        let (_, environment) = good.iter().find(|(of, _)| *of == service).unwrap();
        let variable = format!("DS_{}__{name}", service.name().to_uppercase());
        let mut environment = environment.clone();
        environment.retain(|(name, _)| *name != variable);
        environment.push((variable, value.to_owned()));
        let problems = configuration(service, &[], &environment).unwrap_err();
        assert!(problems.contains("1 problem(s)"), "{name}={value}: {problems}");
        assert!(problems.contains(told), "{told} is not told:\n{problems}");
        assert!(!problems.contains("hush"), "{problems}");
    }
    let mut environment = gateway.to_vec();
    environment.retain(|(name, _)| !name.contains("SESSION"));
    environment.push(given("DS_GATEWAY__SESSION_SECRET_FILE", "/no/such/file"));
    let problems = configuration(Service::Gateway, &[], &environment).unwrap_err();
    assert!(
        problems.contains("1 problem(s)") && problems.contains("can't be read"),
        "{problems}"
    );
}

#[test]
fn a_process_is_refused_with_all_its_problems_at_once() {
    let problems = configuration(
        Service::Keys,
        &["serve".to_owned()],
        &[
            given("DS_KEYS__LISTEN", "everywhere"),
            given("DS_KEYS__MAX_ACTIVE_KEYS", "0"),
            given("DS_KEYS__PEPPER_FILE", "/no/such/file"),
            given("DS_KEYS__TLS_KEY", "/key.pem"),
            given("DS_KEYS__PEPER", "slip"),
        ],
    )
    .unwrap_err();
    for expected in [
        "keys can't start: 8 problem(s)",
        "listen: \"everywhere\"",
        "max_active_keys: 0 is not within 1 and 10000",
        "pepper: /no/such/file can't be read",
        "database_url: is missing",
        "redis_url: is missing",
        "service_tokens: is missing",
        "tls_certificate and tls_key are set together",
        "DS_KEYS__PEPER is not known",
    ] {
        assert!(problems.contains(expected), "{expected} is not told:\n{problems}");
    }
}
