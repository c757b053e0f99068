//! The searches that are measured: classes of what callers send, each with terms as callers would choose them, drawn
//! from the data with a fixed seed.

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use proto::search::v1::{NewBusiness, SearchQuery, Sort, SortDirection, SortField, WebsiteStatus};
use sqlx::PgPool;
use uuid::Uuid;

use super::chance::{Chance, index};
use super::data::Data;
use super::ours::{Kind, Ours};
use super::places::{CITIES, COUNTRIES};
use super::{sql, text};
use crate::BoxError;

/// Searches of a class.
const TERMS: u64 = 44;

/// Pages of a long list; with 25 rows each, the last is the last that can be asked for by number.
const PAGES: [i64; 22] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 200, 300, 400,
];

/// Words that every description has, which no one would search for.
const TOO_COMMON: &str = " company companies provides products services limited together subsidiaries segment segments \
    operates through founded headquartered incorporated primarily engages offers including addition corporation \
    internationally worldwide business businesses formerly changed based united states kingdom within various related \
    which their other under between during ";

/// Words that one excludes.
const EXCLUDED: [&str; 11] = [
    "mining",
    "gold",
    "bank",
    "insurance",
    "oil",
    "tobacco",
    "gambling",
    "cannabis",
    "shell",
    "holding",
    "china",
];

/// What a statement is given.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Text(String),
    Texts(Vec<String>),
    Day(NaiveDate),
    Time(DateTime<Utc>),
    Id(Uuid),
    Number(i64),
}

/// One search, for both systems.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) kind: Kind,
    pub(super) query: SearchQuery,
    pub(super) sql: &'static str,
    pub(super) values: Vec<Value>,
}

impl Question {
    /// What it asks for, to be read.
    pub(super) fn asked(&self) -> String {
        let query = &self.query;
        let texts = [
            &query.business_type,
            &query.location,
            &query.company_name,
            &query.company_domain,
            &query.description_keywords,
            &query.exclude_keywords,
        ];
        let texts = texts
            .into_iter()
            .chain(&query.job_titles)
            .chain(&query.search_tags);
        let texts = texts
            .filter(|text| !text.is_empty())
            .map(|text| format!("{text:?}"));
        let page = query.page.map(|page| format!("page {page}"));
        texts.chain(page).collect::<Vec<_>>().join(" ")
    }
}

/// Searches of one sort.
pub(super) struct Class {
    pub(super) name: &'static str,
    /// Whether few records match: up to about one in a hundred.
    pub(super) selective: bool,
    pub(super) questions: Vec<Question>,
}

/// What searches are drawn from.
pub(super) struct Terms<'a> {
    pub(super) data: &'a Data,
    pub(super) seed: u64,
    pub(super) today: NaiveDate,
}

