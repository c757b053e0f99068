use std::sync::atomic::AtomicU32;

use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpSocket};
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use super::*;
use crate::grpc_client::ServiceAddresses;
use crate::grpc_server::{connections, not_taken};
use crate::settings::Setting as _;
use crate::shutdown::Shutdown;

/// How a peer refuses.
#[derive(Clone, Copy)]
enum Refusal {
    /// Calls that another replica could answer.
    NotTaken,
    /// As one that is not available.
    Unavailable,
}

/// A server that answers health checks and counts them.
struct Peer {
    address: SocketAddr,
    calls: Arc<AtomicU32>,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl Peer {
    fn start() -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap())
    }

    fn start_at(address: SocketAddr) -> Self {
        Self::of(address, None)
    }

    /// Refuses all calls.
    fn refusing(refusal: Refusal) -> Self {
        Self::of("127.0.0.1:0".parse().unwrap(), Some(refusal))
    }

    fn of(address: SocketAddr, refusal: Option<Refusal>) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.bind(address).unwrap();
        let listener: TcpListener = socket.listen(64).unwrap();
        let address = listener.local_addr().unwrap();
        let (calls, stop) = (Arc::new(AtomicU32::new(0)), CancellationToken::new());
        let (counter, stopped) = (Arc::clone(&calls), stop.clone());
        let task = Shutdown::new().spawn(async move {
            let (_, health) = tonic_health::server::health_reporter();
            let count = tower::util::MapRequestLayer::new(move |request: Request<Body>| {
                counter.fetch_add(1, Ordering::Relaxed);
                request
            });
            let refuse = tonic::service::InterceptorLayer::new(move |request: tonic::Request<()>| {
                let told = Status::unavailable("not yet");
                match refusal {
                    None => Ok(request),
                    Some(Refusal::NotTaken) => Err(not_taken(told)),
                    Some(Refusal::Unavailable) => Err(told),
                }
            });
            Server::builder()
                .layer(count)
                .layer(refuse)
                .add_service(health)
                .serve_with_incoming_shutdown(connections(listener), stopped.cancelled())
                .await
                .unwrap();
        });
        Self {
            address,
            calls,
            stop,
            task,
        }
    }

    fn calls(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Stops it in good order.
    async fn end(&mut self) {
        self.stop.cancel();
        (&mut self.task).await.unwrap();
    }
}

/// A port on which nobody listens.
async fn nobody() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

/// The replicas at these addresses.
fn replicas(addresses: &[SocketAddr]) -> Replicas {
    let text = addresses
        .iter()
        .map(|address| format!("http://{address}"))
        .collect::<Vec<_>>()
        .join(",");
    named(&text)
}

fn named(text: &str) -> Replicas {
    let addresses = ServiceAddresses::parse(text).unwrap();
    let origins = addresses
        .iter()
        .map(|address| (address.clone(), Endpoint::from(address.uri().clone())))
        .collect();
    let replicas = Replicas::new("health");
    let looking = replicas.clone().keep_looking(origins);
    Shutdown::new().spawn(looking);
    replicas
}

async fn call(replicas: &Replicas) -> Result<(), tonic::Status> {
    let mut client = HealthClient::new(replicas.clone());
    client.check(HealthCheckRequest::default()).await.map(|_| ())
}

#[tokio::test]
async fn replicas_take_turns() {
    let (one, two) = (Peer::start(), Peer::start());
    let replicas = replicas(&[one.address, two.address]);
    for _ in 0..100 {
        call(&replicas).await.unwrap();
    }
    assert_eq!((one.calls(), two.calls()), (50, 50));
}

#[tokio::test]
async fn a_replica_that_nobody_is_at_costs_no_call_and_is_left_alone() {
    let (peer, away) = (Peer::start(), nobody().await);
    let replicas = replicas(&[away, peer.address]);
    for _ in 0..100 {
        call(&replicas).await.unwrap();
    }
    let known = Arc::clone(&replicas.shared.known.borrow());
    let away = known.iter().find(|replica| replica.address == away).unwrap();
    let failures = away.standing().failures;
    assert!((1..20).contains(&failures), "{failures} of 100 calls");
    assert_eq!(peer.calls(), 100);
}

#[tokio::test]
async fn what_a_replica_has_not_taken_goes_to_the_others() {
    let (refusing, other) = (Peer::refusing(Refusal::NotTaken), Peer::start());
    let both = replicas(&[refusing.address, other.address]);
    for _ in 0..100 {
        call(&both).await.unwrap();
    }
    // It may have something else to answer, and is not left alone.
    let refused = refusing.calls();
    assert!((50..=100).contains(&refused), "{refused} of 100 calls");
    assert_eq!(other.calls(), 100);

    let another = Peer::refusing(Refusal::NotTaken);
    let none = replicas(&[refusing.address, another.address, nobody().await]);
    for _ in 0..10 {
        let status = call(&none).await.unwrap_err();
        assert_eq!(
            (status.code(), status.message()),
            (tonic::Code::Unavailable, "not yet")
        );
        assert!(!Unreached::is_why(&status));
    }
    assert_eq!((refusing.calls(), another.calls()), (refused + 10, 10));
}

