//! Tables and CSV of real rows: they fit the terminal, hide nothing silently, and run nothing.

use std::process::Command;

use console::{measure_text_width, strip_ansi_codes};
use proto::search::v1::import_record::Change;
use serde_json::json;
use system_tests::{Account, company, world};

use crate::{companies, dsctl, printed, refused};

/// The same command on a terminal so many columns wide.
fn on_a_terminal(command: &Command, columns: usize) -> Command {
    let quote = |text: &std::ffi::OsStr| format!("'{}'", text.to_str().unwrap().replace('\'', "'\\''"));
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line = words.map(quote).collect::<Vec<_>>().join(" ");
    let mut terminal = Command::new("script");
    terminal.args([
        "-qec",
        &format!("stty cols {columns} rows 40; {line}"),
        "/dev/null",
    ]);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => terminal.env(name, value),
            None => terminal.env_remove(name),
        };
    }
    terminal.env("TERM", "xterm");
    terminal
}

/// A company whose names are wide and long.
fn wide() -> (Account, String) {
    let word = world().word();
    let mut record = company(
        &word,
        &format!("{word} 株式会社東京技術研究所とその長い長い名前の子会社"),
    );
    record.business_types = vec!["Software development and consulting for manufacturers".to_owned()];
    record.city = Some("München".to_owned());
    record.country = Some("DE".to_owned());
    world().operator.import([Change::Company(record)]);
    (world().account(), word)
}

#[test]
fn a_table_fits_terminals_of_every_width() {
    let (account, word) = wide();
    let mut search = dsctl(&account);
    search.args(["search", "companies", "--company-name", &word]);
    for columns in [30, 60, 80, 300] {
        let text = printed(&mut on_a_terminal(&search, columns));
        let text = strip_ansi_codes(&text).replace('\r', "");
        let table: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
        assert!(table.len() >= 2, "{text}");
        for line in table.iter().filter(|line| !line.starts_with('(')) {
            assert!(measure_text_width(line) <= columns, "{columns}: {line}");
        }
        let is_whole = columns == 300;
        assert_eq!(table[1].contains('…'), !is_whole, "{text}");
        assert_eq!(table[0].contains(" ID"), is_whole, "{text}");
        assert_eq!(text.contains("(no room for"), !is_whole, "{text}");
    }
    // Without a terminal: whole, or as wide as COLUMNS says.
    assert!(!printed(&mut search).contains('…'));
    let narrow = printed(search.env("COLUMNS", "40"));
    assert!(
        narrow.lines().take(2).all(|line| measure_text_width(line) <= 40),
        "{narrow}"
    );
    assert!(narrow.contains('…'), "{narrow}");
}

#[test]
fn colours_and_bars_are_for_terminals() {
    let (word, _) = companies(8);
    let account = world().account();
    let mut search = dsctl(&account);
    search.args(["search", "companies", "--company-name", &word]);
    assert!(!printed(&mut search).contains('\u{1b}'));
    assert!(printed(&mut on_a_terminal(&search, 100)).contains("\u{1b}[1m"));
    assert!(!printed(on_a_terminal(&search, 100).env("NO_COLOR", "1")).contains("\u{1b}["));

    search.args(["--all", "--limit", "3"]);
    let shown = printed(&mut on_a_terminal(&search, 100));
    assert!(shown.contains(" rows, ") && shown.contains(" left"), "{shown:?}");
}

#[test]
fn csv_of_real_rows_runs_nothing_in_a_spreadsheet() {
    let word = world().word();
    let mut record = company(&word, &format!("=HYPERLINK(\"http://x.example\"), {word}"));
    record.tags = vec!["a".to_owned(), "b".to_owned()];
    world().operator.import([Change::Company(record)]);
    let account = world().account();
    let mut search = dsctl(&account);
    search.args(["search", "companies", "--company-name", &word, "--csv"]);
    let text = printed(search.args(["--field", "name", "--field", "tags", "--field", "location"]));
    let mut lines = text.split("\r\n");
    assert_eq!(
        lines.next(),
        Some("id,name,tags,location.city,location.region,location.country,location.countryCode")
    );
    let expected = format!(",\"'=HYPERLINK(\"\"http://x.example\"\"), {word}\",a; b,,,,");
    assert!(lines.next().unwrap().ends_with(&expected), "{text}");
    assert_eq!(refused(search.arg("--json")).0, 2);
}

#[test]
fn refusals_name_the_remedy() {
    let account = world().poor_account();
    let search = || {
        let mut command = dsctl(&account);
        command.args(["search", "people"]);
        command
    };
    let (status, told) = refused(&mut search());
    assert_eq!(status, 1);
    assert!(
        told.contains("402 INSUFFICIENT_CREDITS") && told.contains("top up"),
        "{told}"
    );
    let (status, told) = refused(search().env("API_KEY", "dsk_no"));
    assert_eq!(status, 1);
    assert!(
        told.contains("401 INVALID_API_KEY") && told.contains("dsctl login"),
        "{told}"
    );
    let (status, told) = refused(search().args(["--base-url", "http://127.0.0.1:1/api/v1"]));
    assert_eq!(status, 1);
    assert!(told.contains("can't reach"), "{told}");
    world().operator.set_rate(&account.id, 1, 3_600);
    let _ = account.people(&json!({}));
    let (status, told) = refused(&mut search());
    assert_eq!(status, 1);
    assert!(told.contains("429") && told.contains("try again in"), "{told}");
}
