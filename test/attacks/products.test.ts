// Products of inputs, each within its limit: everything that a tenant can store in numbers meets everything that can be sent at a size. Where both
// sides double, work may double: work that grows as their product stops everybody long before either limit is reached. The kernel counts the work
// of the thread that serves everybody, and turn-watch.mjs its longest turn, so that a busy machine decides nothing. By day a sample drawn with
// TEST_SEED; EVERY_CASE=1 runs the whole matrix. Work of controllers counts as well: filling a cluster, a change beside what is stored, and the
// removal of everything are measured until the server is quiet. PRODUCT_TABLE names a file to which all figures are appended, one JSON text a line.

import { appendFile, readFile, writeFile } from "node:fs/promises";
import { Agent } from "node:https";
import { join } from "node:path";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import {
  converting,
  startWebhookServer,
  type WebhookServer,
} from "@postern/platform/features/virtual-clusters/embedded/testing/webhook-server";
import { temporaryDirectory } from "@postern/platform/testing/temporary-directory";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { everyCase } from "../../tools/test-cost/by-night.ts";
import { agentClient, type HttpRequest } from "../e2e/testing/http-client.ts";
import { API } from "./testing/attacked-server.ts";
import { startTenants, type Tenants } from "./testing/denial/tenants.ts";
import { createFrontProxyFiles } from "./testing/front-proxy-files.ts";
import { costOf, costUntilQuiet } from "./testing/processor-time.ts";
import { CHANGES } from "./testing/products/changes.ts";
import { createTemplate } from "./testing/products/project-things.ts";
import { SENT_THINGS, type SentThing } from "./testing/products/sent-things.ts";
import type { StoredThing } from "./testing/products/stored-thing.ts";
import { STORED_THINGS } from "./testing/products/stored-things.ts";

const WATCH = new URL("./testing/turn-watch.mjs", import.meta.url).href;
/** As in longest-turn.test.ts. */
const MOST_UNITS = 5;
/** Less work than this is lost in the noise of a server: no product of limits is that small. Milliseconds. */
const FLOOR_MS = 60;
/** Where both sides double, a sum grows by two and a product by four. */
const PRODUCT = 3;
/** Where both double there is four times as much stored. Work of controllers that looks at all of it grows by four, and a product by eight. */
const PRODUCT_OF_STORED = 6;
/** As FLOOR_MS, where the server is watched for seconds. */
const PHASE_FLOOR_MS = 200;
const TRIES = 3;
/** Bytes that answers may leave behind, in caches with a limit of their own. */
const MOST_RETAINED = 32 << 20;
const AT_ONCE = 20;
/** How many kinds of stored objects a day looks at. */
const BY_DAY = 1;
/** By night there are so many times as many, of so many times the size. */
const SCALE = everyCase ? Number(process.env["PRODUCT_SCALE"] ?? 3) : 1;

const APPLY = { "content-type": "application/apply-patch+yaml" };

const SCIM = { "content-type": "application/scim+json" };

const seed = Number(process.env["TEST_SEED"] ?? 1);
const random = randomNumbers(seed);
const drawn = drawnFrom(STORED_THINGS, BY_DAY);
const stored = everyCase ? STORED_THINGS : STORED_THINGS.filter((thing) => drawn.has(thing));

