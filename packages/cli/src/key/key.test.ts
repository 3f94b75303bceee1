import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sendJson, startTestServer, type TestServer } from "@postern/client/testing/test-server";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { runCommand } from "../testing/run-command.ts";
import { writeKubeconfig } from "../testing/write-kubeconfig.ts";

const base = "/apis/management.example.com/v1";
const directory = mkdtempSync(join(tmpdir(), "postern-key-"));
let server: TestServer;
let environment: Record<string, string>;
let bodies: any[];

beforeAll(async () => {
  server = await startTestServer();
  const path = join(directory, "config");
  environment = { KUBECONFIG: path };
  writeKubeconfig(path, server);
});
beforeEach(() => {
  server.requests.length = 0;
  bodies = [];
});
afterAll(async () => {
  rmSync(directory, { recursive: true });
  await server[Symbol.asyncDispose]();
});

function answer(reply: unknown, code = 200, headers = {}) {
  server.respond(({ url }, response, body) => {
    if (url === "/apis") return sendJson(response, { groups: [{ name: "apps" }, { name: "management.example.com" }] });
    bodies.push(body === "" ? undefined : JSON.parse(body));
    sendJson(response, reply, code, headers);
  });
}

describe("postern key", () => {
  it("prints the name alone of a key whose value goes into a Secret, and of no other", async () => {
    answer({ metadata: { name: "ci" }, spec: { key: "pst_x" } }, 201);
    const named = ["key", "create", "ci", "-o", "name"];
    expect(await runCommand([...named, "--secret-ref", "p-a/ci"], environment)).toMatchObject({
      code: 0,
      stdout: "ci\n",
    });
    expect(bodies).toHaveLength(1);
    const { code, stderr } = await runCommand(named, environment);
    expect([code, stderr]).toEqual([1, expect.stringContaining("add --secret-ref")]);
    expect(bodies).toHaveLength(1);
  });

  it("prints one key as fields with its rules, as a table and as a name", async () => {
    const rules = [{ verbs: ["get"] }];
    answer({ metadata: { name: "ci" }, spec: { rules } });
    expect((await runCommand(["key", "get", "ci"], environment)).stdout).toMatch(/^Rules: +get all resources$/m);
    expect((await runCommand(["key", "get", "ci", "-o", "name"], environment)).stdout).toBe("ci\n");
    answer({ columnDefinitions: [{ name: "Name" }], rows: [{ cells: ["ci"] }] });
    expect((await runCommand(["key", "get", "ci", "-o", "table"], environment)).stdout).toMatch(/^NAME\s+ci\s+$/);
    expect(server.requests.at(-1)).toBe(`GET ${base}/ownedaccesskeys/ci`);
  });

  it("creates a key and prints nothing but it on standard output", async () => {
    answer({ metadata: { name: "ci" }, spec: { key: "pst_x" } }, 201, { warning: '299 - "careful"' });
    const args = ["key", "create", "ci", "--ttl", "30d", "--display-name", "CI"];
    const named = ["--project", "a", "--virtual-cluster", "default/demo", "--virtual-cluster", "b/c"];
    const scope = [...named, "--virtual-cluster-selector", "b/example.com/env=dev,tier in (x,y),!old"];
    expect(await runCommand([...args, ...scope], environment)).toEqual({
      code: 0,
      stdout: "pst_x\n",
      stderr: "Warning: careful\naccess key ci created; keep it now, it is not shown again\n",
    });
    expect(server.requests.at(-1)).toBe(`POST ${base}/ownedaccesskeys`);
    expect(bodies).toEqual([
      {
        apiVersion: "management.example.com/v1",
        kind: "OwnedAccessKey",
        metadata: { name: "ci" },
        spec: {
          displayName: "CI",
          ttl: 2_592_000,
          type: "User",
          scope: {
            projects: [{ project: "a" }],
            virtualClusters: [
              { project: "default", virtualCluster: "demo" },
              { project: "b", virtualCluster: "c" },
              {
                project: "b",
                selector: {
                  matchLabels: { "example.com/env": "dev" },
                  matchExpressions: [
                    { key: "old", operator: "DoesNotExist" },
                    { key: "tier", operator: "In", values: ["x", "y"] },
                  ],
                },
              },
            ],
          },
        },
      },
    ]);
  });

  it("sends no scope without scope flags: an empty one would allow nothing", async () => {
    answer({ metadata: { name: "k" }, spec: { key: "x" } }, 201);
    await runCommand(["key", "create"], environment);
    expect(bodies[0]).toMatchObject({ metadata: {}, spec: { type: "User" } });
    expect(bodies[0].spec).not.toHaveProperty("scope");
  });

  it("lists keys in the columns of the server, without control characters", async () => {
    answer({
      columnDefinitions: [
        { name: "Name", priority: 0 },
        { name: "Display Name", priority: 0 },
        { name: "Hidden", priority: 1 },
        { name: "Age", priority: 0 },
      ],
      rows: [{ cells: ["ci", "a\u001b[31mb", "x", "5m"] }, { cells: ["other-key", null, "x", "3d"] }],
    });
    expect((await runCommand(["key", "list"], environment)).stdout).toBe(
      ["NAME        DISPLAY NAME   AGE", "ci          a [31mb        5m", "other-key   <none>         3d", ""].join(
        "\n",
      ),
    );
  });

  it("reports when there are none", async () => {
    answer({ columnDefinitions: [{ name: "Name" }], rows: [] });
    expect(await runCommand(["key", "list"], environment)).toEqual({ code: 0, stdout: "", stderr: "no access keys\n" });
  });

  const NOW = Date.now();
  const before = (days: number) => new Date(NOW - days * 86_400_000).toISOString();
  const demo = { virtualClusters: [{ project: "a", virtualCluster: "demo" }] };
  const rowOf = (
    name: string,
    state: string,
    spec: object,
    days = 0,
    lastActivity?: string,
    generateName?: string,
  ) => ({
    cells: [name, state],
    object: { metadata: { name, generateName, creationTimestamp: before(days) }, spec, status: { lastActivity } },
  });
  const ROWS = [
    rowOf("full", "Ready", { user: "ben", type: "User" }),
    rowOf("old", "Expired", { team: "web", scope: demo }, 40),
    rowOf("used", "Ready", { user: "ben", scope: { projects: [{ project: "a" }] } }, 40, before(1)),
    rowOf("wide", "Disabled", { user: "ben", scope: { virtualClusters: [{ project: "*", virtualCluster: "*" }] } }, 2),
    rowOf("space", "Ready", {
      subject: "ci",
      scope: { spaces: [{ project: "a", space: "demo" }], clusters: [{ cluster: "eu" }] },
    }),
    rowOf("a-demo-1", "Ready", { user: "ben", type: "Other", scope: demo }, 3, undefined, "a-demo-"),
    // Another tool may create keys of this type.
    rowOf("other", "Ready", { user: "ben", type: "Other", scope: demo }, 3, undefined, "other-"),
  ];

  it.each([
    [[], ["full", "old", "used", "wide", "space", "other"]],
    [["--all"], ["full", "old", "used", "wide", "space", "a-demo-1", "other"]],
    [
      ["--state", "expired,disabled"],
      ["old", "wide"],
    ],
    [
      ["--owner", "ben", "--state", "Ready"],
      ["full", "used", "other"],
    ],
    [["--owner", "team/web"], ["old"]],
    [["--owner", "user/web"], []],
    [["--owner", "subject/ci"], ["space"]],
    [
      ["--cluster", "a/demo"],
      ["old", "used", "wide", "space", "other"],
    ],
    [["--cluster", "a/demo/x"], []],
    [["--cluster", "eu"], ["space"]],
    [["--cluster", "b/demo"], ["wide"]],
    [["--unused-for", "30d"], ["old"]],
    [
      ["--unused-for", "12h", "--all"],
      ["old", "used", "wide", "a-demo-1", "other"],
    ],
  ])("lists with %j", async (flags, names) => {
    answer({ columnDefinitions: [{ name: "Name" }, { name: "Status" }], rows: ROWS });
    const { code, stdout } = await runCommand(["key", "list", ...flags, "-o", "name"], environment);
    expect([code, stdout.split("\n").slice(0, -1)]).toEqual([0, names]);
  });

  it.each([
    [["--state", "Epxired"], "no such access keys: STATUS is Disabled or Expired or Ready\n"],
    [["--state", "expired", "--owner", "ben"], "no such access keys\n"],
    [["--owner", "nosuch"], "no such access keys\n"],
  ])("names the states that there are where %j finds none", async (flags, stderr) => {
    answer({ columnDefinitions: [{ name: "Name" }, { name: "Status" }], rows: ROWS });
    expect(await runCommand(["key", "list", ...flags], environment)).toEqual({ code: 0, stdout: "", stderr });
  });

  it("reads all pages, says what it left out, and shows more columns with -o wide", async () => {
    const columnDefinitions = [{ name: "Name" }, { name: "Status", priority: 1 }];
    server.respond(({ url = "" }, response) => {
      if (url === "/apis") return sendJson(response, { groups: [{ name: "management.example.com" }] });
      const isSecond = url.includes("continue=more");
      const metadata = isSecond ? {} : { continue: "more" };
      sendJson(response, { columnDefinitions, metadata, rows: isSecond ? ROWS.slice(5) : ROWS.slice(0, 1) });
    });
    const left = "1 key of kubeconfigs left out; --all shows all\n";
    expect(await runCommand(["key", "list"], environment)).toEqual({
      code: 0,
      stdout: "NAME\nfull\nother\n",
      stderr: left,
    });
    expect((await runCommand(["key", "list", "-o", "wide"], environment)).stdout).toBe(
      "NAME    STATUS\nfull    Ready\nother   Ready\n",
    );
  });

  it.each([
    [["key", "revoke", "a", "b"], "Delete the access keys a and b? Requests with them are refused immediately. [y/N] "],
    [
      ["key", "revoke", "a"],
      "Delete the access key a (user jane, last used: 2026-01-02T03:04:05Z)? Requests with it are refused immediately. [y/N] ",
    ],
    [
      ["credentials", "revoke", "x", "--key", "k"],
      "Revoke the credential x, and all that were created with it? [y/N] ",
    ],
  ])("asks before %j, and revokes only after a yes, or with --yes", async (args, question) => {
    answer({ metadata: {}, spec: { user: "jane" }, status: { lastActivity: "2026-01-02T03:04:05Z" } });
    for (const typed of ["", "n", "yess"])
      expect(await runCommand(args, environment, undefined, typed)).toMatchObject({
        code: 1,
        stderr: `${question}postern: nothing was changed\n`,
      });
    expect((await runCommand(args, environment)).stderr).toBe(
      "postern: nothing was changed: add --yes where there is no terminal to ask on\n",
    );
    // A question may name the key that the command itself uses.
    const isAsking = (request: string): boolean => request.startsWith("GET ") || request === `POST ${base}/selves`;
    expect(server.requests.filter((request) => !isAsking(request))).toEqual([]);
    expect((await runCommand(args, environment, undefined, "Y")).code).toBe(0);
    expect((await runCommand([...args, "-y"], environment)).code).toBe(0);
  });

  it("says that the access key of the command itself is among those to revoke", async () => {
    const credential = (id: string, parents: readonly string[]) => ({
      id,
      kind: "AccessKey",
      name: `key-${id}`,
      parents,
    });
    answer({
      status: {
        user: { name: "jane" },
        accessKey: "key-b",
        credentials: [credential("a", []), credential("b", ["a"])],
      },
    });
    const asked = async (...args: readonly string[]) =>
      (await runCommand(["credentials", "revoke", ...args], environment, undefined, "n")).stderr;
    const warning = "The access key key-b that this command uses is one of them. [y/N]";
    expect(await asked("--all")).toContain(warning);
    expect(await asked("a")).toContain(warning);
    expect(await asked("--all", "--user", "jane")).toContain(warning);
    answer({ status: { user: { name: "jane" }, accessKey: "key-c", credentials: [credential("a", [])] } });
    expect(await asked("--all")).toBe(
      "Revoke all credentials of your own, and all that were created with them? [y/N] postern: nothing was changed\n",
    );
  });

  it.each([
    [["mine"], "It is the access key that this command uses. [y/N]"],
    [["a", "mine"], "The access key mine that this command uses is one of them. [y/N]"],
    [["a"], "Requests with it are refused immediately. [y/N]"],
  ])("says that the access key of the command itself is to be deleted: %j", async (names, text) => {
    answer({ metadata: {}, spec: { user: "jane" }, status: { accessKey: "mine" } });
    const { stderr } = await runCommand(["key", "revoke", ...names], environment, undefined, "n");
    expect(stderr).toContain(text);
  });

  it("asks before it disables the access key of the command itself, which another one has to enable again", async () => {
    answer({ metadata: { name: "mine" }, status: { accessKey: "mine" } });
    const disable = (...args: readonly string[]) =>
      runCommand(["key", "disable", ...args], environment, undefined, "n");
    const patches = () => server.requests.filter((request) => request.startsWith("PATCH"));
    expect(await disable("a", "mine")).toEqual({
      code: 1,
      stdout: "",
      stderr:
        "Disable the access key mine, which this command uses? It takes another one to enable it again. [y/N] postern: nothing was changed\n",
    });
    expect(patches()).toEqual([]);
    expect((await disable("a")).code).toBe(0);
    expect((await disable("mine", "--yes")).code).toBe(0);
    expect(patches()).toEqual([`PATCH ${base}/ownedaccesskeys/a`, `PATCH ${base}/ownedaccesskeys/mine`]);
  });

  it("asks for no agreement to revoke a key that is not there", async () => {
    answer({ kind: "Status", code: 404, reason: "NotFound", message: 'ownedaccesskeys "x" not found' }, 404);
    expect(await runCommand(["key", "revoke", "x"], environment, undefined, "y")).toEqual({
      code: 1,
      stdout: "",
      stderr: 'postern: ownedaccesskeys "x" not found\n',
    });
    expect(server.requests).toEqual(["GET /apis", `GET ${base}/ownedaccesskeys/x`]);
  });

  it("asks about a key that may be deleted and not read", async () => {
    answer({ kind: "Status", code: 403, reason: "Forbidden", message: "forbidden" }, 403);
    expect((await runCommand(["key", "revoke", "x"], environment, undefined, "n")).stderr).toContain(
      "Delete the access key x? ",
    );
  });

  it("revokes keys one after the other", async () => {
    answer({ kind: "Status", status: "Success" });
    expect((await runCommand(["key", "revoke", "--yes", "a", "b"], environment)).stdout).toBe(
      "access key a revoked\naccess key b revoked\n",
    );
  });

  it.each([
    ["revoke", "DELETE"],
    ["disable", "PATCH"],
  ])("lets no key that is refused keep the others from %s", async (verb, method) => {
    const messageOf = (name: string) => `ownedaccesskeys "${name}" not found`;
    server.respond(({ url }, response) => {
      if (url === "/apis") return sendJson(response, { groups: [{ name: "management.example.com" }] });
      const name = url?.split("/").at(-1) ?? "";
      if (name === "b") return sendJson(response, { metadata: { name } });
      sendJson(response, { kind: "Status", code: 404, reason: "NotFound", message: messageOf(name) }, 404);
    });
    expect(await runCommand(["key", verb, "--yes", "a", "b", "c"], environment)).toEqual({
      code: 1,
      stdout: `access key b ${verb.replace(/e$/, "")}ed\n`,
      stderr: `postern: ${messageOf("a")}\npostern: ${messageOf("c")}\n`,
    });
    expect(server.requests.slice(-3)).toEqual(
      ["a", "b", "c"].map((name) => `${method} ${base}/ownedaccesskeys/${name}`),
    );
  });

  it("asks for no further key with a credential that is refused", async () => {
    server.respond(({ url }, response) => {
      if (url === "/apis") return sendJson(response, { groups: [{ name: "management.example.com" }] });
      sendJson(response, { kind: "Status", code: 401, reason: "Unauthorized", message: "Unauthorized" }, 401);
    });
    expect((await runCommand(["key", "revoke", "--yes", "a", "b"], environment)).code).toBe(1);
    expect(server.requests.filter((request) => request.startsWith("DELETE"))).toEqual([
      `DELETE ${base}/ownedaccesskeys/a`,
    ]);
  });

  it("explains what to do about a refused credential, a foreign server and a missing one", async () => {
    const message = "platform access key not found. Please login again";
    server.respond((_, response) =>
      sendJson(response, { kind: "Status", code: 401, reason: "Unauthorized", message }, 401),
    );
    expect((await runCommand(["key", "list"], environment)).stderr).toBe(
      `postern: ${message} (401): check the credential in the kubeconfig (context main of ${environment["KUBECONFIG"]})\n`,
    );
    server.respond((_, response) => sendJson(response, { groups: [{ name: "apps" }] }));
    expect((await runCommand(["key", "list"], environment)).stderr).toMatch(
      /not Postern.*\(https:.*, context main of .*\): sign in/,
    );
    expect((await runCommand(["key", "list"], { KUBECONFIG: "/nowhere" })).stderr).toMatch(
      /no kubeconfig found in \/nowhere/,
    );
  });
});

