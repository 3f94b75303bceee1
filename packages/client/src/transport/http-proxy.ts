// Connections through the HTTP proxy that the environment names, as for kubectl.
// Source: golang.org/x/net/http/httpproxy/proxy.go

import { request as httpRequest } from "node:http";
import { BlockList, isIP, type Socket } from "node:net";

/** Variables by name. HTTPS_PROXY and NO_PROXY are read, in either case. */
export type ProxyEnvironment = { readonly [name: string]: string | undefined };

/** The message names the proxy, and no credential for it. */
export class ProxyError extends Error {
  override readonly name = "ProxyError";
  /** With which the proxy answered CONNECT. Undefined: it did not answer. */
  readonly status: number | undefined;

  constructor(message: string, { cause, status }: { readonly cause?: unknown; readonly status?: number } = {}) {
    super(message, cause === undefined ? {} : { cause });
    this.status = status;
  }
}

const CONNECT_TIMEOUT_MS = 15_000;
const HTTP_PORT = 80;

/**
 * The proxy for a host. Undefined: none. `host` is a name or an address without brackets. Throws ProxyError for a proxy that is not used by HTTP.
 */
export function proxyFor(host: string, port: number, environment: ProxyEnvironment): URL | undefined {
  const proxy = variable(environment, "HTTPS_PROXY");
  if (proxy === "") return undefined;
  const excluded = variable(environment, "NO_PROXY").split(",");
  if (excluded.some((entry) => isExcluded(host.toLowerCase(), port, entry.trim().toLowerCase()))) return undefined;
  return parseProxy(proxy, "HTTPS_PROXY");
}

/** The proxy of the environment, whatever the host. Undefined: none. Throws ProxyError, also for a login that cannot be used. */
export function namedProxy(environment: ProxyEnvironment): URL | undefined {
  const text = variable(environment, "HTTPS_PROXY");
  if (text === "") return undefined;
  const proxy = parseProxy(text, "HTTPS_PROXY");
  loginOf(proxy);
  return proxy;
}

const variable = (environment: ProxyEnvironment, name: string): string =>
  environment[name] || environment[name.toLowerCase()] || "";

/** `origin`: where it was named. Throws ProxyError. */
export function parseProxy(text: string, origin: string): URL {
  const address = text.includes("://") ? text : `http://${text}`;
  if (!URL.canParse(address) || new URL(address).protocol !== "http:")
    throw new ProxyError(`the proxy of ${origin} must be an http URL`);
  return new URL(address);
}

/** The same as kubectl, which reaches servers of its own machine without a proxy. */
export const proxyBeyond = (host: string, port: number, environment: ProxyEnvironment): URL | undefined =>
  isThisMachine(host) ? undefined : proxyFor(host, port, environment);

const isThisMachine = (host: string): boolean =>
  host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));

/** An entry of NO_PROXY: a network, an address, or a domain, the last two with a port if they are for it alone. */
function isExcluded(host: string, port: number, entry: string): boolean {
  if (entry === "") return false;
  if (entry === "*") return true;
  const [, network = "", prefix] = /^(.*)\/(\d+)$/.exec(entry) ?? [];
  if (prefix !== undefined && isIP(network) !== 0) return isInNetwork(host, network, Number(prefix));
  const [, bracketed, plain = "", only] =
    /^(?:\[(.*)\]|(.*?))(?::(\d*))?$/.exec(isIP(entry) === 6 ? `[${entry}]` : entry) ?? [];
  if (only !== undefined && only !== "" && Number(only) !== port) return false;
  const name = (bracketed ?? plain).replace(/^\*\./, ".");
  if (name.startsWith(".")) return host.endsWith(name);
  return name !== "" && (host === name || (isIP(host) === 0 && host.endsWith(`.${name}`)));
}

function isInNetwork(host: string, network: string, prefix: number): boolean {
  const family = isIP(host);
  if (family === 0 || family !== isIP(network) || prefix > (family === 4 ? 32 : 128)) return false;
  const list = new BlockList();
  const type = family === 4 ? "ipv4" : "ipv6";
  list.addSubnet(network, prefix, type);
  return list.check(host, type);
}

/** A connection to the host, by CONNECT. Rejects with ProxyError. */
export async function connectThrough(proxy: URL, host: string, port: number, signal?: AbortSignal): Promise<Socket> {
  const target = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  const login = loginOf(proxy);
  return await new Promise((resolve, reject) => {
    const request = httpRequest({
      method: "CONNECT",
      host: proxy.hostname.replace(/^\[(.*)\]$/, "$1"),
      port: proxy.port === "" ? HTTP_PORT : Number(proxy.port),
      path: target,
      headers: {
        host: target,
        ...(login === undefined ? {} : { "proxy-authorization": `Basic ${Buffer.from(login).toString("base64")}` }),
      },
      agent: false,
      ...(signal === undefined ? {} : { signal }),
    });
    // A timeout of the request would begin anew with each byte of a head without an end.
    const timer = setTimeout(() => request.destroy(new Error("it does not answer")), CONNECT_TIMEOUT_MS);
    request.once("close", () => clearTimeout(timer));
    const fail = (why: string, details: { readonly cause?: Error; readonly status?: number }): void =>
      reject(new ProxyError(`the proxy ${proxy.host} ${why}`, details));
    const refuse = (status = 0): void =>
      fail(`answers CONNECT ${target} with ${status}${status === 407 ? needsLogin(login) : ""}`, { status });
    request.once("connect", (response, socket) => {
      clearTimeout(timer);
      if (response.statusCode === 200) return resolve(socket);
      socket.destroy();
      refuse(response.statusCode);
    });
    request.once("response", (response) => {
      response.destroy();
      refuse(response.statusCode);
    });
    request.once("error", (cause) => fail(`cannot be used: ${cause.message}`, { cause }));
    request.end();
  });
}

/** Undefined without a user. Throws ProxyError. */
function loginOf({ username, password, host }: URL): string | undefined {
  if (username === "") return undefined;
  try {
    return `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  } catch {
    throw new ProxyError(`the user or password of the proxy ${host} has a % that begins no escape: write it as %25`);
  }
}

const needsLogin = (login: string | undefined): string =>
  login === undefined
    ? ": it requires a user and password, as http://USER:PASSWORD@HOST:PORT"
    : ": it refused the user and password";
