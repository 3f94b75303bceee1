// What a real kubectl asks of the server, request by request, and what it makes of the answers.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { kubectlClients } from "../e2e/testing/kubectl-clients.ts";
import { kubectlWith, type Outcome, startTool } from "../e2e/testing/postern-process.ts";
import { APPLY_PATCH, apiOf, JSON_PATCH, KEYS, key, MERGE_PATCH, TABLE, WIDGETS, widget } from "./testing/api.ts";
import { createRequestRecorder, type RecordedRequest } from "./testing/request-recorder.ts";
import { type RunningServer, startServer } from "./testing/start-server.ts";

/** Older ones ask for other things in another order; what they print is looked at in the end-to-end tests. */
const RECENT_MINOR = 32;
const client = (await kubectlClients()).clients.find(({ minor }) => minor >= RECENT_MINOR);
const program = client?.program ?? "kubectl";

const KIND = "ownedaccesskey.management.example.com";
/** The document of the group is found under its hash, for good: it is asked for once. */
const OPEN_API = ["GET /openapi/v3?timeout=32s"];
const OPEN_API_OF_GROUP = "GET /openapi/v3/apis/management.example.com/v1?hash=H&timeout=32s";
const DISCOVERY = ["GET /api?timeout=32s", "GET /apis?timeout=32s"];
const AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

const recorder = createRequestRecorder();
let server: RunningServer;
let folder: string;
let kubeConfig: string;
let caches = 0;
let cacheDir: string;
const api = apiOf(() => server);

beforeAll(async () => {
  server = await startServer({ observe: recorder.observe });
  folder = await mkdtemp(join(tmpdir(), "postern-kubectl-"));
  kubeConfig = join(folder, "config");
  await writeFile(
    kubeConfig,
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "c", cluster: { server: server.url, "certificate-authority": server.caFile } }],
      users: [{ name: "u", user: { token: "admin-token" } }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    }),
  );
  // Discovered once, so that the cases see what their command asks for.
  cacheDir = newCache();
  await kubectl(["create", "--dry-run=server", "-f", "-"], key("first"));
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  if (folder !== undefined) await rm(folder, { recursive: true });
});

beforeEach(() => void recorder.take());

const newCache = (): string => join(folder, `cache-${++caches}`);

type Run = Outcome & {
  /** Such as `GET /api?timeout=32s`, in the order in which they came. */
  readonly lines: readonly string[];
  readonly requests: readonly RecordedRequest[];
};

/** What kubectl has asked for since the last time. Some distributions ask for the version first, to choose the kubectl that they run. */
const asked = () => recorder.take().filter((request) => request.header("user-agent").startsWith("kubectl/"));

/** Runs kubectl to its end. `input` is the manifest that it reads with `-f -`. */
async function kubectl(args: readonly string[], input?: JsonObject, cache = cacheDir): Promise<Run> {
  recorder.take();
  const outcome = await kubectlWith(kubeConfig, cache, program)(args, input && JSON.stringify(input));
  const requests = asked();
  return { ...outcome, requests, lines: requests.map(({ method, uri }) => `${method} ${uri}`) };
}

const of = (name: string): string => `${KEYS}/${name}`;
const bodyOf = ({ requests }: Run, method: string) =>
  JSON.parse(requests.findLast((request) => request.method === method)?.body ?? "");
const typeOf = ({ requests }: Run, method: string) =>
  requests.findLast((request) => request.method === method)?.header("content-type");