describe("postern key create", () => {
  it("prints everything that a scope, a rule and a lifecycle can contain", async () => {
    answer({ metadata: { name: "ci" }, spec: { key: "pst_x" } }, 201);
    const lines = [
      "--description x --ttl 90m --ttl-after-last-activity --group g --secret-ref p-a/s --space a/s --cluster c",
      "--role platform-cli --verb get,list --verb watch --resource pods,pods/log,deployments.apps/scale --namespace default",
      "--source-range 10.0.0.0/8,2001:db8::/32 --source-range 192.0.2.1",
    ];
    const { code, stdout } = await runCommand(
      ["key", "create", ...lines.join(" ").split(" "), "-o", "yaml"],
      environment,
    );
    expect({ code, key: parse(stdout).spec.key }).toEqual({ code: 0, key: "pst_x" });
    expect(bodies[0].spec).toEqual({
      description: "x",
      ttl: 5400,
      ttlAfterLastActivity: true,
      groups: ["g"],
      secretRef: { namespace: "p-a", name: "s" },
      allowedSourceRanges: ["10.0.0.0/8", "2001:db8::/32", "192.0.2.1"],
      type: "User",
      scope: {
        spaces: [{ project: "a", space: "s" }],
        clusters: [{ cluster: "c" }],
        roles: [{ role: "platform-cli" }],
      },
      rules: [
        {
          verbs: ["get", "list", "watch"],
          resources: [
            { group: "", resources: ["pods", "pods/log"] },
            { group: "apps", resources: ["deployments/scale"] },
          ],
          namespaces: ["default"],
        },
      ],
    });
  });

  it("prints the warnings of the server, but not that the field of --verb is deprecated: no other one has verbs", async () => {
    const warning = '299 - "spec.rules: deprecated; use spec.scope.projects instead", 299 - "spec.ttl: careful"';
    answer({ metadata: { name: "ci" }, spec: { key: "pst_x" } }, 201, { warning });
    const { stderr } = await runCommand(["key", "create", "ci", "--verb", "get"], environment);
    expect(stderr).toBe("Warning: spec.ttl: careful\naccess key ci created; keep it now, it is not shown again\n");
  });

  it.each([
    [["--ttl-after-last-activity"], 1, "requires --ttl"],
    [["--secret-ref", "x"], 2, "namespace/name"],
  ])("refuses %j", async (args, code, message) => {
    const outcome = await runCommand(["key", "create", ...args], environment);
    expect(outcome).toMatchObject({ code, stderr: expect.stringContaining(message) });
  });
});

