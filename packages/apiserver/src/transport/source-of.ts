// Who counts as one sender, by the address of the peer.

const GROUPS_OF_NETWORK = 4;

/** An address, and of IPv6 the network: whoever has one address of a /64 has all of them. */
export function sourceOf(address = ""): string {
  if (!address.includes(":") || address.includes(".")) return address;
  const [before = "", after] = address.split("::");
  const groups = before.split(":");
  if (after !== undefined) {
    const missing = 8 - groups.length - after.split(":").length;
    groups.push(...Array.from({ length: missing }, () => "0"));
  }
  return groups.slice(0, GROUPS_OF_NETWORK).join(":");
}
