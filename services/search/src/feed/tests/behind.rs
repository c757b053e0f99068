//! An index that is behind: what it writes, and that nothing is missing when it has come up.

use std::fs;

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use super::*;

const COMPANIES: u32 = 40;
const PEOPLE_OF_EACH: u32 = 4;

/// Documents written so far.
fn documents(metrics: &PrometheusHandle) -> u64 {
    let rendered = metrics.render();
    let counts = rendered
        .lines()
        .filter(|line| line.starts_with("search_feed_documents_total"))
        .filter_map(|line| line.rsplit_once(' '));
    counts.map(|(_, count)| count.parse::<u64>().unwrap()).sum()
}

/// Writes these batches, with a step after every so many, and returns the documents written until all is searchable.
async fn load(pool: PgPool, batches: impl Fn(&Stage) -> Vec<Batch>, step_every: usize) -> u64 {
    let recorder = PrometheusBuilder::new().build_recorder();
    let metrics = recorder.handle();
    let _recording = metrics::set_default_local_recorder(&recorder);
    let dir = TempDir::new().unwrap();
    let stage = stage(pool, dir.path());
    stage.level().await;
    for (number, batch) in batches(&stage).iter().enumerate() {
        stage.write(batch).await;
        if number % step_every == 0 {
            stage.feed.advance(&stage.built).await.unwrap();
        }
    }
    stage.level().await;
    let written = documents(&metrics);
    assert_eq!(
        stage.rows(Kind::Company, PlanCondition::Everything).len(),
        usize::try_from(COMPANIES).unwrap()
    );
    assert_eq!(
        stage.people().len(),
        usize::try_from(COMPANIES * PEOPLE_OF_EACH).unwrap()
    );
    written
}

fn companies(stage: &Stage) -> Vec<Batch> {
    let all = 0..COMPANIES;
    all.map(|number| stage.company(&format!("c{number:02}"), "Acme"))
        .collect()
}

fn people_of(stage: &Stage, company: u32) -> impl Iterator<Item = Batch> {
    let company = format!("c{company:02}");
    (0..PEOPLE_OF_EACH).map(move |number| {
        let id = format!("{company}-{number}");
        stage.person(&id, Some(&company), "Baker")
    })
}

/// Their number without repetition.
const RECORDS: u64 = (COMPANIES * (1 + PEOPLE_OF_EACH)) as u64;

#[sqlx::test]
async fn a_load_that_was_there_first_is_written_once(pool: PgPool) {
    let never = usize::MAX;
    let companies_first = |stage: &Stage| {
        let people = (0..COMPANIES).flat_map(|company| people_of(stage, company));
        companies(stage).into_iter().chain(people).collect()
    };
    // The first batch is followed at once, the rest of it when all is there.
    assert_eq!(load(pool, companies_first, never).await, RECORDS + 1);
}

#[sqlx::test]
async fn people_who_were_there_before_their_companies_are_written_once(pool: PgPool) {
    let people_first = |stage: &Stage| {
        let people = (0..COMPANIES).flat_map(|company| people_of(stage, company));
        people.chain(companies(stage)).collect()
    };
    assert_eq!(load(pool, people_first, usize::MAX).await, RECORDS + 1);
}

#[sqlx::test]
async fn a_load_that_goes_on_is_written_about_once(pool: PgPool) {
    let company_by_company = |stage: &Stage| {
        let all = companies(stage).into_iter().zip(0..);
        all.flat_map(|(batch, company)| [batch].into_iter().chain(people_of(stage, company)))
            .collect()
    };
    let written = load(pool, company_by_company, 10).await;
    assert!(
        written < RECORDS * 5 / 4,
        "{written} documents of {RECORDS} records"
    );
}

/// A step follows changes some of which the person's document has already, and one that it has not.
#[sqlx::test]
async fn a_company_that_changes_behind_what_its_people_were_written_from_is_told_by_them(pool: PgPool) {
    let dir = TempDir::new().unwrap();
    let stage = stage(pool, dir.path());
    stage.level().await;
    stage.write(&stage.company("acme", "Acme")).await;
    stage.write(&stage.person("ada", Some("acme"), "Baker")).await;
    for number in 0..7 {
        stage
            .write(&stage.person(&number.to_string(), None, "Baker"))
            .await;
    }
    stage.feed.advance(&stage.built).await.unwrap();
    assert_eq!(stage.index.position(), Some(7));
    stage.write(&stage.company("acme", "Ajax")).await;
    stage.feed.advance(&stage.built).await.unwrap();
    assert_eq!(stage.index.position(), Some(10));
    assert_eq!(stage.people()["ada"].as_deref(), Some("Ajax"));
}

