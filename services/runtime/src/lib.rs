//! What makes a process a good process: configuration, telemetry, service tokens, health, shutdown.
