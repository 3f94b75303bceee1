// The reference of metrics, made from the response of a server at `/metrics`.

type Metric = { readonly name: string; readonly type: string; readonly help: string; readonly labels: string };

/** Sorted by name. Labels are those of existing series. */
function readMetrics(scrape: string): readonly Metric[] {
  const types = new Map([...scrape.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type = ""]) => [name, type]));
  const helps = [...scrape.matchAll(/^# HELP (\S+) (.*)$/gm)];
  return helps
    .map(([, name = "", help = ""]) => ({ name, help, type: types.get(name) ?? "", labels: LABELS[name] ?? "" }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

const LABELS: { readonly [name: string]: string } = {
  postern_access_keys: "`state`, `type`, `owner_kind`",
  postern_access_keys_expiring: "`within`: `1d`, `7d`, `30d`",
  postern_access_key_refusals_total: "`reason`",
  postern_access_key_events_total: "`reason`",
  postern_access_key_notices_total: "`lead_time`",
  postern_notice_webhook_deliveries_total: "`result`: `delivered`, `failed`, `abandoned`",
  postern_audit_webhook_events_total: "`result`: `delivered`, `refused`",
  postern_access_requests_total: "`reason`",
  postern_access_key_rotations_total: "`kind`: `plain`, `compromised`",
  postern_kubeconfigs_issued_total: "`kind`: `token`, `certificate`",
  postern_store_operation_duration_seconds: "`store`, `operation`",
  postern_store_integrity_checks_total: "`result`: `whole`, `damaged`",
  apiserver_event_loop_stall_seconds: "`cause`: `work`, `waiting`",
};

export function renderMetricsReference(scrape: string): string {
  const metrics = readMetrics(scrape);
  const table = (wanted: readonly Metric[]): string =>
    [
      "| metric | type | labels | description |",
      "|---|---|---|---|",
      ...wanted.map(({ name, type, labels, help }) => `| \`${name}\` | ${type} | ${labels} | ${help} |`),
    ].join("\n");
  const own = metrics.filter(({ name }) => name.startsWith("postern_"));
  const kubernetes = metrics.filter(({ name }) => !/^(postern|nodejs|process)_/.test(name));
  return `# Metrics

<!-- Made by tools/generate-metrics-reference.ts. -->

\`GET /metrics\` needs an access key with the role \`metrics-reader\`. Labels never contain names of users, keys or clusters.
The list is from one server. Each replica counts its own requests; all of them report the same keys.

## Keys, kubeconfigs and the store

${table(own)}

Above 1,000 records, keys and certificates are not counted during the scrape, but in slices of 250 between requests: their numbers are at most as old as the
previous scrape, or 30 seconds.

## Requests, under the names of Kubernetes

${table(kubernetes)}

\`process_*\` and \`nodejs_*\` are those of the Node.js client of Prometheus.
`;
}
