import { ipAddressOctets } from "@postern/apiserver/transport/addresses/ip-networks";
import { describe, expect, it } from "vitest";
import { createAddressRules, LOCAL_TO_A_LINK, PRIVATE_NETWORKS } from "./address-rules.ts";

const tenants = createAddressRules({ refuse: [...LOCAL_TO_A_LINK, ...PRIVATE_NETWORKS] });
const administrators = createAddressRules();

/**
 * The registries as IANA publishes them, and multicast. Written down here once more, so that a row that the code loses is missed.
 * `inside`: what is around it is refused as well, so that its neighbours say nothing.
 */
// biome-ignore format: a table
const REGISTRIES: [network: string, inside?: "inside"][] = [
  ["0.0.0.0/8"], ["10.0.0.0/8"], ["100.64.0.0/10"], ["127.0.0.0/8"], ["169.254.0.0/16"], ["172.16.0.0/12"],
  ["192.0.0.0/24"], ["192.0.0.0/29", "inside"], ["192.0.0.8/32", "inside"], ["192.0.0.9/32", "inside"], ["192.0.0.10/32", "inside"],
  ["192.0.0.170/32", "inside"], ["192.0.0.171/32", "inside"], ["192.0.2.0/24"], ["192.31.196.0/24"], ["192.52.193.0/24"],
  ["192.88.99.0/24"], ["192.168.0.0/16"], ["192.175.48.0/24"], ["198.18.0.0/15"], ["198.51.100.0/24"], ["203.0.113.0/24"],
  ["240.0.0.0/4", "inside"], ["255.255.255.255/32", "inside"], ["224.0.0.0/4", "inside"],
  ["::1/128", "inside"], ["::/128", "inside"], ["::/96", "inside"], ["64:ff9b:1::/48", "inside"], ["100::/64", "inside"],
  ["100:0:0:1::/64", "inside"], ["2001::/23"], ["2001::/32", "inside"], ["2001:1::1/128", "inside"], ["2001:1::2/128", "inside"],
  ["2001:1::3/128", "inside"], ["2001:2::/48", "inside"], ["2001:3::/32", "inside"], ["2001:4:112::/48", "inside"],
  ["2001:10::/28", "inside"], ["2001:20::/28", "inside"], ["2001:30::/28", "inside"], ["2001:db8::/32"], ["2002::/16"],
  ["2620:4f:8000::/48"], ["3fff::/20"], ["5f00::/16", "inside"], ["fc00::/7", "inside"], ["fe80::/10", "inside"],
  ["fec0::/10", "inside"], ["ff00::/8", "inside"], ["::ffff:0:0:0/120", "inside"],
];

const toNumber = (address: string): bigint =>
  ipAddressOctets(address).reduce((number, octet) => (number << 8n) | BigInt(octet), 0n);

function toText(number: bigint, bits: number): string {
  const octets = Array.from({ length: bits / 8 }, (_, at) => Number((number >> BigInt(bits - 8 * (at + 1))) & 0xffn));
  if (bits === 32) return octets.join(".");
  const groups = octets.map((octet) => octet.toString(16).padStart(2, "0")).join("");
  return (groups.match(/.{4}/g) ?? []).join(":");
}

function edgesOf(network: string) {
  const [address = "", length = ""] = network.split("/");
  const bits = address.includes(":") ? 128 : 32;
  const first = toNumber(address);
  const last = first + (1n << BigInt(bits - Number(length))) - 1n;
  const text = (number: bigint) => toText(number, bits);
  const most = (1n << BigInt(bits)) - 1n;
  return {
    inside: [first, first + (last - first) / 2n, last].map(text),
    neighbours: [first - 1n, last + 1n].filter((number) => number >= 0n && number <= most).map(text),
  };
}