impl Terms<'_> {
    /// All classes but the one of cursors.
    pub(super) fn classes(&self) -> Vec<Class> {
        let class = |name, selective, question: &dyn Fn(&mut Chance, u64) -> Option<Question>| {
            let mut chance = Chance::of(self.seed, name, 0);
            let mut questions = Vec::new();
            for number in 0.. {
                if questions.len() as u64 >= TERMS || number > 100 * TERMS {
                    break;
                }
                questions.extend(question(&mut chance, number));
            }
            Class {
                name,
                selective,
                questions,
            }
        };
        vec![
            class("companies: type + country", true, &|chance, _| {
                self.type_and_country(chance)
            }),
            class("companies: description words", true, &|chance, _| {
                self.description(chance)
            }),
            class("companies: exact domain", true, &|chance, number| {
                self.domain(chance, number)
            }),
            class("companies: name", true, &|chance, number| {
                self.name(chance, number)
            }),
            class("people: title + type + city", true, &|chance, number| {
                self.title_type_and_city(chance, number)
            }),
            class("companies: people's city + title", true, &|chance, number| {
                self.through_people(chance, number)
            }),
            class("companies: tags + new + website", true, &|chance, number| {
                self.tags(chance, number)
            }),
            Class {
                name: "all, sorted, a page",
                selective: false,
                questions: self.sorted(),
            },
            Class {
                name: "companies: by name",
                selective: false,
                questions: self.by_name(),
            },
            class("companies: exclusion + dates", false, &|chance, number| {
                self.excluded(chance, number)
            }),
        ]
    }

    fn type_and_country(&self, chance: &mut Chance) -> Option<Question> {
        let value = chance.pick(&self.data.sample().patterns).pick_type(chance)?;
        let words = text::stemmed(&value);
        let (asked, code) = COUNTRIES[index(chance.low_below(COUNTRIES.len() as u64))];
        Some(Question {
            kind: Kind::Companies,
            query: SearchQuery {
                business_type: value,
                location: asked.to_owned(),
                ..SearchQuery::default()
            },
            sql: sql::TYPE_AND_COUNTRY,
            values: vec![
                Value::Text(text::all_of(&words)),
                Value::Text(code.to_owned()),
                Value::Text(words.join(" ")),
                Value::Text(text::phrase_of(&words)),
                Value::Texts(words),
            ],
        })
    }

    fn description(&self, chance: &mut Chance) -> Option<Question> {
        let sentences = &chance.pick(&self.data.sample().patterns).sentences;
        let sentence = sentences.get(index(chance.below(sentences.len().max(1) as u64)))?;
        let words: Vec<String> = text::words(sentence)
            .into_iter()
            .filter(|word| word.len() >= 5 && word.bytes().all(|byte| byte.is_ascii_lowercase()))
            .filter(|word| !TOO_COMMON.contains(&format!(" {word} ")))
            .collect();
        let first = index(chance.below(words.len().max(1) as u64));
        let [first, second] = [words.get(first)?, words.get(first + 1)?];
        if first == second {
            return None;
        }
        let words = [text::singular(first), text::singular(second)];
        Some(Question {
            kind: Kind::Companies,
            query: SearchQuery {
                description_keywords: format!("{first} {second}"),
                ..SearchQuery::default()
            },
            sql: sql::DESCRIPTION,
            values: vec![
                Value::Text(text::all_of(&words)),
                Value::Text(text::phrase_of(&words)),
            ],
        })
    }

    fn domain(&self, chance: &mut Chance, number: u64) -> Option<Question> {
        let domain = self.data.domain(chance.below(self.data.companies()))?;
        let asked = match number % 3 {
            0 => format!("https://www.{domain}/about"),
            1 => domain.to_uppercase(),
            _ => domain.clone(),
        };
        Some(Question {
            kind: Kind::Companies,
            query: SearchQuery {
                company_domain: asked,
                ..SearchQuery::default()
            },
            sql: sql::DOMAIN,
            values: vec![Value::Text(domain)],
        })
    }

    fn name(&self, chance: &mut Chance, number: u64) -> Option<Question> {
        let name = self.data.core_name(chance.below(self.data.companies()));
        let mut words = text::words(&name);
        words.truncate(if number.is_multiple_of(2) { 2 } else { 1 });
        if !name.is_ascii() {
            return None;
        }
        Some(Question {
            kind: Kind::Companies,
            query: SearchQuery {
                company_name: words.join(" "),
                ..SearchQuery::default()
            },
            sql: sql::NAME,
            values: vec![
                Value::Text(text::all_of(&words)),
                Value::Text(words.join(" ")),
                Value::Text(text::phrase_of(&words)),
            ],
        })
    }

    /// A title as people in the data have it; its last word alone in half of the cases.
    fn title(&self, chance: &mut Chance, number: u64) -> Option<String> {
        let title = self.data.title(chance.below(self.data.people()))?;
        let last = title.split(' ').next_back()?.to_owned();
        Some(if number.is_multiple_of(2) { title } else { last })
    }

    fn title_type_and_city(&self, chance: &mut Chance, number: u64) -> Option<Question> {
        let title = self.title(chance, number)?;
        let value = chance.pick(&self.data.sample().patterns).pick_type(chance)?;
        let asked = value.split(' ').next()?.to_owned();
        let city = &CITIES[index(number % CITIES.len() as u64)];
        let (words, types) = (text::title(&title), text::stemmed(&asked));
        if types.len() != 1 {
            return None;
        }
        Some(Question {
            kind: Kind::People,
            query: SearchQuery {
                job_titles: vec![title],
                business_type: asked,
                location: city.asked.to_owned(),
                ..SearchQuery::default()
            },
            sql: sql::TITLE_TYPE_AND_CITY,
            values: vec![
                Value::Text(text::all_of(&words)),
                Value::Text(text::all_of(&types)),
                Value::Text(format!("{}|{}", city.key, city.country)),
                Value::Text(words.join(" ")),
                Value::Text(text::phrase_of(&words)),
                Value::Text(types.join(" ")),
            ],
        })
    }

    fn through_people(&self, chance: &mut Chance, number: u64) -> Option<Question> {
        let title = self.title(chance, number)?;
        let city = &CITIES[index(number % CITIES.len() as u64)];
        let words = text::title(&title);
        Some(Question {
            kind: Kind::Companies,
            query: SearchQuery {
                job_titles: vec![title],
                location: city.asked.to_owned(),
                sort: Some(sort(SortField::InfoUpdatedAt)),
                ..SearchQuery::default()
            },
            sql: sql::THROUGH_PEOPLE,
            values: vec![
                Value::Text(format!("{}|{}", city.key, city.country)),
                Value::Text(text::all_of(&words)),
            ],
        })
    }

    fn tags(&self, chance: &mut Chance, number: u64) -> Option<Question> {
        let mut tag = || {
            let tags = &chance.pick(&self.data.sample().patterns).tags;
            tags.get(index(chance.below(tags.len().max(1) as u64))).cloned()
        };
        let tags = vec![tag()?, tag()?];
        let is_new = number.is_multiple_of(2);
        let keys = tags.iter().map(|tag| text::words(tag).join(" ")).collect();
        let (business, website, sql) = if is_new {
            (NewBusiness::Yes, WebsiteStatus::Has, sql::TAGS_NEW_WITH_WEBSITE)
        } else {
            (NewBusiness::No, WebsiteStatus::No, sql::TAGS_OLD_WITHOUT_WEBSITE)
        };
        Some(Question {
            kind: Kind::Companies,
            query: SearchQuery {
                search_tags: tags,
                new_business: business.into(),
                website_status: website.into(),
                ..SearchQuery::default()
            },
            sql,
            values: vec![
                Value::Texts(keys),
                Value::Day(self.today - TimeDelta::days(365)),
                Value::Day(self.today),
            ],
        })
    }

    fn excluded(&self, chance: &mut Chance, number: u64) -> Option<Question> {
        let word = EXCLUDED[index(number % EXCLUDED.len() as u64)];
        let other = EXCLUDED[index(chance.below(EXCLUDED.len() as u64))];
        let last = self.today - TimeDelta::days(i64::try_from(5 + chance.below(700)).ok()?);
        let first = last - TimeDelta::days(30);
        let names = [word, other]
            .map(|word| format!("'{word}' | '{word}s'"))
            .join(" | ");
        Some(Question {
            kind: Kind::Companies,
            query: SearchQuery {
                exclude_keywords: format!("{word}, {other}"),
                info_updated_from: first.to_string(),
                info_updated_to: last.to_string(),
                ..SearchQuery::default()
            },
            sql: sql::EXCLUDED_AND_UPDATED,
            values: vec![
                Value::Day(first),
                Value::Day(last),
                Value::Text(format!("'{word}' | '{other}'")),
                Value::Text(names),
            ],
        })
    }
}

