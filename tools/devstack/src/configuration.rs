//! `docs/configuration.md`: its tables are what the processes say of their settings, its words are written by hand.

use std::path::Path;
use std::process::Command;

use crate::error::Error;
use crate::installation::binary;
use crate::run::run;
use crate::service::Service;
use crate::stack;

/// Where the document is, in the repository.
pub const FILE: &str = "docs/configuration.md";

/// What stands below a table.
const END: &str = "<!-- end of settings -->";

/// The document with each of its tables as the programs that were built with this one tell it.
pub fn refreshed(document: &str) -> Result<String, Error> {
    let binaries = stack::binaries()?;
    Service::ALL
        .into_iter()
        .try_fold(document.to_owned(), |text, service| {
            with_table(&text, service, &table(&binaries, service)?)
        })
}

fn table(binaries: &Path, service: Service) -> Result<String, Error> {
    run(Command::new(binary(binaries, service.name())?).arg("settings"))
}

fn with_table(text: &str, service: Service, table: &str) -> Result<String, Error> {
    let begin = format!("<!-- settings of {} -->", service.name());
    let parts = text.split_once(&begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    let (before, after) = parts.ok_or_else(|| {
        Error::Missing(format!(
            "{FILE} has no place for a table between {begin} and {END}"
        ))
    })?;
    Ok(format!("{before}{begin}\n\n{}\n\n{END}{after}", table.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_takes_the_place_of_its_own_alone() {
        let text = "one\n<!-- settings of keys -->\nold\n<!-- end of settings -->\ntwo\n\
                    <!-- settings of search -->\nkept\n<!-- end of settings -->\n";
        let new = with_table(text, Service::Keys, "| new |\n").unwrap();
        assert_eq!(
            new,
            "one\n<!-- settings of keys -->\n\n| new |\n\n<!-- end of settings -->\ntwo\n\
             <!-- settings of search -->\nkept\n<!-- end of settings -->\n"
        );
        assert!(with_table(text, Service::Billing, "").is_err());
    }
}
