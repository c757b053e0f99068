//! The settings of a process: file < environment < flags, each knob described where it is read.
//!
//! A `Config` reads its knobs one after another ([`Settings::value`] and its neighbours) and always gets a value; what
//! is wrong is collected, and [`Settings::finish`] refuses with every problem at once: values that do not parse or are
//! out of bounds, missing ones, unknown names in any of the three sources, contradictions ([`Settings::contradiction`]).
//!
//! | source | `max_active_keys` of the process `keys` |
//! |---|---|
//! | TOML file, `--config FILE` | `max_active_keys = 50` |
//! | environment | `DS_KEYS__MAX_ACTIVE_KEYS=50` |
//! | flag | `--max-active-keys 50` |
//!
//! Whoever migrates needs the database alone: nothing else is missed then, so that no other secret has to be handed out.
//!
//! Secrets have no flag, since the process list is no place for them; instead `DS_KEYS__PEPPER_FILE` names a file that
//! holds the secret. (Not a library: `clap` and `figment` stop at the first problem and know no unknown environment
//! names; `conf` reports all, but neither masks, nor prints, nor reads secrets from files.)

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use crate::secret::Secret;
use crate::service_token::ServiceTokens;

mod table;
mod value;

pub use table::table;
pub use value::{Setting, Share};

/// Where a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Default,
    File,
    Environment,
    Flag,
}

impl Origin {
    const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::File => "file",
            Self::Environment => "environment",
            Self::Flag => "flag",
        }
    }
}

/// A knob as it was read: for `--help` and `--print-config`.
#[derive(Clone, Debug)]
pub struct Knob {
    /// Name, snake case.
    pub name: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// What a value looks like.
    pub form: &'static str,
    /// Which values are good, where not all of its form are: `1 to 64`.
    pub bounds: Option<String>,
    /// Value when it is not set; none if it must be set, empty if it may be left out.
    pub default: Option<String>,
    /// Whether its value is hidden.
    pub is_secret: bool,
    shown: String,
    origin: Origin,
}

/// What the command line asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Run the process.
    Serve,
    /// Bring the database to this version's form, then end.
    Migrate,
    /// Tell by the exit status whether the process that serves with these settings can do its job.
    Health,
    /// Print what can be said to the process.
    Help,
    /// Print the settings as a table.
    Settings,
    /// Print the settings as they would hold.
    PrintConfig,
}

/// The three sources, and what has been read of them.
#[derive(Debug)]
pub struct Settings {
    prefix: String,
    migrating: bool,
    flags: BTreeMap<String, String>,
    environment: BTreeMap<String, String>,
    file: BTreeMap<String, String>,
    knobs: Vec<Knob>,
    problems: Vec<String>,
}