impl Terms<'_> {
    /// Pages that both a list of the companies and one of half of them have.
    fn pages(&self) -> impl Iterator<Item = i64> + Clone {
        let companies = i64::try_from(self.data.companies()).unwrap_or(i64::MAX);
        PAGES.into_iter().filter(move |page| page * 50 <= companies)
    }

    fn sorted(&self) -> Vec<Question> {
        let lists = [
            (Kind::Companies, SortField::EmployeeCount, sql::BY_EMPLOYEES),
            (Kind::Companies, SortField::FoundedDate, sql::BY_FOUNDING),
            (
                Kind::Companies,
                SortField::InfoUpdatedAt,
                sql::COMPANIES_BY_UPDATE,
            ),
            (Kind::People, SortField::InfoUpdatedAt, sql::PEOPLE_BY_UPDATE),
            (Kind::People, SortField::FullName, sql::PEOPLE_BY_NAME),
        ];
        let pages = self.pages().step_by(2);
        let of_list = |(kind, field, sql)| pages.clone().map(move |number| page(kind, field, number, sql));
        lists.into_iter().flat_map(of_list).collect()
    }

    fn by_name(&self) -> Vec<Question> {
        let all = self
            .pages()
            .map(|number| page(Kind::Companies, SortField::Name, number, sql::BY_NAME));
        let with_website = self.pages().map(|number| {
            let mut question = page(
                Kind::Companies,
                SortField::Name,
                number,
                sql::WITH_WEBSITE_BY_NAME,
            );
            question.query.set_website_status(WebsiteStatus::Has);
            question
        });
        all.chain(with_website).collect()
    }
}

