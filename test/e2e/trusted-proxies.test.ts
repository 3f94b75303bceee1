// HAProxy stands in front of the server, on 127.0.0.1: the audit log and the limits go by the addresses of its clients, which they cannot choose.

import { readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { expect, test } from "vitest";
import { adminKey } from "./testing/http-client.ts";
import { startLoadBalancer } from "./testing/load-balancer.ts";
import { FRONT_THREADS, startPostern, temporaryDirectory } from "./testing/postern-process.ts";

const PATH = "/apis/management.postern/v1/projects";
const FORGED = { "X-Forwarded-For": "203.0.113.9", Forwarded: "for=203.0.113.9" };

test.each([
  ["PROXY protocol, version 1", { mode: "tcp", server: "send-proxy" }, ["--proxy-protocol"]],
  ["PROXY protocol, version 2", { mode: "tcp", server: "send-proxy-v2" }, ["--proxy-protocol"]],
  ["X-Forwarded-For", { mode: "http", frontend: ["option forwardfor"] }, []],
  [
    "Forwarded",
    { mode: "http", frontend: ['http-request add-header Forwarded "for=%[src]"'] },
    ["--forwarded-header", "forwarded"],
  ],
] as const)("the server sees the clients of a load balancer that names them by %s", async (_how, balancing, flags) => {
  await using directory = await temporaryDirectory();
  const dataDir = join(directory.path, "data");
  const auditPath = join(directory.path, "audit.log");
  await using server = await startPostern(dataDir, [
    ...["--trusted-proxies", "127.0.0.1", "--audit-log-path", auditPath, "--audit-log-mode", "blocking"],
    ...["--failed-logins-per-minute", "1", ...flags],
  ]);
  const key = await adminKey(server);
  const ca = await readFile(server.caFile);
  const pem = join(directory.path, "both.pem");
  const parts = ["tls.crt", "tls.key"].map((name) => readFile(join(dataDir, name), "utf8"));
  await writeFile(pem, (await Promise.all(parts)).join(""), { mode: 0o600 });
  const target = Number(new URL(server.url).port);
  await using balancer = await startLoadBalancer({ folder: directory.path, target, pem, ...balancing });
  // HAProxy has read it.
  await rm(pem);

  const ask = (from: string, port: number, authorization = `Bearer ${key}`) =>
    new Promise<number | undefined>((resolve, reject) => {
      const options = { ca, agent: false, headers: { authorization, ...FORGED, "user-agent": `from ${from} ${port}` } };
      request(
        { host: "127.0.0.1", servername: "localhost", port, path: PATH, localAddress: from, ...options },
        (response) => {
          response.resume().on("end", () => resolve(response.statusCode));
        },
      )
        .on("error", reject)
        .end();
    });
  const sourceOf = async (from: string, port: number) => {
    const lines = (await readFile(auditPath, "utf8")).trimEnd().split("\n");
    const events = lines
      .map((line) => JSON.parse(line))
      .filter(({ userAgent }) => userAgent === `from ${from} ${port}`);
    return [...new Set(events.map(({ sourceIPs }) => sourceIPs.join(" ")))];
  };

  for (const from of ["127.0.0.2", "127.0.0.3"]) {
    expect(await ask(from, balancer.port)).toBe(200);
    expect(await sourceOf(from, balancer.port)).toEqual([from]);
  }
  // Not by way of the load balancer, it chooses no address either.
  expect(await ask("127.0.0.2", target)).toBe(200);
  expect(await sourceOf("127.0.0.2", target)).toEqual(["127.0.0.2"]);

  // One wrong key a minute is answered at once, at each address; by each thread.
  const wrong = async (from: string): Promise<boolean> => {
    const startedAt = performance.now();
    expect(await ask(from, balancer.port, "Bearer wrong")).toBe(401);
    return performance.now() - startedAt > 900;
  };
  expect(await wrong("127.0.0.2")).toBe(false);
  const later: boolean[] = [];
  for (let thread = 0; thread < FRONT_THREADS; thread++) later.push(await wrong("127.0.0.2"));
  expect(later).toContain(true);
  expect(await wrong("127.0.0.3")).toBe(false);
});
