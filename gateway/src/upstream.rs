//! Calls to the services: so many at once, with what is left of the request's time, and tried again where that is safe.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proto::billing::v1::billing_service_client::BillingServiceClient;
use proto::error_code::ErrorCode;
use proto::keys::v1::key_service_client::KeyServiceClient;
use proto::search::v1::search_service_client::SearchServiceClient;
use runtime::grpc_client::{GrpcChannel, GrpcClientConfig, ServiceAddresses, Unreached};
use runtime::process::{BoxError, with_causes};
use runtime::shutdown::Shutdown;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::{Code, Request, Response, Status};

use crate::error::ApiError;

/// The services behind the gateway. Cheap to clone.
#[derive(Clone)]
pub struct Upstreams {
    /// Searches.
    pub search: Upstream<SearchServiceClient<GrpcChannel>>,
    /// Keeps API keys.
    pub keys: Upstream<KeyServiceClient<GrpcChannel>>,
    /// Keeps credits.
    pub billing: Upstream<BillingServiceClient<GrpcChannel>>,
}

/// Largest answer that is read: 250 rows of the largest records, or all keys that an account has made in years.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// Pauses before the second and the third attempt.
const PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(200)];

/// Where the services are, and how they are called.
#[derive(Clone, Copy, Debug)]
pub struct UpstreamConfig<'a> {
    /// Where the search service is.
    pub search_url: &'a ServiceAddresses,
    /// Where the keys service is.
    pub keys_url: &'a ServiceAddresses,
    /// Where the billing service is.
    pub billing_url: &'a ServiceAddresses,
    /// Most requests that may call one of them at once.
    pub max_calls: usize,
}

impl Upstreams {
    /// The services at these addresses; connections are made at the first call.
    pub fn connect(
        grpc: &GrpcClientConfig,
        config: UpstreamConfig<'_>,
        shutdown: &Shutdown,
    ) -> Result<Self, BoxError> {
        let connect = |service, addresses| grpc.connect(service, addresses, shutdown);
        let search = SearchServiceClient::new(connect("search", config.search_url)?)
            .max_decoding_message_size(MAX_ANSWER_BYTES);
        let keys = KeyServiceClient::new(connect("keys", config.keys_url)?)
            .max_decoding_message_size(MAX_ANSWER_BYTES);
        let billing = BillingServiceClient::new(connect("billing", config.billing_url)?);
        Ok(Self {
            search: Upstream::new("search", search, config.max_calls),
            keys: Upstream::new("keys", keys, config.max_calls),
            billing: Upstream::new("billing", billing, config.max_calls),
        })
    }
}

/// One service, which so many requests may call at once and no more.
///
/// A service that is slow or stands still holds up those who call it, until their time is over; all others are refused at
/// once, instead of waiting behind them for what they would not get in time. Each service has its own room, so that
/// what does not need this one goes on.
#[derive(Clone, Debug)]
pub struct Upstream<C> {
    name: &'static str,
    client: C,
    room: Arc<Semaphore>,
}

impl<C: Clone> Upstream<C> {
    fn new(name: &'static str, client: C, max_calls: usize) -> Self {
        let room = Arc::new(Semaphore::new(max_calls.min(Semaphore::MAX_PERMITS)));
        Self { name, client, room }
    }

    /// Room to call it, until this is dropped.
    pub fn enter(&self) -> Result<Admitted<C>, ApiError> {
        let Ok(room) = Arc::clone(&self.room).try_acquire_owned() else {
            metrics::counter!(crate::meters::CALLS_SHED, "service" => self.name).increment(1);
            return Err(ApiError::new(ErrorCode::Unavailable));
        };
        Ok(Admitted {
            client: self.client.clone(),
            _room: room,
        })
    }
}

/// A request that may call a service.
#[derive(Debug)]
pub struct Admitted<C> {
    client: C,
    _room: OwnedSemaphorePermit,
}

