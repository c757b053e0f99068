//! `dsctl login`, `dsctl logout`, `dsctl profiles`: which keys are kept for whom.

use std::io::{self, BufRead as _, IsTerminal as _};

use clap::Args;
use console::Term;
use serde_json::json;

use crate::connection::Connection;
use crate::failure::Failure;
use crate::output::{Output, table};
use crate::profile::{Profile, Profiles};
use crate::rest::{Api, Rest};

/// Characters of a key that everybody may see: its `keyPrefix`.
const PREFIX: usize = 12;

/// `dsctl login`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dsctl login --base-url https://api.example.com/api/v1
  dsctl login --profile staging --base-url https://staging.example.com/api/v1 < key.txt
  printenv API_KEY | dsctl login          # what ./dev env has set, for other shells too")]
pub(crate) struct Login {}

impl Login {
    /// Asks for the key, tries it, keeps it.
    pub(crate) async fn run(&self, connection: &Connection, output: Output) -> Result<(), Failure> {
        let mut profiles = Profiles::read()?;
        let name = connection.profile_name();
        let base_url = connection
            .given_address()
            .or_else(|| profiles.get(name).map(|profile| profile.base_url.clone()))
            .ok_or_else(|| {
                Failure::Usage(
                    "there is no address yet: dsctl login --base-url https://HOST/api/v1 (or set BASE_URL)"
                        .to_owned(),
                )
            })?;
        let base_url = base_url.trim_end_matches('/').to_owned();
        let api_key = match connection.key_of_file()? {
            Some(key) => key,
            None => ask(&base_url)?,
        };
        let api = Api::new(
            Rest::new(&base_url, connection.tls_authority()?.as_deref())?,
            &api_key,
        )?;
        try_key(&api).await?;
        let profile = Profile {
            base_url: base_url.clone(),
            api_key,
        };
        let path = profiles.put(name, profile)?;
        let path = path.display();
        output.show(
            &json!({"profile": name, "baseUrl": base_url, "file": path.to_string()}),
            || format!("The key is accepted and kept as profile {name} in {path}."),
        )
    }
}

/// The key, from the terminal without showing it, or the first line of standard input.
fn ask(base_url: &str) -> Result<String, Failure> {
    let read = || {
        if io::stdin().is_terminal() {
            eprint!("API key for {base_url} (it is not shown): ");
            return Term::stderr().read_secure_line();
        }
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line).map(|_| line)
    };
    let key = read().map_err(|error| Failure::Refused(format!("can't read the key: {error}")))?;
    let key = key.trim().to_owned();
    if key.is_empty() {
        return Err(Failure::Usage(
            "no key was given: type it, or pass it by `dsctl login < FILE` or --api-key-file".to_owned(),
        ));
    }
    Ok(key)
}

/// Whether the key opens the interface.
async fn try_key(api: &Api) -> Result<(), Failure> {
    match api.get("/credits", &[("limit", "1")]).await {
        Ok(answer) if answer["data"]["balance"].is_i64() => Ok(()),
        Err(Failure::Rest(refusal)) if refusal.status == 429 => Ok(()),
        Err(failure) => Err(failure),
        Ok(_) => Err(Failure::Refused(format!(
            "{} does not answer as this interface does: is the address right?",
            api.base()
        ))),
    }
}

/// `dsctl logout`: forgets the profile. The key itself lives on: `dsctl keys revoke` ends it.
pub(crate) fn log_out(connection: &Connection, output: Output) -> Result<(), Failure> {
    let name = connection.profile_name();
    if !Profiles::read()?.remove(name)? {
        return Err(Failure::Usage(format!(
            "there is no profile {name}: `dsctl profiles` lists them"
        )));
    }
    output.show(&json!({"profile": name, "removed": true}), || {
        format!("Profile {name} is forgotten. Its key still works: `dsctl keys revoke ID` ends it.")
    })
}

/// `dsctl profiles`: shows them, without their keys.
pub(crate) fn list(output: Output) -> Result<(), Failure> {
    let profiles = Profiles::read()?;
    let shown: Vec<[String; 3]> = profiles
        .all()
        .map(|(name, profile)| {
            let prefix = profile.api_key.chars().take(PREFIX).collect();
            [name.to_owned(), profile.base_url.clone(), prefix]
        })
        .collect();
    let documents: Vec<_> = shown
        .iter()
        .map(|[name, base_url, prefix]| json!({"name": name, "baseUrl": base_url, "keyPrefix": prefix}))
        .collect();
    output.show(&json!({ "profiles": documents }), || {
        if shown.is_empty() {
            return "no profile yet: run `dsctl login`".to_owned();
        }
        let rows: Vec<Vec<String>> = shown.iter().map(|row| row.to_vec()).collect();
        table(&["name", "baseUrl", "keyPrefix"], &rows)
    })
}
