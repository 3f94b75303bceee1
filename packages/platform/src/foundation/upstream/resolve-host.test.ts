import { createSocket } from "node:dgram";
import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createHostResolver, type HostResolverOptions, type ResolveHost } from "./resolve-host.ts";
import { searchListOf } from "./search-list.ts";

/** Addresses, a response code of DNS, or no answer at all. */
type Zone = { readonly [name: string]: readonly string[] | number | "silent" };

const NAME_ERROR = 3;
const SERVER_FAILURE = 2;
const TYPES = new Map([
  [1, 4],
  [28, 6],
]);

/** A DNS server of the names; others do not exist. Its address, and the names that it is asked for. */
async function startDns(zone: Zone): Promise<{ readonly server: string; readonly asked: readonly string[] }> {
  const socket = createSocket("udp4").bind(0, "127.0.0.1");
  onTestFinished(() => void socket.close());
  const asked: string[] = [];
  socket.on("message", (query, { port, address }) => {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString("latin1", at + 1, at + 1 + length));
      at += 1 + length;
    }
    const name = labels.join(".");
    const family = TYPES.get(query.readUInt16BE(at + 1));
    asked.push(name);
    const known = zone[name] ?? NAME_ERROR;
    if (known === "silent") return;
    const addresses = typeof known === "number" ? [] : known.filter((each) => (each.includes(":") ? 6 : 4) === family);
    const head = Buffer.from(query.subarray(0, 12));
    head.writeUInt16BE(0x8180 | (typeof known === "number" ? known : 0), 2);
    head.writeUInt16BE(addresses.length, 6);
    head.writeUInt32BE(0, 8);
    const records = addresses.map((each) => {
      const bytes = family === 4 ? Buffer.from(each.split(".").map(Number)) : Buffer.from([...Array(15).fill(0), 1]);
      const record = Buffer.alloc(12);
      record.writeUInt16BE(0xc00c, 0);
      query.copy(record, 2, at + 1, at + 5);
      record.writeUInt32BE(60, 6);
      record.writeUInt16BE(bytes.length, 10);
      return Buffer.concat([record, bytes]);
    });
    socket.send(Buffer.concat([head, query.subarray(12, at + 5), ...records]), port, address);
  });
  await once(socket, "listening");
  return { server: `127.0.0.1:${socket.address().port}`, asked };
}

function textFile(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "resolve-host-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "file"), text);
  return join(folder, "file");
}

async function resolverOf(zone: Zone, options: HostResolverOptions & { readonly search?: string } = {}) {
  const { server, asked } = await startDns(zone);
  const systemAsked: string[] = [];
  const system: ResolveHost = (hostname, _options, callback) => {
    systemAsked.push(hostname);
    callback(Object.assign(new Error("absent"), { code: "ENOTFOUND" }), []);
  };
  const resolveHost = createHostResolver({
    servers: [server],
    hostsFile: "/nonexistent",
    searchFile: options.search === undefined ? "/nonexistent" : textFile(options.search),
    system,
    ...options,
  });
  return { resolve: resolving(resolveHost), asked, systemAsked };
}

/** The addresses, or the code of the error. */
const resolving = (resolveHost: ResolveHost) => (name: string) =>
  new Promise<readonly string[] | string | undefined>((resolve) => {
    resolveHost(name, { all: true }, (error: NodeJS.ErrnoException | null, found: LookupAddress[]) =>
      resolve(error === null ? found.map(({ address }) => address) : error.code),
    );
  });