#[tokio::test]
async fn one_that_is_not_available_is_left_alone_and_its_refusal_told() {
    let (away, other) = (Peer::refusing(Refusal::Unavailable), Peer::start());
    let both = replicas(&[away.address, other.address]);
    let mut refused = 0;
    for _ in 0..100 {
        if let Err(status) = call(&both).await {
            assert_eq!((status.code(), status.message()), (Code::Unavailable, "not yet"));
            refused += 1;
        }
    }
    assert!((1..20).contains(&refused), "{refused} of 100 calls");
    assert_eq!((away.calls(), other.calls()), (refused, 100 - refused));
    // Where there is no other, it is called.
    let alone = replicas(&[away.address]);
    for _ in 0..10 {
        assert_eq!(call(&alone).await.unwrap_err().message(), "not yet");
    }
    assert_eq!(away.calls(), refused + 10);
}

#[tokio::test]
async fn a_service_that_is_back_is_called_at_once() {
    let away = nobody().await;
    let replicas = replicas(&[away]);
    for _ in 0..20 {
        let status = call(&replicas).await.unwrap_err();
        assert_eq!(status.code(), tonic::Code::Unavailable);
        assert!(Unreached::is_why(&status), "{status:?}");
    }
    let _peer = Peer::start_at(away);
    call(&replicas).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_that_end_one_after_another_lose_no_call() {
    let mut peers = [Peer::start(), Peer::start()];
    let replicas = replicas(&peers.each_ref().map(|peer| peer.address));
    let (tasks, done) = (Shutdown::new(), CancellationToken::new());
    let callers: Vec<_> = (0..16)
        .map(|_| {
            let (replicas, done) = (replicas.clone(), done.clone());
            tasks.spawn(async move {
                let mut calls = 0_u32;
                while !done.is_cancelled() {
                    call(&replicas).await.unwrap();
                    calls += 1;
                }
                calls
            })
        })
        .collect();
    for round in 0..20 {
        // As whoever restarts them does: not before the last one is back.
        while peers.iter().any(|peer| peer.calls() < 50) {
            tokio::task::yield_now().await;
        }
        let peer = &mut peers[round % 2];
        let address = peer.address;
        peer.end().await;
        *peer = Peer::start_at(address);
    }
    done.cancel();
    for caller in callers {
        assert!(caller.await.unwrap() > 0);
    }
}

#[tokio::test]
async fn a_name_stands_for_what_it_resolves_to() {
    let peer = Peer::start();
    let replicas = named(&format!("http://localhost:{}", peer.address.port()));
    call(&replicas).await.unwrap();
    assert_eq!(peer.calls(), 1);
}

#[tokio::test]
async fn a_service_without_a_replica_is_not_there() {
    let replicas = Replicas::new("nothing");
    tokio::time::pause();
    let status = call(&replicas).await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::Unavailable);
    assert!(
        status.message().contains("no replica of nothing is known"),
        "{status}"
    );
    assert!(Unreached::is_why(&status), "{status:?}");
}

#[tokio::test]
async fn whoever_has_had_a_connection_may_have_got_the_call() {
    // It takes a connection, reads of it what a call begins with, and is gone.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let replicas = replicas(&[listener.local_addr().unwrap()]);
    let reading = async {
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut head = [0; 24];
        connection.read_exact(&mut head).await.unwrap();
        drop((connection, listener));
    };
    let (status, ()) = tokio::join!(call(&replicas), reading);
    let status = status.unwrap_err();
    assert!(!Unreached::is_why(&status), "{status:?}");
    // From then on it is known to be away.
    let status = call(&replicas).await.unwrap_err();
    assert!(Unreached::is_why(&status), "{status:?}");
}

#[test]
fn a_replica_that_fails_again_is_left_alone_for_longer_and_tried_by_one_call() {
    let now = Instant::now();
    let mut standing = Standing::new(now);
    assert!(standing.is_due(now));
    let mut pauses = Vec::new();
    for _ in 0..40 {
        standing.failed(now);
        assert!(!standing.is_due(now));
        pauses.push(standing.due_at - now);
    }
    assert_eq!(pauses[0], LEAVE_ALONE);
    assert!(pauses.is_sorted());
    assert_eq!(pauses[39], LEAVE_ALONE_AT_MOST);
    let later = now + LEAVE_ALONE_AT_MOST;
    assert!(standing.is_due(later));
    standing.tried(later);
    assert!(!standing.is_due(later));
    standing.answered();
    assert!(standing.is_due(later));
}