impl Settings {
    /// The sources of the process with this name: its arguments without the program's name, and its environment.
    pub fn read(
        process: &str,
        arguments: impl IntoIterator<Item = String>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> (Self, Command) {
        let prefix = format!("DS_{}__", process.to_uppercase());
        let mut settings = Self {
            environment: environment
                .into_iter()
                .filter_map(|(name, value)| Some((name.strip_prefix(&prefix)?.to_lowercase(), value)))
                .collect(),
            prefix,
            migrating: false,
            flags: BTreeMap::new(),
            file: BTreeMap::new(),
            knobs: Vec::new(),
            problems: Vec::new(),
        };
        let command = settings.read_arguments(arguments);
        settings.read_file();
        (settings, command)
    }

    fn read_arguments(&mut self, arguments: impl IntoIterator<Item = String>) -> Command {
        let mut command = Command::Serve;
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "serve" => command = Command::Serve,
                "migrate" => {
                    command = Command::Migrate;
                    self.migrating = true;
                }
                "health" => command = Command::Health,
                "--help" | "-h" | "help" => return Command::Help,
                "settings" => return Command::Settings,
                "--print-config" => command = Command::PrintConfig,
                _ => match argument.strip_prefix("--") {
                    Some(flag) => {
                        let (name, value) = match flag.split_once('=') {
                            Some((name, value)) => (name, Some(value.to_owned())),
                            None => (flag, arguments.next()),
                        };
                        match value {
                            Some(value) => {
                                self.flags.insert(name.replace('-', "_"), value);
                            }
                            None => self.problems.push(format!("--{name} has no value")),
                        }
                    }
                    None => self.problems.push(format!(
                        "{argument:?} is no command; known are serve, migrate, health, settings, help"
                    )),
                },
            }
        }
        command
    }

    fn read_file(&mut self) {
        let path = self.optional::<PathBuf>(
            "config",
            "TOML file with settings; environment and flags go before it.",
        );
        let Some(path) = path else { return };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                return self
                    .problems
                    .push(format!("config: {} can't be read: {error}", path.display()));
            }
        };
        let table = match text.parse::<toml::Table>() {
            Ok(table) => table,
            Err(error) => {
                return self
                    .problems
                    .push(format!("config: {}: {}", path.display(), error.message()));
            }
        };
        for (name, value) in table {
            match value {
                toml::Value::String(text) => self.file.insert(name, text),
                toml::Value::Integer(number) => self.file.insert(name, number.to_string()),
                toml::Value::Float(number) => self.file.insert(name, number.to_string()),
                toml::Value::Boolean(flag) => self.file.insert(name, flag.to_string()),
                toml::Value::Datetime(_) | toml::Value::Array(_) | toml::Value::Table(_) => {
                    self.problems.push(format!(
                        "config: {name} has to be a text, a number, true or false"
                    ));
                    None
                }
            };
        }
    }

    /// A knob that has a default.
    pub fn value<T: Setting>(&mut self, name: &'static str, default: T, doc: &'static str) -> T {
        let shown = default.show();
        self.knob(name, Some(shown), None, doc).unwrap_or(default)
    }

    /// A number with a default and bounds, both included.
    pub fn bounded<T>(
        &mut self,
        name: &'static str,
        default: T,
        bounds: RangeInclusive<T>,
        doc: &'static str,
    ) -> T
    where
        T: Setting + PartialOrd,
    {
        let shown = default.show();
        self.within(name, Some(shown), &bounds, doc).unwrap_or(default)
    }

    /// A number with bounds, both included, that may be left out.
    pub fn optional_bounded<T>(
        &mut self,
        name: &'static str,
        bounds: RangeInclusive<T>,
        doc: &'static str,
    ) -> Option<T>
    where
        T: Setting + PartialOrd,
    {
        self.within(name, Some(String::new()), &bounds, doc)
    }

    fn within<T>(
        &mut self,
        name: &'static str,
        default: Option<String>,
        bounds: &RangeInclusive<T>,
        doc: &'static str,
    ) -> Option<T>
    where
        T: Setting + PartialOrd,
    {
        let (low, high) = (bounds.start().show(), bounds.end().show());
        let value: T = self.knob(name, default, Some(format!("{low} to {high}")), doc)?;
        if bounds.contains(&value) {
            return Some(value);
        }
        self.problems
            .push(format!("{name}: {} is not within {low} and {high}", value.show()));
        None
    }

    /// A knob that may be left out.
    pub fn optional<T: Setting>(&mut self, name: &'static str, doc: &'static str) -> Option<T> {
        self.knob(name, Some(String::new()), None, doc)
    }

    /// A knob that must be set. The example stands in for it where it is missing, so that the rest can be read.
    ///
    /// # Panics
    /// If the example does not parse, which is a slip in the code.
    pub fn required<T: Setting>(&mut self, name: &'static str, example: &str, doc: &'static str) -> T {
        let problems = self.problems.len();
        self.knob(name, None, None, doc).unwrap_or_else(|| {
            if self.problems.len() == problems {
                self.missing(name, format!("{name}: is missing (for example {example})"));
            }
            T::parse(example).expect("the example of a setting is a value of it")
        })
    }

    /// A secret that must be set and has at least so many characters.
    pub fn secret(&mut self, name: &'static str, min_length: usize, doc: &'static str) -> Secret {
        let problems = self.problems.len();
        let Some(text) = self.secret_text(name, None, min_length, doc) else {
            if self.problems.len() == problems {
                let variable = format!("{}{}", self.prefix, name.to_uppercase());
                self.missing(
                    name,
                    format!("{name}: is missing (set {variable} or {variable}_FILE)"),
                );
            }
            return Secret::new("");
        };
        self.custody(name, min_length, text)
    }

    /// A secret that may be left out; if given, it has at least so many characters.
    pub fn optional_secret(
        &mut self,
        name: &'static str,
        min_length: usize,
        doc: &'static str,
    ) -> Option<Secret> {
        let text = self.secret_text(name, Some(String::new()), min_length, doc)?;
        Some(self.custody(name, min_length, text))
    }

    /// Notes that a setting is missing, unless the database is all that is needed.
    fn missing(&mut self, name: &str, problem: String) {
        if !self.migrating || name.starts_with("database_") {
            self.problems.push(problem);
        }
    }

    fn custody(&mut self, name: &str, min_length: usize, text: String) -> Secret {
        if text.chars().count() < min_length {
            self.problems
                .push(format!("{name}: is shorter than {min_length} characters"));
        }
        Secret::new(text)
    }

    /// The tokens that this process accepts from its callers.
    pub fn service_tokens(&mut self) -> ServiceTokens {
        let doc = "Tokens accepted from callers: name:scope+scope:token, comma-separated. \
                   Scopes: search, keys, verify, charge, admin.";
        let text = self.secret("service_tokens", 1, doc);
        text.expose().parse().unwrap_or_else(|problem| {
            if !text.expose().is_empty() {
                self.problems.push(format!("service_tokens: {problem}"));
            }
            ServiceTokens::nobody()
        })
    }

    /// The knobs read so far.
    #[must_use]
    pub fn knobs(&self) -> &[Knob] {
        &self.knobs
    }

    /// What is wrong with the knobs read so far, and with the sources themselves.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Notes that values which are fine each by itself don't go together.
    pub fn contradiction(&mut self, problem: impl Into<String>) {
        self.problems.push(problem.into());
    }

    /// All knobs read, or every problem found. Called after the last knob: what nobody has read by then is unknown.
    pub fn finish(mut self) -> Result<Vec<Knob>, Vec<String>> {
        let known = |name: &str| {
            self.knobs.iter().any(|knob| {
                knob.name == name || (knob.is_secret && name.strip_suffix("_file") == Some(knob.name))
            })
        };
        let mut unknown = Vec::new();
        for name in self.flags.keys().filter(|name| !known(name)) {
            unknown.push(format!("--{} is not known", name.replace('_', "-")));
        }
        for name in self.environment.keys().filter(|name| !known(name)) {
            unknown.push(format!("{}{} is not known", self.prefix, name.to_uppercase()));
        }
        for name in self.file.keys().filter(|name| !known(name)) {
            unknown.push(format!("{name} in the config file is not known"));
        }
        self.problems.extend(unknown);
        if self.problems.is_empty() {
            Ok(self.knobs)
        } else {
            Err(self.problems)
        }
    }

    fn source(&self, name: &str, is_secret: bool) -> Option<(String, Origin)> {
        let flag = self
            .flags
            .get(name)
            .filter(|_| !is_secret)
            .map(|text| (text, Origin::Flag));
        let set = flag
            .or_else(|| self.environment.get(name).map(|text| (text, Origin::Environment)))
            .or_else(|| self.file.get(name).map(|text| (text, Origin::File)));
        // An empty value is how a manifest leaves a setting out.
        set.filter(|(text, _)| !text.is_empty())
            .map(|(text, origin)| (text.clone(), origin))
    }

    fn knob<T: Setting>(
        &mut self,
        name: &'static str,
        default: Option<String>,
        bounds: Option<String>,
        doc: &'static str,
    ) -> Option<T> {
        let found = self.source(name, false);
        let (shown, origin) = match &found {
            Some((text, origin)) => (text.clone(), *origin),
            None => (default.clone().unwrap_or_default(), Origin::Default),
        };
        self.knobs.push(Knob {
            name,
            doc,
            form: T::FORM,
            bounds,
            default,
            is_secret: false,
            shown,
            origin,
        });
        let (text, origin) = found?;
        match T::parse(&text) {
            Ok(value) => Some(value),
            Err(problem) => {
                self.problems
                    .push(format!("{name}: {text:?} (from the {}) {problem}", origin.name()));
                None
            }
        }
    }

    fn secret_text(
        &mut self,
        name: &'static str,
        default: Option<String>,
        min_length: usize,
        doc: &'static str,
    ) -> Option<String> {
        if self.flags.contains_key(name) {
            let variable = format!("{}{}", self.prefix, name.to_uppercase());
            self.problems.push(format!(
                "{name}: is a secret and has no flag, since everybody can read the process list \
                 (set {variable} or {variable}_FILE)"
            ));
        }
        let mut found = self.source(name, true);
        if let Some((path, origin)) = self.source(&format!("{name}_file"), false) {
            if found.is_some() {
                self.problems
                    .push(format!("{name}: is set both by itself and by its file"));
            }
            match std::fs::read_to_string(&path) {
                Ok(text) => found = Some((text.trim_end_matches(['\r', '\n']).to_owned(), origin)),
                Err(error) => self
                    .problems
                    .push(format!("{name}: {path} can't be read: {error}")),
            }
        }
        let (shown, origin) = match &found {
            Some((_, origin)) => ("***".to_owned(), *origin),
            None => (String::new(), Origin::Default),
        };
        self.knobs.push(Knob {
            name,
            doc,
            form: "SECRET",
            bounds: (min_length > 1).then(|| format!("{min_length} characters or more")),
            default,
            is_secret: true,
            shown,
            origin,
        });
        found.map(|(text, _)| text)
    }
}

