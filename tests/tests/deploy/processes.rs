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

#[test]
fn a_process_is_refused_with_all_its_problems_at_once() {
    let given = |name: &str, value: &str| (name.to_owned(), value.to_owned());
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
