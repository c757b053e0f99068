//! One search, from the query to its page of rows; and the same for who wants its total alone, or to know how it is
//! understood.
//!
//! 1. The rules of the query and its cursor: every problem at once.
//! 2. People and `businessEmail` together: which of the addresses this account has revealed it asks for. A locked
//!    address is never compared, so none can be probed.
//! 3. The plan, answered by the engine on one of a bounded number of threads.
//! 4. The rows, as the index has them, with what depends on the day, the query and the account. Postgres is asked for
//!    the addresses of locked people on the page, if there are any; all other pages do without it.
//!
//! The caller's deadline bounds all of it: waiting for a thread, the engine's work, Postgres. A caller that leaves
//! drops nothing but a read; the engine stops by itself at the deadline, or when nobody waits for it any more.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prost::Message as _;
use proto::account::AccountId;
use proto::email::{EmailAddress, EmailTerm};
use proto::search::v1::{
    Company, EmailStatus, Explanation, PageInfo, PaginationMode, Person, SearchQuery, Sort, SortDirection,
    SortField,
};
use proto::search_query::{self, DEFAULT_LIMIT};
use proto::violation::Violation;
use proto::{RecordKind, names};
use runtime::ambient::Ambient;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

use crate::cursor::{Cursor, CursorKeys, Fingerprint};
use crate::error::SearchError;
use crate::explanation::{self, ExplanationContext};
use crate::pacing::SearchTime;
use crate::plan::{Engine, Hit, Hits, Kind, Plan, Stop, Window};
use crate::planner::{self, PlanContext};
use crate::rows::{self, Mask};
use crate::store::Store;

/// A search for more words than this, in all fields together, is a costly one.
const COSTLY_WORDS: usize = 20;

/// How searches are answered.
#[derive(Clone, Debug)]
pub struct SearchSettings {
    /// What cursors are signed with.
    pub cursor_keys: CursorKeys,
    /// For how many days after its founding a company is new.
    pub new_business_days: u32,
    /// Searches that the engine works on at once; the others wait.
    pub concurrency: usize,
    /// Longest time for a search; a caller's own deadline counts if it is sooner.
    pub timeout: Duration,
}

/// Answers searches. Cheap to clone.
#[derive(Clone)]
pub struct Search {
    store: Store,
    engine: Arc<dyn Engine>,
    settings: SearchSettings,
    ambient: Ambient,
    threads: Arc<Semaphore>,
    costly: Arc<Semaphore>,
    time: SearchTime,
}

/// A page of records.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<R> {
    /// The rows, in order.
    pub rows: Vec<R>,
    /// Where the page stands in the whole result.
    pub info: PageInfo,
}

impl Search {
    /// Searches by this engine, whose index has been built.
    #[must_use]
    pub fn new(store: Store, engine: Arc<dyn Engine>, settings: SearchSettings, ambient: Ambient) -> Self {
        let threads = Arc::new(Semaphore::new(settings.concurrency));
        let costly = Arc::new(Semaphore::new((settings.concurrency / 2).max(1)));
        Self {
            store,
            engine,
            settings,
            ambient,
            threads,
            costly,
            time: SearchTime::default(),
        }
    }

    /// The time in which searches are under way.
    #[must_use]
    pub fn time(&self) -> SearchTime {
        self.time.clone()
    }

    /// Companies that meet the query. The deadline is the caller's, if there is one.
    pub async fn companies(
        &self,
        query: &SearchQuery,
        deadline: Option<Instant>,
    ) -> Result<Page<Company>, SearchError> {
        let deadline = self.deadline(deadline);
        let work = async {
            let paging = self.paging(query, Kind::Company)?;
            let window = paging.window();
            let (plan, hits) = self.run(query, Kind::Company, window, &[], deadline).await?;
            let (mask, today) = (Mask::new(&query.fields), self.ambient.now().date_naive());
            let finish = |hit: &Hit| {
                let mut company = Company::decode(hit.row.clone())?;
                company.id = hit.position.id.to_string();
                company.new_business = planner::is_new_business(
                    company.founded_date.as_deref(),
                    today,
                    self.settings.new_business_days,
                );
                let location_match = rows::location_match(plan.own_place.is_some(), hit.own_place);
                company.set_location_match(location_match);
                rows::mask_company(&mut company, &mask);
                Ok(company)
            };
            let rows = hits.hits.iter().map(finish).collect::<Result<_, SearchError>>()?;
            let info = self.page_info(query, &paging, &hits);
            Ok(Page { rows, info })
        };
        within(deadline, work).await
    }

