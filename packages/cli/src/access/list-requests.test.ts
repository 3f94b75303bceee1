import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sendJson, startTestServer, type TestServer } from "@postern/client/testing/test-server";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runCommand } from "../testing/run-command.ts";
import { writeKubeconfig } from "../testing/write-kubeconfig.ts";

const directory = mkdtempSync(join(tmpdir(), "postern-access-"));
let server: TestServer;
let environment: Record<string, string>;

beforeAll(async () => {
  server = await startTestServer();
  const path = join(directory, "config");
  environment = { KUBECONFIG: path };
  writeKubeconfig(path, server);
});
afterAll(async () => {
  rmSync(directory, { recursive: true });
  await server[Symbol.asyncDispose]();
});

const REQUESTS = {
  items: [
    { metadata: { name: "new" } },
    { metadata: { name: "granted" }, status: { phase: "Approved" } },
    { metadata: { name: "over" }, status: { phase: "Expired" } },
  ],
};

it.each([
  [[], REQUESTS, ["new", "granted", "over"], ""],
  [["--state", "approved,Expired"], REQUESTS, ["granted", "over"], ""],
  [["--state", "Aproved"], REQUESTS, [], "no such access requests: PHASE is Approved or Expired or Pending\n"],
  [["--state", "Pending"], { items: [] }, [], "no access requests\n"],
])(
  "lists access requests with %j, and names the phases that there are where it finds none",
  async (flags, list, names, stderr) => {
    server.respond(({ url }, response) =>
      sendJson(response, url === "/apis" ? { groups: [{ name: "management.example.com" }] } : list),
    );
    const found = await runCommand(["access", "list", ...flags], environment);
    const shown = found.stdout.split("\n").slice(1, -1);
    expect([found.code, shown.map((line) => line.split(" ")[0]), found.stderr]).toEqual([0, names, stderr]);
  },
);