impl<C: Clone> Admitted<C> {
    /// Calls once: for what must not be done twice.
    pub async fn call<M, R, F>(
        &self,
        deadline: Deadline,
        message: M,
        method: impl FnOnce(C, Request<M>) -> F,
    ) -> Result<R, Status>
    where
        F: Future<Output = Result<Response<R>, Status>>,
    {
        let mut request = Request::new(message);
        request.set_timeout(deadline.remaining());
        // On the heap: the state of a call is 4 KB, and whatever waits for it would be moved with it.
        let answer = Box::pin(method(self.client.clone(), request));
        match deadline.bound(answer).await {
            // The connection keeps the deadline too, and calls what it cut off cancelled.
            Some(Err(status)) if status.code() == Code::Cancelled && deadline.remaining().is_zero() => {
                Err(over())
            }
            Some(answer) => answer.map(Response::into_inner).map_err(or_unavailable),
            None => Err(over()),
        }
    }

    /// Calls again, twice at most, while the service is not there: for what can be done again without harm.
    ///
    /// It has failed as [`Unreached`] only if no attempt has reached the service.
    pub async fn call_repeatable<M, R, F>(
        &self,
        deadline: Deadline,
        message: M,
        method: impl Fn(C, Request<M>) -> F,
    ) -> Result<R, Status>
    where
        M: Clone,
        F: Future<Output = Result<Response<R>, Status>>,
    {
        let mut pauses = PAUSES.into_iter();
        let mut was_sent = false;
        loop {
            let status = match self.call(deadline, message.clone(), &method).await {
                Ok(answer) => return Ok(answer),
                Err(status) => status,
            };
            let is_unsent = Unreached::is_why(&status);
            match pauses.next() {
                Some(pause) if status.code() == Code::Unavailable && pause < deadline.remaining() => {
                    was_sent |= !is_unsent;
                    metrics::counter!(crate::meters::CALLS_REPEATED).increment(1);
                    tokio::time::sleep(pause).await;
                }
                // That this attempt has not reached it tells nothing of one before.
                _ if is_unsent && was_sent => return Err(Status::unavailable(with_causes(&status))),
                _ => return Err(status),
            }
        }
    }
}

/// When a request has to be answered.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Instant);

impl Deadline {
    /// So long from now.
    #[must_use]
    pub fn after(budget: Duration) -> Self {
        Self(Instant::now() + budget)
    }

