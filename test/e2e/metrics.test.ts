// The metrics of a real server, and all that is made from them, judged by Prometheus' own promtool.

import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { renderMetricsReference } from "../../tools/metrics/metrics-reference.ts";
import { adminKey, type HttpClient, httpClient } from "./testing/http-client.ts";
import { type OwnServer, startOwnServer } from "./testing/own-server.ts";
import { REPOSITORY } from "./testing/postern-process.ts";

const KEYS = "/apis/management.postern/v1/ownedaccesskeys";
const DEMO = "/apis/management.postern/v1/namespaces/p-default/virtualclusterinstances/demo/kubeconfig";
const read = (path: string): string => readFileSync(join(REPOSITORY, path), "utf8");
const promtool = (args: readonly string[], input = "") => {
  const { status, stdout, stderr } = spawnSync("promtool", args, { cwd: REPOSITORY, input, encoding: "utf8" });
  return { status, text: `${stdout}${stderr}` };
};

let server: OwnServer;
let send: HttpClient;
let admin: string;
beforeAll(async () => {
  server = await startOwnServer();
  send = await httpClient(server);
  admin = await adminKey(server);
});
afterAll(() => server[Symbol.asyncDispose]());

const scrape = async (): Promise<string> => (await send("/metrics", { key: admin })).text;
/** 0 for a series that there is not. */
const seriesValue = (text: string, series: string): number => {
  const line = text.split("\n").find((other) => other.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? 0);
};
const make = async (name: string, spec: object): Promise<string> =>
  (await send(KEYS, { key: admin, body: { metadata: { name }, spec } })).body.spec.key;

describe("the metrics of access keys", () => {
  it("follow keys as they are made, disabled and deleted", async () => {
    const good = (text: string) =>
      seriesValue(text, `postern_access_keys{state="Accepted",type="Other",owner_kind="user"}`);
    const disabled = (text: string) =>
      seriesValue(text, `postern_access_keys{state="Disabled",type="Other",owner_kind="user"}`);
    const before = await scrape();
    await make("counted", { type: "Other", ttl: 3600 });
    const made = await scrape();
    expect(good(made)).toBe(good(before) + 1);
    for (const within of ["1d", "7d", "30d"]) {
      const series = `postern_access_keys_expiring{within="${within}"}`;
      expect(seriesValue(made, series)).toBe(seriesValue(before, series) + 1);
    }
    const headers = { "content-type": "application/merge-patch+json" };
    await send(`${KEYS}/counted`, { method: "PATCH", key: admin, headers, body: { spec: { disabled: true } } });
    const off = await scrape();
    expect([good(off), disabled(off)]).toEqual([good(before), disabled(before) + 1]);
    await send(`${KEYS}/counted`, { method: "DELETE", key: admin });
    expect(disabled(await scrape())).toBe(disabled(before));
  });

  it("count refusals by reason", async () => {
    const value = await make("key-refused", { disabled: true });
    const before = await scrape();
    await send("/apis/management.postern/v1/users", { key: value });
    await send("/apis/management.postern/v1/users", { key: randomBytes(24).toString("hex") });
    const after = await scrape();
    for (const reason of ["Disabled", "NotFound"]) {
      const series = `postern_access_key_refusals_total{reason="${reason}"}`;
      expect(seriesValue(after, series) - seriesValue(before, series), reason).toBe(1);
    }
  });

  it("count kubeconfigs, certificates, rotations and leak reports", async () => {
    const leaked = await make("leaked", {});
    await make("rotated", {});
    const before = await scrape();
    expect((await send(DEMO, { key: admin, body: { spec: {} } })).status).toBe(201);
    expect((await send(DEMO, { key: admin, body: { spec: { clientCert: true } } })).status).toBe(201);
    expect(
      (await send(`${KEYS}/rotated/rotate`, { key: admin, body: { spec: { nonce: randomBytes(8).toString("hex") } } }))
        .status,
    ).toBeLessThan(300);
    expect((await send("/leaks", { method: "POST", body: leaked })).status).toBe(202);
    const after = await scrape();
    const grown = (series: string) => seriesValue(after, series) - seriesValue(before, series);
    expect(grown('postern_kubeconfigs_issued_total{kind="token"}')).toBe(1);
    expect(grown('postern_kubeconfigs_issued_total{kind="certificate"}')).toBe(1);
    expect(grown("postern_live_certificates")).toBe(1);
    expect(grown('postern_access_key_rotations_total{kind="plain"}')).toBe(1);
    expect(grown("postern_leak_reports_total")).toBe(1);
  });

  it("time the store, and know the age of the newest audit record", async () => {
    const text = await scrape();
    expect(text).toMatch(/^postern_store_operation_duration_seconds_count\{store="\w+",operation="create"\} [1-9]/m);
    expect(text).toMatch(/^postern_audit_newest_record_age_seconds \d/m);
  });

  it("have no name in a label that a request chose", async () => {
    const text = await scrape();
    expect(text.split("\n").filter((line) => /"(counted|key-refused|leaked|rotated)"/.test(line))).toEqual([]);
  });
});