describe("postern kubeconfig", () => {
  it("prints the kubeconfig alone", async () => {
    const kubeConfig = JSON.stringify({
      "current-context": "a-demo",
      clusters: [{ name: "a-demo", cluster: { server: "https://x" } }],
      contexts: [{ name: "a-demo", context: { cluster: "a-demo", user: "a-demo" } }],
      users: [{ name: "a-demo", user: { token: "secret" } }],
    });
    answer({ status: { kubeConfig } }, 201);
    const args = ["kubeconfig", "demo", "--project", "a", "--ttl", "10m", "--cluster-server", "x"];
    const { code, stdout, stderr } = await runCommand(args, environment);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(parse(stdout)).toMatchObject({ ...JSON.parse(kubeConfig), apiVersion: "v1", kind: "Config" });
    expect(server.requests.at(-1)).toBe(`POST ${base}/namespaces/p-a/virtualclusterinstances/demo/kubeconfig`);
    expect(bodies[0].spec).toEqual({ certificateTTL: 600, server: "x" });
  });

  it.each([
    [["kubeconfig", "demo", "--all"], 1, "--all takes no name of a virtual cluster"],
    [["kubeconfig", "--all", "--context-name", "x"], 2, "cannot be used with option '--context-name <name>'"],
    [["kubeconfig", "demo", "--merge", "--out", "x"], 2, "cannot be used with option"],
  ])("refuses %j", async (args, code, message) => {
    expect(await runCommand(args, environment)).toMatchObject({ code, stderr: expect.stringContaining(message) });
  });
});