impl super::sample::Pattern {
    /// One of its types that is no list by the comma in it.
    fn pick_type(&self, chance: &mut Chance) -> Option<String> {
        let types: Vec<_> = self
            .business_types
            .iter()
            .filter(|value| !value.contains(','))
            .collect();
        (!types.is_empty()).then(|| (*chance.pick(&types)).clone())
    }
}

fn sort(field: SortField) -> Sort {
    Sort {
        field: field.into(),
        direction: SortDirection::Unspecified.into(),
    }
}

/// A page of a long list.
fn page(kind: Kind, field: SortField, page: i64, sql: &'static str) -> Question {
    Question {
        kind,
        query: SearchQuery {
            page: Some(page),
            sort: Some(sort(field)),
            ..SearchQuery::default()
        },
        sql,
        values: vec![Value::Number((page - 1) * 25)],
    }
}

/// Name of the class of cursors.
pub(super) const CURSORS: &str = "companies: deep cursor, 250";

/// The class of cursors: pages of 250, from all over a long list, which is walked for them.
pub(super) async fn cursors(ours: &Ours, pool: &PgPool) -> Result<Class, BoxError> {
    let mut query = SearchQuery {
        cursor: Some(String::new()),
        limit: Some(250),
        sort: Some(sort(SortField::InfoUpdatedAt)),
        website_status: WebsiteStatus::Has.into(),
        fields: vec!["id".to_owned()],
        ..SearchQuery::default()
    };
    let mut pages = Vec::new();
    loop {
        let answer = ours.search(Kind::Companies, &query).await?;
        let (Some(next), Some(last)) = (answer.next, answer.ids.last()) else {
            break;
        };
        pages.push((next.clone(), *last));
        query.cursor = Some(next);
    }
    let step = pages.len().div_ceil(index(TERMS)).max(1);
    let mut questions = Vec::new();
    for (cursor, id) in pages.into_iter().step_by(step) {
        let at = sqlx::query_scalar("SELECT info_updated_at FROM company WHERE id = $1")
            .bind(id)
            .fetch_one(pool)
            .await?;
        questions.push(Question {
            kind: Kind::Companies,
            query: SearchQuery {
                cursor: Some(cursor),
                fields: Vec::new(),
                ..query.clone()
            },
            sql: sql::BEHIND,
            values: vec![Value::Time(at), Value::Id(id)],
        });
    }
    Ok(Class {
        name: CURSORS,
        selective: false,
        questions,
    })
}
