// The example of an own server, driven by the real kubectl.

import { randomBytes } from "node:crypto";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type EmbeddedServer, startExample, writeKubeconfig } from "./testing/embedded-server.ts";
import { kubectlClients } from "./testing/kubectl-clients.ts";
import { kubectlWith, REPOSITORY, startTool, succeed, temporaryDirectory } from "./testing/postern-process.ts";
import { makeSelfSigned } from "./testing/self-signed.ts";

const EXAMPLE = join(REPOSITORY, "examples/embed/bakery.ts");
const WAIT = { timeout: 60_000, interval: 50 };

const LOAF = (name: string, flour: string, grams?: number): string =>
  JSON.stringify({
    apiVersion: "bakery.example.com/v1",
    kind: "Loaf",
    metadata: { name },
    spec: { flour, ...(grams === undefined ? {} : { grams }) },
  });

const { clients } = await kubectlClients();
const program = clients[0]?.program ?? "kubectl";
let folder: Awaited<ReturnType<typeof temporaryDirectory>>;
let server: EmbeddedServer;
const tokens = { admin: randomBytes(24).toString("hex"), alice: randomBytes(24).toString("hex") };

beforeAll(async () => {
  folder = await temporaryDirectory();
  const [key, cert] = [join(folder.path, "tls.key"), join(folder.path, "tls.crt")];
  await makeSelfSigned({
    certificate: cert,
    key,
    subject: "/CN=bakery",
    days: 1,
    extensions: ["subjectAltName=IP:127.0.0.1"],
  });
  await writeFile(
    join(folder.path, "tokens.csv"),
    `${tokens.admin},admin,1,"system:masters"\n${tokens.alice},alice,2\n`,
  );
  await start();
});

afterAll(async () => {
  await server?.stop();
  await folder?.[Symbol.asyncDispose]();
});

async function start(): Promise<void> {
  server = await startExample(EXAMPLE, folder.path);
  for (const [user, token] of Object.entries(tokens)) await writeKubeconfig(folder.path, user, server.url, token);
}

const as =
  (user: keyof typeof tokens) =>
  (line: string, input?: string): ReturnType<ReturnType<typeof kubectlWith>> =>
    kubectlWith(join(folder.path, `${user}.kubeconfig`), join(folder.path, "cache"), program)(line.split(" "), input);

describe("the embedded server of examples/embed", () => {
  it("is under 60 lines", async () => {
    expect((await readFile(EXAMPLE, "utf8")).split("\n").length).toBeLessThanOrEqual(60);
  });

  it("serves discovery and the descriptions of its fields", async () => {
    expect(await succeed(as("admin")("api-resources --api-group bakery.example.com"))).toMatch(
      /loaves\s+bakery.example.com\/v1\s+true\s+Loaf/,
    );
    expect(await succeed(as("admin")("explain loaf.spec"))).toContain("The flour that the loaf is made of.");
  });

  it("applies objects, fills in defaults and shows its columns", async () => {
    expect(await succeed(as("admin")("apply --server-side -f -", LOAF("rye", "rye")))).toContain("serverside-applied");
    expect(await succeed(as("admin")("apply -f -", LOAF("white", "wheat", 500)))).toContain("created");
    expect(await succeed(as("admin")("apply -f -", LOAF("white", "wheat", 600)))).toContain("configured");
    const table = await succeed(as("admin")("get loaves"));
    expect(table).toMatch(/NAME\s+FLOUR\s+GRAMS/);
    expect(table).toMatch(/rye\s+rye\s+750/);
    expect(table).toMatch(/white\s+wheat\s+600/);
  });

  it("refuses what schema and strategy do not allow", async () => {
    expect((await as("admin")("apply -f -", LOAF("odd", "sand"))).stderr).toContain("Unsupported value");
    expect((await as("admin")("apply -f -", LOAF("white", "rye", 600))).stderr).toContain("field is immutable");
  });

  it("sends watch events", async () => {
    const args = [
      "--kubeconfig",
      join(folder.path, "admin.kubeconfig"),
      "get",
      "loaves",
      "--watch",
      "--output-watch-events",
    ];
    using watch = startTool(program, args);
    await expect.poll(() => watch.output(), WAIT).toContain("white");
    await succeed(as("admin")('patch loaf white --type merge -p {"spec":{"grams":700}}'));
    await expect.poll(() => watch.output(), WAIT).toMatch(/MODIFIED\s+white\s+wheat\s+700/);
  });

  it("decides by RBAC", async () => {
    expect((await as("alice")("get loaves")).stderr).toContain(
      'User "alice" cannot list resource "loaves" in API group "bakery.example.com" in the namespace "default"',
    );
    await succeed(as("admin")("create role eater --verb get,list --resource loaves.bakery.example.com"));
    await succeed(as("admin")("create rolebinding alice --role eater --user alice"));
    await expect.poll(async () => (await as("alice")("get loaves")).stdout, WAIT).toContain("white");
    expect((await as("alice")("delete loaf white")).stderr).toContain('cannot delete resource "loaves"');
  });

  it("keeps its objects in SQLite", async () => {
    await server.stop();
    expect((await stat(join(folder.path, "bakery.db"))).size).toBeGreaterThan(0);
    await start();
    expect(await succeed(as("alice")("get loaf white -o jsonpath={.spec.grams}"))).toBe("700");
  });
});
