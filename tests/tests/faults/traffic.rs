//! Callers who search one request after another while parts die around them, and what they see of each other.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rand::SeedableRng as _;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use system_tests::{Account, PATIENCE};

/// Longest that a caller waits; a little longer than a gateway may take.
const CALLER_PATIENCE: Duration = Duration::from_secs(15);

/// What everybody who takes part in the run sees.
pub(crate) struct Traffic {
    /// Whether all is well, and since when: even while it is, another number after each change. It is not at first, while
    /// all callers come at once and nothing is connected.
    pub(crate) weather: AtomicU64,
    /// Nothing new is begun.
    pub(crate) is_over: AtomicBool,
    /// The run has failed: nothing is repeated either.
    is_given_up: AtomicBool,
    /// Searches with a key begun and answered.
    pub(crate) begun: AtomicU64,
    pub(crate) answered: AtomicU64,
    /// For each caller the weather at the start of its last request that was answered 200.
    served: Vec<AtomicU64>,
    wrong: Mutex<Vec<String>>,
}

impl Traffic {
    pub(crate) fn of(callers: u64) -> Self {
        Self {
            weather: AtomicU64::new(1),
            is_over: AtomicBool::new(false),
            is_given_up: AtomicBool::new(false),
            begun: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            served: (0..callers).map(|_| AtomicU64::new(0)).collect(),
            wrong: Mutex::new(Vec::new()),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    pub(crate) fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::SeqCst)
    }

    pub(crate) fn note(&self, wrong: String) {
        self.wrong.lock().unwrap().push(wrong);
    }

    pub(crate) fn assert_nothing_is_wrong(&self) {
        let wrong = std::mem::take(&mut *self.wrong.lock().unwrap());
        assert!(
            wrong.is_empty(),
            "{} times: {:#?}",
            wrong.len(),
            &wrong[..wrong.len().min(20)]
        );
    }

    /// Until it holds; meanwhile nothing may go wrong.
    async fn until(&self, what: &str, holds: impl Fn() -> bool) {
        let begun = Instant::now();
        while !holds() {
            self.assert_nothing_is_wrong();
            assert!(begun.elapsed() < PATIENCE, "waited in vain until {what}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    pub(crate) async fn until_answered(&self, searches: u64) {
        let enough = || self.answered.load(Ordering::SeqCst) >= searches;
        self.until(&format!("{searches} searches are answered"), enough)
            .await;
    }

    /// Until every caller has been served since the weather was so.
    pub(crate) async fn until_all_are_served(&self, since: u64) {
        let is_served = |caller: &AtomicU64| caller.load(Ordering::SeqCst) >= since;
        let all = || self.served.iter().all(is_served);
        self.until("every caller is served again", all).await;
    }
}

/// Ends the traffic when the run is over, whether it goes well or not.
pub(crate) struct EndOfTraffic<'a>(pub(crate) &'a Traffic);

impl Drop for EndOfTraffic<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::SeqCst);
        self.0
            .is_given_up
            .store(std::thread::panicking(), Ordering::SeqCst);
    }
}

/// How an attempt ended.
pub(crate) enum Ending {
    Answered(Charged),
    Refused,
    /// No answer came.
    Unanswered,
    /// The caller did not wait for it.
    Left,
}

/// What an answer tells of its charge.
pub(crate) struct Charged {
    pub(crate) cost: i64,
    pub(crate) balance: i64,
    pub(crate) is_repeat: bool,
}

/// One who sends a request at a time, over a connection of its own, to one gateway until that does not answer.
pub(crate) struct Caller<'a> {
    pub(crate) traffic: &'a Traffic,
    client: reqwest::Client,
    /// Its account at each gateway.
    pub(crate) accounts: [Account; 2],
    number: u64,
    gateway: usize,
    attempts: u32,
    /// All was well during its last attempt.
    pub(crate) was_fair: bool,
    pub(crate) chance: StdRng,
}

impl<'a> Caller<'a> {
    pub(crate) fn new(traffic: &'a Traffic, accounts: [Account; 2], number: u64) -> Self {
        let client = reqwest::Client::builder()
            .pool_max_idle_per_host(1)
            .timeout(CALLER_PATIENCE)
            .build();
        Self {
            traffic,
            client: client.unwrap(),
            accounts,
            number,
            gateway: usize::from(number % 2 == 1),
            attempts: 0,
            was_fair: false,
            chance: StdRng::seed_from_u64(number),
        }
    }

    /// One attempt; the next one is sent elsewhere, a little later, if it does not go well. Sees that nothing fails while
    /// all is well.
    pub(crate) async fn attempt(
        &mut self,
        search: u64,
        key: Option<&str>,
        leave: Option<Duration>,
    ) -> Ending {
        let weather = self.traffic.weather.load(Ordering::SeqCst);
        let sending = self.send(search, key);
        let ending = match leave {
            Some(leave) => tokio::time::timeout(leave, sending)
                .await
                .unwrap_or(Ok(Ending::Left)),
            None => sending.await,
        };
        let ending = ending.unwrap_or_else(|wrong| {
            self.traffic.note(wrong);
            Ending::Unanswered
        });
        let is_same = self.traffic.weather.load(Ordering::SeqCst) == weather;
        self.was_fair = weather.is_multiple_of(2) && is_same;
        match ending {
            Ending::Answered(_) => {
                self.attempts = 0;
                let served = usize::try_from(self.number).unwrap();
                self.traffic.served[served].store(weather, Ordering::SeqCst);
            }
            Ending::Left => self.gateway = 1 - self.gateway,
            Ending::Refused | Ending::Unanswered => {
                if self.was_fair {
                    let what = if matches!(ending, Ending::Refused) {
                        "refused"
                    } else {
                        "not answered"
                    };
                    self.traffic
                        .note(format!("search {search} was {what} while all was well"));
                }
                self.gateway = 1 - self.gateway;
                self.attempts += 1;
                tokio::time::sleep(Duration::from_millis(10) * self.attempts.min(10)).await;
            }
        }
        ending
    }

    /// Err if it is answered with what it may not be.
    async fn send(&self, search: u64, key: Option<&str>) -> Result<Ending, String> {
        let account = &self.accounts[self.gateway];
        let kind = if search.is_multiple_of(2) {
            "companies"
        } else {
            "people"
        };
        let body = json!({"limit": search % 7 + 1, "fields": ["id"]});
        let mut request = self
            .client
            .post(format!("{}/{kind}/search", account.base))
            .header("X-API-Key", &account.key)
            .json(&body);
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        let Ok(answer) = request.send().await else {
            return Ok(Ending::Unanswered);
        };
        let status = answer.status().as_u16();
        let is_repeat = answer.headers().contains_key("idempotency-replayed");
        let Ok(body) = answer.bytes().await else {
            return Ok(Ending::Unanswered);
        };
        match status {
            200 => {
                let body: Value = serde_json::from_slice(&body).unwrap_or_default();
                let number = |name: &str| body["credits"][name].as_i64();
                let (Some(cost), Some(balance)) = (number("cost"), number("balance")) else {
                    return Err(format!("search {search} was answered 200 with {body}"));
                };
                Ok(Ending::Answered(Charged {
                    cost,
                    balance,
                    is_repeat,
                }))
            }
            503 | 504 => Ok(Ending::Refused),
            _ => Err(format!(
                "search {search} was answered {status}: {}",
                String::from_utf8_lossy(&body)
            )),
        }
    }
}
