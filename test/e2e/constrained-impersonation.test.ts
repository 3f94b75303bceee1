// Constrained impersonation (KEP-5284), held against the answers of kube-apiserver 1.36.2 to the same requests with the same roles.

import { readFile, writeFile } from "node:fs/promises";
import { Agent } from "node:https";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { adminKey, agentClient, type HttpClient } from "./testing/http-client.ts";
import { type OwnServer, startOwnServer } from "./testing/own-server.ts";
import { kubectlWith, postern, startTool, succeed } from "./testing/postern-process.ts";

type Answer = readonly [status: number, text: unknown];
type Recorded = { readonly headers: readonly (readonly [string, string])[] } & {
  readonly [request in "who" | "list" | "get" | "version"]: Answer;
};

const at = (name: string): string => new URL(`testdata/constrained-impersonation.${name}`, import.meta.url).pathname;
const CLUSTER = "/kubernetes/project/default/virtualcluster/demo";
const REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const MAPS = "/api/v1/namespaces/default/configmaps";
const REVIEW = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
const RBAC = "/apis/rbac.authorization.k8s.io/v1";

describe("constrained impersonation", () => {
  let server: OwnServer;
  let agent: Agent;
  let ask: HttpClient;
  let admin: string;
  let kubectl: (args: readonly string[], input?: string) => Promise<string>;

  beforeAll(async () => {
    server = await startOwnServer(["--audit-log-mode", "blocking"]);
    // Words of a refusal depend on what the same thread allowed before, as on a replica of kube-apiserver.
    agent = new Agent({ ca: await readFile(server.caFile), keepAlive: true, maxSockets: 1 });
    ask = agentClient(server.url, agent);
    admin = await adminKey(server);
    const file = join(server.directory, "demo.kubeconfig");
    await writeFile(file, await succeed(postern("kubeconfig", "demo", "--kubeconfig", server.adminKubeconfig)), {
      mode: 0o600,
    });
    const run = kubectlWith(file, join(server.directory, "cache"));
    kubectl = (...args) => succeed(run(...args));
    await kubectl(["apply", "--filename", at("yaml")]);
  });
  afterAll(async () => {
    agent?.destroy();
    await server?.[Symbol.asyncDispose]();
  });

  const headersOf = (list: Recorded["headers"]): Record<string, string | string[]> => {
    const headers: Record<string, string | string[]> = {};
    for (const [name, value] of list) headers[name] = name in headers ? [headers[name] ?? [], value].flat() : value;
    return headers;
  };
  const answerTo = async (key: string, headers: Recorded["headers"], path: string, body?: object): Promise<Answer> => {
    const options = { key, headers: headersOf(headers), ...(body === undefined ? {} : { body }) };
    const { status, body: found } = await ask(`${CLUSTER}${path}`, options);
    if (found.kind === "Status") return [status, found.message];
    if (found.kind !== "SelfSubjectReview") return [status, found.kind ?? "ok"];
    const { username, ...rest } = found.status.userInfo;
    return [status, username.endsWith(":actor") ? { username } : { username, ...rest }];
  };

  it("answers as kube-apiserver does in a virtual cluster", async () => {
    const key = (await kubectl(["create", "token", "actor"])).trim();
    const recorded: readonly Recorded[] = JSON.parse(await readFile(at("json"), "utf8"));
    expect(recorded.length).toBe(26);
    for (const { headers, ...expected } of recorded) {
      const found = {
        who: await answerTo(key, headers, REVIEWS, REVIEW),
        list: await answerTo(key, headers, MAPS),
        get: await answerTo(key, headers, `${MAPS}/none`),
        version: await answerTo(key, headers, "/version"),
      };
      expect({ headers, ...found }).toEqual({ headers, ...expected });
    }
  });

  it("ends a watch with the permission that it began with, and with no other", async () => {
    const key = (await kubectl(["create", "token", "actor"])).trim();
    const role = JSON.parse(await kubectl(["get", "clusterrole", "actor", "--output", "json"]));
    const withVerbs = (verbs: readonly string[]) =>
      kubectl(
        ["replace", "--filename", "-"],
        JSON.stringify({
          ...role,
          metadata: { name: "actor" },
          rules: [...role.rules, { apiGroups: [""], resources: ["configmaps"], verbs }],
        }),
      );
    const watched = { apiGroups: [""], resources: ["configmaps"], verbs: ["watch"] };
    const readers = JSON.parse(await kubectl(["get", "clusterrole", "acted-for", "--output", "json"]));
    const more = { ...readers, metadata: { name: "acted-for" }, rules: [...readers.rules, watched] };
    await kubectl(["replace", "--filename", "-"], JSON.stringify(more));
    await withVerbs(["impersonate-on:user-info:watch"]);
    using watch = startTool("curl", [
      ...["--silent", "--no-buffer", "--cacert", server.caFile, "--header", `authorization: Bearer ${key}`],
      ...["--header", "Impersonate-User: bob", `${server.url}${CLUSTER}${MAPS}?watch=true`],
    ]);
    await vi.waitUntil(() => watch.output().includes("ADDED"), 10_000);
    await withVerbs(["impersonate-on:user-info:watch", "impersonate-on:user-info:get"]);
    await kubectl(["create", "configmap", "still-watched"]);
    await vi.waitUntil(() => watch.output().includes("still-watched"), 10_000);
    await withVerbs(["impersonate-on:user-info:get"]);
    await vi.waitUntil(() => watch.isOver(), 10_000);
  });

  it("constrains callers of the management API and of the proxy, and is no right to issue keys", async () => {
    const rule = (group: string, resource: string, ...verbs: string[]) => ({
      apiGroups: [group],
      resources: [resource],
      verbs,
    });
    await ask("/apis/management.postern/v1/users", { key: admin, body: { metadata: { name: "helper" } } });
    const setRules = async (...rules: object[]) => {
      await ask(`${RBAC}/clusterroles/helper`, { key: admin, method: "DELETE" });
      await ask(`${RBAC}/clusterroles`, { key: admin, body: { metadata: { name: "helper" }, rules } });
    };
    await ask(`${RBAC}/clusterrolebindings`, {
      key: admin,
      body: {
        metadata: { name: "helper" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "helper" },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "helper" }],
      },
    });
    const made = await ask("/apis/management.postern/v1/ownedaccesskeys", {
      key: admin,
      body: { metadata: { name: "helper" }, spec: { user: "helper" } },
    });
    const { key } = made.body.spec;
    const as = { "Impersonate-User": "jane", "Impersonate-Group": "postern:admins" };
    const users = () => ask("/apis/management.postern/v1/users", { key, headers: as });
    const maps = () => ask(`${CLUSTER}${MAPS}`, { key, headers: as });
    const mayBe = [
      rule("authentication.k8s.io", "users", "impersonate:user-info"),
      rule("authentication.k8s.io", "groups", "impersonate:user-info"),
    ];
    await setRules(...mayBe);
    expect([(await users()).status, (await maps()).status]).toEqual([403, 403]);
    await setRules(...mayBe, rule("management.postern", "users", "impersonate-on:user-info:list"));
    expect([(await users()).status, (await maps()).status]).toEqual([200, 403]);
    // The caller may use the virtual cluster itself: that is no permission to do so as another user.
    await setRules(...mayBe, rule("management.postern", "virtualclusterinstances", "use"));
    expect((await maps()).body.message).toContain("cannot impersonate-on:user-info:use resource");
    await setRules(...mayBe, rule("management.postern", "virtualclusterinstances", "impersonate-on:user-info:use"));
    expect([(await users()).status, (await maps()).status]).toEqual([403, 200]);
    const forJane = { metadata: { name: "of-jane" }, spec: { subject: "jane" } };
    await setRules(...mayBe, rule("management.postern", "ownedaccesskeys", "create", "impersonate-on:user-info:list"));
    expect((await ask("/apis/management.postern/v1/ownedaccesskeys", { key, body: forJane })).status).toBe(403);
    const events = (await readFile(join(server.dataDir, "audit.log"), "utf8"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const constraints = events
      .filter((one) => one.impersonatedUser?.username === "jane")
      .map((one) => one.authenticationMetadata);
    expect(constraints.length).toBeGreaterThan(1);
    for (const found of constraints) expect(found).toEqual({ impersonationConstraint: "impersonate:user-info" });
  });

  it.each(["/oauth/token", "/leaks", "/unwrap"])("lets no stranger act as another user at %s", async (path) => {
    for (const user of ["admin", "system:serviceaccount:a:b", "system:node:n1"]) {
      const headers = { "Impersonate-User": user };
      expect([user, (await ask(path, { headers, body: {} })).status]).toEqual([user, 403]);
    }
  });
});