describe("the names of targets", () => {
  it("have all their addresses", async () => {
    const { resolve } = await resolverOf({ "both.example": ["10.0.0.1", "::1", "10.0.0.2"], "six.example": ["::1"] });
    expect(await resolve("both.example")).toEqual(["10.0.0.1", "10.0.0.2", "::1"]);
    expect(await resolve("six.example")).toEqual(["::1"]);
    expect(await resolve("BOTH.example")).toEqual(["10.0.0.1", "10.0.0.2", "::1"]);
  });

  it("come from the hosts file first", async () => {
    const hostsFile = textFile("# comment\n10.0.0.9\tListed.example alias # here\n::1 alias\n");
    const { resolve, asked } = await resolverOf({ "listed.example": ["10.0.0.1"] }, { hostsFile });
    expect(await resolve("listed.example")).toEqual(["10.0.0.9"]);
    expect(await resolve("alias")).toEqual(["10.0.0.9", "::1"]);
    expect(asked).toEqual([]);
  });

  it("are completed by the search list, as in a Pod", async () => {
    const search = "search ns.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n";
    const zone = { "api.other.svc.cluster.local": ["10.96.0.1"], "far.example": ["10.0.0.1"] };
    const { resolve, asked } = await resolverOf(zone, { search });
    expect(await resolve("api.other")).toEqual(["10.96.0.1"]);
    expect([...new Set(asked)]).toEqual(["api.other.ns.svc.cluster.local", "api.other.svc.cluster.local"]);
    expect(await resolve("far.example")).toEqual(["10.0.0.1"]);
  });

  it("are asked of the system where DNS has none", async () => {
    const { resolve, systemAsked } = await resolverOf({});
    expect(await resolve("printer.local")).toBe("ENOTFOUND");
    expect(systemAsked).toEqual(["printer.local"]);
    expect(await resolve(`${"x".repeat(80)}.example`)).toBe("ENOTFOUND");
  });

  it("cannot be resolved now where servers fail", async () => {
    const { resolve, systemAsked } = await resolverOf({ "broken.example": SERVER_FAILURE });
    expect(await resolve("broken.example")).toBe("EAI_AGAIN");
    expect(systemAsked).toEqual([]);
  });

  it("do not wait for names whose servers do not answer", async () => {
    const silent = Object.fromEntries(
      Array.from({ length: 90 }, (_, at) => [`n${at}.evil.example`, "silent"] as const),
    );
    const attempts = { timeout: 500, tries: 2 };
    const { resolve } = await resolverOf({ ...silent, "good.example": ["10.0.0.1"] }, { attempts });
    const answered: unknown[] = [];
    const slow = Object.keys(silent).map((name) => resolve(name).then((found) => answered.push(found)));
    expect(await resolve("good.example")).toEqual(["10.0.0.1"]);
    expect(answered).toEqual([]);
    await Promise.all(slow);
    expect(new Set(answered)).toEqual(new Set(["EAI_AGAIN"]));
  });
});

describe("what only the system knows", () => {
  it("is asked for one name at a time, and not of a domain that was slow", async () => {
    let now = 0;
    const pending: { readonly name: string; readonly answer: () => void }[] = [];
    const system: ResolveHost = (name, _options, callback) =>
      void pending.push({ name, answer: () => callback(null, [{ address: "10.0.0.1", family: 4 }]) });
    const { resolve } = await resolverOf({}, { system, elapsed: () => now });
    const names = ["a.evil.example.com", "b.evil.example.com", "office.local"];
    const found: Promise<unknown>[] = [];
    for (const name of names) {
      found.push(resolve(name));
      // The first is under way before the next arrives.
      if (name.startsWith("a")) await expect.poll(() => pending.length).toBe(1);
    }
    now = 2_000;
    await expect.poll(() => pending.map(({ name }) => name)).toEqual(["a.evil.example.com"]);
    pending[0]?.answer();
    await expect.poll(() => pending.map(({ name }) => name)).toEqual(["a.evil.example.com", "office.local"]);
    pending[1]?.answer();
    expect(await Promise.all(found)).toEqual([["10.0.0.1"], "EAI_AGAIN", ["10.0.0.1"]]);
    now = 63_000;
    const again = resolve("c.evil.example.com");
    await expect.poll(() => pending.length).toBe(3);
    now = 74_000;
    const late = resolve("late.local");
    pending[2]?.answer();
    expect(await again).toEqual(["10.0.0.1"]);
    await expect.poll(() => pending.length).toBe(4);
    pending[3]?.answer();
    expect(await late).toEqual(["10.0.0.1"]);
  });
});

describe("searchListOf", () => {
  it("reads domains and dots", () => {
    expect(searchListOf("")).toEqual({ domains: [], dots: 1 });
    expect(searchListOf("nameserver 10.0.0.1\nsearch a.example b.example\noptions timeout:1 ndots:5")).toEqual({
      domains: ["a.example", "b.example"],
      dots: 5,
    });
    expect(searchListOf("domain a.example\nsearch .\noptions ndots:99")).toEqual({ domains: [], dots: 15 });
  });
});