describe.skipIf(client === undefined)(`without kubectl 1.${RECENT_MINOR}`, () => {
  test("K-01 discovers all at once, keeps it, and asks later only whether it still holds", async () => {
    const cold = newCache();
    await api.post(KEYS, key("k01"));
    const first = await kubectl(["get", "oak", "k01"], undefined, cold);
    expect(first.lines).toEqual([...DISCOVERY, `GET ${of("k01")}`]);
    expect(first.requests[0]?.header("accept")).toMatch(new RegExp(`^${AGGREGATED}`));
    expect((await kubectl(["get", "oak", "k01"], undefined, cold)).lines).toEqual([`GET ${of("k01")}`]);
    const again = await kubectl(["api-resources", "-o", "name"], undefined, cold);
    expect(again.lines).toEqual(DISCOVERY);
    for (const request of again.requests) {
      const etag = request.header("if-none-match");
      const headers = { Accept: request.header("accept"), "If-None-Match": etag };
      expect(etag).not.toBe("");
      expect((await api.get(request.uri, { headers })).status).toBe(304);
    }
    expect(again.stdout).toContain("ownedaccesskeys.management.example.com\n");
  });

  test("K-02 gets Tables of a list and of one object, and plain JSON for other outputs", async () => {
    await api.post(KEYS, key("k02", { user: "k02" }, { labels: { k02: "" } }));
    const list = await kubectl(["get", "oak", "-l", "k02"]);
    expect(list.lines).toEqual([`GET ${KEYS}?labelSelector=k02&limit=500`]);
    expect(list.requests[0]?.header("accept")).toMatch(new RegExp(`^${TABLE.split(",")[0]}`));
    expect(list.stdout).toMatch(/^NAME +USER +DISABLED +AGE\nk02 +k02 +\d+s\n$/);
    const one = await kubectl(["get", "oak", "k02"]);
    expect(one.lines).toEqual([`GET ${of("k02")}`]);
    expect(one.stdout).toBe(list.stdout.replace(/\d+s/, /\d+s/.exec(one.stdout)?.[0] ?? ""));
    for (const output of ["yaml", "json", "name"]) {
      const plain = await kubectl(["get", "oak", "k02", "-o", output]);
      expect(plain.requests[0]?.header("accept")).toBe("application/json");
      expect(plain.stdout).toContain("k02");
    }
    const everywhere = await kubectl(["get", "widgets", "-A", "--chunk-size=7"]);
    expect(everywhere.lines).toEqual([`GET ${WIDGETS.replace("/namespaces/default", "")}?limit=7`]);
  });

  test("K-02 watches from the version of what it has got", async () => {
    await api.post(KEYS, key("k02w", {}, { labels: { k02w: "" } }));
    const flags = ["--kubeconfig", kubeConfig, "--cache-dir", cacheDir, "get", "oak"];
    recorder.take();
    using list = startTool(program, [...flags, "-l", "k02w", "-w", "--output-watch-events"]);
    await expect.poll(list.output, { timeout: 20_000 }).toMatch(/ADDED +k02w/);
    await api.patch(of("k02w"), MERGE_PATCH, { spec: { user: "seen" } });
    await expect.poll(list.output, { timeout: 20_000 }).toMatch(/MODIFIED +k02w +seen/);
    const watches = asked();
    expect(watches.map(({ uri }) => uri)).toEqual([
      `${KEYS}?labelSelector=k02w&limit=500`,
      `${KEYS}?labelSelector=k02w&resourceVersion=N&watch=true`,
    ]);
    expect(watches[1]?.header("accept")).toContain("as=Table");
    using single = startTool(program, [...flags, "k02w", "-w", "--output-watch-events"]);
    const seen: string[] = [];
    const watching = () => {
      seen.push(...asked().map(({ uri }) => uri));
      return seen;
    };
    const watch = `${KEYS}?fieldSelector=metadata.name%3Dk02w&resourceVersion=0&watch=true`;
    await expect.poll(watching, { timeout: 20_000 }).toContain(watch);
    await api.delete(of("k02w"));
    await expect.poll(single.output, { timeout: 20_000 }).toMatch(/DELETED +k02w/);
  });

  test("K-03 gets every resource of a category, in its namespace where it has one", async () => {
    await api.post(WIDGETS, widget("k03"));
    const platform = await kubectl(["get", "platform"]);
    expect(platform.lines.filter((line) => !DISCOVERY.includes(line)).toSorted()).toEqual([
      `GET ${WIDGETS}?limit=500`,
      `GET ${KEYS}?limit=500`,
    ]);
    expect(platform.stdout).toMatch(/^widget\.management\.example\.com\/k03 /m);
    expect((await kubectl(["get", "all", "-o", "name"])).stdout).toContain("widget.management.example.com/k03\n");
  });

  test("K-04 lets the server validate what it creates", async () => {
    const run = await kubectl(["create", "-f", "-"], key("k04"), newCache());
    expect(run.lines).toEqual([
      ...OPEN_API,
      OPEN_API_OF_GROUP,
      ...DISCOVERY,
      `POST ${KEYS}?fieldManager=kubectl-create&fieldValidation=Strict`,
    ]);
    expect(run).toMatchObject({ code: 0, stdout: `${KIND}/k04 created\n` });
    const refused = await kubectl(["create", "-f", "-"], key("k04-bogus", { bogus: 1 }));
    expect(refused.stderr).toContain('strict decoding error: unknown field "spec.bogus"');
    const { managedFields } = (await api.get(of("k04"))).json.metadata;
    expect(managedFields[0].manager).toBe("kubectl-create");
  });

  test("K-05 applies by a merge patch of what differs, and by nothing where nothing does", async () => {
    const query = "fieldManager=kubectl-client-side-apply&fieldValidation=Strict";
    const created = await kubectl(["apply", "-f", "-"], key("k05"));
    expect(created.lines).toEqual([...OPEN_API, `GET ${of("k05")}`, `POST ${KEYS}?${query}`]);
    const same = await kubectl(["apply", "-f", "-"], key("k05"));
    expect(same.stdout).toBe(`${KIND}/k05 unchanged\n`);
    expect(same.lines).toEqual([...OPEN_API, `GET ${of("k05")}`, "GET /openapi/v2?timeout=32s"]);
    expect(same.requests.at(-1)?.header("accept")).toContain("protobuf");
    const changed = await kubectl(["apply", "-f", "-"], key("k05", { team: "t" }));
    expect(changed.stdout).toBe(`${KIND}/k05 configured\n`);
    expect(changed.lines.at(-1)).toBe(`PATCH ${of("k05")}?${query}`);
    expect(typeOf(changed, "PATCH")).toBe(MERGE_PATCH);
    expect(bodyOf(changed, "PATCH").spec).toEqual({ user: null, team: "t" });
    expect((await api.get(of("k05"))).json.spec).toEqual({ team: "t" });
  });

  test("K-06 applies on the server, and prints every conflict", async () => {
    await api.post(`${KEYS}?fieldManager=other`, key("k06", { user: "a", team: "b" }));
    const server = (flags: readonly string[], spec: JsonObject) =>
      kubectl(["apply", "--server-side", ...flags, "-f", "-"], key("k06", spec));
    const refused = await server([], { user: "x", team: "y" });
    expect(refused.lines).toEqual([
      ...OPEN_API,
      `PATCH ${of("k06")}?fieldManager=kubectl&fieldValidation=Strict&force=false`,
    ]);
    expect(typeOf(refused, "PATCH")).toBe(APPLY_PATCH);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(
      'Apply failed with 2 conflicts: conflicts with "other" using management.example.com/v1:\n- .spec.team\n- .spec.user\n',
    );
    const forced = await server(["--force-conflicts"], { user: "x" });
    expect(forced.lines.at(-1)).toContain("force=true");
    expect(forced.stdout).toBe(`${KIND}/k06 serverside-applied\n`);
    const created = await kubectl(["apply", "--server-side", "-f", "-"], key("k06-new"));
    expect(created).toMatchObject({ code: 0, stdout: `${KIND}/k06-new serverside-applied\n` });
  });

  test("K-07 asks for dry runs by dryRun=All, and exits with 1 where a diff finds something", async () => {
    await kubectl(["apply", "-f", "-"], key("k07"));
    const dry = await kubectl(["apply", "--dry-run=server", "-f", "-"], key("k07", { user: "v" }));
    expect(dry.lines.at(-1)).toContain(`PATCH ${of("k07")}?dryRun=All&`);
    expect(dry.stdout).toBe(`${KIND}/k07 configured (server dry run)\n`);
    expect((await kubectl(["delete", "oak", "k07", "--dry-run=server"])).lines).toEqual([`DELETE ${of("k07")}`]);
    const diff = await kubectl(["diff", "-f", "-"], key("k07", { user: "v" }));
    expect(diff).toMatchObject({ code: 1, stdout: expect.stringMatching(/- {2}user: u1\n\+ {2}user: v/) });
    expect(diff.lines.at(-1)).toBe(`PATCH ${of("k07")}?dryRun=All&fieldManager=kubectl-client-side-apply`);
    expect(bodyOf(diff, "PATCH").metadata.resourceVersion).toEqual(expect.any(String));
    expect((await kubectl(["diff", "-f", "-"], key("k07"))).code).toBe(0);
    const applied = await kubectl(["diff", "--server-side", "--force-conflicts", "-f", "-"], key("k07", { user: "v" }));
    expect(applied.code).toBe(1);
    expect(applied.lines.at(-1)).toBe(`PATCH ${of("k07")}?dryRun=All&fieldManager=kubectl&force=true`);
    expect((await api.get(of("k07"))).json.spec).toEqual({ user: "u1" });
  });

  test("K-08 moves to server-side apply in four patches", async () => {
    await kubectl(["apply", "-f", "-"], key("k08k", { user: "a", team: "t" }));
    const moved = await kubectl(["apply", "--server-side", "-f", "-"], key("k08k", { user: "a" }));
    const patches = moved.requests.filter(({ method }) => method === "PATCH");
    expect(patches.map((request) => [request.header("content-type"), request.uri.split("?")[1]])).toEqual([
      [APPLY_PATCH, "fieldManager=kubectl&fieldValidation=Strict&force=false"],
      [APPLY_PATCH, "fieldManager=kubectl-last-applied&fieldValidation=Strict"],
      [JSON_PATCH, "fieldManager=kubectl&fieldValidation=Strict"],
      [APPLY_PATCH, "fieldManager=kubectl&fieldValidation=Strict&force=false"],
    ]);
    const operations = JSON.parse(patches[2]?.body ?? "[]");
    expect(operations.map(({ path }: { path: string }) => path)).toEqual([
      "/metadata/managedFields",
      "/metadata/resourceVersion",
    ]);
    const { metadata, spec } = (await api.get(of("k08k"))).json;
    expect(spec).toEqual({ user: "a" });
    const managers = metadata.managedFields.map(({ manager, operation }: any) => `${manager} ${operation}`);
    expect(managers.toSorted()).toEqual(["kubectl Apply", "kubectl-last-applied Apply"]);
  });

  test("K-09 edits, patches, labels, annotates and replaces under names of their own", async () => {
    await api.post(KEYS, key("k09"));
    const path = of("k09");
    const patch = await kubectl(["patch", "oak", "k09", "--type=merge", "-p", '{"spec":{"team":"t"}}']);
    expect(patch.lines).toEqual([`GET ${path}`, `PATCH ${path}?fieldManager=kubectl-patch`]);
    for (const [verb, done] of [
      ["label", "labeled"],
      ["annotate", "annotated"],
    ] as const) {
      const run = await kubectl([verb, "oak", "k09", "a=b"]);
      expect(run.lines).toEqual([`GET ${path}`, `PATCH ${path}?fieldManager=kubectl-${verb}`]);
      expect(typeOf(run, "PATCH")).toBe(MERGE_PATCH);
      expect(run.stdout).toBe(`${KIND}/k09 ${done}\n`);
    }
    const replaced = await kubectl(["replace", "-f", "-"], key("k09", { user: "r" }));
    expect(replaced.lines).toEqual([
      ...OPEN_API,
      `GET ${path}`,
      `PUT ${path}?fieldManager=kubectl-replace&fieldValidation=Strict`,
    ]);
    expect(bodyOf(replaced, "PUT").metadata.resourceVersion).toEqual(expect.any(String));
    const forced = await kubectl(["replace", "--force", "-f", "-"], key("k09", { user: "forced" }));
    expect(forced.code).toBe(0);
    expect(forced.lines.filter((line) => !OPEN_API.includes(line))).toEqual([
      `DELETE ${path}`,
      `GET ${path}`,
      `POST ${KEYS}?fieldManager=kubectl-replace&fieldValidation=Strict`,
    ]);
    const editor = ["-c", `KUBE_EDITOR='sed -i s/forced/edited/' exec "$0" "$@"`, program];
    recorder.take();
    using edit = startTool("sh", [
      ...editor,
      "--kubeconfig",
      kubeConfig,
      "--cache-dir",
      cacheDir,
      "edit",
      "oak",
      "k09",
    ]);
    await expect.poll(edit.output, { timeout: 20_000 }).toContain(`${KIND}/k09 edited`);
    expect(asked().map(({ method, uri }) => `${method} ${uri}`)).toEqual([
      `GET ${path}`,
      ...OPEN_API,
      `PATCH ${path}?fieldManager=kubectl-edit&fieldValidation=Strict`,
    ]);
  });

  test("K-10 deletes in the background, and waits until the object is gone", async () => {
    await api.post(KEYS, key("k10"));
    const run = await kubectl(["delete", "oak", "k10"]);
    expect(run.lines).toEqual([`DELETE ${of("k10")}`, `GET ${of("k10")}`]);
    expect(bodyOf(run, "DELETE")).toEqual({ propagationPolicy: "Background" });
    await api.post(KEYS, key("k10"));
    const now = await kubectl(["delete", "oak", "k10", "--now"]);
    expect(bodyOf(now, "DELETE")).toEqual({ gracePeriodSeconds: 1, propagationPolicy: "Background" });
    for (const [cascade, propagationPolicy] of [
      ["foreground", "Foreground"],
      ["orphan", "Orphan"],
    ] as const) {
      await api.post(KEYS, key("k10"));
      const cascading = await kubectl(["delete", "oak", "k10", `--cascade=${cascade}`]);
      expect(bodyOf(cascading, "DELETE")).toEqual({ propagationPolicy });
      expect((await api.get(of("k10"))).status).toBe(404);
    }
  });

  test("K-10 waits for the finalizers of what it deletes by a watch", async () => {
    await api.post(KEYS, key("k10f", {}, { finalizers: ["example.com/a"] }));
    using run = startTool(program, ["--kubeconfig", kubeConfig, "--cache-dir", cacheDir, "delete", "oak", "k10f"]);
    const seen: string[] = [];
    const watching = () => {
      seen.push(...asked().map(({ uri }) => uri));
      return seen.some((uri) => uri.includes("watch=true"));
    };
    await expect.poll(watching, { timeout: 20_000 }).toBe(true);
    const byName = `${KEYS}?fieldSelector=metadata.name%3Dk10f`;
    expect(seen).toContain(`${byName}&limit=500&resourceVersion=0`);
    await api.patch(of("k10f"), MERGE_PATCH, { metadata: { finalizers: null } });
    await expect.poll(() => run.output(), { timeout: 20_000 }).toContain('"k10f" deleted');
  });

  test("K-10 deletes what it has listed one by one", async () => {
    for (const name of ["k10a", "k10b"]) await api.post(KEYS, key(name, {}, { labels: { k10: "" } }));
    const { lines } = await kubectl(["delete", "oak", "-l", "k10", "--wait=false"]);
    expect(lines).toEqual([`GET ${KEYS}?labelSelector=k10`, `DELETE ${of("k10a")}`, `DELETE ${of("k10b")}`]);
  });

  test("K-11 waits by a list and a watch of one name, with bookmarks", async () => {
    await api.post(KEYS, key("k11"));
    const run = await kubectl(["wait", "oak/k11", "--for=jsonpath={.spec.user}=u1", "--timeout=20s"]);
    const byName = `${KEYS}?fieldSelector=metadata.name%3Dk11`;
    expect(run).toMatchObject({ code: 0, stdout: `${KIND}/k11 condition met\n` });
    expect(run.lines.slice(0, 2)).toEqual([`GET ${of("k11")}`, `GET ${byName}&limit=500&resourceVersion=0`]);
    const watch = `${KEYS}?allowWatchBookmarks=true&fieldSelector=metadata.name%3Dk11&resourceVersion=N&timeoutSeconds=N&watch=true`;
    expect([`GET ${watch}`, undefined]).toContain(run.lines[2]);
  });

  test("K-12 describes an object with its events, or without where there are none", async () => {
    const { metadata } = (await api.post(KEYS, key("k12"))).json;
    const event = {
      metadata: { name: "k12" },
      involvedObject: {
        apiVersion: "management.example.com/v1",
        kind: "OwnedAccessKey",
        name: "k12",
        uid: metadata.uid,
      },
      reason: "Made",
      message: "made by hand",
      type: "Normal",
    };
    const bare = await kubectl(["describe", "oak", "k12"]);
    expect(bare.stdout).toMatch(/Events: +<none>/);
    expect(bare.lines.slice(0, 2)).toEqual([`GET ${of("k12")}`, `GET ${of("k12")}`]);
    expect(bare.lines[2]).toMatch(/^GET \/api\/v1\/events\?fieldSelector=.*involvedObject\.uid%3DU.*&limit=500$/);
    expect((await api.post("/api/v1/namespaces/default/events", event)).status).toBe(201);
    expect((await kubectl(["describe", "oak", "k12"])).stdout).toMatch(/Events:[\s\S]*Made[\s\S]*made by hand/);
  });

  test("K-13 explains from OpenAPI v3 alone, and lists what is there from discovery", async () => {
    const explained = await kubectl(["explain", "oak.spec.displayName"]);
    expect(explained.lines).toEqual(OPEN_API);
    expect(explained.stdout).toMatch(/FIELD: displayName <string>[\s\S]*Name shown in the UI\./);
    expect((await kubectl(["api-versions"])).stdout).toContain("management.example.com/v1\n");
    const { stdout, lines } = await kubectl(["api-resources", "--api-group=management.example.com"]);
    expect(lines).toEqual(DISCOVERY);
    expect(stdout).toMatch(/^ownedaccesskeys +oak +management\.example\.com\/v1 +false +OwnedAccessKey$/m);
    expect((await kubectl(["version"])).stdout).toContain("Server Version: v1.32");
  });

  test("K-13 asks about rights in protobuf", async () => {
    const reviews = "POST /apis/authorization.k8s.io/v1/self";
    const may = await kubectl(["auth", "can-i", "get", "oak/x"]);
    expect(may).toMatchObject({ code: 0, stdout: "yes\n" });
    expect(may.lines.at(-1)).toBe(`${reviews}subjectaccessreviews`);
    expect(typeOf(may, "POST")).toBe("application/vnd.kubernetes.protobuf");
    expect(await kubectl(["auth", "can-i", "get", "oak", "--as=nobody"])).toMatchObject({ code: 1, stdout: "no\n" });
    const rules = await kubectl(["auth", "can-i", "--list"]);
    expect(rules.lines).toEqual([`${reviews}subjectrulesreviews`]);
    expect(rules.stdout).toMatch(/^\*\.\* +\[\] +\[\] +\[\*\]$/m);
    const who = await kubectl(["auth", "whoami"]);
    expect(who.lines).toEqual(["POST /apis/authentication.k8s.io/v1/selfsubjectreviews"]);
    expect(who.stdout).toMatch(/^Username +admin$/m);
  });

  test("K-14 says which kubectl it is, and which command", async () => {
    const { requests } = await kubectl(["get", "oak"]);
    const [request] = requests;
    expect(request?.header("user-agent")).toMatch(/^kubectl\/v1\.\d+\.\S+ \(\w+\/\w+\) kubernetes\/\w+$/);
    expect(request?.header("kubectl-command")).toBe("kubectl get");
    expect(request?.header("kubectl-session")).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("K-15 prints refusals by their reason, and those without one plainly", async () => {
    await api.post(KEYS, key("k15"));
    const fails = async (args: readonly string[], input?: JsonObject) => {
      const { code, stderr } = await kubectl(args, input);
      expect(code).toBe(1);
      return stderr;
    };
    expect(await fails(["get", "oak", "absent"])).toBe(
      'Error from server (NotFound): ownedaccesskeys.management.example.com "absent" not found\n',
    );
    expect(await fails(["get", "oak", "k15", "--as=alice"])).toMatch(
      /^Error from server \(Forbidden\): .*User "alice"/,
    );
    expect(await fails(["create", "-f", "-"], key("k15"))).toMatch(/^Error from server \(AlreadyExists\): /);
    expect(await fails(["create", "-f", "-"], key("bad", { ttl: "x" }))).toContain(
      'The OwnedAccessKey "bad" is invalid: spec.ttl: Invalid value: "string": spec.ttl in body must be of type integer: "string"',
    );
    const versioned = key("k15", {}, { resourceVersion: "1" });
    expect(await fails(["replace", "-f", "-"], versioned)).toMatch(/^Error from server \(Conflict\): /);
    expect(await fails(["apply", "--server-side", "-f", "-"], key("k15-set", { tags: ["x", "x"] }))).toMatch(
      /^Error from server: failed to create typed patch object/,
    );
    expect(await fails(["patch", "oak", "k15", "-p", "{}"])).toMatch(
      /^error: application\/strategic-merge-patch\+json is not supported by management\.example\.com\/v1, Kind=OwnedAccessKey: /,
    );
  });
});
