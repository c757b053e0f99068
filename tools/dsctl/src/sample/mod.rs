//! The sample: real companies with made-up facts where they lack them, and made-up people.
//!
//! Two commands write JSON Lines in the import format to standard output, and the same bytes for the same input,
//! seed and day. All that is made up follows two rules that the tests hold over the whole output: e-mail addresses end
//! in `.example`, telephone numbers are of ranges kept for fiction.

mod address;
mod chance;
mod company;
mod load;
mod name;
mod person;
mod phone;
mod staff;
mod title;

use std::io::{self, BufRead as _, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use chrono::NaiveDate;
use clap::Args;
use serde::Serialize;

use self::company::Company;
pub(crate) use self::load::LoadSample;
use self::person::Person;
use self::staff::{Places, employers};
use self::title::Titles;
use crate::failure::Failure;
use crate::source;

/// Where the made-up facts come from.
#[derive(Args, Debug)]
pub(crate) struct Origin {
    /// The real companies: JSON Lines, plain or gzip
    #[arg(long, value_name = "FILE", default_value = "sample/companies.jsonl.gz")]
    companies: PathBuf,
    /// Another seed makes up other facts, the same one always the same
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The day on which the made-up facts are looked at: updates end and new businesses begin before it
    #[arg(long, value_name = "YYYY-MM-DD", default_value = "2026-11-28")]
    as_of: NaiveDate,
}

/// `dsctl sample-companies`.
#[derive(Args, Debug)]
pub(crate) struct SampleCompanies {
    #[command(flatten)]
    origin: Origin,
}

/// `dsctl sample-people`.
#[derive(Args, Debug)]
pub(crate) struct SamplePeople {
    #[command(flatten)]
    origin: Origin,
    /// How many people
    #[arg(long, default_value_t = 120_000)]
    count: u32,
    /// Real job titles, one a line
    #[arg(long, value_name = "FILE", default_value = "sample/job_titles.txt")]
    job_titles: PathBuf,
}

impl SampleCompanies {
    /// Writes the companies, completed, to standard output.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        write_lines(io::stdout().lock(), self.origin.read()?.iter())
    }
}

impl SamplePeople {
    /// Writes the people to standard output.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let titles = self.read_titles()?;
        let companies = self.origin.read()?;
        write_lines(
            io::stdout().lock(),
            self.people(&companies, &Titles::parse(&titles)),
        )
    }

    fn read_titles(&self) -> Result<String, Failure> {
        std::fs::read_to_string(&self.job_titles).map_err(|error| unreadable(&self.job_titles, error))
    }

    fn people<'a>(
        &'a self,
        companies: &'a [Company],
        titles: &'a Titles,
    ) -> impl Iterator<Item = Person> + 'a {
        let places = Places::of(companies);
        let Origin { seed, as_of, .. } = self.origin;
        (1..)
            .zip(employers(companies, self.count))
            .map(move |(number, employer)| {
                Person::make_up(number, employer.as_ref(), titles, &places, seed, as_of)
            })
    }
}

impl Origin {
    fn read(&self) -> Result<Vec<Company>, Failure> {
        let file =
            std::fs::File::open(&self.companies).map_err(|error| unreadable(&self.companies, error))?;
        let reader =
            BufReader::new(source::decompressed(file).map_err(|error| unreadable(&self.companies, error))?);
        let mut companies = Vec::new();
        for (number, line) in (1_u64..).zip(reader.lines()) {
            let line = line.map_err(|error| unreadable(&self.companies, error))?;
            let company: Company = serde_json::from_str(&line).map_err(|error| {
                Failure::Refused(format!(
                    "{}:{number}: not a company: {error}",
                    self.companies.display()
                ))
            })?;
            companies.push(company.complete(self.seed, self.as_of));
        }
        Ok(companies)
    }
}

fn unreadable(path: &Path, error: io::Error) -> Failure {
    Failure::File {
        path: path.display().to_string(),
        error,
        hint: "run dsctl from the root of the repository, or give the path",
    }
}

fn write_lines(output: impl Write, records: impl Iterator<Item = impl Serialize>) -> Result<(), Failure> {
    let mut output = BufWriter::new(output);
    for record in records {
        serde_json::to_writer(&mut output, &record).map_err(|error| Failure::Output(error.into()))?;
        output.write_all(b"\n").map_err(Failure::Output)?;
    }
    output.flush().map_err(Failure::Output)
}

#[cfg(test)]
mod tests;
