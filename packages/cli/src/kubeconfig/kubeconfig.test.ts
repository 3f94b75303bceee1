// Content that a platform may write into the kubeconfig of a user, and onto the terminal.

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseKubeconfig } from "@postern/client/kubeconfig";
import { sendJson, startTestServer, type TestServer } from "@postern/client/testing/test-server";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { runCommand } from "../testing/run-command.ts";

const directory = mkdtempSync(join(tmpdir(), "postern-kubeconfig-command-"));
const merged = join(directory, "merged");
let platform: TestServer;
let environment: Record<string, string>;

beforeAll(async () => {
  platform = await startTestServer();
  environment = { POSTERN_URL: platform.url, POSTERN_TOKEN: "secret", POSTERN_CA: platform.certificatePem };
});
beforeEach(() => rmSync(merged, { force: true }));
afterAll(async () => {
  await platform[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

type Parts = { name?: string; cluster?: object; user?: object; context?: object };

const kubeconfigOf = ({ name = "shop-web", cluster = {}, user = {}, context = {} }: Parts = {}) =>
  stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server: "https://web.example.com", ...cluster } }],
    users: [{ name, user: { token: "pst_x", ...user } }],
    contexts: [{ name, context: { cluster: name, user: name, ...context } }],
    "current-context": name,
  });

function answer(parts: Parts, status: object = {}, headers: Record<string, string> = {}, items: object[] = []) {
  platform.respond(({ url = "", method }, response, body) => {
    if (url === "/apis") return sendJson(response, { groups: [{ name: "management.example.com" }] });
    if (method === "GET") return sendJson(response, { kind: "List", metadata: {}, items });
    const [, project = "", instance = ""] = /\/p-([^/]+)\/virtualclusterinstances\/([^/]+)\/kubeconfig/.exec(url) ?? [];
    const { contextName = `${project}-${instance}` } = JSON.parse(body).spec;
    const kubeConfig = kubeconfigOf({ name: contextName, ...parts });
    sendJson(response, { status: { kubeConfig, ...status } }, 201, headers);
  });
}

const postern = (...args: string[]) => runCommand(["kubeconfig", ...args], environment);
const merge = (...args: string[]) => postern("web", "--project", "shop", "--merge", merged, ...args);