    /// People who meet the query, as the account may see them. The deadline is the caller's, if there is one.
    pub async fn people(
        &self,
        account: &AccountId,
        query: &SearchQuery,
        deadline: Option<Instant>,
    ) -> Result<Page<Person>, SearchError> {
        let deadline = self.deadline(deadline);
        let work = async {
            let paging = self.paging(query, Kind::Person)?;
            let revealed = self.revealed_matches(account, query).await?;
            let window = paging.window();
            let (_, hits) = self.run(query, Kind::Person, window, &revealed, deadline).await?;
            let mask = Mask::new(&query.fields);
            let decode = |hit: &Hit| {
                let mut person = Person::decode(hit.row.clone())?;
                person.id = hit.position.id.to_string();
                Ok(person)
            };
            let mut people = hits
                .hits
                .iter()
                .map(decode)
                .collect::<Result<Vec<_>, SearchError>>()?;
            let mut revealed = if mask.has("email") || mask.has("emailStatus") {
                self.revealed_among(account, &people, &hits).await?
            } else {
                HashMap::new()
            };
            for (person, hit) in people.iter_mut().zip(&hits.hits) {
                rows::reveal(person, revealed.remove(&hit.position.id));
                rows::mask_person(person, &mask);
            }
            let info = self.page_info(query, &paging, &hits);
            Ok(Page { rows: people, info })
        };
        within(deadline, work).await
    }

    /// How many companies meet the query. The deadline is the caller's, if there is one.
    pub async fn count_companies(
        &self,
        query: &SearchQuery,
        deadline: Option<Instant>,
    ) -> Result<i64, SearchError> {
        let deadline = self.deadline(deadline);
        let work = async {
            self.paging(query, Kind::Company)?;
            self.count(query, Kind::Company, &[], deadline).await
        };
        within(deadline, work).await
    }

    /// How many people meet the query, as the account may see them. The deadline is the caller's, if there is one.
    pub async fn count_people(
        &self,
        account: &AccountId,
        query: &SearchQuery,
        deadline: Option<Instant>,
    ) -> Result<i64, SearchError> {
        let deadline = self.deadline(deadline);
        let work = async {
            self.paging(query, Kind::Person)?;
            let revealed = self.revealed_matches(account, query).await?;
            self.count(query, Kind::Person, &revealed, deadline).await
        };
        within(deadline, work).await
    }

    /// How the query would be understood; nothing is searched.
    pub fn explain(&self, query: &SearchQuery, kind: Kind) -> Result<Explanation, SearchError> {
        let paging = self.paging(query, kind)?;
        let context = ExplanationContext {
            today: self.ambient.now().date_naive(),
            new_business_days: self.settings.new_business_days,
        };
        Ok(Explanation {
            filters: explanation::filters(kind, query, context),
            sort: Some(names::applied_sort_message(query)),
            page: paging.page,
            limit: paging.limit,
            pagination_mode: paging.mode().into(),
        })
    }

    /// All that meet a query which keeps the rules.
    async fn count(
        &self,
        query: &SearchQuery,
        kind: Kind,
        revealed: &[Uuid],
        deadline: Instant,
    ) -> Result<i64, SearchError> {
        // The order in which records lie costs nothing.
        let sort = Sort {
            field: SortField::InfoUpdatedAt.into(),
            direction: SortDirection::Desc.into(),
        };
        let query = SearchQuery {
            sort: Some(sort),
            ..query.clone()
        };
        let window = Window {
            after: None,
            skip: 0,
            limit: 0,
        };
        let (_, hits) = self.run(&query, kind, window, revealed, deadline).await?;
        Ok(total(&hits))
    }

    fn deadline(&self, callers: Option<Instant>) -> Instant {
        let own = Instant::now() + self.settings.timeout;
        callers.map_or(own, |callers| callers.min(own))
    }

    /// Checks the query, and reads how it pages.
    fn paging(&self, query: &SearchQuery, kind: Kind) -> Result<Paging, SearchError> {
        let record_kind = match kind {
            Kind::Company => RecordKind::Company,
            Kind::Person => RecordKind::Person,
        };
        let mut violations = search_query::check(query, record_kind);
        let fingerprint = Fingerprint::of(&planner::canonical(kind, query));
        let mut cursor = None;
        // What has not even the shape of a cursor has been told already.
        let told = violations
            .iter()
            .any(|violation: &Violation| violation.field() == "cursor");
        if let Some(text) = query.cursor.as_deref().filter(|text| !text.is_empty() && !told) {
            match self.settings.cursor_keys.open(text, fingerprint) {
                Ok(opened) => cursor = Some(opened),
                Err(violation) => violations.push(violation),
            }
        }
        if !violations.is_empty() {
            return Err(SearchError::Invalid(violations));
        }
        let limit = query.limit.unwrap_or(DEFAULT_LIMIT);
        let page = match (&query.cursor, &cursor) {
            (None, _) => query.page.unwrap_or(1),
            (Some(_), None) => 1,
            (Some(_), Some(cursor)) => i64::from(cursor.page),
        };
        Ok(Paging {
            fingerprint,
            page,
            limit,
            by_cursor: query.cursor.is_some(),
            cursor,
        })
    }

