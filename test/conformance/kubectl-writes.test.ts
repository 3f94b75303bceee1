// Requests of a real kubectl when it creates, applies, changes and deletes, one by one.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { describe, expect, test } from "vitest";
import { APPLY_PATCH, JSON_PATCH, KEYS, key, MERGE_PATCH } from "./testing/api.ts";
import {
  bodyOf,
  DISCOVERY,
  isKubectlMissing,
  KIND,
  OPEN_API,
  pathOf,
  RECENT_MINOR,
  typeOf,
  useRecordedKubectl,
} from "./testing/recorded-kubectl.ts";

const { api, kubectl, start, startEditing, asked, newCache } = useRecordedKubectl();
const OPEN_API_OF_GROUP = "GET /openapi/v3/apis/management.example.com/v1?hash=H&timeout=32s";

describe.skipIf(isKubectlMissing)(`without kubectl 1.${RECENT_MINOR}`, () => {
  test("lets the server validate what it creates (K-04)", async () => {
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
    const { managedFields } = (await api.get(pathOf("k04"))).json.metadata;
    expect(managedFields[0].manager).toBe("kubectl-create");
  });

  test("applies by a merge patch of what differs, and by nothing where nothing does (K-05)", async () => {
    const query = "fieldManager=kubectl-client-side-apply&fieldValidation=Strict";
    const created = await kubectl(["apply", "-f", "-"], key("k05"));
    expect(created.lines).toEqual([...OPEN_API, `GET ${pathOf("k05")}`, `POST ${KEYS}?${query}`]);
    const same = await kubectl(["apply", "-f", "-"], key("k05"));
    expect(same.stdout).toBe(`${KIND}/k05 unchanged\n`);
    expect(same.lines).toEqual([...OPEN_API, `GET ${pathOf("k05")}`, "GET /openapi/v2?timeout=32s"]);
    expect(same.requests.at(-1)?.header("accept")).toContain("protobuf");
    const changed = await kubectl(["apply", "-f", "-"], key("k05", { team: "t" }));
    expect(changed.stdout).toBe(`${KIND}/k05 configured\n`);
    expect(changed.lines.at(-1)).toBe(`PATCH ${pathOf("k05")}?${query}`);
    expect(typeOf(changed, "PATCH")).toBe(MERGE_PATCH);
    expect(bodyOf(changed, "PATCH").spec).toEqual({ user: null, team: "t" });
    expect((await api.get(pathOf("k05"))).json.spec).toEqual({ team: "t" });
  });

  test("applies on the server, and prints every conflict (K-06)", async () => {
    await api.post(`${KEYS}?fieldManager=other`, key("k06", { user: "a", team: "b" }));
    const server = (flags: readonly string[], spec: JsonObject) =>
      kubectl(["apply", "--server-side", ...flags, "-f", "-"], key("k06", spec));
    const refused = await server([], { user: "x", team: "y" });
    expect(refused.lines).toEqual([
      ...OPEN_API,
      `PATCH ${pathOf("k06")}?fieldManager=kubectl&fieldValidation=Strict&force=false`,
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

  test("asks for dry runs by dryRun=All, and exits with 1 where a diff finds something (K-07)", async () => {
    await kubectl(["apply", "-f", "-"], key("k07"));
    const dry = await kubectl(["apply", "--dry-run=server", "-f", "-"], key("k07", { user: "v" }));
    expect(dry.lines.at(-1)).toContain(`PATCH ${pathOf("k07")}?dryRun=All&`);
    expect(dry.stdout).toBe(`${KIND}/k07 configured (server dry run)\n`);
    expect((await kubectl(["delete", "oak", "k07", "--dry-run=server"])).lines).toEqual([`DELETE ${pathOf("k07")}`]);
    const diff = await kubectl(["diff", "-f", "-"], key("k07", { user: "v" }));
    expect(diff).toMatchObject({ code: 1, stdout: expect.stringMatching(/- {2}user: u1\n\+ {2}user: v/) });
    expect(diff.lines.at(-1)).toBe(`PATCH ${pathOf("k07")}?dryRun=All&fieldManager=kubectl-client-side-apply`);
    expect(bodyOf(diff, "PATCH").metadata.resourceVersion).toEqual(expect.any(String));
    expect((await kubectl(["diff", "-f", "-"], key("k07"))).code).toBe(0);
    const applied = await kubectl(["diff", "--server-side", "--force-conflicts", "-f", "-"], key("k07", { user: "v" }));
    expect(applied.code).toBe(1);
    expect(applied.lines.at(-1)).toBe(`PATCH ${pathOf("k07")}?dryRun=All&fieldManager=kubectl&force=true`);
    expect((await api.get(pathOf("k07"))).json.spec).toEqual({ user: "u1" });
  });

  test("moves to server-side apply in four patches (K-08)", async () => {
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
    const { metadata, spec } = (await api.get(pathOf("k08k"))).json;
    expect(spec).toEqual({ user: "a" });
    const managers = metadata.managedFields.map(({ manager, operation }: any) => `${manager} ${operation}`);
    expect(managers.toSorted()).toEqual(["kubectl Apply", "kubectl-last-applied Apply"]);
  });

  test("edits, patches, labels, annotates and replaces under names of their own (K-09)", async () => {
    await api.post(KEYS, key("k09"));
    const path = pathOf("k09");
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
    using edit = startEditing("sed -i s/forced/edited/", ["edit", "oak", "k09"]);
    await expect.poll(edit.output).toContain(`${KIND}/k09 edited`);
    expect(asked().map(({ method, uri }) => `${method} ${uri}`)).toEqual([
      `GET ${path}`,
      ...OPEN_API,
      `PATCH ${path}?fieldManager=kubectl-edit&fieldValidation=Strict`,
    ]);
  });

  test("deletes in the background, and waits until the object is gone (K-10)", async () => {
    await api.post(KEYS, key("k10"));
    const run = await kubectl(["delete", "oak", "k10"]);
    expect(run.lines).toEqual([`DELETE ${pathOf("k10")}`, `GET ${pathOf("k10")}`]);
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
      expect((await api.get(pathOf("k10"))).status).toBe(404);
    }
  });

  test("waits for the finalizers of what it deletes by a watch (K-10)", async () => {
    await api.post(KEYS, key("k10f", {}, { finalizers: ["example.com/a"] }));
    using run = start(["delete", "oak", "k10f"]);
    const seen: string[] = [];
    const watching = () => {
      seen.push(...asked().map(({ uri }) => uri));
      return seen.some((uri) => uri.includes("watch=true"));
    };
    await expect.poll(watching).toBe(true);
    const byName = `${KEYS}?fieldSelector=metadata.name%3Dk10f`;
    expect(seen).toContain(`${byName}&limit=500&resourceVersion=0`);
    await api.patch(pathOf("k10f"), MERGE_PATCH, { metadata: { finalizers: null } });
    await expect.poll(() => run.output()).toContain('"k10f" deleted');
  });

  test("deletes what it has listed one by one (K-10)", async () => {
    for (const name of ["k10a", "k10b"]) await api.post(KEYS, key(name, {}, { labels: { k10: "" } }));
    const { lines } = await kubectl(["delete", "oak", "-l", "k10", "--wait=false"]);
    expect(lines).toEqual([`GET ${KEYS}?labelSelector=k10`, `DELETE ${pathOf("k10a")}`, `DELETE ${pathOf("k10b")}`]);
  });
});
