//! The settings of a process as a table of Markdown: `docs/configuration.md` is made of these.

use super::Knob;

/// What `settings` prints: a row for each setting, named as the environment has it.
#[must_use]
pub fn table(process: &str, knobs: &[Knob]) -> String {
    let prefix = format!("DS_{}__", process.to_uppercase());
    let row = |knob: &Knob| {
        let variable = format!("{prefix}{}", knob.name.to_uppercase());
        let names = if knob.is_secret {
            format!("`{variable}`, `{variable}_FILE`")
        } else {
            format!("`{variable}`")
        };
        let value = match &knob.bounds {
            Some(bounds) => format!("{}, {bounds}", cell(knob.form)),
            None => cell(knob.form),
        };
        let default = match knob.default.as_deref() {
            None => "**required**".to_owned(),
            Some("") => "none".to_owned(),
            Some(default) => format!("`{}`", cell(default)),
        };
        format!("| {names} | {value} | {default} | {} |\n", cell(knob.doc))
    };
    let head = "| setting | value | default | |\n|---|---|---|---|\n".to_owned();
    std::iter::once(head).chain(knobs.iter().map(row)).collect()
}

/// A text within a table, where a bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    #[test]
    fn a_row_tells_all_of_a_setting() {
        let (mut settings, _) = Settings::read("keys", [], [("DS_KEYS__RATE".to_owned(), "7".to_owned())]);
        settings.bounded("rate", 5_u32, 1..=10, "How many.");
        settings.value("loud", false, "Whether | not.");
        settings.secret("pepper", 32, "What is hashed with.");
        settings.optional::<String>("issuer", "Who.");
        let table = table("keys", settings.knobs());
        let rows: Vec<&str> = table.lines().skip(3).collect();
        assert_eq!(
            rows,
            [
                "| `DS_KEYS__RATE` | NUMBER, 1 to 10 | `5` | How many. |",
                "| `DS_KEYS__LOUD` | true\\|false | `false` | Whether \\| not. |",
                "| `DS_KEYS__PEPPER`, `DS_KEYS__PEPPER_FILE` | SECRET, 32 characters or more | **required** | What is \
                 hashed with. |",
                "| `DS_KEYS__ISSUER` | TEXT | none | Who. |",
            ]
        );
    }
}