/** Under the names that kube-apiserver gave them, or Node's own client. */
const NAMED_BY_OTHERS = /^(authentication_attempts|nodejs_|process_|apiserver_|workqueue_)/;

describe("Prometheus' promtool", () => {
  it("parses the scrape, and accepts all metric names", async () => {
    const { status, text } = promtool(["check", "metrics"], await scrape());
    // 3: it reads, but has something to say.
    expect([0, 3]).toContain(status);
    expect(text.split("\n").filter((line) => line !== "" && !NAMED_BY_OTHERS.test(line))).toEqual([]);
  });

  it("accepts the alert rules, which fire when they should", () => {
    const checked = promtool(["check", "rules", "deploy/prometheus/alerts.yaml"]);
    expect(checked.status, checked.text).toBe(0);
    const tested = promtool(["test", "rules", "deploy/prometheus/alerts.test.yaml"]);
    expect(tested.status, tested.text).toBe(0);
  });

  it("reads every expression of alerts and dashboard, and each names metrics that the server has", async () => {
    const alerts: readonly { readonly expr: string }[] = parse(read("deploy/prometheus/alerts.yaml")).groups[0].rules;
    const { panels } = JSON.parse(read("deploy/grafana/postern.json"));
    const expressions: readonly string[] = [
      ...alerts.map(({ expr }) => expr),
      ...panels.flatMap(({ targets }: any) => targets.map(({ expr }: any) => expr)),
    ];
    expect(expressions.length).toBeGreaterThan(20);
    const folder = mkdtempSync(join(tmpdir(), "postern-rules-"));
    const file = join(folder, "rules.json");
    const rules = expressions.map((expr, at) => ({ record: `expression:${at}`, expr }));
    writeFileSync(file, JSON.stringify({ groups: [{ name: "expressions", rules }] }));
    const { status, text } = promtool(["check", "rules", file]);
    rmSync(folder, { recursive: true });
    expect(status, text).toBe(0);
    const served = await scrape();
    const types = new Map([...served.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]));
    const isServed = (name: string): boolean =>
      name === "up" || types.has(name) || types.get(name.replace(/_(bucket|sum|count)$/, "")) === "histogram";
    const named = expressions.flatMap(
      (expr) => expr.match(/\b(?:up|[a-z]+(?:_[a-z]+)+)\b(?=\s*[[{]|\s*[)>/]|\s*$)/g) ?? [],
    );
    expect(new Set(named).size).toBeGreaterThan(15);
    expect(named.filter((name) => !isServed(name) && !LABELS.has(name))).toEqual([]);
  });
});

/** Words in expressions that look like metrics but are not. */
const LABELS = new Set(["owner_kind", "histogram_quantile"]);

describe("the documentation", () => {
  it("has every metric in its reference", async () => {
    expect(renderMetricsReference(await scrape())).toBe(read("docs/reference/metrics.md"));
  });

  it("has a section for each alert, which the alert names", () => {
    const sections = [...read("docs/operations/alerts.md").matchAll(/^## (\S+)$/gm)].map(([, name]) => name);
    const { rules } = parse(read("deploy/prometheus/alerts.yaml")).groups[0];
    expect(rules.map(({ alert }: any) => alert)).toEqual(sections);
    for (const { alert, annotations } of rules) {
      expect(annotations.runbook_url).toMatch(new RegExp(`docs/operations/alerts.md#${alert.toLowerCase()}$`));
    }
  });

  it("comes with the same rules in the chart", () => {
    expect(read("deploy/charts/postern/files/alerts.yaml")).toBe(read("deploy/prometheus/alerts.yaml"));
  });
});