/** Some at the same time, in order of their index. */
async function atOnce(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await work(index);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** Without drawing one twice. */
function drawnFrom<Thing>(things: readonly Thing[], count: number): ReadonlySet<Thing> {
  const left = [...things];
  return new Set(Array.from({ length: count }, () => left.splice(random(left.length), 1)).flat());
}

type Measured = { readonly ms: number; readonly bytes: number; readonly status: number };
type Turns = {
  readonly longestMs: number;
  readonly longestWorkMs: number;
  readonly unitMs: number;
  readonly retainedBytes: number;
};
type Phase = { readonly ms: number; readonly units: number };

/** A line of the table. */
async function record(kind: string, what: string, first: number, second: number, units: number): Promise<void> {
  const table = process.env["PRODUCT_TABLE"] ?? "";
  const row = {
    kind,
    what,
    scale: SCALE,
    ms: Math.round(first),
    doubledMs: Math.round(second),
    units: +units.toFixed(1),
  };
  if (table !== "") await appendFile(table, `${JSON.stringify(row)}\n`);
}

describe(`what tenants store times what is sent (seed ${seed})`, () => {
  let tenants: Tenants;
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let file: string;
  let bystander: string;
  let directoryKey: string;
  let webhook: WebhookServer;
  /** Connections of another kube-apiserver. */
  let frontProxy: Agent;
  let clusters = 0;
  let lastRefusal = "";

  beforeAll(async () => {
    directory = await temporaryDirectory();
    file = join(directory.path, "turns.json");
    const hosting = await createFrontProxyFiles(directory.path);
    await hosting.makeAuthority("authority");
    await hosting.makeCertificate("front-proxy", "front-proxy-client", "authority");
    tenants = await startTenants({
      objects: 0,
      flags: [
        ...["--proxy-allowed-addresses", "127.0.0.1/32"],
        ...["--requestheader-client-ca-file", hosting.path("authority.pem")],
      ],
      env: { NODE_OPTIONS: `--import=${WATCH}`, TURN_WATCH_FILE: file },
    });
    const [cert, key] = await Promise.all(["pem", "key"].map((kind) => readFile(hosting.path(`front-proxy.${kind}`))));
    frontProxy = new Agent({ ca: tenants.ca, ...(cert && { cert }), ...(key && { key }), keepAlive: true });
    await createTemplate((path, body) => tenants.send(path, { key: tenants.admin, body }));
    bystander = await tenants.newKey("bystander", { user: "good" });
    directoryKey = await createDirectory();
    webhook = await startWebhookServer();
    webhook.raw.set(
      "/convert",
      converting((object, apiVersion) => ({ ...object, apiVersion })),
    );
  });
  afterAll(async () => {
    frontProxy?.destroy();
    await tenants?.[Symbol.asyncDispose]();
    await webhook?.[Symbol.asyncDispose]();
    await directory?.[Symbol.asyncDispose]();
  });

  /** A key for SCIM. */
  async function createDirectory(): Promise<string> {
    const name = "directory";
    const make = async (path: string, body: object): Promise<void> => {
      const { status, text } = await tenants.send(path, { key: tenants.admin, body });
      expect(status, text).toBe(201);
    };
    await make(`${API}/users`, { metadata: { name }, spec: { kind: "Bot" } });
    await make("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
      metadata: { name },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "postern:admin" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name }],
    });
    return await tenants.newKey(name, { user: name, scope: { roles: [{ role: "scim" }] } });
  }

  /** The path of an embedded cluster with nothing in it but what every cluster has. */
  async function newCluster(workloads = "stored"): Promise<string> {
    const name = `product-${clusters++}`;
    const path = `${API}/namespaces/p-tenant/virtualclusterinstances`;
    const made = await tenants.send(path, {
      key: tenants.admin,
      body: { metadata: { name }, spec: { owner: { user: "attacker" }, template: { workloads } } },
    });
    expect(made.status, made.text).toBe(201);
    await vi.waitFor(async () => {
      const { body } = await tenants.send(`${path}/${name}`, { key: tenants.admin });
      expect(body?.status?.phase).toBe("Ready");
    });
    return `/kubernetes/project/tenant/virtualcluster/${name}`;
  }

  async function removeCluster(path: string): Promise<void> {
    const name = path.split("/").at(-1);
    await tenants.send(`${API}/namespaces/p-tenant/virtualclusterinstances/${name}`, {
      key: tenants.admin,
      method: "DELETE",
    });
  }

  const credentialOf = ({ by }: StoredThing) =>
    by === "directory" ? { key: directoryKey, headers: SCIM } : { key: tenants.target.key };

  /** As many as the server takes: a limit that refuses the rest has done its work. Returns the names. */
  async function fill(thing: StoredThing, cluster: string, times: number): Promise<readonly string[]> {
    const [count, size] = [thing.base.count * times * SCALE, thing.base.size * times * SCALE];
    let isFull = false;
    const sendUntilTaken = async (path: string, request: HttpRequest): Promise<boolean> => {
      const whole = path.startsWith("/") ? path : `${cluster}/${path}`;
      for (;;) {
        const { status, text } = await tenants.send(whole, { ...credentialOf(thing), ...request });
        if (status === 429) continue;
        if (status === 200 || status === 201 || status === 409) return true;
        expect([403, 413, 422, 507], `${whole}: ${status} ${text.slice(0, 300)}`).toContain(status);
        lastRefusal = `${status} ${text.slice(0, 300)}`;
        return false;
      }
    };
    const store = (path: string, body: object): Promise<boolean> => sendUntilTaken(path, { body });
    const storeOne = (body: any, index: number): Promise<boolean> => {
      if (thing.manager === undefined) return store(thing.path, body);
      const path = `${thing.path}/${body.metadata.name}?force=true&fieldManager=${thing.manager(index)}`;
      return sendUntilTaken(path, { method: "PATCH", headers: APPLY, body });
    };
    if (thing.before !== undefined) {
      expect(await thing.before(store, size, webhook), "whether the server took what the objects need").toBe(true);
      // A definition is served soon after it was created.
      const served = thing.path.startsWith("/") ? thing.path : `${cluster}/${thing.path}`;
      await vi.waitFor(async () => expect((await tenants.send(served, credentialOf(thing))).status).toBe(200));
    }
    const made: string[] = [];
    await atOnce(count, async (index) => {
      if (isFull) return;
      const body: any = thing.object(index, size);
      if (await storeOne(body, index)) made.push(body.metadata?.name);
      else isFull = true;
    });
    return made;
  }

  /** Controllers are done: what they make of the objects is not left behind by answers. */
  async function settle({ path, place, by }: StoredThing): Promise<void> {
    if (place !== "project" || by === "directory") return;
    await vi.waitFor(
      async () => {
        const { body } = await tenants.send(path, { key: tenants.target.key });
        expect(body.items.filter(({ status }: any) => status?.phase === "Pending")).toHaveLength(0);
      },
      { timeout: 300_000, interval: 500 },
    );
  }

  /** By what they are narrowed to. */
  const narrowed = new Map<string, string>();

  async function keyFor({ by, base, narrowedTo }: SentThing, times: number): Promise<string | undefined> {
    if (by === "front proxy") return undefined;
    if (by === "directory") return directoryKey;
    if (narrowedTo === undefined) return by === "tenant" ? tenants.target.key : bystander;
    const spec = { user: "attacker", ...narrowedTo(base * times) };
    const text = JSON.stringify(spec);
    const key = narrowed.get(text) ?? (await tenants.newKey(`narrowed-${narrowed.size}`, spec));
    narrowed.set(text, key);
    return key;
  }

  async function send(thing: SentThing, cluster: string, times: number): Promise<Measured> {
    const { path, request, base, by } = thing;
    const target = path(base * times);
    const whole = target.startsWith("/") ? target : `${cluster}/${target}`;
    const key = await keyFor(thing, times);
    const client = by === "front proxy" ? agentClient(tenants.url, frontProxy) : tenants.send;
    const tries: Measured[] = [];
    for (let each = 0; each < TRIES; each++) {
      const { ms, value } = await costOf(tenants.process.pid ?? 0, () =>
        client(whole, { ...(by === "directory" ? { headers: SCIM } : {}), key, ...request?.(base * times) }),
      );
      // The server refuses more often while it is busy with what was stored.
      if (value.status === 429) each--;
      else tries.push({ ms, bytes: value.text.length, status: value.status });
    }
    return tries.reduce((least, each) => (each.ms < least.ms ? each : least));
  }

  async function toggle(isOn: boolean): Promise<Turns> {
    await writeFile(file, "{}");
    process.kill(tenants.process.pid ?? 0, "SIGUSR2");
    return await vi.waitFor(
      async () => {
        const found = JSON.parse(await readFile(file, "utf8"));
        if (found.isOn !== isOn) throw new Error("the server has not seen the signal");
        return found;
      },
      { interval: 5 },
    );
  }

  /** Least turns of tries, since a collection of garbage may fall into any of them. */
  async function longestTurn(thing: SentThing, cluster: string): Promise<number> {
    const tries: number[] = [];
    while (tries.length < TRIES && Math.min(...tries) > MOST_UNITS) {
      await toggle(true);
      await send(thing, cluster, 2);
      const { longestMs, unitMs } = await toggle(false);
      tries.push(longestMs / unitMs);
    }
    return Math.min(...tries);
  }

  /** Of a phase and all that controllers do because of it. Collections of garbage are no turns of its work: it is too long to be tried again. */
  async function phase(work: () => Promise<unknown>): Promise<Phase> {
    await toggle(true);
    const ms = await costUntilQuiet(tenants.process.pid ?? 0, work);
    const { longestWorkMs, unitMs } = await toggle(false);
    return { ms, units: longestWorkMs / unitMs };
  }

  /** One object of each kind that controllers look at, which then goes again. */
  async function change(cluster: string): Promise<void> {
    const key = tenants.target.key;
    for (const { path, body } of CHANGES) await tenants.send(`${cluster}/${path}`, { key, body });
    for (const { path, body } of CHANGES) {
      await tenants.send(`${cluster}/${path}/${body.metadata.name}`, { key, method: "DELETE" });
    }
  }

  /** Of a kind; those in a project one by one, since others are beside them. */
  async function removeAll(thing: StoredThing, cluster: string, made: readonly string[]): Promise<void> {
    const { path } = thing;
    const isInCluster = !path.startsWith("/");
    const whole = isInCluster ? `${cluster}/${path}` : path;
    const ofTenant = { key: tenants.target.key };
    const all = isInCluster ? await tenants.send(whole, { ...ofTenant, method: "DELETE" }) : undefined;
    // Namespaces are removed one by one.
    if (all !== undefined) expect([200, 405], all.text.slice(0, 300)).toContain(all.status);
    if (all?.status === 200) return;
    await atOnce(made.length, async (index) => {
      for (;;) {
        const { status, text } = await tenants.send(`${whole}/${made[index]}`, { ...ofTenant, method: "DELETE" });
        if (status === 429) continue;
        expect([200, 202, 404], text.slice(0, 300)).toContain(status);
        return;
      }
    });
  }

  type Faults = ReadonlyMap<string, string>;

  async function faultsOf(thing: StoredThing): Promise<Faults> {
    const [one, two] = [await newCluster(thing.workloads), await newCluster(thing.workloads)];
    let small: readonly string[] = [];
    let large: readonly string[] = [];
    const filled = await phase(async () => {
      small = await fill(thing, one, 1);
    });
    expect(small.length, `objects that the server took: ${lastRefusal}`).toBeGreaterThan(0);
    const before = new Map<string, Measured>();
    for (const sent of SENT_THINGS) before.set(sent.name, await send(sent, one, 1));
    const faults = new Map<string, string>();
    const growth = (first: number, second: number): string =>
      `${first.toFixed(0)} ms, both sides doubled: ${second.toFixed(0)} ms`;
    const lookAtTurn = (what: string, units: number): void => {
      if (units > MOST_UNITS) faults.set(`turns of ${what}`, `a turn of ${units.toFixed(1)} units`);
    };
    const compare = async (what: string, first: Phase, second: Phase): Promise<void> => {
      await record(thing.name, what, first.ms, second.ms, second.units);
      if (second.ms > PHASE_FLOOR_MS && second.ms > PRODUCT_OF_STORED * Math.max(first.ms, FLOOR_MS))
        faults.set(`work of ${what}`, growth(first.ms, second.ms));
      lookAtTurn(what, second.units);
    };
    const changed = await phase(() => change(one));
    const filledTwice = await phase(async () => {
      large = await fill(thing, two, 2);
    });
    await compare("filling", filled, filledTwice);
    await settle(thing);
    await compare("a change", changed, await phase(() => change(two)));
    await toggle(true);
    const { retainedBytes: retainedBefore } = await toggle(false);
    for (const sent of SENT_THINGS) {
      const first = before.get(sent.name);
      if (first === undefined) throw new Error(sent.name);
      const second = await send(sent, two, 2);
      const isServed = second.status < 500 || second.status === 507;
      if (!isServed) faults.set(`answers to ${sent.name}`, `${second.status}`);
      // An answer of four times the size may take four times the work, in short turns.
      const allowed = PRODUCT * Math.max(1, second.bytes / Math.max(first.bytes, 1) / 2);
      if (second.ms > FLOOR_MS && second.ms / first.ms > allowed)
        faults.set(`work of ${sent.name}`, growth(first.ms, second.ms));
      const units = await longestTurn(sent, two);
      await record(thing.name, sent.name, first.ms, second.ms, units);
      lookAtTurn(sent.name, units);
    }
    await toggle(true);
    const { retainedBytes } = await toggle(false);
    if (retainedBytes - retainedBefore > MOST_RETAINED)
      faults.set("memory", `the answers left ${Math.round((retainedBytes - retainedBefore) / 1024)} KiB behind`);
    // A directory removes nothing: it sets people inactive.
    if (thing.by !== "directory") {
      const removed = await phase(() => removeAll(thing, one, small));
      await compare("the removal", removed, await phase(() => removeAll(thing, two, large)));
    }
    await removeCluster(one);
    await removeCluster(two);
    return faults;
  }

  test.each(stored.map((thing) => [thing.name, thing] as const))(
    "%s",
    async (_, thing) => {
      const faults = await faultsOf(thing);
      // A collection of garbage can fall into any phase, and a phase cannot be repeated by itself. What a directory has stored stays.
      const again = faults.size === 0 || thing.by === "directory" ? faults : await faultsOf(thing);
      const both = [...faults].filter(([what]) => again.has(what));
      expect(both.map(([what, fault]) => `${what}: ${fault}; again: ${again.get(what)}`)).toEqual([]);
    },
    1_200_000,
  );
});
