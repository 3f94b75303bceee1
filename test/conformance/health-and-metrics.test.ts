// Requests of those who run a server: version, health, metrics.

import { expect, test } from "vitest";
import { KEYS, key, useServer } from "./testing/api.ts";

const api = useServer();
const anonymous = (path: string) => api.get(path, { as: "" });
const metrics = async (): Promise<string> => (await api.get("/metrics")).text;

test("says which release it is, to anybody, as kubectl reads it (H-01)", async () => {
  for (const path of ["/version", "/version/"]) {
    const { status, json } = await anonymous(path);
    expect(status).toBe(200);
    expect(Object.keys(json)).toEqual([
      "major",
      "minor",
      "emulationMajor",
      "emulationMinor",
      "minCompatibilityMajor",
      "minCompatibilityMinor",
      "gitVersion",
      "gitCommit",
      "gitTreeState",
      "buildDate",
      "goVersion",
      "compiler",
      "platform",
    ]);
    expect(json.gitVersion).toMatch(/^v\d+\.\d+\.\d+/);
    expect(json.gitVersion).toMatch(new RegExp(`^v${json.major}\\.${json.minor}\\.`));
  }
});

test.each(["healthz", "livez", "readyz"])(
  "reports its health, and each check on request: /%s (H-02)",
  async (endpoint) => {
    const plain = await api.get(`/${endpoint}`);
    expect({ status: plain.status, text: plain.text, type: plain.headers["content-type"] }).toEqual({
      status: 200,
      text: "ok",
      type: "text/plain; charset=utf-8",
    });
    const { text } = await api.get(`/${endpoint}?verbose`);
    expect(text).toMatch(new RegExp(`^\\[\\+\\]ping ok\\n(?:\\[\\+\\]\\S+ ok\\n)+${endpoint} check passed\\n$`));
    expect((await api.get(`/${endpoint}?verbose=false`)).text).toBe(text);
    expect((await api.get(`/${endpoint}/ping`)).text).toBe("ok");
    expect((await api.get(`/${endpoint}/ping?verbose`)).text).toBe("ok");
    for (const path of [`/${endpoint}/`, `/${endpoint}/nosuch`, `/${endpoint}/ping/`]) {
      const { status, text: body } = await api.get(path);
      expect({ path, status, body }).toEqual({ path, status: 404, body: "404 page not found\n" });
    }
  },
);

test("leaves checks out, and says which it does not know (H-02)", async () => {
  expect((await api.get("/livez?verbose&exclude=ping&exclude=etcd")).text).toBe(
    "[+]ping excluded: ok\n[+]log ok\n[+]etcd excluded: ok\nlivez check passed\n",
  );
  expect((await api.get("/livez?verbose&exclude=z&exclude=a&exclude=ping")).text).toBe(
    '[+]ping excluded: ok\n[+]log ok\n[+]etcd ok\nwarn: some health checks cannot be excluded: no matches for "a","z"\n' +
      "livez check passed\n",
  );
  expect((await api.get("/livez?exclude=nosuch")).text).toBe("ok");
});

test("lets anybody ask how it is, and nothing else (H-03)", async () => {
  for (const path of ["/healthz", "/livez", "/readyz", "/version", "/livez?verbose"]) {
    expect((await anonymous(path)).status, path).toBe(200);
  }
  for (const path of [
    "/",
    "/api",
    "/apis",
    "/metrics",
    "/openapi/v2",
    "/openapi/v3",
    "/readyz/ping",
    "/nosuch",
    KEYS,
  ]) {
    const { json } = await anonymous(path);
    expect({ path, code: json.code, reason: json.reason }).toEqual({ path, code: 403, reason: "Forbidden" });
  }
  expect((await anonymous("/metrics")).json).toMatchObject({
    message: 'forbidden: User "system:anonymous" cannot get path "/metrics"',
    details: {},
  });
});

test("counts requests under the names and labels of kube-apiserver (H-04)", async () => {
  expect((await api.get("/metrics")).headers["content-type"]).toMatch(/^text\/plain; version=0\.0\.4/);
  await api.post(`${KEYS}?dryRun=All`, key("h04"));
  await api.get(`${KEYS}/absent`);
  const watch = await api.watch(`${KEYS}?watch=true`);
  await api.post(KEYS, key("h04"));
  await watch.lines(1);
  const text = await metrics();
  const samples = (name: string): readonly string[] =>
    text.split("\n").filter((line) => line.startsWith(`${name}{`) && line.includes('resource="ownedaccesskeys"'));
  const labelsOf = (line = ""): readonly string[] => [...line.matchAll(/(\w+)="/g)].map(([, name = ""]) => name).sort();

  expect(labelsOf(samples("apiserver_request_total")[0])).toEqual(
    ["code", "component", "dry_run", "group", "resource", "scope", "subresource", "verb", "version"].sort(),
  );
  expect(
    samples("apiserver_request_total").some((line) => line.includes('verb="POST"') && line.includes('dry_run="All"')),
  ).toBe(true);
  expect(
    samples("apiserver_request_total").some((line) => line.includes('verb="GET"') && line.includes('code="404"')),
  ).toBe(true);
  expect(labelsOf(samples("apiserver_request_duration_seconds_bucket")[0])).toContain("le");
  expect(
    samples("apiserver_longrunning_requests").some((line) => line.includes('verb="WATCH"') && line.endsWith(" 1")),
  ).toBe(true);
  expect(labelsOf(samples("apiserver_watch_events_total")[0])).toEqual(["group", "resource", "version"]);
  expect(text).toContain("# TYPE apiserver_request_total counter\n");
  expect(text).toContain("# TYPE apiserver_request_duration_seconds histogram\n");
  expect(text).toMatch(/^apiserver_current_inflight_requests\{request_kind="readOnly"\} \d+$/m);
  expect(text).toMatch(/^authentication_attempts\{result="success"\} \d+$/m);
  expect(text).toMatch(/^authorization_attempts_total\{result="allowed"\} \d+$/m);
  watch.close();
});

test("counts the work queues of controllers under the names of Kubernetes (H-04)", async () => {
  await api.post("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "h04" } });
  await api.delete("/api/v1/namespaces/h04");
  const sampleOf = async (name: string, queue: string): Promise<number> => {
    const pattern = new RegExp(`^workqueue_${name}\\{name="${queue}"\\} (\\S+)$`, "m");
    return Number(pattern.exec(await metrics())?.[1]);
  };
  await expect.poll(() => sampleOf("adds_total", "namespace")).toBeGreaterThan(0);
  await expect.poll(() => sampleOf("queue_duration_seconds_count", "namespace")).toBeGreaterThan(0);
  await expect.poll(() => sampleOf("work_duration_seconds_count", "namespace")).toBeGreaterThan(0);
  for (const name of ["depth", "retries_total", "unfinished_work_seconds", "longest_running_processor_seconds"]) {
    expect(await sampleOf(name, "garbage_collector"), name).toBeGreaterThanOrEqual(0);
  }
  const text = await metrics();
  for (const name of ["queue_duration_seconds", "work_duration_seconds"]) {
    expect(text).toContain(`# TYPE workqueue_${name} histogram\n`);
    for (const bound of ["0.000001", "1", "1000", "+Inf"]) {
      const forms = bound === "0.000001" ? ["0.000001", "1e-06", "1e-6"] : [bound];
      expect(forms.some((form) => text.includes(`workqueue_${name}_bucket{le="${form}",name="namespace"}`))).toBe(true);
    }
  }
});