describe("addresses that tenants may point the platform at (security book 31)", () => {
  it.each(REGISTRIES)(
    "refuses the first, the middle and the last address of %s, and not its neighbours",
    (network, inside) => {
      const edges = edgesOf(network);
      for (const address of edges.inside) expect([address, tenants.isAllowed(address)]).toEqual([address, false]);
      if (inside !== undefined) return;
      for (const address of edges.neighbours) expect([address, tenants.isAllowed(address)]).toEqual([address, true]);
    },
  );

  it.each(REGISTRIES.filter(([network]) => !network.includes(":")))(
    "refuses %s in every form in which IPv6 carries it",
    (network) => {
      for (const address of edgesOf(network).inside) {
        const [a, b, c, d] = address.split(".").map((octet) => Number(octet).toString(16).padStart(2, "0"));
        for (const carrier of [
          `::ffff:${address}`,
          `::${address}`,
          `::ffff:0:${address}`,
          `64:ff9b::${address}`,
          `64:ff9b:1::${address}`,
          `64:ff9b:1:${a}${b}:${c}:${d}00::`,
          `2002:${a}${b}:${c}${d}::1`,
          `2001:0:${a}${b}:${c}${d}::1`,
        ])
          expect([carrier, tenants.isAllowed(carrier)]).toEqual([carrier, false]);
      }
    },
  );

  it.each(["1.1.1.1", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2606:4700::1111", "2a00:1450::1", "223.255.255.255"])(
    "allows %s",
    (address) => expect(tenants.isAllowed(address)).toBe(true),
  );

  it.each(["4000::1", "8000::1", "e000::1", "1::1", "1fff::1", "fe00::1", "64:ff9b:2::1"])(
    "refuses %s, where IANA has given out nothing",
    (address) => expect(tenants.isAllowed(address)).toBe(false),
  );

  it("refuses the addresses of this machine, however they are written, as they are at that moment", () => {
    const own = ["1.2.3.4"];
    const rules = createAddressRules({ refuse: PRIVATE_NETWORKS, ownAddresses: () => own });
    for (const address of ["1.2.3.4", "::ffff:1.2.3.4", "64:ff9b::102:304"])
      expect(rules.isAllowed(address)).toBe(false);
    expect(rules.isAllowed("2a00::7")).toBe(true);
    own.push("2a00::7%eth0");
    for (const address of ["2a00::7", "2a00:0:0::0:7", "2a00::7%lo"]) expect(rules.isAllowed(address)).toBe(false);
  });

  it("allows what the operator allows, in its other spellings too, and nothing around it", () => {
    const rules = createAddressRules({
      refuse: [...LOCAL_TO_A_LINK, ...PRIVATE_NETWORKS],
      allow: ["10.20.0.0/16", "fd00:1::/64", "1.2.3.4"],
      ownAddresses: () => ["1.2.3.4"],
    });
    for (const address of [
      "10.20.0.0",
      "10.20.255.255",
      "::ffff:10.20.3.4",
      "64:ff9b::10.20.3.4",
      "fd00:1::1",
      "1.2.3.4",
    ])
      expect([address, rules.isAllowed(address)]).toEqual([address, true]);
    for (const address of [
      "10.19.255.255",
      "10.21.0.0",
      "::10.20.3.4",
      "2002:a14:304::1",
      "fd00:1:0:1::",
      "fd00:0:ffff::",
    ])
      expect([address, rules.isAllowed(address)]).toEqual([address, false]);
  });
});

describe("addresses that administrators may point the platform at (security book 31)", () => {
  it.each(["10.0.0.1", "127.0.0.1", "::1", "fd00::1", "192.168.1.1", "1.1.1.1", "64:ff9b:1::10.0.0.1"])(
    "allows %s",
    (address) => expect(administrators.isAllowed(address)).toBe(true),
  );

  it.each([
    "169.254.169.254",
    "::169.254.169.254",
    "2002:a9fe:a9fe::1",
    "2001:0:a9fe:a9fe::",
    "64:ff9b:1::169.254.169.254",
    "64:ff9b:1:a9fe:a9:fe00::",
    "fe80::1%eth0",
    "ff02::1",
    "100::1",
    "0.0.0.0",
    "localhost",
    "",
  ])("refuses %s", (address) => expect(administrators.isAllowed(address)).toBe(false));
});