    /// What is left, nothing once it is over.
    #[must_use]
    pub fn remaining(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// The same, but no sooner than so long from now.
    #[must_use]
    pub fn at_least(self, least: Duration) -> Self {
        Self(self.0.max(Instant::now() + least))
    }

    /// The same, but no later than so long from now.
    #[must_use]
    pub fn at_most(self, most: Duration) -> Self {
        Self(self.0.min(Instant::now() + most))
    }

    /// Waits for the future, but not beyond the deadline.
    pub async fn bound<F: Future>(self, future: F) -> Option<F::Output> {
        tokio::time::timeout_at(self.0.into(), future).await.ok()
    }
}

/// A service that ends in the middle of a call is not there: what it told has no cause on our side, what its connection
/// tells has one.
fn or_unavailable(status: Status) -> Status {
    let is_broken = matches!(status.code(), Code::Unknown | Code::Internal | Code::Cancelled)
        && std::error::Error::source(&status).is_some();
    if is_broken {
        Status::unavailable(with_causes(&status))
    } else {
        status
    }
}

fn over() -> Status {
    Status::deadline_exceeded("the request's time is over")
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A service that is called by what each test makes up.
    fn admitted() -> Admitted<()> {
        Upstream::new("search", (), 1).enter().unwrap()
    }

    /// A method that answers with these, one after another, and counts its calls.
    async fn answers(answers: &[Code], deadline: Deadline) -> (usize, Code) {
        let calls = Cell::new(0);
        let service = admitted();
        let result = service.call_repeatable(deadline, (), |(), _| {
            let code = answers[calls.get()];
            calls.set(calls.get() + 1);
            async move {
                match code {
                    Code::Ok => Ok(Response::new(())),
                    code => Err(Status::new(code, "told")),
                }
            }
        });
        let code = result.await.map_or_else(|status| status.code(), |()| Code::Ok);
        (calls.get(), code)
    }

    #[test]
    fn whoever_finds_no_room_is_refused_at_once() {
        let upstream = Upstream::new("search", (), 2);
        let admitted = [upstream.enter().unwrap(), upstream.enter().unwrap()];
        assert_eq!(upstream.enter().unwrap_err().code(), ErrorCode::Unavailable);
        drop(admitted);
        assert!(upstream.enter().is_ok());
    }

    #[tokio::test]
    async fn a_service_that_comes_back_is_asked_again_and_any_other_answer_stands() {
        let later = Deadline::after(Duration::from_mins(1));
        assert_eq!(answers(&[Code::Ok], later).await, (1, Code::Ok));
        assert_eq!(
            answers(&[Code::Unavailable, Code::Ok], later).await,
            (2, Code::Ok)
        );
        assert_eq!(
            answers(&[Code::Unavailable; 3], later).await,
            (3, Code::Unavailable)
        );
        assert_eq!(answers(&[Code::Internal], later).await, (1, Code::Internal));
        assert_eq!(
            answers(&[Code::Unavailable], Deadline::after(Duration::ZERO))
                .await
                .1,
            Code::Unavailable
        );
    }

    #[tokio::test]
    async fn it_is_unreached_if_no_attempt_has_reached_it() {
        let later = Deadline::after(Duration::from_mins(1));
        let unreached = || Status::from_error(Unreached::new("search", "refused".into()).into());
        let broken = || Status::from_error("the connection was reset".into());
        let is_unreached = async |attempts: [&dyn Fn() -> Status; 3]| {
            let calls = Cell::new(0);
            let service = admitted();
            let result = service.call_repeatable(later, (), |(), _| {
                let status = attempts[calls.replace(calls.get() + 1)]();
                async { Err::<Response<()>, _>(status) }
            });
            let status = result.await.unwrap_err();
            assert_eq!((calls.get(), status.code()), (3, Code::Unavailable));
            Unreached::is_why(&status)
        };
        assert!(is_unreached([&unreached, &unreached, &unreached]).await);
        assert!(!is_unreached([&broken, &unreached, &unreached]).await);
        assert!(!is_unreached([&unreached, &broken, &unreached]).await);
        assert!(!is_unreached([&unreached, &unreached, &broken]).await);
    }

    #[tokio::test]
    async fn a_connection_that_breaks_is_a_service_that_is_not_there() {
        let later = Deadline::after(Duration::from_mins(1));
        let call = async |status: fn() -> Status| {
            let method = async |(), _: Request<()>| Err::<Response<()>, _>(status());
            admitted().call(later, (), method).await.unwrap_err().code()
        };
        let broken = || Status::from_error("the connection was reset".into());
        assert_eq!(broken().code(), Code::Unknown);
        assert_eq!(call(broken).await, Code::Unavailable);
        assert_eq!(call(|| Status::unknown("told")).await, Code::Unknown);
        assert_eq!(call(|| Status::internal("told")).await, Code::Internal);
    }

    #[tokio::test]
    async fn the_time_left_goes_along_and_is_kept() {
        let deadline = Deadline::after(Duration::from_secs(10));
        let service = admitted();
        let told = service.call(deadline, (), async |(), request: Request<()>| {
            Ok(Response::new(request.metadata().get("grpc-timeout").is_some()))
        });
        assert!(told.await.unwrap());
        let never = service.call(
            Deadline::after(Duration::from_millis(1)),
            (),
            |(), _: Request<()>| std::future::pending::<Result<Response<()>, Status>>(),
        );
        assert_eq!(never.await.unwrap_err().code(), Code::DeadlineExceeded);
        let cut_off = service.call(Deadline::after(Duration::ZERO), (), async |(), _: Request<()>| {
            Err::<Response<()>, _>(Status::cancelled("Timeout expired"))
        });
        assert_eq!(cut_off.await.unwrap_err().code(), Code::DeadlineExceeded);
    }
}
