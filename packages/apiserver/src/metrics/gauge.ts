// A number that is read when a scrape comes. Prometheus' client is a dependency of this package alone.

export { Gauge } from "prom-client";
