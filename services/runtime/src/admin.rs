//! The admin port: `/livez` (the process runs), `/readyz` (it can do its job now), `/metrics` (Prometheus).

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::net::TcpListener;

use crate::readiness::Readiness;

/// Serves until it is dropped.
pub(crate) async fn serve(
    listener: TcpListener,
    readiness: Readiness,
    metrics: PrometheusHandle,
) -> std::io::Result<()> {
    let router = Router::new()
        .route("/livez", get(async || "alive\n"))
        .route("/readyz", get(readyz).with_state(readiness.clone()))
        .route("/metrics", get(render).with_state((readiness, metrics)));
    axum::serve(listener, router).await
}

async fn readyz(State(readiness): State<Readiness>) -> (StatusCode, String) {
    match readiness.obstacles().as_slice() {
        [] => (StatusCode::OK, "ready\n".to_owned()),
        obstacles => (
            StatusCode::SERVICE_UNAVAILABLE,
            format!("not ready: {}\n", obstacles.join(", ")),
        ),
    }
}

async fn render(State((readiness, metrics)): State<(Readiness, PrometheusHandle)>) -> impl IntoResponse {
    metrics::gauge!("ready").set(if readiness.is_ready() { 1.0 } else { 0.0 });
    (
        [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")],
        metrics.render(),
    )
}