describe("postern kubeconfig", () => {
  it.each<[string, Parts]>([
    ["a command", { user: { exec: { apiVersion: "client.authentication.k8s.io/v1", command: "sh" } } }],
    ["a provider of credentials", { user: { "auth-provider": { name: "x" } } }],
    ["a file with a token", { user: { tokenFile: "/etc/ssl/private/key.pem" } }],
    ["a file with a key", { user: { "client-key": "/etc/ssl/private/key.pem" } }],
    ["an impersonated user", { user: { as: "someone" } }],
    ["a file with an authority", { cluster: { "certificate-authority": "/etc/passwd" } }],
    ["a proxy", { cluster: { "proxy-url": "socks5://evil.example.com" } }],
    ["extensions", { context: { extensions: [] } }],
  ])("refuses %s of the platform", async (_, parts) => {
    answer(parts);
    for (const args of [[], ["--client-cert"], ["--exec"]]) {
      const { code, stdout, stderr } = await merge(...args);
      // With --exec and --client-cert, only what is taken from the server counts.
      expect([code, stdout, stderr]).toEqual([1, "", expect.stringContaining("refused the kubeconfig of the server")]);
      expect(existsSync(merged)).toBe(false);
    }
    expect(await postern("web", "--project", "shop")).toMatchObject({ code: 1, stdout: "" });
  });

  it("does not replace the entry of another cluster", async () => {
    writeFileSync(merged, kubeconfigOf({ name: "production", cluster: { server: "https://production.example.com" } }));
    answer({ name: "production" });
    expect(await merge()).toMatchObject({ code: 1, stderr: expect.stringContaining("its context is not shop-web") });
    answer({});
    expect((await merge()).code).toBe(0);
    const { clusters } = parseKubeconfig(readFileSync(merged, "utf8"), merged);
    expect([...clusters].map(([name, { server }]) => [name, server])).toEqual([
      ["production", "https://production.example.com"],
      ["shop-web", "https://web.example.com"],
    ]);
  });

  it("does not mistake one of two virtual clusters of the same context name for the other", async () => {
    const place = (namespace: string, name: string) => ({ metadata: { namespace, name } });
    answer({}, {}, {}, [place("p-a-b", "c"), place("p-a", "b-c"), place("p-a", "d")]);
    expect((await postern("--all", "--merge", merged)).code).toBe(0);
    const { contexts } = parseKubeconfig(readFileSync(merged, "utf8"), merged);
    expect([...contexts.keys()]).toEqual(["a-b/c", "a/b-c", "a-d"]);
  });

  it.each([
    ["2", "https://web.example.com", 0],
    ["shop/web", "https://web.example.com", 0],
    ["blog", "https://web.example.com", 0],
    ["web", "web names no virtual cluster of the list", 1],
    ["7", "7 names no virtual cluster of the list", 1],
    ["", "no virtual cluster was chosen", 1],
    [
      undefined,
      "name one virtual cluster, or all of them with --all; virtual clusters that you can see: shop/blog, shop/web, a/web",
      1,
    ],
  ])("without a name, asks on a terminal and takes %j", async (typed, message, exitCode) => {
    const place = (namespace: string, name: string) => ({ metadata: { namespace, name } });
    answer({}, {}, {}, [place("p-shop", "blog"), place("p-shop", "web"), place("p-a", "web")]);
    const { code, stdout, stderr } = await runCommand(["kubeconfig"], environment, undefined, typed);
    expect([code, `${stdout}${stderr}`]).toEqual([exitCode, expect.stringContaining(message)]);
    if (typed !== undefined)
      expect(stderr).toContain("  1) shop/blog\n  2) shop/web\n  3) a/web\nWhich virtual cluster?");
  });

  it("names the virtual cluster that is missing in a project of which only virtual clusters are visible", async () => {
    platform.respond(({ url = "", method }, response) => {
      if (url === "/apis") return sendJson(response, { groups: [{ name: "management.example.com" }] });
      if (method === "POST")
        return sendJson(response, { kind: "Status", status: "Failure", reason: "NotFound", code: 404 }, 404);
      const items = url.includes("/virtualclusterinstances")
        ? [{ metadata: { namespace: "p-shop", name: "web" } }]
        : [];
      sendJson(response, { kind: "List", metadata: {}, items });
    });
    expect((await postern("shop/nope")).stderr).toBe(
      'postern: no virtual cluster "nope" in the project shop that you can see; virtual clusters that you can see: shop/web\n',
    );
  });

  it.each([["a/b/c"], ["/b"], ["a/"]])("refuses the name %s", async (name) => {
    expect((await postern(name)).stderr).toBe(
      `postern: ${name} is no virtual cluster: write its name, or <project>/<name>\n`,
    );
  });

  it("takes the project in front of the name, and the same one as a flag", async () => {
    answer({});
    expect(await postern("shop/web")).toMatchObject({ code: 0 });
    expect(await postern("shop/web", "--project", "shop")).toMatchObject({ code: 0 });
    expect((await postern("shop/web", "--project", "blog")).stderr).toContain(
      "names another project than --project blog",
    );
  });

  describe("for both ways to a virtual cluster", () => {
    /** A server with so many ways. */
    const answerWays = (count: number) => {
      const asked: object[] = [];
      platform.respond(({ url = "" }, response, body) => {
        if (url === "/apis") return sendJson(response, { groups: [{ name: "management.example.com" }] });
        const { contextName = "shop-web", endpoint } = JSON.parse(body).spec;
        asked.push({ contextName, endpoint, isDry: url.includes("dryRun") });
        const server = endpoint === "Cluster" ? "https://direct.example.com" : "https://web.example.com";
        const config = parse(kubeconfigOf({ name: contextName, cluster: { server } }));
        if (endpoint === "Both" && count === 2) config.contexts.push({ name: `${contextName}-direct`, context: {} });
        sendJson(response, { status: { kubeConfig: stringify(config) } }, 201);
      });
      return asked;
    };
    const contextsIn = (): readonly (readonly [string, string])[] =>
      [...parseKubeconfig(readFileSync(merged, "utf8"), merged).clusters].map(([name, { server }]) => [name, server]);

    it("writes a context for each, with a credential of its own", async () => {
      const asked = answerWays(2);
      expect(await merge("--endpoint", "Both", "-o", "name")).toMatchObject({
        code: 0,
        stdout: "shop-web\nshop-web-direct\n",
      });
      expect(asked).toEqual([
        { contextName: "shop-web", endpoint: "Both", isDry: true },
        { contextName: "shop-web", endpoint: "Platform", isDry: false },
        { contextName: "shop-web-direct", endpoint: "Cluster", isDry: false },
      ]);
      expect(contextsIn()).toEqual([
        ["shop-web", "https://web.example.com"],
        ["shop-web-direct", "https://direct.example.com"],
      ]);
      const { stdout } = await postern("web", "--project", "shop", "--endpoint", "Both");
      expect(parse(stdout)["current-context"]).toBe("shop-web");
    });

    it("has the plugin ask for each way", async () => {
      answerWays(2);
      expect((await merge("--endpoint", "Both", "--exec", "--context-name", "mine")).code).toBe(0);
      const { users } = parse(readFileSync(merged, "utf8"));
      const ways = users.map(({ name, user }: any) => [name, user.exec.args[user.exec.args.indexOf("--endpoint") + 1]]);
      expect(ways).toEqual([
        ["mine", "Platform"],
        ["mine-direct", "Cluster"],
      ]);
    });

    it("writes one where there is one", async () => {
      answerWays(1);
      expect((await merge("--endpoint", "Both", "--exec")).code).toBe(0);
      expect(contextsIn()).toEqual([["shop-web", "https://web.example.com"]]);
      expect(readFileSync(merged, "utf8")).not.toContain("--endpoint");
      expect((await runCommand(["credentials", "get", "web", "--endpoint", "Both"], environment)).code).not.toBe(0);
    });
  });

  it("prints JSON, and the names of the contexts that it wrote", async () => {
    answer({});
    expect(JSON.parse((await postern("shop/web", "-o", "json")).stdout)).toMatchObject({ kind: "Config" });
    expect(await merge("-o", "name")).toMatchObject({ code: 0, stdout: "shop-web\n" });
    expect((await postern("shop/web", "-o", "name")).stderr).toContain("add --out or --merge");
  });

  it("shows text of the platform as text alone, on its line", async () => {
    const warning = '299 - "\u009b2Jred"';
    answer({}, { expirationTimestamp: "now\n::add-path::/evil\u001b[2J\u202e" }, { warning });
    const { code, stderr } = await merge();
    expect(code).toBe(0);
    expect(stderr).toContain("Warning:  2Jred\n");
    expect(stderr).toContain("expires at now ::add-path::/evil [2J ");
    expect(stderr).not.toMatch(/[^\P{Cc}\n]|\u202e|^::/mu);
  });
});