impl Stage {
    fn chance(&self, of: u8) -> u8 {
        let mut random = [0; 1];
        self.ambient.fill(&mut random);
        random[0] % of
    }

    /// Some changes of any kind.
    async fn write_anything(&self) {
        let mut batch = Batch::default();
        let company = format!("c{}", self.chance(10));
        let person = format!("p{}", self.chance(60));
        match self.chance(8) {
            0 => batch.deleted_companies = delete(&company),
            1 => batch.deleted_people = delete(&person),
            2..4 => {
                let name = format!("Name{}", self.chance(4));
                batch.companies = self.company(&company, &name).companies;
            }
            _ => {
                let title = format!("title{}", self.chance(4));
                let employer = (self.chance(6) > 0).then_some(company.as_str());
                batch.people = self.person(&person, employer, &title).people;
                batch.people[0].record.place.city = Some(format!("city{}", self.chance(4)));
                // Together with the company: one transaction, several changes.
                if self.chance(3) == 0 {
                    batch.companies = self.company(&company, "Together").companies;
                }
            }
        }
        self.write(&batch).await;
    }

    /// A step while the index can't be written.
    async fn fail(&self, dir: &Path) {
        let generations = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        let folder = generations
            .map(|path| path.join("people"))
            .find(|path| path.is_dir());
        let (folder, away) = (folder.unwrap(), dir.join("away"));
        let behind = self.store.feed().await.unwrap().position > self.index.position().unwrap();
        fs::rename(&folder, &away).unwrap();
        let advanced = self.feed.advance(&self.built).await;
        fs::rename(&away, &folder).unwrap();
        // One that is level may have a merge to show, and that fails then as well.
        assert!(
            advanced.is_err() || !behind,
            "what was missing was written nowhere"
        );
    }

    /// All that is told of all records, and what finds them.
    fn all(&self) -> Vec<Vec<bytes::Bytes>> {
        let mut all = Vec::new();
        for kind in [Kind::Company, Kind::Person] {
            all.push(self.rows(kind, PlanCondition::Everything));
            for number in 0..4 {
                for (field, word) in [
                    (TextField::JobTitles, format!("title{number}")),
                    (TextField::PeoplePlaces, format!("city{number}")),
                    (TextField::CompanyName, format!("name{number}")),
                ] {
                    all.push(self.rows(
                        kind,
                        PlanCondition::Text {
                            fields: vec![field],
                            expression: InValue::Phrase(vec![vec![word]]),
                        },
                    ));
                }
            }
        }
        for rows in &mut all {
            rows.sort_unstable();
        }
        all
    }
}

/// Records change, and the index follows a step, fails, is opened again or built anew, in any order.
#[sqlx::test]
async fn whatever_happens_while_it_is_behind_it_comes_to_what_a_rebuild_comes_to(pool: PgPool) {
    const ROUNDS: usize = 5;
    const EVENTS: u32 = 80;
    let dir = TempDir::new().unwrap();
    let mut stage = stage(pool.clone(), dir.path());
    stage.level().await;
    let mut found = 0;
    for round in 0..ROUNDS {
        for _ in 0..EVENTS {
            match stage.chance(40) {
                0..2 => stage.fail(dir.path()).await,
                2 => stage.feed.build_and_switch().await.unwrap(),
                3 => {
                    let ambient = stage.ambient.clone();
                    drop(stage);
                    stage = super::stage(pool.clone(), dir.path());
                    stage.ambient = ambient;
                }
                4..8 => drop(stage.feed.advance(&stage.built).await.unwrap()),
                _ => stage.write_anything().await,
            }
        }
        stage.level().await;
        let fresh_dir = TempDir::new().unwrap();
        let fresh = super::stage(pool.clone(), fresh_dir.path());
        fresh.level().await;
        let (followed, built) = (stage.all(), fresh.all());
        found += built.iter().filter(|rows| !rows.is_empty()).count();
        assert!(followed == built, "round {round}: {followed:?} {built:?}");
    }
    assert!(found > 10 * ROUNDS, "searches that found something: {found}");
}
