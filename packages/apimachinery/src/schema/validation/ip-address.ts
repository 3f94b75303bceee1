// Tells IP addresses and ranges from other text, as Go's net package does.
// Source: https://pkg.go.dev/net#ParseIP

const OCTET = /^(?:0|[1-9]\d{0,2})$/;
const HEX_GROUP = /^[0-9A-Fa-f]{1,4}$/;

/** Any address with dots, also an IPv6 one that ends in an IPv4 one. */
export const isIPv4 = (text: string): boolean => text.includes(".") && isIPAddress(text);

export const isIPv6 = (text: string): boolean => text.includes(":") && isIPAddress(text);

/** `10.0.0.0/8`, `fd00::/8` */
export function isCidr(text: string): boolean {
  const [address = "", bits = "", ...rest] = text.split("/");
  if (rest.length > 0 || !OCTET.test(bits) || !isIPAddress(address)) return false;
  return Number(bits) <= (address.includes(":") ? 128 : 32);
}

export const isIPAddress = (text: string): boolean => (text.includes(":") ? isColonAddress(text) : isDottedQuad(text));

function isDottedQuad(text: string): boolean {
  const octets = text.split(".");
  return octets.length === 4 && octets.every((octet) => OCTET.test(octet) && Number(octet) <= 255);
}

function isColonAddress(text: string): boolean {
  const halves = text.split("::");
  if (halves.length > 2) return false;
  const counts = halves.map((half, index) => countGroups(half, index === halves.length - 1));
  if (counts.includes(undefined)) return false;
  const total = counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
  return halves.length === 2 ? total < 8 : total === 8;
}

/** The number of 16-bit groups in the text; undefined if it is invalid. Only the end may be dotted. */
function countGroups(half: string, atEnd: boolean): number | undefined {
  if (half === "") return 0;
  const groups = half.split(":");
  const last = groups.at(-1) ?? "";
  const dotted = atEnd && last.includes(".");
  if (dotted && !isDottedQuad(last)) return undefined;
  const hexGroups = dotted ? groups.slice(0, -1) : groups;
  return hexGroups.every((group) => HEX_GROUP.test(group)) ? hexGroups.length + (dotted ? 2 : 0) : undefined;
}