    /// Which of the people whose address the account has revealed have one that `businessEmail` asks for.
    async fn revealed_matches(
        &self,
        account: &AccountId,
        query: &SearchQuery,
    ) -> Result<Vec<Uuid>, SearchError> {
        let terms = planner::email_terms(query);
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        let revealed = self.store.revealed(account).await?;
        let matches = |(_, address): &(Uuid, String)| {
            EmailAddress::parse(address).is_ok_and(|address| {
                terms.iter().any(|term| match term {
                    EmailTerm::Address(asked) => *asked == address,
                    EmailTerm::Domain(domain) => domain == address.domain(),
                })
            })
        };
        Ok(revealed.into_iter().filter(matches).map(|(id, _)| id).collect())
    }

    /// Plans the query and lets the engine answer it.
    async fn run(
        &self,
        query: &SearchQuery,
        kind: Kind,
        window: Window,
        revealed: &[Uuid],
        deadline: Instant,
    ) -> Result<(Arc<Plan>, Hits), SearchError> {
        let context = PlanContext {
            today: self.ambient.now().date_naive(),
            new_business_days: self.settings.new_business_days,
            revealed,
            window,
        };
        let plan = Arc::new(planner::plan(kind, query, &context));
        let turn = self.turn(&plan).await?;
        let (engine, planned) = (Arc::clone(&self.engine), Arc::clone(&plan));
        let stop = Stop::at(deadline);
        let waiting = stop.waiting();
        let started = Instant::now();
        let under_way = self.time.begin();
        let hits = tokio::task::spawn_blocking(move || {
            // Given back when the work ends, which is soon after the caller has left.
            let _turn = (turn, under_way);
            engine.search(&planned, &stop)
        })
        .await??;
        drop(waiting);
        metrics::histogram!(crate::meters::ENGINE_SECONDS).record(started.elapsed().as_secs_f64());
        Ok((plan, hits))
    }

    /// Waits for a thread. Costly searches have no more than half of them, so that they make each other wait, and not the
    /// cheap ones.
    async fn turn(&self, plan: &Plan) -> Result<[Option<OwnedSemaphorePermit>; 2], SearchError> {
        // Neither is ever closed.
        let permit = async |semaphore: &Arc<Semaphore>| {
            let permit = Arc::clone(semaphore).acquire_owned().await;
            permit.map_err(|_| SearchError::Draining)
        };
        let costly = if plan.words() > COSTLY_WORDS {
            Some(permit(&self.costly).await?)
        } else {
            None
        };
        Ok([costly, Some(permit(&self.threads).await?)])
    }

    /// The addresses that the account has revealed of people on the page.
    async fn revealed_among(
        &self,
        account: &AccountId,
        people: &[Person],
        hits: &Hits,
    ) -> Result<HashMap<Uuid, String>, SearchError> {
        let is_locked = |person: &Person| person.email_status() == EmailStatus::Locked;
        let locked: Vec<Uuid> = people
            .iter()
            .zip(&hits.hits)
            .filter(|(person, _)| is_locked(person))
            .map(|(_, hit)| hit.position.id)
            .collect();
        if locked.is_empty() {
            return Ok(HashMap::new());
        }
        Ok(self.store.revealed_among(account, &locked).await?)
    }

    fn page_info(&self, query: &SearchQuery, paging: &Paging, hits: &Hits) -> PageInfo {
        let last = hits.hits.last().filter(|_| hits.more);
        let next_cursor = last.map(|hit| {
            let next = Cursor {
                after: hit.position.clone(),
                page: u32::try_from(paging.page).unwrap_or(u32::MAX).saturating_add(1),
            };
            self.settings.cursor_keys.seal(&next, paging.fingerprint)
        });
        PageInfo {
            total: total(hits),
            page: paging.page,
            limit: paging.limit,
            next_cursor,
            pagination_mode: paging.mode().into(),
            sort: Some(names::applied_sort_message(query)),
        }
    }
}

/// How a query pages.
struct Paging {
    fingerprint: Fingerprint,
    page: i64,
    limit: i64,
    by_cursor: bool,
    cursor: Option<Cursor>,
}

impl Paging {
    const fn mode(&self) -> PaginationMode {
        if self.by_cursor {
            PaginationMode::Cursor
        } else {
            PaginationMode::Page
        }
    }

    /// The records asked for. The rules have bounded page and limit.
    fn window(&self) -> Window {
        let limit = usize::try_from(self.limit).unwrap_or(0);
        let before = usize::try_from(self.page - 1).unwrap_or(0);
        Window {
            after: self.cursor.as_ref().map(|cursor| cursor.after.clone()),
            skip: if self.by_cursor { 0 } else { before * limit },
            limit,
        }
    }
}

fn total(hits: &Hits) -> i64 {
    i64::try_from(hits.total).unwrap_or(i64::MAX)
}

/// The work's result, if it is there by then.
pub(crate) async fn within<T>(
    deadline: Instant,
    work: impl Future<Output = Result<T, SearchError>>,
) -> Result<T, SearchError> {
    match tokio::time::timeout_at(deadline.into(), work).await {
        Ok(result) => result,
        Err(_) => Err(SearchError::DeadlineExceeded),
    }
}
