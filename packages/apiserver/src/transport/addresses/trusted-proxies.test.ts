import { describe, expect, it } from "vitest";
import { echo, serveHandler } from "../testing/serve-handler.ts";
import { http1, http2, openHttp2 } from "../testing/test-clients.ts";
import { parseIpNetwork } from "./ip-networks.ts";
import { type ForwardedHeader, forwardedClient, type TrustedProxies } from "./trusted-proxies.ts";

const trusting = (networks: readonly string[], header: ForwardedHeader = "x-forwarded-for"): TrustedProxies => ({
  networks: networks.flatMap((text) => parseIpNetwork(text) ?? []),
  header,
  sendProxyProtocol: false,
});
const PROXIES = ["10.0.0.0/8", "fd00::/8"];
const PEER = "10.0.0.1";

describe("the client of a request that a trusted proxy passed on", () => {
  it.each<readonly [given: string | undefined, client: string]>([
    [undefined, PEER],
    ["", PEER],
    ["192.0.2.7", "192.0.2.7"],
    [" 192.0.2.7 ", "192.0.2.7"],
    // Only the last address before those of proxies is certain.
    ["203.0.113.1, 192.0.2.7", "192.0.2.7"],
    ["203.0.113.1,192.0.2.7,10.3.4.5", "192.0.2.7"],
    ["192.0.2.7, fd00::7, 10.3.4.5", "192.0.2.7"],
    ["10.0.0.9, 10.0.0.8", "10.0.0.9"],
    ["192.0.2.7:4711", "192.0.2.7"],
    ["[2001:DB8::1]:4711", "2001:db8::1"],
    ["2001:db8::1", "2001:db8::1"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["::ffff:c000:0207", "192.0.2.7"],
    ["192.0.2.7, unknown", PEER],
    ["192.0.2.7, unknown, 10.0.0.9", "10.0.0.9"],
    ["192.0.2.7,", PEER],
    ["localhost", PEER],
    ["fe80::1%eth0", PEER],
    ["1.2.3.4.5", PEER],
  ])("named in %j is %s", (given, client) =>
    expect(forwardedClient(trusting(PROXIES), PEER, { "x-forwarded-for": given })).toBe(client),
  );

  it.each<readonly [given: string, client: string]>([
    ["for=192.0.2.7", "192.0.2.7"],
    ['for="[2001:db8::1]:4711";proto=https', "2001:db8::1"],
    ["proto=https;For=192.0.2.7;by=10.0.0.2, for=10.0.0.3", "192.0.2.7"],
    ["for=192.0.2.7, for=unknown", PEER],
    ["for=192.0.2.7, for=_hidden", PEER],
    ["for=192.0.2.7, by=10.0.0.2", PEER],
  ])("named in Forwarded: %s is %s", (forwarded, client) =>
    expect(forwardedClient(trusting(PROXIES, "forwarded"), PEER, { forwarded })).toBe(client),
  );

  it("is not taken from the header that the proxies leave to the client", () => {
    const headers = { "x-forwarded-for": "192.0.2.7", forwarded: "for=203.0.113.9" };
    expect(forwardedClient(trusting(PROXIES), PEER, headers)).toBe("192.0.2.7");
    expect(forwardedClient(trusting(PROXIES, "forwarded"), PEER, headers)).toBe("203.0.113.9");
  });
});

describe("the address of a request", () => {
  const asked = async (trustedProxies: TrustedProxies | undefined, value: string | string[]) => {
    const { port } = await serveHandler(echo, {}, { trustedProxies });
    const one = await http1({ port, path: "/", headers: { "X-Forwarded-For": value } });
    const session = openHttp2(port);
    const two = await http2(session, { ":path": "/", "x-forwarded-for": value });
    session.destroy();
    return [one, two].map(({ body }) => JSON.parse(body).remoteAddress);
  };

  it("is that of the peer without a trusted proxy, whatever it says", async () => {
    expect(await asked(undefined, "192.0.2.7")).toEqual(["127.0.0.1", "127.0.0.1"]);
    expect(await asked(trusting(["10.0.0.0/8"]), "192.0.2.7")).toEqual(["127.0.0.1", "127.0.0.1"]);
  });

  it("is that of the client behind a trusted proxy, in both versions of HTTP", async () => {
    expect(await asked(trusting(["127.0.0.1"]), "203.0.113.1, 192.0.2.7")).toEqual(["192.0.2.7", "192.0.2.7"]);
  });

  it("is in the last of several headers", async () => {
    expect(await asked(trusting(["127.0.0.0/8"]), ["192.0.2.7", "192.0.2.8"])).toEqual(["192.0.2.8", "192.0.2.8"]);
  });
});
