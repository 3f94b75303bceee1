// The command line against the real server: keys from their making to their end, credentials, and kubeconfigs.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { byNight } from "../../tools/test-cost/by-night.ts";
import { type HttpClient, httpClient } from "./testing/http-client.ts";
import { type OwnServer, startOwnServer } from "./testing/own-server.ts";
import { ENTRY, kubectlWith, NODE, type Outcome, postern, succeed, tool } from "./testing/postern-process.ts";

const VERSION = /^v\d+\.\d+\.\d+$/;
const KEY = /^pst_\S+\n$/;
const TIMESTAMP = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`;
const NOT_FOUND = { code: 1, stdout: "", stderr: expect.stringMatching(/^postern: .*not found\n$/) };
const REFUSED = "platform access key not found. Please login again";

let server: OwnServer;
let http: HttpClient;

beforeAll(async () => {
  server = await startOwnServer();
  http = await httpClient(server);
});

afterAll(() => server?.[Symbol.asyncDispose]());

const cli = (...args: readonly string[]): Promise<Outcome> => postern(...args, "--kubeconfig", server.adminKubeconfig);
const cliJson = async (...args: readonly string[]): Promise<any> =>
  JSON.parse(await succeed(cli(...args, "-o", "json")));
const statusWith = async (key: string): Promise<number> =>
  (await http("/apis/management.postern/v1/projects", { key: key.trim() })).status;

describe("formats", () => {
  it.each([
    ["key", "list"],
    ["credentials", "list"],
  ])("of %s %s are JSON, YAML and names of the same", async (...command) => {
    const [json, yaml, names] = await Promise.all(
      ["json", "yaml", "name"].map((format) => succeed(cli(...command, "-o", format))),
    );
    // The commands themselves use the key that they list.
    const unused = (rows: readonly object[]): readonly object[] => rows.map((row) => ({ ...row, lastActivity: "" }));
    expect(unused(parse(yaml ?? ""))).toEqual(unused(JSON.parse(json ?? "")));
    expect((names ?? "").split("\n").filter((name) => name !== "")).toHaveLength(JSON.parse(json ?? "").length);
  });

  it("take the limits of a key from flags, as kubectl create role does", async () => {
    const flags = [
      "--virtual-cluster",
      "default/demo",
      "--verb",
      "get,list",
      "--resource",
      "configmaps",
      "--namespace",
      "default",
    ];
    const created = JSON.parse(await succeed(cli("key", "create", "limited", "--ttl", "1h", ...flags, "-o", "json")));
    const inside = "/kubernetes/project/default/virtualcluster/demo/api/v1";
    const status = async (path: string): Promise<number> =>
      (await http(`${inside}${path}`, { key: created.spec.key })).status;
    expect(await status("/namespaces/default/configmaps")).toBe(200);
    expect(await status("/namespaces/kube-system/configmaps")).toBe(403);
    expect(await status("/namespaces/default/secrets")).toBe(403);
    // The error names what was asked for inside.
    const refusal = async (method: string, path: string, body?: object): Promise<string> => {
      const answer = await http(`/kubernetes/project/default/virtualcluster/demo${path}`, {
        ...{ key: created.spec.key, method },
        ...(body === undefined ? {} : { body }),
      });
      return answer.body.message;
    };
    const rules = ": the rules of the access key do not allow this request";
    const maps = "/api/v1/namespaces/default/configmaps";
    const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };
    const user = 'User "admin" cannot';
    for (const [method, path, body, message] of [
      [
        "POST",
        maps,
        map,
        `configmaps is forbidden: ${user} create resource "configmaps" in API group "" in the namespace "default"`,
      ],
      [
        "DELETE",
        `${maps}/a`,
        undefined,
        `configmaps "a" is forbidden: ${user} delete resource "configmaps" in API group "" in the namespace "default"`,
      ],
      [
        "GET",
        "/api/v1/configmaps",
        undefined,
        `configmaps is forbidden: ${user} list resource "configmaps" in API group "" at the cluster scope`,
      ],
      [
        "GET",
        "/apis/apps/v1/namespaces/default/deployments/d/scale",
        undefined,
        `deployments.apps "d" is forbidden: ${user} get resource "deployments/scale" in API group "apps" in the namespace "default"`,
      ],
      ["GET", "/metrics", undefined, `forbidden: ${user} get path "/metrics"`],
    ] as const)
      expect(await refusal(method, path, body)).toBe(`${message}${rules}`);
  });
});

describe("a key with rules for a part of a virtual cluster", () => {
  it("gets a kubeconfig for that part with --allow-kubeconfig, and none otherwise", async () => {
    const limits = [
      "--virtual-cluster",
      "default/demo",
      "--verb",
      "get,list",
      "--resource",
      "configmaps",
      "--namespace",
      "default",
    ];
    const out = join(server.directory, "part.kubeconfig");
    const kubeconfigWith = (key: string): Promise<Outcome> => {
      const platform = [`POSTERN_URL=${server.url}`, `POSTERN_TOKEN=${key.trim()}`, `POSTERN_CA=${server.caFile}`];
      return tool("env", [...platform, NODE, ENTRY, "kubeconfig", "demo", "--out", out]);
    };
    const without = await succeed(cli("key", "create", "part-1", "--ttl", "1h", ...limits));
    // The refusal is that of the kubeconfig, not of a list that the command reads to explain it.
    expect((await kubeconfigWith(without)).stderr).toMatch(
      /^postern: virtualclusterinstances\.management\.postern "demo" is forbidden: .* resource "virtualclusterinstances\/kubeconfig" .*rules of the access key/,
    );
    const key = await succeed(cli("key", "create", "part-2", "--ttl", "1h", ...limits, "--allow-kubeconfig"));
    expect(await kubeconfigWith(key)).toMatchObject({ code: 0 });
    const kubectl = kubectlWith(out, join(server.directory, "part-cache"));
    expect(await succeed(kubectl(["get", "configmaps", "--output", "name"]))).toContain("configmap/kube-root-ca.crt");
    const refused: readonly (readonly [string, string])[] = [
      ["get secrets", 'secrets is forbidden: User "admin" cannot list resource "secrets"'],
      ["create configmap a", 'configmaps is forbidden: User "admin" cannot create resource "configmaps"'],
      ["get configmaps --namespace kube-system", 'in the namespace "kube-system"'],
      ["get configmaps --all-namespaces", "at the cluster scope"],
      ["delete configmap kube-root-ca.crt", 'cannot delete resource "configmaps"'],
    ];
    for (const [args, message] of refused) expect((await kubectl(args.split(" "))).stderr).toContain(message);
  });
});

describe("postern key", () => {
  it("makes, shows, disables, enables and ends keys", async () => {
    const created = await cli("key", "create", "ci", "--ttl", "30d", "--project", "default", "--display-name", "CI");
    expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(KEY) });
    expect(await succeed(cli("key", "get", "ci"))).toMatch(
      new RegExp(
        [
          "^Name: +ci",
          "Display name: CI",
          "Owner: +user admin",
          "Type: +User",
          "Disabled: +no",
          "Scope: +project default",
          `Created: +${TIMESTAMP}`,
          `Expires: +${TIMESTAMP}`,
          "Last used: +never\n$",
        ].join("\n"),
      ),
    );
    const { spec, status } = await cliJson("key", "get", "ci");
    expect(spec).toMatchObject({ displayName: "CI", ttl: 2_592_000 });
    expect(spec).not.toHaveProperty("key");
    expect(status).toMatchObject({ expirationTimestamp: expect.any(String) });
    expect(await succeed(cli("key", "list"))).toMatch(
      /^NAME +OWNER +SCOPE +.*\nadmin .*\nci +user\/admin +projects:1 /,
    );

    expect(await statusWith(created.stdout)).toBe(200);
    expect(await succeed(cli("key", "disable", "ci"))).toBe("access key ci disabled\n");
    expect(await statusWith(created.stdout)).toBe(401);
    expect(await succeed(cli("key", "get", "ci"))).toContain("Disabled:     yes\n");
    expect(await succeed(cli("key", "enable", "ci"))).toBe("access key ci enabled\n");
    expect(await statusWith(created.stdout)).toBe(200);
    expect(await succeed(cli("key", "revoke", "--yes", "ci"))).toBe("access key ci revoked\n");
    expect(await statusWith(created.stdout)).toBe(401);
    for (const command of ["get", "disable", "enable", "rotate", "explain", "revoke"]) {
      expect(await cli("key", command, ...(command === "revoke" ? ["--yes"] : []), "ci")).toMatchObject(NOT_FOUND);
    }
  });

  it("rotates at once, or with a grace until the new value is used", async () => {
    const first = await succeed(cli("key", "create", "rotated"));
    const second = await cli("key", "rotate", "rotated");
    expect(second).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(KEY),
      stderr: expect.stringMatching(/^access key rotated rotated; .* the old value is refused from now on\n$/),
    });
    // The new one first: using the old one locks the key.
    expect([await statusWith(second.stdout), await statusWith(first)]).toEqual([200, 401]);
  });

  it("prints the end of the grace period, which the first use of the new value ends", async () => {
    const first = await succeed(cli("key", "create", "graceful"));
    const second = await cli("key", "rotate", "graceful", "--grace", "1h");
    expect(second.stderr).toMatch(new RegExp(`accepted until the new one is used, at most until ${TIMESTAMP}\n$`));
    expect(await statusWith(first)).toBe(200);
    expect(await statusWith(second.stdout)).toBe(200);
    expect(await statusWith(first)).toBe(401);
  });

  it("explains what a key may do, what would let it do more, and how it was used", async () => {
    const key = await succeed(cli("key", "create", "scoped", "--virtual-cluster", "default/demo"));
    const ofUsers = ["key", "explain", "scoped", "--path", "/apis/management.postern/v1/users", "--method", "post"];
    expect(await succeed(cli(...ofUsers))).toMatch(
      /^Key: +good\nRequest: +create management\.postern\/users\nAllowed: +no\n {2}key: +allowed\n {2}right: +allowed: RBAC: .*\n {2}scope: +refused: out-of-scope\nRemedy: +no scope allows this request/,
    );
    const demo = "/apis/management.postern/v1/namespaces/p-default/virtualclusterinstances/demo";
    expect((await http(demo, { key: key.trim() })).status).toBe(200);
    const text = await succeed(cli("key", "explain", "scoped"));
    expect(text).toMatch(
      /^Key: +good\nUsage recorded: +since .*\nNarrowest scope: +{"virtualClusters":\[{"project":"default","virtualCluster":"demo"}\]}\nUsed for: +get virtualclusterinstances\.management\.postern\n$/,
    );
    expect(await cliJson("key", "explain", "scoped", "--path", demo)).toMatchObject({ allowed: true, remedies: [] });
  });
});

describe("postern credentials", () => {
  byNight("lists the caller's credentials with their origins, and those of an object, and revokes them", async () => {
    const key = await succeed(cli("key", "create", "parent"));
    // A kubeconfig of the new key, to make children with it.
    const mine = join(server.directory, "mine.yaml");
    const kubectl = kubectlWith(server.adminKubeconfig, join(server.directory, "cache"));
    const admin = JSON.parse(await succeed(kubectl(["config", "view", "--raw", "-o", "json"])));
    admin.users[0].user = { token: key.trim() };
    await writeFile(mine, JSON.stringify(admin), { mode: 0o600 });
    const byParent = (...args: string[]) => postern(...args, "--kubeconfig", mine);
    const token = join(server.directory, "token.yaml");
    const certificate = join(server.directory, "certificate.yaml");
    await writeFile(token, await succeed(byParent("kubeconfig", "demo")), { mode: 0o600 });
    await writeFile(certificate, await succeed(byParent("kubeconfig", "demo", "--cert")), { mode: 0o600 });
    const works = async (config: string) =>
      (await kubectlWith(config, join(server.directory, "cache"))(["get", "namespaces"])).stderr;

    const credentials: any[] = await cliJson("credentials", "list", "--key", "parent");
    expect(credentials.map(({ kind, parents }) => [kind, parents.length])).toEqual([
      ["AccessKey", 0],
      ["AccessKey", 1],
      ["Certificate", 1],
    ]);
    const [parent, child, issued] = credentials;
    expect(await succeed(cli("credentials", "list"))).toMatch(
      new RegExp(`^ID +KIND +NAME .*\n(.*\n)*${parent.id} +AccessKey +parent +user/admin +<none> +<none> +\\S+`),
    );
    expect(await succeed(cli("credentials", "list", "--virtual-cluster", "default/demo"))).toMatch(
      new RegExp(`^${issued.id} +Certificate +admin +user/admin +default/demo +${parent.id} +${TIMESTAMP}`, "m"),
    );
    expect(await succeed(cli("credentials", "list", "--user", "admin"))).toContain(child.id);

    expect([await works(token), await works(certificate)]).toEqual(["", ""]);
    expect(await cli("credentials", "revoke", "--yes", child.id, "nope")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining('spec.revoke[1]: Not found: "nope"'),
    });
    expect(await works(token)).toBe("");
    expect(await succeed(cli("credentials", "revoke", "--yes", child.id))).toBe(`credential ${child.id} revoked\n`);
    expect([await works(token), await works(certificate)]).toEqual([expect.stringContaining(REFUSED), ""]);
    await succeed(cli("credentials", "revoke", "--yes", issued.id, "--virtual-cluster", "default/demo"));
    expect(await works(certificate)).not.toBe("");
    expect(await cliJson("credentials", "list", "--key", "parent")).toMatchObject([{ id: parent.id }]);
    expect(await cli("credentials", "revoke", "--yes", "--key", "parent")).toMatchObject({
      stdout: "",
      stderr: expect.stringContaining("name the IDs of credentials, or --all"),
    });
    const all = ["credentials", "revoke", "--yes", "--all", "--key", "parent"];
    expect(await succeed(cli(...all))).toBe(`credential ${parent.id} revoked\n`);
    expect(await cliJson("credentials", "list", "--key", "parent")).toEqual([]);
    expect(await cli(...all)).toMatchObject({ code: 0, stdout: "", stderr: "no credentials\n" });
  });

  byNight("says what is wrong with whose credentials are asked for", async () => {
    for (const [flag, name] of [["--user"], ["--team"], ["--key"], ["--virtual-cluster", "default/nobody"]]) {
      expect(await cli("credentials", "list", flag ?? "", name ?? "nobody")).toMatchObject(NOT_FOUND);
    }
    await succeed(
      kubectlWith(server.adminKubeconfig, join(server.directory, "cache"))(
        ["create", "-f", "-"],
        '{"apiVersion":"management.postern/v1","kind":"Team","metadata":{"name":"empty"}}',
      ),
    );
    expect(await cli("credentials", "list", "--team", "empty")).toEqual({
      code: 0,
      stdout: "",
      stderr: "no credentials\n",
    });
  });
});

describe("postern kubeconfig", () => {
  it.each([
    [["nope"], /^postern: no virtual cluster "nope" in the project default that you can see; .*: default\/demo/],
    [["demo", "--project", "nope"], /^postern: no project "nope" that you can see; did you mean default\/demo\?$/m],
  ])("says which part of %j is missing", async (name, line) => {
    const { code, stdout, stderr } = await cli("kubeconfig", ...name);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(line);
    expect(stderr.trimEnd()).not.toContain("\n");
  });

  it.each([
    ["token", []],
    ["client certificate", ["--cert"]],
    ["client certificate", ["--client-cert"]],
  ])("prints when the %s expires, and how to get another with %j", async (what, flags) => {
    const { code, stdout, stderr } = await cli("kubeconfig", "demo", "--ttl", "10m", ...flags);
    expect(code, stderr).toBe(0);
    const again = `postern kubeconfig demo --project default --ttl 10m${flags.length > 0 ? " --client-cert" : ""}`;
    expect(stderr).toMatch(
      new RegExp(`^The ${what} expires at ${TIMESTAMP}. For a new one, run it again: ${again} --kubeconfig \\S+\n$`),
    );
    // The suggested command produces a working file and prints the same message.
    const line = stderr.trim().split("run it again: postern ")[1] ?? "";
    const repeated = await postern(...line.split(" "));
    expect(repeated.stderr.replace(/expires at \S+/, "")).toBe(stderr.replace(/expires at \S+/, ""));
    for (const text of [stdout, repeated.stdout]) {
      const file = join(server.directory, "demo.yaml");
      await writeFile(file, text, { mode: 0o600 });
      const version = JSON.parse(
        await succeed(kubectlWith(file, join(server.directory, "cache"))(["get", "--raw", "/version"])),
      );
      expect(version.gitVersion.split("+")[0]).toMatch(VERSION);
    }
  });
});