/// What `--help` prints of the knobs.
#[must_use]
pub fn help(process: &str, about: &str, knobs: &[Knob]) -> String {
    let prefix = format!("DS_{}__", process.to_uppercase());
    let head = format!(
        "{about}\n\nUsage: {process} [serve|migrate|health|settings|help] [--print-config] [--config FILE] [--SETTING VALUE]...\n\n\
         Settings; the config file (name = value) goes before the defaults, the environment before the file, \
         flags before all:\n"
    );
    let entry = |knob: &Knob| {
        let default = match knob.default.as_deref() {
            None => "required".to_owned(),
            Some("") => "optional".to_owned(),
            Some(default) => format!("default {default}"),
        };
        let bounds = knob
            .bounds
            .as_ref()
            .map_or_else(String::new, |bounds| format!("; {bounds}"));
        let variable = format!("{prefix}{}", knob.name.to_uppercase());
        let how = if knob.is_secret {
            format!("{variable}, {variable}_FILE")
        } else {
            format!("--{} {}, {variable}", knob.name.replace('_', "-"), knob.form)
        };
        format!("\n  {how} ({default}{bounds})\n      {}\n", knob.doc)
    };
    std::iter::once(head).chain(knobs.iter().map(entry)).collect()
}

/// What `--print-config` prints: a config file, secrets masked.
#[must_use]
pub fn print_config(knobs: &[Knob]) -> String {
    let line = |knob: &Knob| {
        let value = toml::Value::String(knob.shown.clone());
        format!("{} = {value} # {}\n", knob.name, knob.origin.name())
    };
    knobs.iter().map(line).collect()
}

#[cfg(test)]
mod tests;
