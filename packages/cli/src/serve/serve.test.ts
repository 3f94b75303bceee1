import { EventEmitter, once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Configuration } from "@postern/platform/foundation/config/configuration";
import { Command } from "commander";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { run } from "../run.ts";
import { listenForStop } from "../stop-signals.ts";
import { createTestContext } from "../testing/run-command.ts";
import { createServeCommand, oldNodeNote, type StartServer } from "./serve.ts";
import { startText } from "./start-text.ts";

const directory = mkdtempSync(join(tmpdir(), "postern-serve-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const LINK = "https://127.0.0.1/login/link?code=once";

/** `postern serve` with a plain HTTP server in the place of the platform, which listens on the configured address. */
function startServe(args: readonly string[], environment: Record<string, string> = {}, isFirst = true, isTTY = false) {
  const { context: plain, written } = createTestContext(environment, directory);
  const context = { ...plain, stdout: { ...plain.stdout, isTTY } };
  const source = new EventEmitter();
  const exits: number[] = [];
  let configuration: Configuration | undefined;
  let now = 0;
  const startServer: StartServer = async (given) => {
    configuration = given;
    mkdirSync(given.dataDir, { recursive: true });
    if (isFirst) writeFileSync(join(given.dataDir, "admin.kubeconfig"), "");
    const server = http.createServer().listen(given.securePort, given.bindAddress);
    await once(server, "listening");
    return {
      url: `https://${given.bindAddress}:${(server.address() as AddressInfo).port}`,
      adminKubeconfigPath: join(given.dataDir, "admin.kubeconfig"),
      caPath: join(given.dataDir, "ca.crt"),
      createSignInLink: async () => LINK,
      async close() {
        server.close();
        await once(server, "close");
      },
    };
  };
  const ended = (async () => {
    const program = new Command("postern");
    const signals = { source, now: () => now, exit: (code: number) => void exits.push(code) };
    program.addCommand(await createServeCommand(context, async () => ({ startServer, signals })));
    return run(program, ["serve", ...args], context);
  })();
  return {
    ended,
    written,
    exits,
    /** Resolves once it has said so. */
    get ready() {
      return expect.poll(() => written.stdout).toContain("Postern is ready");
    },
    configuration: () => configuration,
    signal(name: NodeJS.Signals, at = 0) {
      now = at;
      source.emit(name, name);
    },
    listeners: () => source.listenerCount("SIGINT") + source.listenerCount("SIGTERM"),
  };
}

describe("postern serve", () => {
  it("prints its address and what to try, in a few lines", async () => {
    const serve = startServe(["--secure-port", "0"]);
    await serve.ready;
    const [ready, ...lines] = serve.written.stdout.trimEnd().split("\n");
    expect(ready).toMatch(/^Postern is ready at https:\/\/127\.0\.0\.1:[1-9]\d*$/);
    expect(lines.slice(0, 5)).toEqual([
      "",
      `  Console      ${ready?.replace(/^.* /, "")} (sign in with an access key)`,
      "  Access key   /usr/local/bin/postern key create laptop --ttl 24h --kubeconfig data/admin.kubeconfig",
      "  Kubeconfig   /usr/local/bin/postern kubeconfig demo --merge --kubeconfig data/admin.kubeconfig && kubectl get namespaces",
      "  Help         /usr/local/bin/postern --help, and docs/README.md of the source",
    ]);
    expect(serve.written.stdout.endsWith(`${lines[4]}\n${oldNodeNote(process.versions.node)}`)).toBe(true);
    serve.signal("SIGTERM");
    expect(await serve.ended).toBe(0);
  });

  it.each([
    ["on a terminal", [], true, true],
    ["elsewhere", [], false, false],
    ["elsewhere, if it is asked to", ["--print-sign-in-link"], false, true],
    ["on a terminal without the first administrator", [], true, false, false],
  ])("%s prints the one-time link or not", async (_, args, isTTY, isShown, isFirst = true) => {
    const dataDir = mkdtempSync(join(directory, "link-"));
    const serve = startServe(["--secure-port", "0", "--data-dir", dataDir, ...args], {}, isFirst, isTTY);
    await serve.ready;
    expect(serve.written.stdout.includes(LINK)).toBe(isShown);
    expect(serve.written.stderr).not.toContain(LINK);
    serve.signal("SIGTERM");
    await serve.ended;
  });

  it("names no kubeconfig where commands find the server by themselves", async () => {
    const folder = mkdtempSync(join(directory, "found-"));
    const { context, written } = createTestContext({ HOME: folder }, folder);
    const listed = join(folder, "data");
    mkdirSync(listed);
    const url = "https://127.0.0.1:8443";
    const kubeconfig = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "postern", cluster: { server: `${url}/kubernetes/management` } }],
      users: [{ name: "postern", user: { token: "not-a-key" } }],
      contexts: [{ name: "postern", context: { cluster: "postern", user: "postern" } }],
      "current-context": "postern",
    };
    writeFileSync(join(listed, "admin.kubeconfig"), JSON.stringify(kubeconfig), { mode: 0o600 });
    const source = new EventEmitter();
    const program = new Command("postern");
    const startServer: StartServer = async () => ({
      url,
      adminKubeconfigPath: join(listed, "admin.kubeconfig"),
      caPath: "",
      createSignInLink: async () => undefined,
      close: async () => {},
    });
    const signals = { source, now: () => 0, exit: () => {} };
    program.addCommand(await createServeCommand(context, async () => ({ startServer, signals })));
    const ended = run(program, ["serve"], context);
    await expect.poll(() => written.stdout).toContain("kubeconfig demo --merge && kubectl get namespaces");
    expect(written.stdout).toContain("key create laptop --ttl 24h\n");
    source.emit("SIGTERM", "SIGTERM");
    expect(await ended).toBe(0);
  });

  it("calls the command as users can call it again", async () => {
    const text = (command: string, args: readonly string[], PATH = "") => {
      const dataDir = mkdtempSync(join(directory, "name-"));
      writeFileSync(join(dataDir, "admin.kubeconfig"), "");
      const server = { url: "https://x", adminKubeconfigPath: join(dataDir, "admin.kubeconfig"), caPath: "" };
      const shown = startText({
        server,
        link: undefined,
        hasConsole: true,
        isFound: false,
        environment: { PATH },
        workingDirectory: "/srv/me",
        program: { command, args },
      });
      return /^ {2}Access key {3}(.*) key create/m.exec(shown)?.[1];
    };
    expect(text("/usr/bin/node", ["/srv/me/postern/packages/cli/bin/postern.js"])).toBe("npx postern");
    expect(text("npx", ["--yes", "postern@0.1.0"])).toBe("npx postern");
    expect(text("/srv/me/app/node_modules/.bin/postern", [])).toBe("npx postern");
    expect(text("/srv/me/postern-linux-x64", [])).toBe("./postern-linux-x64");
    expect(text("/opt/postern/postern-linux-x64", [])).toBe("/opt/postern/postern-linux-x64");
    const bin = mkdtempSync(join(directory, "bin-"));
    writeFileSync(join(bin, "postern"), "#!/bin/sh\n", { mode: 0o755 });
    expect(text("/usr/bin/node", ["/app/bundle/main.js"], `relative:${bin}`)).toBe("postern");
    const ofNpm = join(bin, "node_modules/.bin");
    mkdirSync(ofNpm, { recursive: true });
    writeFileSync(join(ofNpm, "postern"), "#!/bin/sh\n", { mode: 0o755 });
    expect(text("/usr/bin/node", ["/app/bundle/main.js"], ofNpm)).toBe("npx postern");
  });

  it.each([
    ["20.19.0", /^Node 20\.19\.0 is past its end of life, and slower than newer ones: run .* Node 24\n$/],
    ["21.7.3", /^Node 21\.7\.3 /],
    ["22.20.0", /^$/],
    ["24.18.0", /^$/],
    ["26.1.0", /^$/],
  ])("reports in one line whether Node %s is past its end of life", (version, line) => {
    expect(oldNodeNote(version)).toMatch(line);
  });

  it("prints a path outside the working directory whole, quoted for the shell", async () => {
    const outside = mkdtempSync(join(tmpdir(), "it's here-"));
    onTestFinished(() => rmSync(outside, { recursive: true }));
    const serve = startServe(["--secure-port", "0", "--data-dir", outside]);
    await serve.ready;
    expect(serve.written.stdout).toContain(`--kubeconfig '${outside.replace("'", `'\\''`)}/admin.kubeconfig'\n`);
    serve.signal("SIGINT");
    await serve.ended;
  });

  it("names no kubeconfig that is not there, as on the second server of a store", async () => {
    const serve = startServe(["--secure-port", "0", "--data-dir", join(directory, "second")], {}, false);
    await serve.ready;
    expect(serve.written.stdout).toMatch(/^Postern is ready at https:\/\/127\.0\.0\.1:\d+\n/);
    expect(serve.written.stdout).not.toContain("kubectl");
    serve.signal("SIGINT");
    expect(await serve.ended).toBe(0);
  });

  it("weighs flags over environment over file", async () => {
    const file = join(directory, "postern.yaml");
    writeFileSync(file, "securePort: 1\nplatform: { domain: file.example }\nmaxRequestsInflight: 7\n");
    const serve = startServe(
      [
        "--config",
        file,
        "--secure-port=0",
        "--tls-san",
        "a.example",
        "--tls-san",
        "b.example",
        "--kube-config-proxy-fallback",
      ],
      { POSTERN_PLATFORM_DOMAIN: "env.example", POSTERN_SECURE_PORT: "2" },
    );
    await serve.ready;
    expect(serve.configuration()).toMatchObject({
      securePort: 0,
      platform: { domain: "env.example" },
      maxRequestsInflight: 7,
      tlsSans: ["a.example", "b.example"],
      kubeConfig: { proxyFallback: true },
    });
    serve.signal("SIGINT");
    await serve.ended;
  });

  it.each([
    ["a wrong value", ["--secure-port", "70000"], {}, /^postern: --secure-port must be a whole number from 0 to 65535/],
    [
      "an unknown variable",
      [],
      { POSTERN_DATADIR: "x" },
      /unknown environment variable POSTERN_DATADIR .*POSTERN_DATA_DIR/,
    ],
    ["a missing file", ["--config", "none.yaml"], {}, /cannot read the configuration file .*none\.yaml \(ENOENT\)/],
    [
      "an address of another machine",
      ["--bind-address", "192.0.2.1", "--secure-port", "0"],
      {},
      /192\.0\.2\.1 is not an address of this machine.*--bind-address/,
    ],
  ])("refuses %s in one line, with code 1", async (_, args, environment, message) => {
    const serve = startServe(args, environment);
    expect(await serve.ended).toBe(1);
    expect(serve.written.stderr).toMatch(message);
    expect(serve.written.stderr.trim().split("\n")).toHaveLength(1);
    expect(serve.written.stdout).toBe("");
    expect(serve.listeners()).toBe(0);
  });

  it("reports which port is in use, and how to choose another", async () => {
    const other = http.createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const serve = startServe(["--secure-port", String(port)]);
    expect(await serve.ended).toBe(1);
    expect(serve.written.stderr).toBe(
      `postern: port ${port} on 127.0.0.1 is in use: stop the program that uses it, or choose another with --secure-port (0 for any free port)\n`,
    );
    other.close();
  });
});

it("a signal reaches a server that is starting", async () => {
  const { context } = createTestContext({}, directory);
  const source = new EventEmitter();
  const startServer: StartServer = async (_configuration, stopping) => {
    source.emit("SIGTERM", "SIGTERM");
    await once(stopping, "abort");
    throw new Error("the store is not there");
  };
  const program = new Command("postern");
  const signals = { source, now: () => 0, exit: () => expect.unreachable() };
  program.addCommand(await createServeCommand(context, async () => ({ startServer, signals })));
  expect(await run(program, ["serve"], context)).toBe(1);
});

describe("stop signals", () => {
  const listen = () => {
    const source = new EventEmitter();
    const exits: number[] = [];
    let now = 0;
    const signals = listenForStop({ source, now: () => now, exit: (code) => void exits.push(code) });
    const send = (signal: NodeJS.Signals, at: number) => {
      now = at;
      source.emit(signal, signal);
    };
    return { source, exits, signals, send };
  };

  it("resolve with the first, and exit at the second", async () => {
    const { exits, signals, send } = listen();
    send("SIGINT", 1000);
    expect(await signals.stopped).toBe("SIGINT");
    expect(exits).toEqual([]);
    send("SIGTERM", 3000);
    expect(exits).toEqual([143]);
  });

  it("ignore the repetition that npm sends", () => {
    const { exits, send } = listen();
    send("SIGINT", 1000);
    send("SIGINT", 1020);
    expect(exits).toEqual([]);
    send("SIGINT", 2000);
    expect(exits).toEqual([130]);
  });

  it("are let go", () => {
    const { source, signals } = listen();
    signals[Symbol.dispose]();
    expect(source.eventNames()).toEqual([]);
  });
});
