// Validation rules for option values.

import { isIP } from "node:net";
import { isAbsolute } from "node:path";
import { isDNS1123Label, isDNS1123Subdomain } from "@postern/apimachinery/validation/string-validators";
import { parseIpNetwork } from "@postern/apiserver/transport/addresses/ip-networks";
import { quote, type Rule } from "./option.ts";

export const notEmpty: Rule<string> = (value) => (value.trim() === "" ? "must not be empty" : undefined);

export const ipAddress: Rule<string> = (value) =>
  isIP(value) === 0 ? `must be an IP address such as 127.0.0.1 or ::, not ${quote(value)}` : undefined;

export const dnsSubdomain: Rule<string> = (value) =>
  isDNS1123Subdomain(value).length > 0
    ? `must be a lower-case domain such as example.com, not ${quote(value)}`
    : undefined;

export const dnsLabelOrEmpty: Rule<string> = (value) =>
  value !== "" && isDNS1123Label(value).length > 0
    ? `must be lower-case letters, digits and dashes, not ${quote(value)}`
    : undefined;

/** The prefix and a project's name together make a namespace, so the prefix alone may end with a dash. */
export const namespacePrefix: Rule<string> = (value) =>
  isDNS1123Label(`${value}x`).length > 0 || value.length > 20
    ? `must be at most 20 lower-case letters, digits and dashes that a namespace may begin with, not ${quote(value)}`
    : undefined;

/** `host` or `host:port`, with an IPv6 address in brackets; "" means none. */
export const hostAndPortOrEmpty: Rule<string> = (value) =>
  value !== "" && parseHostAndPort(value) === undefined
    ? `must be a host or host:port such as postern.example.com:8443, not ${quote(value)}`
    : undefined;

/** The parts of `host[:port]`, the host without brackets; undefined when it is malformed. */
export function parseHostAndPort(
  text: string,
): { readonly host: string; readonly port: number | undefined } | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text);
  if (match === null) return undefined;
  const [, address, name, portText] = match;
  const port = portText === undefined ? undefined : Number(portText);
  if (port !== undefined && (port < 1 || port > 65535)) return undefined;
  if (address !== undefined) return isIP(address) === 6 ? { host: address, port } : undefined;
  if (name === undefined) return undefined;
  return isIP(name) === 4 || isDNS1123Subdomain(name.toLowerCase()).length === 0 ? { host: name, port } : undefined;
}

export const hostNames: Rule<readonly string[]> = (values) => {
  const wrong = values.find((value) => isIP(value) === 0 && isDNS1123Subdomain(value.toLowerCase()).length > 0);
  return wrong === undefined ? undefined : `must contain host names and IP addresses, and ${quote(wrong)} is neither`;
};

/** Addresses, or networks as `10.20.0.0/16`. */
export const networks: Rule<readonly string[]> = (values) => {
  const wrong = values.find((value) => parseIpNetwork(value) === undefined);
  return wrong === undefined
    ? undefined
    : `must contain IP addresses and networks such as 10.20.0.0/16, and ${quote(wrong)} is neither`;
};

/** The parts of `issuer=file`; undefined when it is malformed. URLs of issuers have no equals sign. */
export function parseFederatedToken(text: string): { readonly issuer: string; readonly file: string } | undefined {
  const at = text.indexOf("=");
  const [issuer, file] = [text.slice(0, at), text.slice(at + 1)];
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  return at > 0 && url?.protocol === "https:" && isAbsolute(file) ? { issuer, file } : undefined;
}

export const federatedTokenFiles: Rule<readonly string[]> = (values) => {
  const wrong = values.find((value) => parseFederatedToken(value) === undefined);
  if (wrong !== undefined)
    return `must contain pairs such as https://issuer.example.com=/var/run/secrets/tokens/issuer, and ${quote(wrong)} is none`;
  const issuers = values.map((value) => parseFederatedToken(value)?.issuer ?? "");
  const twice = issuers.find((issuer, at) => issuers.indexOf(issuer) !== at);
  return twice === undefined ? undefined : `must have one file for each issuer, and ${quote(twice)} has two`;
};

export const someNames: Rule<readonly string[]> = (values) =>
  values.length === 0 ? "must name at least one" : undefined;

/** The transport keeps their values apart, and no proxy passes them on. */
const REMOTE_HEADER = /^x-remote-[a-z0-9-]{1,64}$/i;

export const remoteHeaders: Rule<readonly string[]> = (values) => {
  const wrong = values.find((value) => !REMOTE_HEADER.test(value));
  if (wrong !== undefined) return `must contain names that begin with X-Remote-, and ${quote(wrong)} does not`;
  return someNames(values);
};

export const remoteHeaderPrefix: Rule<string> = (value) =>
  REMOTE_HEADER.test(value) && value.endsWith("-")
    ? undefined
    : `must begin with X-Remote- and end with a dash, not ${quote(value)}`;

/** With the colon, no name behind it makes the whole one of another prefix. */
export const foreignPrefix: Rule<string> = (value) =>
  /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?:$/.test(value) && value !== "system:"
    ? undefined
    : `must be lower-case letters, digits and dashes with a colon at the end, and not system:, not ${quote(value)}`;

const TIME = /^([1-9]\d{0,5})([mhd])$/;
const SECONDS_PER = { m: 60, h: 3600, d: 86_400 };
const MAX_LEAD_SECONDS = 366 * 86_400;
const MAX_LEAD_TIMES = 10;

/** Seconds of a duration such as `7d`, `12h` or `30m`; undefined if it is invalid. */
export function parseLeadTime(text: string): number | undefined {
  const [, count = "", unit] = TIME.exec(text) ?? [];
  // The expression lets no other letter through.
  return unit === undefined ? undefined : Number(count) * SECONDS_PER[unit as keyof typeof SECONDS_PER];
}

export const leadTimes: Rule<readonly string[]> = (values) => {
  const wrong = values.find((value) => (parseLeadTime(value) ?? MAX_LEAD_SECONDS + 1) > MAX_LEAD_SECONDS);
  if (wrong !== undefined) return `must contain times such as 7d, 12h or 30m, up to 366d, and ${quote(wrong)} is none`;
  return values.length > MAX_LEAD_TIMES ? `must have at most ${MAX_LEAD_TIMES} times, not ${values.length}` : undefined;
};

/** Errors do not contain the value: a URL may be a secret. */
export const webhookUrlOrEmpty: Rule<string> = (value) => {
  if (value === "") return undefined;
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) return "must be an http or https URL";
  if (url.username !== "" || url.password !== "") return "must not contain a user name or password";
  return url.hash === "" ? undefined : "must not have a fragment";
};
