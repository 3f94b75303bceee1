// A user who may connect a cluster points the platform at foreign addresses: by number, by name, in every form, and by redirect.

import { createServer as createHttps } from "node:https";
import { type AddressInfo, createServer, type Server } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import { serverCertificate } from "@postern/apiserver/transport/testing/serve-handler";
import { SPECIAL_NETWORKS } from "@postern/platform/foundation/upstream/address-rules";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type Answered, type AttackedServer, startAttacked } from "./testing/attacking.ts";

const SECRETS = "/api/v1/namespaces/p-default/secrets";
const INSTANCES = "namespaces/p-default/virtualclusterinstances";
/** The one address of this machine that the operator lets tenants use. */
const ALLOWED = "127.0.0.9";

let server: AttackedServer;
/** Server that must not be reached: it listens on every address of this machine. */
let victim: Server;
let reached = 0;
let port = 0;
beforeAll(async () => {
  server = await startAttacked(["--proxy-allowed-addresses", `${ALLOWED}/32`]);
  victim = createServer((socket) => {
    reached++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => victim.listen({ host: "::", port: 0 }, resolve));
  port = (victim.address() as AddressInfo).port;
});
afterAll(async () => {
  victim?.close();
  await server?.[Symbol.asyncDispose]();
});

let count = 0;
/** Connects a cluster at an address, and asks it for something. */
async function askAt(host: string, at = port, scheme = "https"): Promise<Answered> {
  const name = `at-${++count}`;
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server: `${scheme}://${host}:${at}`, "insecure-skip-tls-verify": true } }],
    users: [{ name, user: { token: "a-token-of-the-attackers" } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    "current-context": name,
  };
  await server.must({
    path: SECRETS,
    body: { metadata: { name: `vc-${name}` }, stringData: { config: JSON.stringify(config) } },
  });
  await server.must({ path: INSTANCES, body: { metadata: { name }, spec: { external: true } } });
  return await server.send({ path: `/kubernetes/project/default/virtualcluster/${name}/version` });
}

async function refused(hosts: readonly string[]): Promise<void> {
  const answers = await Promise.all(hosts.map((host) => askAt(host)));
  const reasons = answers.map(({ status, body }, at) => [hosts[at], status, body?.details?.causes?.[0]?.reason]);
  expect(reasons).toEqual(hosts.map((host) => [host, 502, "AddressRefused"]));
  // The content is not revealed.
  for (const [at, { text }] of answers.entries()) expect(text).not.toContain(`${hosts[at]}:${port}`);
}

const inUrl = (address: string): string => (address.includes(":") ? `[${address}]` : address);
const baseOf = (network: string): string => network.slice(0, network.indexOf("/"));
const isIPv4 = (network: string): boolean => !network.includes(":");

describe("an external virtual cluster (security book 31)", () => {
  test("is at none of the special-purpose addresses of IANA and of clouds", async () => {
    await refused(SPECIAL_NETWORKS.map(({ network }) => inUrl(baseOf(network))));
  });

  test("is at none of them in the forms in which IPv6 carries IPv4", async () => {
    const wanted = SPECIAL_NETWORKS.filter(({ network }) => isIPv4(network)).map(({ network }) => baseOf(network));
    for (const form of ["::ffff:", "::", "64:ff9b::", "64:ff9b:1::"])
      await refused(wanted.map((address) => `[${form}${address}]`));
  });

  /** Written down here, so that a network that is missing in the table of the server is noticed. */
  test.each([
    ["private networks", ["10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "[fd00::1]"]],
    ["links and metadata services", ["169.254.169.254", "[fe80::1]", "[fd00:ec2::254]", "100.100.100.200"]],
    ["networks of protocols and documents", ["192.0.2.1", "198.18.0.1", "203.0.113.1", "240.0.0.1", "[2001:db8::1]"]],
    [
      "IPv4 behind 6to4, Teredo and translators",
      ["[2002:a9fe:a9fe::1]", "[2001:0:a9fe:a9fe::1]", "[64:ff9b:1::a9fe:a9fe]"],
    ],
  ])("is at none of the %s", async (_what, hosts) => {
    await refused(hosts);
  });

  test("is at none of the addresses of this machine, whatever they are called", async () => {
    const own = Object.values(networkInterfaces()).flatMap((found) =>
      (found ?? []).map(({ address }) => inUrl(address)),
    );
    // As programs of other languages read them: one number, and octal, hexadecimal and missing octets.
    const spelled = ["2130706433", "0x7f000001", "017700000001", "127.1", "0x7f.1", "0177.0.0.1"];
    await refused([...own, ...spelled, "localhost", hostname()]);
  });

  test("is not reached at another address by a redirect", async () => {
    const target = createHttps(serverCertificate, (_request, response) => {
      response.writeHead(302, { location: `https://127.0.0.1:${port}/latest/meta-data` }).end();
    });
    await new Promise<void>((resolve) => target.listen({ host: ALLOWED, port: 0 }, resolve));
    try {
      const { port: at } = target.address() as AddressInfo;
      const before = reached;
      const { status, text } = await askAt(ALLOWED, at);
      expect([status >= 300, text.includes("meta-data")]).toEqual([true, false]);
      expect(reached).toBe(before);
    } finally {
      target.close();
    }
  });

  test("none of these was dialled, by requests, health checks or whatever else looks at clusters", async () => {
    await vi.waitFor(async () => {
      const { items } = (await server.send({ path: INSTANCES })).body;
      const looked = items.filter(({ metadata, status }: any) => metadata.name.startsWith("at-") && status?.conditions);
      expect(looked.length).toBe(count);
    });
    expect(reached).toBe(0);
    process.stdout.write(`${count} addresses, ${reached} dialled\n`);
  });
});
