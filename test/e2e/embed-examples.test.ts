// The examples of a custom store, authenticator and subresources, driven by the real kubectl; and the store by the suite of all stores.

import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describeStorage } from "@postern/apiserver/storage/testing/storage-suite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openJournalStorage } from "../../examples/embed/journal-storage.ts";
import { type EmbeddedServer, exampleCommand, startExample, writeKubeconfig } from "./testing/embedded-server.ts";
import { kubectlClients } from "./testing/kubectl-clients.ts";
import { kubectlWith, REPOSITORY, succeed, temporaryDirectory } from "./testing/postern-process.ts";

const { clients } = await kubectlClients();
const program = clients[0]?.program ?? "kubectl";
const admin = randomBytes(24).toString("hex");

type Kubectl = (line: string, input?: string) => ReturnType<ReturnType<typeof kubectlWith>>;

/** The example, started anew on the same folder by `start`, and kubectl as its administrator. */
class Example {
  readonly script: string;
  folder!: Awaited<ReturnType<typeof temporaryDirectory>>;
  server: EmbeddedServer | undefined;

  constructor(name: string) {
    this.script = join(REPOSITORY, "examples/embed", name);
    beforeAll(async () => {
      this.folder = await temporaryDirectory();
      await writeFile(this.path("tokens.csv"), `${admin},admin,1,"system:masters"\n`);
      await this.start();
    });
    afterAll(async () => {
      await this.server?.stop();
      await this.folder?.[Symbol.asyncDispose]();
    });
  }

  path(name: string): string {
    return join(this.folder.path, name);
  }

  async start(): Promise<void> {
    this.server = await startExample(this.script, this.folder.path);
    await writeKubeconfig(this.folder.path, "admin", this.server.url, admin);
  }

  as(user: string): Kubectl {
    const kubectl = kubectlWith(this.path(`${user}.kubeconfig`), this.path("cache"), program);
    return (line, input) => kubectl(line.split(" "), input);
  }

  readonly kubectl: Kubectl = (line, input) => this.as("admin")(line, input);
}

const LOAF = (name: string, spec: object): string =>
  JSON.stringify({ apiVersion: "bakery.example.com/v1", kind: "Loaf", metadata: { name }, spec });

describe("a store of your own", () => {
  describeStorage("the journal", async () => {
    const folder = await temporaryDirectory();
    const open = () => openJournalStorage(join(folder.path, "objects.journal"));
    return { storage: await open(), reopen: open, cleanUp: async () => await folder[Symbol.asyncDispose]() };
  });

  const example = new Example("own-store.ts");
  const journal = () => example.path("objects.journal");

  it("has what was written before the server ended, and nothing of a line that a crash tore", async () => {
    await succeed(example.kubectl("apply -f -", LOAF("kept", { flour: "rye" })));
    await succeed(example.kubectl("apply -f -", LOAF("gone", { flour: "rye" })));
    await succeed(example.kubectl("delete loaf gone"));
    const version = await succeed(example.kubectl("get loaf kept -o jsonpath={.metadata.resourceVersion}"));
    await example.server?.stop();
    const whole = await readFile(journal(), "utf8");
    await appendFile(journal(), whole.slice(0, 40));
    await example.start();
    expect(await succeed(example.kubectl("get loaves -o jsonpath={.items[*].metadata.name}"))).toBe("kept");
    expect(await succeed(example.kubectl("get loaf kept -o jsonpath={.metadata.resourceVersion}"))).toBe(version);
    await succeed(example.kubectl("apply -f -", LOAF("kept", { flour: "spelt" })));
    expect((await readFile(journal(), "utf8")).startsWith(whole)).toBe(true);
  });
});

describe("an authenticator of your own", () => {
  const example = new Example("own-authenticator.ts");

  async function login(user: string, seconds: number, change = (token: string): string => token): Promise<Kubectl> {
    const args = [...exampleCommand(example.script), example.folder.path, "sign", user, String(seconds), "bakers"];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: REPOSITORY });
    await writeKubeconfig(example.folder.path, user, example.server?.url ?? "", change(stdout.trim()));
    return example.as(user);
  }

  it("knows the user and the groups of a signed token", async () => {
    const alice = await login("alice", 3600);
    const { username, groups } = JSON.parse(await succeed(alice("auth whoami -o json"))).status.userInfo;
    expect({ username, groups }).toEqual({ username: "alice", groups: ["bakers", "system:authenticated"] });
    expect((await alice("get configmaps")).stderr).toContain('User "alice" cannot list resource "configmaps"');
    await succeed(example.kubectl("create rolebinding bakers --clusterrole view --group bakers"));
    expect(await succeed(alice("auth can-i list configmaps"))).toBe("yes\n");
  });

  it("refuses a token that has expired, or was changed", async () => {
    const expired = await login("carol", -1);
    expect((await expired("get configmaps")).stderr).toContain("You must be logged in to the server");
    const changed = await login("eve", 3600, (token) => {
      const [payload = "", signature = ""] = token.slice("bakery_".length).split(".");
      const claims = { ...JSON.parse(Buffer.from(payload, "base64url").toString()), groups: ["system:masters"] };
      return `bakery_${Buffer.from(JSON.stringify(claims)).toString("base64url")}.${signature}`;
    });
    expect((await changed("get configmaps")).stderr).toContain("You must be logged in to the server");
  });

  it("leaves other tokens to the file", async () => {
    expect(await succeed(example.kubectl("auth whoami -o jsonpath={.status.userInfo.username}"))).toBe("admin");
  });
});

describe("subresources", () => {
  const example = new Example("subresource.ts");
  const URL_OF = "/apis/bakery.example.com/v1/namespaces/default/loaves";
  const baking = (degrees: number): string =>
    JSON.stringify({ apiVersion: "bakery.example.com/v1", kind: "Baking", spec: { degrees } });

  beforeAll(async () => void (await succeed(example.kubectl("apply -f -", LOAF("monday", { grams: 1000 })))));

  it("compute a view", async () => {
    expect(JSON.parse(await succeed(example.kubectl(`get --raw ${URL_OF}/monday/nutrition`)))).toMatchObject({
      kind: "Nutrition",
      status: { kilocalories: 2500 },
    });
    expect((await example.kubectl(`get --raw ${URL_OF}/tuesday/nutrition`)).stderr).toContain('"tuesday" not found');
  });

  it("act once, on a body that has passed its schema, and not in a dry run", async () => {
    const bake = (query: string, degrees: number) =>
      example.kubectl(`create --raw ${URL_OF}/monday/bake${query} -f -`, baking(degrees));
    expect((await bake("", 900)).stderr).toContain("should be less than or equal to 300");
    await succeed(bake("?dryRun=All", 220));
    expect(await succeed(example.kubectl("get loaf monday"))).not.toContain("220");
    await succeed(bake("", 220));
    expect(await succeed(example.kubectl("get loaf monday"))).toMatch(/NAME\s+BAKED AT\nmonday\s+220/);
    expect((await bake("", 230)).stderr).toContain('loaf "monday" is baked already');
  });

  it("are in discovery", async () => {
    const { resources } = JSON.parse(await succeed(example.kubectl("get --raw /apis/bakery.example.com/v1")));
    const names = resources.map(({ name }: { name: string }) => name);
    expect(names.toSorted()).toEqual(["loaves", "loaves/bake", "loaves/nutrition", "loaves/status"]);
  });
});
