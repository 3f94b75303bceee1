// Requests of a real kubectl when it discovers the server and shows objects, and what it makes of the answers, refusals among them.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { describe, expect, test } from "vitest";
import { KEYS, key, MERGE_PATCH, TABLE, WIDGETS, widget } from "./testing/api.ts";
import {
  DISCOVERY,
  isKubectlMissing,
  KIND,
  OPEN_API,
  pathOf,
  RECENT_MINOR,
  typeOf,
  useRecordedKubectl,
} from "./testing/recorded-kubectl.ts";

const { api, kubectl, start, asked, newCache } = useRecordedKubectl();
const AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

describe.skipIf(isKubectlMissing)(`without kubectl 1.${RECENT_MINOR}`, () => {
  test("discovers all at once, keeps it, and asks later only whether it still holds (K-01)", async () => {
    const cold = newCache();
    await api.post(KEYS, key("k01"));
    const first = await kubectl(["get", "oak", "k01"], undefined, cold);
    expect(first.lines).toEqual([...DISCOVERY, `GET ${pathOf("k01")}`]);
    expect(first.requests[0]?.header("accept")).toMatch(new RegExp(`^${AGGREGATED}`));
    expect((await kubectl(["get", "oak", "k01"], undefined, cold)).lines).toEqual([`GET ${pathOf("k01")}`]);
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

  test("gets Tables of a list and of one object, and plain JSON for other outputs (K-02)", async () => {
    await api.post(KEYS, key("k02", { user: "k02" }, { labels: { k02: "" } }));
    const list = await kubectl(["get", "oak", "-l", "k02"]);
    expect(list.lines).toEqual([`GET ${KEYS}?labelSelector=k02&limit=500`]);
    expect(list.requests[0]?.header("accept")).toMatch(new RegExp(`^${TABLE.split(",")[0]}`));
    expect(list.stdout).toMatch(/^NAME +USER +DISABLED +AGE\nk02 +k02 +\d+s\n$/);
    const one = await kubectl(["get", "oak", "k02"]);
    expect(one.lines).toEqual([`GET ${pathOf("k02")}`]);
    expect(one.stdout).toBe(list.stdout.replace(/\d+s/, /\d+s/.exec(one.stdout)?.[0] ?? ""));
    for (const output of ["yaml", "json", "name"]) {
      const plain = await kubectl(["get", "oak", "k02", "-o", output]);
      expect(plain.requests[0]?.header("accept")).toBe("application/json");
      expect(plain.stdout).toContain("k02");
    }
    const everywhere = await kubectl(["get", "widgets", "-A", "--chunk-size=7"]);
    expect(everywhere.lines).toEqual([`GET ${WIDGETS.replace("/namespaces/default", "")}?limit=7`]);
  });

  test("watches from the version of what it has got (K-02)", async () => {
    await api.post(KEYS, key("k02w", {}, { labels: { k02w: "" } }));
    using list = start(["get", "oak", "-l", "k02w", "-w", "--output-watch-events"]);
    await expect.poll(list.output).toMatch(/ADDED +k02w/);
    await api.patch(pathOf("k02w"), MERGE_PATCH, { spec: { user: "seen" } });
    await expect.poll(list.output).toMatch(/MODIFIED +k02w +seen/);
    const watches = asked();
    expect(watches.map(({ uri }) => uri)).toEqual([
      `${KEYS}?labelSelector=k02w&limit=500`,
      `${KEYS}?labelSelector=k02w&resourceVersion=N&watch=true`,
    ]);
    expect(watches[1]?.header("accept")).toContain("as=Table");
    using single = start(["get", "oak", "k02w", "-w", "--output-watch-events"]);
    const seen: string[] = [];
    const watching = () => {
      seen.push(...asked().map(({ uri }) => uri));
      return seen;
    };
    const watch = `${KEYS}?fieldSelector=metadata.name%3Dk02w&resourceVersion=0&watch=true`;
    await expect.poll(watching).toContain(watch);
    await api.delete(pathOf("k02w"));
    await expect.poll(single.output).toMatch(/DELETED +k02w/);
  });

  test("gets every resource of a category, in its namespace where it has one (K-03)", async () => {
    await api.post(WIDGETS, widget("k03"));
    const platform = await kubectl(["get", "platform"]);
    expect(platform.lines.filter((line) => !DISCOVERY.includes(line)).toSorted()).toEqual([
      `GET ${WIDGETS}?limit=500`,
      `GET ${KEYS}?limit=500`,
    ]);
    expect(platform.stdout).toMatch(/^widget\.management\.example\.com\/k03 /m);
    expect((await kubectl(["get", "all", "-o", "name"])).stdout).toContain("widget.management.example.com/k03\n");
  });

  test("waits by a list and a watch of one name, with bookmarks (K-11)", async () => {
    await api.post(KEYS, key("k11"));
    const run = await kubectl(["wait", "oak/k11", "--for=jsonpath={.spec.user}=u1", "--timeout=20s"]);
    const byName = `${KEYS}?fieldSelector=metadata.name%3Dk11`;
    expect(run).toMatchObject({ code: 0, stdout: `${KIND}/k11 condition met\n` });
    expect(run.lines.slice(0, 2)).toEqual([`GET ${pathOf("k11")}`, `GET ${byName}&limit=500&resourceVersion=0`]);
    const watch = `${KEYS}?allowWatchBookmarks=true&fieldSelector=metadata.name%3Dk11&resourceVersion=N&timeoutSeconds=N&watch=true`;
    expect([`GET ${watch}`, undefined]).toContain(run.lines[2]);
  });

  test("describes an object with its events, or without where there are none (K-12)", async () => {
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
    expect(bare.lines.slice(0, 2)).toEqual([`GET ${pathOf("k12")}`, `GET ${pathOf("k12")}`]);
    expect(bare.lines[2]).toMatch(/^GET \/api\/v1\/events\?fieldSelector=.*involvedObject\.uid%3DU.*&limit=500$/);
    expect((await api.post("/api/v1/namespaces/default/events", event)).status).toBe(201);
    expect((await kubectl(["describe", "oak", "k12"])).stdout).toMatch(/Events:[\s\S]*Made[\s\S]*made by hand/);
  });

  test("explains with OpenAPI v3 only, and lists resources from discovery (K-13)", async () => {
    const explained = await kubectl(["explain", "oak.spec.displayName"]);
    expect(explained.lines).toEqual(OPEN_API);
    expect(explained.stdout).toMatch(/FIELD: displayName <string>[\s\S]*Name shown in the UI\./);
    expect((await kubectl(["api-versions"])).stdout).toContain("management.example.com/v1\n");
    const { stdout, lines } = await kubectl(["api-resources", "--api-group=management.example.com"]);
    expect(lines).toEqual(DISCOVERY);
    expect(stdout).toMatch(/^ownedaccesskeys +oak +management\.example\.com\/v1 +false +OwnedAccessKey$/m);
    expect((await kubectl(["version"])).stdout).toContain("Server Version: v1.36");
  });

  test("asks about rights in protobuf (K-13)", async () => {
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

  test("says which kubectl it is, and which command (K-14)", async () => {
    const { requests } = await kubectl(["get", "oak"]);
    const [request] = requests;
    expect(request?.header("user-agent")).toMatch(/^kubectl\/v1\.\d+\.\S+ \(\w+\/\w+\) kubernetes\/\w+$/);
    expect(request?.header("kubectl-command")).toBe("kubectl get");
    expect(request?.header("kubectl-session")).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("prints refusals by their reason, and those without one plainly (K-15)", async () => {
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
